"""Session files as pi writes them, told turn by turn, and the one of the pictures."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from pisessiond.core.headers import file_name, folder_name
from tests.support.service import Entry, spell

MODEL: Final = ("demo", "opus-5")
WINDOW: Final = 200_000


class Talk:
    """A session that grows entry by entry; each method says the id of what it added."""

    def __init__(self, cwd: Path, began: datetime, name: str = "talk") -> None:
        self.header: Entry = {
            "type": "session",
            "version": 3,
            "id": name,
            "timestamp": _iso(began),
            "cwd": str(cwd),
        }
        self.entries: list[Entry] = []
        self.now = began
        self.leaf: str | None = None

    def at(self, clock: str) -> Talk:
        """What comes is of this time of the day."""
        hours, minutes = clock.split(":")
        self.now = self.now.replace(hour=int(hours), minute=int(minutes), second=0)
        return self

    def add(self, kind: str, **members: Any) -> str:
        name = f"{kind[0]}{len(self.entries) + 1}"
        parent = members.pop("parent", self.leaf)
        base = {"type": kind, "id": name, "parentId": parent, "timestamp": _iso(self.now)}
        self.entries.append({**base, **members})
        self.now += timedelta(seconds=1)
        self.leaf = name
        return name

    def user(self, text: str, **members: Any) -> str:
        message = {"role": "user", "content": [{"type": "text", "text": text}]}
        return self.say(message, **members)

    def say(self, message: Entry, **members: Any) -> str:
        stamp = int(self.now.timestamp() * 1000)
        return self.add("message", message={**message, "timestamp": stamp}, **members)

    def answer(self, text: str, tokens: int = 0, *, calls: list[Any] | None = None) -> str:
        """An answer; `tokens` is the context size its provider measured."""
        content: list[Any] = [{"type": "text", "text": text}] if text else []
        usage = {"input": 1, "output": 9, "cacheRead": max(tokens - 10, 0), "cacheWrite": 0}
        cost = {"input": 0.0, "output": 0.01, "cacheRead": 0.0, "cacheWrite": 0.0, "total": 0.01}
        message = {
            "role": "assistant",
            "content": content + (calls or []),
            "api": "demo",
            "provider": MODEL[0],
            "model": MODEL[1],
            "usage": {**usage, "totalTokens": tokens, "cost": cost},
            "stopReason": "toolUse" if calls else "stop",
        }
        return self.say(message)

    def step(self, tool: str, argument: str, output: str, tokens: int = 0, **result: Any) -> str:
        """A call and its result."""
        number = len(self.entries)
        name = "command" if tool == "bash" else "path"
        call = {"type": "toolCall", "id": f"t{number}", "name": tool, "arguments": {name: argument}}
        self.answer("", tokens, calls=[call])
        message = {
            "role": "toolResult",
            "toolCallId": f"t{number}",
            "toolName": tool,
            "content": [{"type": "text", "text": output}],
            "isError": False,
            **result,
        }
        return self.say(message)

    def back_to(self, entry: str | None) -> Talk:
        """What comes hangs under this entry."""
        self.leaf = entry
        return self

    def write(self, agent: Path) -> Path:
        """The file, where pi keeps it."""
        folder = agent / "sessions" / folder_name(self.header["cwd"])
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / file_name(self.header["id"], self.header["timestamp"])
        path.write_bytes(b"".join(spell(one) for one in [self.header, *self.entries]))
        return path


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")[:23] + "Z"


def today() -> datetime:
    """Nine in the morning of this day."""
    return datetime.now(UTC).replace(hour=9, minute=0, second=0, microsecond=0)


def short_talk(cwd: Path, name: str = "talk") -> Talk:
    """Two turns, the second with two steps."""
    talk = Talk(cwd, today(), name)
    talk.user("Explain the parser")
    talk.answer("It reads lines", 20_000)
    talk.user("Now mend it")
    talk.step("read", "src/parser.py", "def parse(): ...", 22_000)
    talk.step("edit", "src/parser.py", "done", 23_000)
    talk.answer("Mended", 24_000)
    return talk


def login_fix(cwd: Path) -> Talk:
    """The session of the pictures: a compaction, two alternatives, work, and what lies ahead."""
    talk = Talk(cwd, today(), "login-fix")
    talk.add("session_info", name="login-fix")
    talk.add("model_change", provider=MODEL[0], modelId=MODEL[1])
    talk.user("Port the session store to the new API")
    for number in range(40):
        talk.step("read", f"src/session/store{number}.py", "class Store: ...\n" * 40, 41_000)
    talk.answer("The store is ported", 90_000)
    talk.at("11:05").user("Why does the fork lose labels?")
    for number in range(20):
        talk.step("bash", f"pytest -q tests/test_{number}.py", "ok\n" * 40, 98_000)
    talk.at("13:29").answer("It forgets the leaf's own label", 166_000)
    kept = talk.at("13:30").user("Make labels survive a fork")
    for tool in ("edit", "read", "bash", "edit", "read", "edit"):
        talk.step(tool, f"src/{tool}.py", "labels = fork(labels)\n" * 600, 185_000)
    talk.at("13:40").answer("Labels now survive a fork", 186_000)
    talk.at("13:41").add(
        "compaction",
        summary="## Goal\nThe session store is ported and labels survive a fork.\n" * 700,
        firstKeptEntryId=kept,
        tokensBefore=186_000,
    )
    talk.at("13:52").user("Fix the login test that fails on CI")
    for number in range(12):
        talk.step("bash", f"pytest -q -k login{number}", "E assert\n" * 30, 60_000)
    talk.step("bash", "pytest -q --tb=long", "E  naive\n" * 900, 70_000, isError=True)
    talk.step("read", "tests/conftest.py", "import freezegun\n" * 60, 72_000)
    fork = talk.at("13:58").answer("The fixture's clock is naive, so the token expires", 74_000)
    talk.at("14:12").user("Try freezing the clock with time-machine")
    for number in range(4):
        talk.step("edit", f"tests/conf{number}.py", "ok", 80_000)
    talk.at("14:20").answer("time-machine breaks xdist; stopped", 88_000)
    green = talk.back_to(fork).at("14:22").user("Patch time.time in the test only")
    talk.step("edit", "tests/test_login.py", "ok", 76_000)
    talk.step("bash", "pytest -q tests/test_login.py", "1 passed", 78_000)
    talk.at("14:25").answer("Passes, but hides the real fault", 79_000)
    talk.back_to(fork).at("14:31").user("Use an injected clock instead")
    talk.step("edit", "src/clock.py", "ok", 77_000)
    talk.step("bash", "pytest -q --tb=long", "4 passed\n" * 60, 83_000)
    talk.at("14:33").answer("Done: 4 files changed, all tests pass", 84_000)
    talk.add("label", targetId=green, label="green")
    return talk
