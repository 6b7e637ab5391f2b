"""One scripted life of a session, act by act, and what of it was acknowledged.

For tests in which something fails on the way: an act that failed is tried again, as a client would.
"""

import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pisessiond.core import kinds
from pisessiond.service.errors import ServiceError
from pisessiond.service.open_session import OpenSession
from tests.support.files import FaultyFiles
from tests.support.seen import open_file
from tests.support.service import ME, HandClock, House, answer, service, user

Step = Callable[["Script"], Awaitable[None]]

_LONG: Final = "Words that fill the context. " * 1_700
"""Some 12,000 tokens, so that two of them are worth a compaction."""

OLD: Final = (
    b'{"type":"session","version":2,"id":"old","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}\n'
    b'{"type":"message","id":"o1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z",'
    b'"message":{"role":"user","content":"from an older pi"}}\n'
    b'{"type":"message","id":"o2","parentId":"o1","timestamp":"2026-01-01T00:00:02.000Z",'
    b'"message":{"role":"hookMessage","content":"x","customType":"h","display":true}}\n'
)
"""A session file of version 2."""


@dataclass
class Script:
    """The acts on a service, and what came of them."""

    house: House
    acknowledged: dict[Path, list[Any]] = field(default_factory=dict)
    """By file: ids of entries that clients were told are stored, in their order."""
    on_acknowledged: Callable[[], None] = lambda: None
    """Called after each step."""
    _session: OpenSession | None = None
    _old: OpenSession | None = None

    @property
    def session(self) -> OpenSession:
        assert self._session is not None
        return self._session

    @property
    def old(self) -> OpenSession:
        assert self._old is not None
        return self._old

    @property
    def sessions(self) -> list[OpenSession]:
        return list(self.house.sessions.open_sessions)

    def note(self) -> None:
        """Note what clients know to be stored: every entry of each session that has a file."""
        for session in self.sessions:
            if not session.is_unsaved and session.path is not None:
                self.acknowledged[Path(session.path)] = list(session.session.index.ids)
        self.on_acknowledged()

    async def create(self) -> None:
        if self._session is None:
            self._session = await self.house.create()
            await self.session.append([{**user("hello"), "id": "u0"}], origin=ME)

    async def flush(self) -> None:
        await self.session.append([{**answer("hi", usage=30), "id": "a0"}], origin=ME)

    async def navigate(self) -> None:
        await self.session.navigate("m5", exact=True, origin=ME)
        await self.session.places.keep()

    async def go_on(self) -> None:
        given = [{**user(_LONG), "id": "g1"}, {**answer(_LONG), "id": "g2"}]
        await self.session.append([*given, {**user("on"), "id": "g3"}], origin=ME)

    async def compact(self) -> None:
        held = self.session.session
        # A sync that failed may have left it in the file; then it is there once that is read anew.
        if held.index.kind[held.leaf] != kinds.COMPACTION:
            await self.session.compact(summary="What came before.", origin=ME)

    async def fork(self) -> None:
        await self.session.fork("g3", position="at", cwd=None, origin=ME)

    async def clone_elsewhere(self) -> None:
        await self.session.fork(None, position=None, cwd="/srv/other", origin=ME)

    async def label(self) -> None:
        await self.session.label("m5", "here", origin=ME)

    async def rename(self) -> None:
        await self.session.rename("a name", origin=ME)

    async def edit(self) -> None:
        await self.session.edit_context("g3", None, origin=ME)

    async def migrate(self) -> None:
        if self._old is None:
            path = self.house.folder / "older" / "2026-01-01T00-00-00-000Z_old.jsonl"
            if not path.exists():
                path.parent.mkdir()
                path.write_bytes(OLD)
                self.acknowledged[path] = ["o1", "o2"]
            self._old = await self.house.open(path)
        await self.old.append([{**user("to an older file"), "id": "o3"}], origin=ME)

    def steps(self) -> list[Step]:
        def append(number: int) -> Step:
            role = answer if number % 2 else user
            given = {**role(f"message {number}"), "id": f"m{number}"}

            async def step(script: "Script") -> None:
                await script.session.append([given], origin=ME)

            return step

        first: list[Step] = [Script.create, Script.flush]
        then: list[Step] = [
            Script.navigate,
            Script.go_on,
            Script.compact,
            Script.fork,
            Script.clone_elsewhere,
            Script.label,
            Script.rename,
            Script.edit,
            Script.migrate,
        ]
        return [*first, *map(append, range(20)), *then]

    async def run(self, on_failure: Callable[[Exception], Awaitable[None]] | None = None) -> None:
        """Do all of it; a step that fails is told to `on_failure` and tried once more."""
        for step in self.steps():
            self.house.hand.wind()
            try:
                await step(self)
            except ServiceError as error:
                if on_failure is None:
                    raise
                await on_failure(error)
                await step(self)
            self.note()


@asynccontextmanager
async def script(folder: Path, files: FaultyFiles | None = None) -> AsyncIterator[Script]:
    """A service that keeps moves, and the script for it."""
    hand = HandClock()
    hand.surroundings = dataclasses.replace(hand.surroundings, persist="anchor")
    async with service(folder, hand=hand, files=files) as house:
        yield Script(house)


def check_same(session: OpenSession) -> None:
    """What is in memory is what is in the file: entries, tree, leaf, labels, name, problems."""
    assert session.path is not None
    path = Path(session.path)
    if session.is_unsaved:
        assert not path.exists()
        return
    stored, held = open_file(path), session.session
    assert stored.index.ids == held.index.ids
    assert list(stored.index.parent) == list(held.index.parent)
    assert list(stored.index.at) == list(held.index.at)
    assert list(stored.index.line) == list(held.index.line)
    assert (stored.labels, stored.name) == (held.labels, held.name)
    places = [(problem.kind, problem.line, problem.offset) for problem in held.problems]
    assert [(one.kind, one.line, one.offset) for one in stored.problems] == places
    if not session.has_unkept_place:
        assert stored.leaf_id == held.leaf_id
