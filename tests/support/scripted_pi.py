"""A running pi in miniature: its memory, its file, and a bridge that answers as the real one does.

It writes as pi does: an entry is in the file before anyone is told of it, and the file appears
with the first answer. What it is asked comes and goes by the names of our models.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

from pisessiond.core.dates import iso_from_ms
from tests.support.service import START_MS

Entry = dict[str, Any]
Answer = dict[str, Any]
Tell = Callable[[str, dict[str, Any]], Awaitable[None]]

LIGHT: Final = frozenset({"label", "session_info", "usage", "custom"})
PARENT: Final = frozenset({"user", "custom_message"})
PIDS: Final = count(4_000)


class Refused(Exception):
    def __init__(self, kind: str, **more: Any) -> None:
        super().__init__(kind)
        self.answer: Answer = {"refused": kind, "message": f"pi refuses ({kind}).", **more}


@dataclass(eq=False)
class ScriptedPi:
    """One process with one session."""

    file: Path | None = None
    session_id: str = "a"
    cwd: str = "/srv"
    pid: int = field(default_factory=lambda: next(PIDS))
    entries: list[Entry] = field(default_factory=list)
    leaf: str | None = None
    operation: str | None = None
    gen: int = 0
    seq: int = 0
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    """What it was asked, in order."""
    tell: Tell | None = None
    """Where its notifications go; None: nobody hears them."""
    is_dumb: bool = False
    """It answers nothing."""

    def __post_init__(self) -> None:
        self._ids = count(1)
        self._answers: dict[str, Answer] = {}
        if self.file is not None and self.file.exists():
            self.read_file()

    # Its session -------------------------------------------------------------------------------

    @property
    def on_disk(self) -> bool:
        return self.file is not None and self.file.exists()

    @property
    def is_idle(self) -> bool:
        return self.operation is None

    def read_file(self) -> None:
        """What opening the file, or reading it anew, gives."""
        assert self.file is not None
        header, *entries = [json.loads(line) for line in self.file.read_bytes().splitlines()]
        self.session_id, self.cwd, self.entries = header["id"], header["cwd"], entries
        self.leaf = entries[-1]["id"] if entries else None

    def find(self, entry_id: object) -> Entry:
        found = next((one for one in self.entries if one["id"] == entry_id), None)
        if found is None:
            raise Refused("EntryNotFound")
        return found

    def add(self, entry: Entry) -> str:
        """Append an entry under the leaf: in memory, and in the file as pi flushes it."""
        made = {
            "type": entry["type"],
            "id": f"p{self.pid}{next(self._ids):04d}",
            "parentId": self.leaf,
            "timestamp": iso_from_ms(START_MS + 1_000 * len(self.entries)),
            **{name: value for name, value in entry.items() if name != "type"},
        }
        self.entries.append(made)
        self.leaf = made["id"]
        if self.file is not None:
            self._write(made)
        return str(made["id"])

    def _write(self, made: Entry) -> None:
        assert self.file is not None
        is_answer = made.get("message", {}).get("role") == "assistant"
        if not self.file.exists() and not is_answer:
            return
        new = [made] if self.file.exists() else [self.header, *self.entries]
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("ab") as file:
            file.write(b"".join(json.dumps(one).encode() + b"\n" for one in new))

    @property
    def header(self) -> Entry:
        time = iso_from_ms(START_MS)
        return {
            "type": "session", "version": 3, "id": self.session_id, "timestamp": time,
            "cwd": self.cwd,
        }  # fmt: skip

    def says(self, role: str, text: str) -> str:
        """A message, as a run or its user's keys bring it."""
        content: Any = text if role == "user" else [{"type": "text", "text": text}]
        return self.add({"type": "message", "message": {"role": role, "content": content}})

    # What it tells -----------------------------------------------------------------------------

    def attach(self, reason: str = "startup") -> dict[str, Any]:
        """What it says when it has its session open."""
        self.gen, self.seq = self.gen + 1, 0
        self._told = len(self.entries)
        self._was_on_disk = self.on_disk
        given: dict[str, Any] = {
            "gen": self.gen,
            "reason": reason,
            "session": self.session(),
            "state": self.state(),
        }
        if not self.on_disk:
            given["entries"] = list(self.entries)
        return given

    def session(self) -> dict[str, Any]:
        return {
            "id": self.session_id,
            "file": None if self.file is None else str(self.file),
            "on_disk": self.on_disk,
            "cwd": self.cwd,
            "leaf": self.leaf,
            "count": len(self.entries),
            "last_id": self.entries[-1]["id"] if self.entries else None,
            "timestamp": iso_from_ms(START_MS),
        }

    def state(self) -> dict[str, Any]:
        return {"idle": self.is_idle, "operation": self.operation}

    async def tell_change(self) -> None:
        """Tell what came since it told the last time, and where it stands."""
        new, self._told = self.entries[self._told :], len(self.entries)
        if self.on_disk:
            new = [{name: one[name] for name in ("id", "parentId", "type")} for one in new]
        self.seq += 1
        await self._tell(
            "pi/didChange",
            {
                "gen": self.gen, "seq": self.seq, "leaf": self.leaf, "count": len(self.entries),
                "entries": new, "on_disk": self.on_disk,
            },
        )  # fmt: skip

    async def tell_state(self) -> None:
        await self._tell("pi/didState", {"gen": self.gen, **self.state()})

    @contextmanager
    def unheard(self) -> Iterator[None]:
        """Nobody hears what it tells."""
        tell, self.tell = self.tell, None
        yield
        self.tell = tell

    async def _tell(self, method: str, params: dict[str, Any]) -> None:
        if self.tell is not None:
            await self.tell(method, params)

    # What it is asked --------------------------------------------------------------------------

    async def answer(self, method: str, params: dict[str, Any]) -> Answer:
        """What its bridge answers; the change is told before that."""
        self.asked.append((method, params))
        if (known := self._answers.get(params["request_id"])) is not None:
            return known
        before, leaf = len(self.entries), self.leaf
        try:
            self._check(method, params)
            more = self._act(method, params)
        except Refused as refused:
            return {"leaf": self.leaf, **refused.answer}
        ids = [one["id"] for one in self.entries[before:]]
        answer = {"leaf": self.leaf, "ids": ids, **more}
        self._answers[params["request_id"]] = answer
        if ids or leaf != self.leaf:
            await self.tell_change()
        return answer

    def _check(self, method: str, params: dict[str, Any]) -> None:
        if params["gen"] != self.gen:
            raise Refused("SessionChanged")
        if "base_leaf" in params:
            at = self.leaf
            while at != params["base_leaf"]:
                entry = next((one for one in self.entries if one["id"] == at), None)
                if entry is None or entry["type"] not in LIGHT:
                    raise Refused("LeafMoved")
                at = entry["parentId"]
        moves = method in ("pi/navigate", "pi/compact", "pi/contextEdit", "pi/switch", "pi/reread")
        appends = method == "pi/append" and any(
            one["type"] != "custom" for one in params["entries"]
        )
        if (moves or appends) and not self.is_idle:
            raise Refused("Busy", operation=self.operation)

    def _act(self, method: str, params: dict[str, Any]) -> Answer:
        match method:
            case "pi/navigate":
                return self._navigate(params)
            case "pi/compact":
                self.add(
                    {
                        "type": "compaction",
                        "summary": params["summary"],
                        "firstKeptEntryId": params["first_kept"],
                        "tokensBefore": params["tokens_before"],
                        "fromHook": True,
                    }
                )
            case "pi/label":
                self.find(params["target"])
                given = {"type": "label", "targetId": params["target"], "label": params["label"]}
                self.add(given)
            case "pi/name":
                self.add({"type": "session_info", "name": params["name"]})
            case "pi/append":
                for one in params["entries"]:
                    self.add(one)
            case "pi/contextEdit":
                target, replacement = params["target"], params["replacement"]
                self.add({"type": "context_edit", "targetId": target, "replacement": replacement})
            case "pi/prompt":
                self.says("user", params["text"])
            case "pi/abort":
                self.operation = None
            case "pi/reread":
                leaf = self.leaf
                self.read_file()
                self.leaf = leaf
            case "pi/switch":
                return {"file": params["file"]}
            case "pi/snapshot":
                return {"entries": list(self.entries), "session": self.session()}
            case _:
                raise AssertionError(method)
        return {}

    def _navigate(self, params: dict[str, Any]) -> Answer:
        target = self.find(params["target"])
        left, answer = self.leaf, {}
        if target["id"] != left:
            message = target.get("message", {})
            kind = message.get("role") if target["type"] == "message" else target["type"]
            self.leaf = target["parentId"] if kind in PARENT else target["id"]
            if kind == "user":
                answer["editor_text"] = message["content"]
        labelled = target["id"]
        if params.get("summary"):
            labelled = self.add(
                {"type": "branch_summary", "fromId": left, "summary": params["summary"]}
            )
        if params.get("label"):
            self.add({"type": "label", "targetId": labelled, "label": params["label"]})
        return answer
