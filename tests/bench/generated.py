"""Session files to measure with: the same bytes each time, and shaped like real work.

Turns of a user message, answers with thinking, tool calls and a measured usage, and tool results;
now and then another branch, model or thinking level, a label, a compaction. About 1.4 KB a line.
"""

import hashlib
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

CACHE: Final = Path(__file__).resolve().parent / ".cache"

_WORDS: Final = (
    "the index keeps one row per entry and reads bodies only when somebody asks for them return "
    "await self session branch leaf append def for in if not None test error file line path value "
    "we should check whether this still holds after a reload because the parent may come later "
    'const result = await request("session/tree", { count: 200 }) ; } { ( ) [ ] = == // TODO \\ '
    "import os json array Struct decode message content usage tokens"
).split(" ")
_FOREIGN: Final = "größer naïve ‘quoted’ — 日本語の文 проверка ✓ 🎉 Ångström".split(" ")
_PROSE_CHARS: Final = 400_000
_START_MS: Final = 1_760_000_000_000
_ZERO_COST: Final = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}


def session_file(entries: int) -> Path:
    """A file of so many entries, made when it is not there yet."""
    stamp = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]
    path = CACHE / f"{entries}-{stamp}.jsonl"
    if not path.exists():
        CACHE.mkdir(exist_ok=True)
        (CACHE / ".gitignore").write_text("*\n")
        for older in CACHE.glob(f"{entries}-*.jsonl"):
            older.unlink()
        whole = path.with_suffix(".partial")
        with whole.open("wb") as file:
            for line in session_lines(entries):
                file.write(line + b"\n")
        whole.replace(path)
    return path


def session_lines(entries: int) -> Iterator[bytes]:
    """The header and so many entries."""
    yield _line({"type": "session", "version": 3, "id": "bench", "timestamp": _iso(0), "cwd": "/"})
    writer = _Writer(entries)
    for entry in writer.entries():
        yield _line(entry)


def user_message(number: int) -> dict[str, Any]:
    """A message of about 1.4 KB to append."""
    text = f"{number} " + "one more line, as long as others are; " * 34
    return {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": number}


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()


def _iso(number: int) -> str:
    seconds, ms = divmod(number * 7_301 % 86_400_000, 1000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{ms:03}"
    return f"2025-10-{1 + number * 7_301 // 86_400_000 % 28:02}T{clock}Z"


class _Writer:
    def __init__(self, entries: int) -> None:
        self._random = random.Random(entries)
        self._wanted = entries
        self._prose = self._make_prose()
        self._ids: list[str] = []
        self._users: list[str | None] = []
        """Where a user message was asked under: where another branch can begin."""
        self._leaf: str | None = None
        self._context = 4_000
        self._recent: list[str] = []
        """The newest entries of the branch since its newest compaction or branch point."""

    def _make_prose(self) -> str:
        words: list[str] = []
        size = 0
        while size < _PROSE_CHARS:
            word = self._random.choice(_FOREIGN if self._random.random() < 0.004 else _WORDS)
            word += "\n" if self._random.random() < 0.08 else " "
            words.append(word)
            size += len(word)
        return "".join(words)

    def _text(self, low: int, high: int) -> str:
        length = self._random.randint(low, high)
        start = self._random.randrange(_PROSE_CHARS - length)
        return self._prose[start : start + length]

    def entries(self) -> Iterator[dict[str, Any]]:
        made = self._turns()
        for _ in range(self._wanted):
            entry = next(made)
            self._context += 350
            yield entry

    def _entry(self, kind: str, **members: Any) -> dict[str, Any]:
        number = len(self._ids)
        # Scattered like pi's random ids, and never twice: the factor is odd.
        entry_id = f"{(number * 2_654_435_769 + 97) % (1 << 32):08x}"
        entry = {"type": kind, "id": entry_id, "parentId": self._leaf, "timestamp": _iso(number)}
        self._ids.append(entry_id)
        self._recent.append(entry_id)
        self._leaf = entry_id
        return {**entry, **members}

    def _message(self, role: str, **members: Any) -> dict[str, Any]:
        stamp = _START_MS + len(self._ids) * 7_301
        return self._entry("message", message={"role": role, **members, "timestamp": stamp})

    def _turns(self) -> Iterator[dict[str, Any]]:
        chance = self._random.random
        yield self._entry("model_change", provider="anthropic", modelId="claude-sonnet-4-5")
        yield self._entry("thinking_level_change", thinkingLevel="medium")
        yield self._entry("session_info", name="A session to measure with")
        while True:
            if chance() < 0.06 and len(self._users) > 8:
                # Back to one of the last questions, to ask it otherwise.
                self._leaf = self._users[-self._random.randint(2, 6)]
                self._recent.clear()
            if chance() < 0.03:
                yield self._entry("model_change", provider="openai", modelId="gpt-5")
            if chance() < 0.03:
                yield self._entry("thinking_level_change", thinkingLevel="high")
            self._users.append(self._leaf)
            yield self._message("user", content=[{"type": "text", "text": self._text(40, 1_500)}])
            for _ in range(self._random.randint(0, 5)):
                yield from self._tool_round()
            yield self._assistant([self._block("text", 200, 1_600)], "stop")
            if chance() < 0.03:
                yield self._entry("label", targetId=self._leaf, label=self._text(5, 20).strip())
            if self._context > 180_000 and len(self._recent) > 80:
                yield self._compaction()

    def _tool_round(self) -> Iterator[dict[str, Any]]:
        blocks = [self._block("thinking", 80, 900), self._block("text", 20, 400)]
        call = f"toolu_{len(self._ids):024}"
        arguments: dict[str, Any] = {"path": f"src/part{len(self._ids) % 90}.py", "limit": 2_000}
        name = "read"
        if self._random.random() < 0.4:
            name = "edit"
            arguments["edits"] = [{"oldText": self._text(30, 500), "newText": self._text(30, 600)}]
        blocks.append({"type": "toolCall", "id": call, "name": name, "arguments": arguments})
        yield self._assistant(blocks, "toolUse")
        content = [{"type": "text", "text": self._text(100, 1_950)}]
        failed = self._random.random() < 0.05
        yield self._message(
            "toolResult", toolCallId=call, toolName=name, content=content, isError=failed
        )

    def _block(self, kind: str, low: int, high: int) -> dict[str, Any]:
        block = {"type": kind, kind: self._text(low, high)}
        if kind == "thinking":
            block["thinkingSignature"] = f"{self._random.getrandbits(960):0240x}"
        return block

    def _assistant(self, content: list[dict[str, Any]], stop: str) -> dict[str, Any]:
        usage = {
            "input": 12,
            "output": 480,
            "cacheRead": self._context - 800,
            "cacheWrite": 308,
            "totalTokens": self._context,
            "cost": {**_ZERO_COST, "output": 0.0072, "total": 0.0231},
        }
        return self._message(
            "assistant",
            content=content,
            api="anthropic-messages",
            provider="anthropic",
            model="claude-sonnet-4-5",
            usage=usage,
            stopReason=stop,
        )

    def _compaction(self) -> dict[str, Any]:
        kept = self._recent[-40]
        before, self._context = self._context, 24_000
        entry = self._entry(
            "compaction",
            summary=self._text(3_000, 6_000),
            firstKeptEntryId=kept,
            tokensBefore=before,
            details={"readFiles": ["src/part1.py"], "modifiedFiles": ["src/part2.py"]},
            fromHook=False,
        )
        self._recent.clear()
        return entry
