"""The session service for tests: stores, places, a clock wound by hand, and a subscriber."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal

import anyio

from pisessiond.core.dates import iso_from_ms
from pisessiond.core.flush import FlushRule
from pisessiond.service.open_session import OpenSession
from pisessiond.service.places import Places
from pisessiond.service.sessions import Sessions, open_sessions
from pisessiond.service.stores import Stores
from pisessiond.service.subscribers import OnlyListens
from pisessiond.service.surroundings import Surroundings
from pisessiond.service.types import Change, EntryId, Origin, Progress, SessionChange
from pisessiond.storage.catalogue import CatalogueFile
from pisessiond.storage.glancing import FolderGlances
from pisessiond.storage.jsonl import JsonlStore
from pisessiond.storage.memory import MemoryLog, MemoryStore
from pisessiond.storage.text_index import TextIndex
from tests.support.files import FaultyFiles

Entry = dict[str, Any]
ME: Final = Origin("editor", "client-1", "7")
OTHER: Final = Origin("script", "client-2")
START_MS: Final = 1_796_000_000_000


class HandClock:
    """Time stands still until it is wound; ids and epochs count up."""

    def __init__(self) -> None:
        self.ms = START_MS
        self._ids = count(1)
        self._epochs = count(1)
        self._sessions = count(1)
        self.surroundings = Surroundings(
            self.now_iso, self.new_id, lambda: f"epoch-{next(self._epochs)}"
        )

    def now_iso(self) -> str:
        return iso_from_ms(self.ms)

    def new_id(self) -> str:
        return f"{next(self._ids):08x}"

    def new_session_id(self) -> str:
        return f"session-{next(self._sessions)}"

    def wind(self, ms: int = 1_000) -> None:
        self.ms += ms


class _Deaf(OnlyListens):
    """A subscriber that does nothing."""

    def session_changed(self, change: SessionChange) -> None:
        pass

    def session_reset(self, session: str, reason: str) -> None:
        pass


class Listener(OnlyListens):
    """A subscriber that insists on contiguous revisions of one epoch, and keeps what it hears."""

    def __init__(self, session: OpenSession) -> None:
        self.session = session
        self.heard: list[Change] = []
        self.steps: list[SessionChange] = []
        self.resets: list[str] = []
        self.progress: list[Progress] = []
        self.leaf: EntryId | None = None
        self._start()

    def _start(self) -> None:
        snapshot = self.session.subscribe(self)
        self.epoch, self.rev, self.leaf = snapshot.epoch, snapshot.rev, snapshot.leaf

    def session_changed(self, change: SessionChange) -> None:
        assert (change.session, change.epoch, change.base) == (
            self.session.handle,
            self.epoch,
            self.rev,
        )
        assert change.rev >= change.base
        assert (change.rev > change.base) == bool(change.changes)
        self.rev, self.leaf = change.rev, change.leaf
        self.steps.append(change)
        self.heard += change.changes

    def session_reset(self, session: str, reason: str) -> None:
        assert session == self.session.handle
        assert self.session.epoch != self.epoch
        self.resets.append(reason)
        self._start()

    def session_progress(self, progress: Progress) -> None:
        self.progress.append(progress)

    def settle(self) -> None:
        """Hear what is held back to be joined: whoever comes in is told from here on."""
        passer_by = _Deaf()
        self.session.subscribe(passer_by)
        self.session.unsubscribe(passer_by)

    def take(self) -> list[tuple[str, str]]:
        """Kind and origin (a client's name) of what was heard since the last time."""
        self.settle()
        heard, self.heard = self.heard, []
        return [
            (one.kind, one.origin if isinstance(one.origin, str) else one.origin.client)
            for one in heard
        ]


@dataclass
class House:
    """A running service and what it stands on."""

    sessions: Sessions
    folder: Path
    hand: HandClock
    files: FaultyFiles
    flush: FlushRule = "first-assistant"
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def cwd(self) -> str:
        return "/srv/project"

    @property
    def sessions_folder(self) -> Path:
        return self.folder / "agent" / "sessions" / "--srv-project--"

    def file(self, *entries: Entry | bytes, name: str = "s1", **header: Any) -> Path:
        """A session file, written by another program."""
        self.sessions_folder.mkdir(parents=True, exist_ok=True)
        path = self.sessions_folder / f"2026-11-30T00-00-00-000Z_{name}.jsonl"
        head = {
            "type": "session",
            "version": 3,
            "id": name,
            "timestamp": iso_from_ms(START_MS),
            "cwd": self.cwd,
            **header,
        }
        path.write_bytes(b"".join(spell(line) for line in (head, *entries)))
        return path

    async def open(self, path: Path) -> OpenSession:
        return await self.sessions.open(path=str(path))

    async def opened(self, *entries: Entry | bytes, **header: Any) -> OpenSession:
        """A session file that is open."""
        return await self.open(self.file(*entries, **header))

    async def create(self, store: Literal["jsonl", "memory"] = "jsonl") -> OpenSession:
        return await self.sessions.create(cwd=self.cwd, store=store, origin=ME)


def spell(line: Entry | bytes) -> bytes:
    return line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n"


def foreign(session: OpenSession, *entries: Entry | bytes) -> None:
    """Lines that another program appends."""
    lines = [spell(entry) for entry in entries]
    log = session.log
    if isinstance(log, MemoryLog):
        log.add_foreign([line.rstrip(b"\n") for line in lines])
        return
    assert session.path is not None
    with open(session.path, "ab") as file:
        file.write(b"".join(lines))


def in_file(session: OpenSession) -> list[Entry]:
    """The entries that the session's file holds, without the header."""
    assert session.path is not None
    lines = Path(session.path).read_bytes().splitlines()
    return [json.loads(line) for line in lines[1:]]


def user(text: str, entry_id: str | None = None, parent: str | None = None, **rest: Any) -> Entry:
    """A user message; with an id as another program would write it, whole."""
    return _message({"role": "user", "content": text}, entry_id, parent, **rest)


def answer(
    text: str,
    entry_id: str | None = None,
    parent: str | None = None,
    *,
    usage: int = 0,
    **rest: Any,
) -> Entry:
    message: Entry = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    if usage:
        message["usage"] = {"totalTokens": usage}
    return _message(message, entry_id, parent, **rest)


def _message(message: Entry, entry_id: str | None, parent: str | None, **rest: Any) -> Entry:
    return entry("message", entry_id, parent, message=message, **rest)


def entry(
    entry_type: str, entry_id: str | None = None, parent: str | None = None, **rest: Any
) -> Entry:
    if entry_id is None:
        return {"type": entry_type, **rest}
    time = rest.pop("timestamp", iso_from_ms(START_MS))
    return {"type": entry_type, "id": entry_id, "parentId": parent, "timestamp": time, **rest}


def label(entry_id: str, parent: str | None, target: str, text: str | None) -> Entry:
    return entry("label", entry_id, parent, targetId=target, label=text)


@asynccontextmanager
async def service(
    folder: Path,
    flush: FlushRule = "first-assistant",
    environment: dict[str, str] | None = None,
    hand: HandClock | None = None,
    files: FaultyFiles | None = None,
) -> AsyncIterator[House]:
    """A service whose agent dir is below `folder`; its queues end with the context."""
    hand = hand or HandClock()
    files = files or FaultyFiles()
    environment = environment or {}
    places = Places(str(folder / "agent"), str(folder), environment, read_text)
    catalogue = CatalogueFile(None)
    texts = TextIndex(catalogue)
    stores = Stores(JsonlStore(files), MemoryStore(), catalogue, FolderGlances(), texts)
    with anyio.fail_after(60):
        async with open_sessions(
            stores, places, hand.surroundings, hand.new_session_id, flush
        ) as sessions:
            yield House(sessions, folder, hand, files, flush, environment)


def read_text(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return None
