"""Random session files: the same bytes for the same seed, and shapes that no one would think of.

`ordinary` ones hold all that pi itself accepts: branches, parents that come after their children,
compactions that keep too much or nothing, edits of anything, odd times, texts and numbers.
In `mutated` ones a member here and there is missing or of a type that pi may throw over.
`repeated` ones give ids away twice and `leafy` ones end in a `leaf` entry: there our rules differ
from pi's on purpose (see tests/support/differences.py).
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

Json = Any

_WORDS: Final = (
    "alpha beta gamma parse tree leaf naïve café 漢字 🙂 👩‍💻 \u2028 \u0085 \ud83d \udc00 "
    'x \\ " <b> &amp; {} tab\there'
).split(" ")
_MODELS: Final = (("demo", "demo-1"), ("demo", "demo-2"), ("other", "größer"))
_LEVELS: Final = ("off", "low", "medium", "high")
_PATHS: Final = ("a.py", "src/b.py", "src/c d.py", "ü.md")
_NUMBERS: Final = (0, -0.0, 1, 1.0, 1e-7, 5e-6, 1e21, 123456789012345680000, 0.1, -2.5e-10, 1e300)
_ODD: Final[tuple[Json, ...]] = (None, True, False, 0, 7, 1.5, "", "odd", [], {}, {"odd": 1})
_START: Final = 1_796_000_000_000


@dataclass(frozen=True)
class Made:
    """A session file that was made up."""

    seed: int
    data: bytes
    ids: list[str]
    """Ids of the entries in file order."""


class Values:
    """Random values as session files hold them."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.chance = random.Random(seed)
        self.now = _START
        """The time of what is made next, in milliseconds."""

    def is_likely(self, share: float) -> bool:
        return self.chance.random() < share

    def text(self, most: int = 40) -> str:
        if self.is_likely(0.06):
            return ""
        words = self.chance.choices(_WORDS, k=self.chance.randint(1, most))
        return self.chance.choice((" ", " ", "\n")).join(words)

    def argument(self, depth: int = 0) -> Json:
        pick = self.chance.randrange(7 if depth < 3 else 5)
        if pick == 0:
            return self.chance.choice(_NUMBERS)
        if pick == 1:
            return self.chance.choice((None, True, False))
        if pick == 2:
            return self.chance.randint(-(10**6), 10**6) / self.chance.choice((1, 3, 10, 1e6))
        if pick == 5:
            return [self.argument(depth + 1) for _ in range(self.chance.randrange(4))]
        if pick == 6:
            return self.arguments(depth + 1)
        return self.text(6)

    def arguments(self, depth: int = 0) -> dict[str, Json]:
        names = ("b", "10", "2", "a", "path", "ключ", "__proto__", "")
        chosen = self.chance.sample(names, self.chance.randrange(4))
        return {name: self.argument(depth) for name in chosen}

    def tool_call(self) -> dict[str, Json]:
        name = self.chance.choice(("read", "write", "edit", "bash", "größer"))
        arguments = self.arguments()
        if self.is_likely(0.6):
            arguments["path"] = self.chance.choice(_PATHS)
        return {"type": "toolCall", "id": f"call{self.now}", "name": name, "arguments": arguments}

    def text_block(self) -> dict[str, Json]:
        return {"type": "text", "text": self.text()}

    def image(self) -> dict[str, Json]:
        return {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}

    def unknown_block(self) -> dict[str, Json]:
        return {"type": "hologram", "text": "unseen", "n": 1.0}

    def thinking(self) -> dict[str, Json]:
        return {"type": "thinking", "thinking": self.text(60), "thinkingSignature": ""}

    def blocks(self, *makers: Callable[[], dict[str, Json]]) -> list[dict[str, Json]]:
        return [self.chance.choice(makers)() for _ in range(self.chance.randrange(4))]

    def content(self) -> Json:
        if self.is_likely(0.3):
            return self.text()
        return self.blocks(self.text_block, self.text_block, self.image, self.unknown_block)

    def usage(self) -> Json:
        counts = {
            name: self.chance.choice((0, 3, 250, 4000))
            for name in ("input", "output", "cacheRead", "cacheWrite")
        }
        pick = self.chance.randrange(8)
        if pick == 0:
            return None
        if pick == 1:
            return {**dict.fromkeys(counts, 0), "totalTokens": 0}
        if pick == 2:
            return counts
        if pick == 3:
            counts.pop(self.chance.choice(sorted(counts)))
            return counts
        total = sum(counts.values()) + self.chance.choice((0, 0, 7, 1.0))
        return {**counts, "totalTokens": total, "cost": {"total": 0.000005}}

    def system_message(self) -> dict[str, Json]:
        message: dict[str, Json] = {"role": "system", "content": self.text()}
        names = ("rules", "cwd", "10", "skills")
        if self.is_likely(0.6):
            chosen = self.chance.sample(names, self.chance.randint(0, 3))
            message["sections"] = {
                name: None if self.is_likely(0.3) else self.text() for name in chosen
            }
        tools = ("read", "bash", "größer")
        if self.is_likely(0.5):
            message["toolsAdded"] = [
                {"name": name, "description": self.text(8), "parameters": self.arguments()}
                for name in self.chance.sample(tools, self.chance.randint(0, 3))
            ]
        if self.is_likely(0.3):
            message["toolsRemoved"] = self.chance.sample(tools, self.chance.randint(0, 2))
        if self.is_likely(0.9):
            message["timestamp"] = self.now
        return message

    def user_message(self) -> dict[str, Json]:
        return {"role": "user", "content": self.content(), "timestamp": self.now}

    def assistant_message(self) -> dict[str, Json]:
        provider, model = self.chance.choice(_MODELS)
        message: dict[str, Json] = {
            "role": "assistant",
            "content": self.blocks(
                self.text_block, self.thinking, self.tool_call, self.tool_call, self.image
            ),
            "api": "made-up",
            "provider": provider,
            "model": model,
            "usage": self.usage(),
            "stopReason": self.chance.choice(("stop", "stop", "toolUse", "aborted", "error")),
            "timestamp": self.now,
        }
        if self.is_likely(0.15):
            del message["usage"]
        if self.is_likely(0.05):
            del message["provider"]
        return message

    def tool_result_message(self) -> dict[str, Json]:
        message: dict[str, Json] = {
            "role": "toolResult",
            "toolCallId": "call",
            "toolName": self.chance.choice(("read", "bash")),
            "content": self.content(),
            "isError": self.is_likely(0.2),
            "timestamp": self.now,
        }
        if self.is_likely(0.2):
            calls = [
                {"id": "1", "name": "edit", "arguments": {"path": self.chance.choice(_PATHS)}},
                {"id": "2", "name": "read", "arguments": self.arguments(), "status": "ok"},
            ]
            message["nestedCalls"] = {"calls": calls, "complete": True}
        return message

    def bash_message(self) -> dict[str, Json]:
        message: dict[str, Json] = {
            "role": "bashExecution",
            "command": self.text(5),
            "output": self.text(),
            "exitCode": self.chance.choice((0, 1, None)),
            "cancelled": self.is_likely(0.1),
            "truncated": False,
            "timestamp": self.now,
        }
        if self.is_likely(0.3):
            message["excludeFromContext"] = True
        return message

    def custom_role_message(self) -> dict[str, Json]:
        message = {"role": "custom", "customType": "note", "content": self.content()}
        return {**message, "display": True, "timestamp": self.now}


class _Maker(Values):
    def __init__(
        self, seed: int, *, repeated: bool = False, leafy: bool = False, mutated: bool = False
    ) -> None:
        super().__init__(seed)
        self.repeated = repeated
        self.leafy = leafy
        self.mutated = mutated
        self.ids: list[str] = []
        self.lines: list[dict[str, Json]] = []
        self.parents: dict[str, str | None] = {}
        self.last: str | None = None
        # Ids given away later, so that edits may speak of what is still to come.
        self.coming = [f"{self.chance.randrange(1 << 32):08x}" for _ in range(12)]

    def message(self, message: Json) -> dict[str, Json]:
        if isinstance(message, dict) and "content" in message and self.is_likely(0.04):
            if self.is_likely(0.5):
                message["content"] = None
            else:
                del message["content"]
        return {"type": "message", "message": message}

    def user(self) -> dict[str, Json]:
        return self.message(self.user_message())

    def assistant(self) -> dict[str, Json]:
        return self.message(self.assistant_message())

    def tool_result(self) -> dict[str, Json]:
        return self.message(self.tool_result_message())

    def bash(self) -> dict[str, Json]:
        return {"type": "message", "message": self.bash_message()}

    def custom_role(self) -> dict[str, Json]:
        # Without content pi throws over this role.
        return {"type": "message", "message": self.custom_role_message()}

    def unknown_role(self) -> dict[str, Json]:
        message = {"role": "narrator", "content": self.content(), "extra": self.argument()}
        return {"type": "message", "message": message}

    def system(self) -> dict[str, Json]:
        return self.message(self.system_message())

    def known_id(self) -> str:
        return self.chance.choice(self.ids) if self.ids else "ffffffff"

    def id_on_path(self) -> str:
        path = []
        at = self.last
        while at is not None:
            path.append(at)
            at = self.parents.get(at)
        return self.chance.choice(path[:8] if self.is_likely(0.7) else path) if path else "ffffffff"

    def compaction(self) -> dict[str, Json]:
        entry: dict[str, Json] = {
            "type": "compaction",
            "summary": self.text(),
            "firstKeptEntryId": self.id_on_path(),
            "tokensBefore": self.chance.choice((0, 12, 3456)),
        }
        pick = self.chance.random()
        if pick < 0.08:
            entry["firstKeptEntryId"] = self.known_id()
        elif pick < 0.16:
            entry["firstKeptEntryId"] = "<own>"
        elif pick < 0.2:
            entry["firstKeptEntryId"] = self.chance.choice(("ffffffff", None, ""))
        elif pick < 0.22:
            del entry["firstKeptEntryId"]
        if self.is_likely(0.5):
            entry["details"] = {
                "readFiles": self.chance.sample(_PATHS, self.chance.randrange(3)),
                "modifiedFiles": self.chance.sample(_PATHS, self.chance.randrange(3)),
            }
        if self.is_likely(0.5):
            entry["fromHook"] = self.is_likely(0.5)
        if self.is_likely(0.4):
            entry["systemMessage"] = self.system_message()
        return entry

    def context_edit(self) -> dict[str, Json]:
        target = self.id_on_path()
        if self.is_likely(0.15):
            target = self.known_id()
        elif self.is_likely(0.1):
            target = self.chance.choice(("ffffffff", *self.coming))
        replacement: Json = self.chance.choice(
            (None, None, {"content": self.text()}, {"content": []})
        )
        if self.is_likely(0.3):
            replacement = {"content": self.content()}
        return {"type": "context_edit", "targetId": target, "replacement": replacement}

    def branch_summary(self) -> dict[str, Json]:
        entry: dict[str, Json] = {
            "type": "branch_summary",
            "fromId": self.known_id(),
            "summary": self.text(),
        }
        if self.is_likely(0.4):
            entry["details"] = {"readFiles": [self.chance.choice(_PATHS)], "modifiedFiles": []}
        if self.is_likely(0.4):
            entry["fromHook"] = self.is_likely(0.5)
        return entry

    def custom_message(self) -> dict[str, Json]:
        entry: dict[str, Json] = {
            "type": "custom_message",
            "customType": "hint",
            "content": None if self.is_likely(0.05) else self.content(),
            "display": self.is_likely(0.5),
        }
        if self.is_likely(0.3):
            entry["details"] = self.argument()
        return entry

    def label(self) -> dict[str, Json]:
        entry: dict[str, Json] = {"type": "label", "targetId": self.known_id()}
        if self.is_likely(0.85):
            entry["label"] = self.chance.choice(("good", " padded ", "", "ü 🙂", None))
        return entry

    def settings(self) -> dict[str, Json]:
        if self.is_likely(0.5):
            return {"type": "thinking_level_change", "thinkingLevel": self.chance.choice(_LEVELS)}
        provider, model = self.chance.choice(_MODELS)
        return {"type": "model_change", "provider": provider, "modelId": model}

    def silent(self) -> dict[str, Json]:
        return self.chance.choice(
            (
                {"type": "custom", "customType": "mark", "data": self.argument()},
                {"type": "session_info", "name": self.chance.choice(("named", " \n ", "ü", ""))},
                {"type": "usage", "kind": "compaction", "provider": "demo", "model": "demo-1"},
                {"type": "weather", "degrees": 1.0, "id2": "x"},
                {"type": "active_tools_change", "activeToolNames": ["read"]},
            )
        )

    def leaf(self) -> dict[str, Json]:
        target = self.chance.choice((None, self.known_id(), self.known_id(), "ffffffff"))
        return {"type": "leaf", "targetId": target}

    def time(self) -> Json:
        self.now += self.chance.choice((0, 0, 1, 1000))
        if self.is_likely(0.03):
            return self.chance.choice(("not a time", None, 386920897154, "2026-01-01", ""))
        moment = self.now if self.is_likely(0.9) else self.now - self.chance.randrange(5000)
        return (
            datetime.fromtimestamp(moment / 1000, UTC).isoformat(timespec="milliseconds")[:23] + "Z"
        )

    def parent(self) -> Json:
        pick = self.chance.random()
        if pick < 0.78 or not self.ids:
            return self.last
        if pick < 0.96:
            return self.chance.choice(self.ids)
        return self.chance.choice((None, None, "", "ffffffff"))

    def add(self) -> None:
        makers = [
            (self.user, 14),
            (self.assistant, 22),
            (self.tool_result, 12),
            (self.system, 4),
            (self.bash, 3),
            (self.custom_role, 2),
            (self.unknown_role, 2),
            (self.compaction, 5),
            (self.context_edit, 7),
            (self.branch_summary, 4),
            (self.custom_message, 4),
            (self.label, 4),
            (self.settings, 6),
            (self.silent, 6),
        ]
        if self.leafy:
            makers.append((self.leaf, 8))
        (maker,) = self.chance.choices(
            [make for make, _ in makers], [weight for _, weight in makers]
        )
        parent = self.parent()
        self.last = parent if parent in self.parents else None
        body = maker()
        entry_id = f"{self.chance.randrange(1 << 32):08x}"
        if self.coming and self.is_likely(0.2):
            entry_id = self.coming.pop()
        if self.repeated and self.ids and self.is_likely(0.1):
            entry_id = self.known_id()
        if body.get("firstKeptEntryId") == "<own>":
            body["firstKeptEntryId"] = entry_id
        base = {"id": entry_id, "parentId": parent, "timestamp": self.time()}
        if parent is None and self.is_likely(0.2):
            del base["parentId"]
        rest = {name: value for name, value in body.items() if name != "type"}
        self.lines.append({"type": body["type"], **base, **rest})
        self.ids.append(entry_id)
        if entry_id not in self.parents:
            self.parents[entry_id] = self.last
        self.last = entry_id

    def shuffle(self) -> None:
        """Let some parents come after their children."""
        for _ in range(self.chance.randint(1, 4)):
            at = self.chance.randrange(len(self.lines))
            line = self.lines.pop(at)
            self.lines.insert(self.chance.randrange(len(self.lines) + 1), line)

    def spell(self, line: dict[str, Json]) -> bytes:
        text = json.dumps(
            line,
            ensure_ascii=self.is_likely(0.3),
            separators=self.chance.choice(((",", ":"), (",", ":"), (", ", ": "))),
        )
        try:
            return text.encode()
        except UnicodeEncodeError:
            return json.dumps(line, separators=(",", ":")).encode()

    def make(self) -> Made:
        for _ in range(self.chance.choice((3, 8, 15, 30, 30, 60))):
            self.add()
        if self.is_likely(0.25):
            self.shuffle()
        if self.leafy:
            self.add_last_leaf()
        header = {
            "type": "session",
            "version": 3,
            "id": f"made-{self.seed}",
            "timestamp": "2026-11-28T00:00:00.000Z",
            "cwd": "/srv/made",
        }
        if self.mutated:
            for line in self.lines:
                self.mutate(line)
        lines = [self.spell(header), *map(self.spell, self.lines)]
        return Made(self.seed, b"\n".join(lines) + b"\n", [line["id"] for line in self.lines])

    def mutate(self, line: dict[str, Json]) -> None:
        """Change or drop one member, however deep, but for the id and messages as a whole."""
        places: list[tuple[Json, Json]] = []
        open_: list[Json] = [line]
        while open_:
            value = open_.pop()
            inside = value.items() if isinstance(value, dict) else enumerate(value)
            for name, below in inside:
                if value is not line or name not in ("id", "message", "systemMessage"):
                    places.append((value, name))
                if isinstance(below, dict | list):
                    open_.append(below)
        if not self.is_likely(0.12):
            return
        holder, name = self.chance.choice(places)
        if isinstance(holder, dict) and self.is_likely(0.3):
            del holder[name]
            return
        holder[name] = self.chance.choice(_ODD)

    def add_last_leaf(self) -> None:
        line = {"type": "leaf", "id": "1eaf1eaf", "parentId": self.last, "timestamp": self.time()}
        self.lines.append({**line, "targetId": self.leaf()["targetId"]})


def ordinary(seed: int) -> Made:
    """A file that pi and we must see alike."""
    return _Maker(seed).make()


def repeated(seed: int) -> Made:
    """A file in which later lines take over the ids of earlier ones."""
    return _Maker(seed, repeated=True).make()


def leafy(seed: int) -> Made:
    """A file that holds `leaf` entries, one as its last word."""
    return _Maker(seed, leafy=True).make()


def mutated(seed: int) -> Made:
    """A file some of whose entries have a member that is missing or of an odd type."""
    return _Maker(seed, mutated=True).make()
