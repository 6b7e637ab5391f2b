"""Sessions that live in a pi and in no file: held here as copies, which nobody but pi changes."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final, Protocol

import anyio
import anyio.abc

from pisessiond.core.entries import encode_entry
from pisessiond.core.errors import SessionFileError
from pisessiond.core.headers import encode_header, make_header
from pisessiond.service.errors import ServiceError
from pisessiond.service.faults import survive
from pisessiond.service.live.pi import PiSession
from pisessiond.service.live.words import sound
from pisessiond.service.loading import Loaded, load, load_again
from pisessiond.service.open_session import OpenSession
from pisessiond.service.stores import Stores
from pisessiond.service.storing import in_worker
from pisessiond.service.surroundings import Surroundings
from pisessiond.storage.base import SessionLog, StoredLine

log = logging.getLogger(__name__)

OFFER_SECONDS: Final = 600.0
"""How long a session that lived in a pi which is gone can still be exported."""


OFFERED_AT_MOST: Final = 16
"""Copies that can be exported at once; a pi may begin sessions without end."""


class Home(Protocol):
    """The sessions of the daemon, as far as running pi concern them."""

    @property
    def open_sessions(self) -> Sequence[OpenSession]:
        """Every session that is held."""
        ...

    async def open(self, *, path: str | None = None) -> OpenSession: ...

    def held_at(self, path: str) -> OpenSession | None:
        """The session that is held of the file at a real path."""
        ...

    def hold(self, loaded: Loaded) -> OpenSession:
        """Holds a session that was just read or made."""
        ...

    def on_path(self, opened: OpenSession) -> OpenSession | None:
        """Finds a session by its file from now on; the one that was found there until then."""
        ...

    def forget(self, opened: OpenSession) -> None:
        """Lets go of a session; whoever has it open has been told."""
        ...


class Mirrors:
    """The copies, by session id."""

    def __init__(
        self, home: Home, stores: Stores, surroundings: Surroundings, tasks: anyio.abc.TaskGroup
    ) -> None:
        self._home = home
        self._stores = stores
        self._surroundings = surroundings
        self._tasks = tasks
        self._held: dict[str, OpenSession] = {}
        self._files: dict[str, str] = {}
        """Session ids by the planned path of their file."""
        self._offered: list[OpenSession] = []
        """Copies whose pi are gone, those that went last behind."""

    def find(self, session_id: str) -> OpenSession | None:
        """The copy of that session, if there is one."""
        held = self._held.get(session_id)
        return None if held is None or held.is_gone else held

    async def planned_at(self, path: str) -> OpenSession | None:
        """The session that is to have its file there, or has it from now on; None: no copy is."""
        held = self.find(self._files.get(path, ""))
        if held is not None and await in_worker(lambda: os.path.exists(path)):
            await self.become_file(held, path)
        return held

    async def mirror(
        self, session: PiSession, entries: Sequence[dict[str, Any]], *, anew: bool = False
    ) -> OpenSession:
        """A copy that holds these entries; the one there is goes on where it is the beginning."""
        entries = sound(entries)
        held = self.find(session.id)
        if held is None:
            return await self._begin(session, entries)
        ids = held.session.index.ids
        is_beginning = list(ids) == [one["id"] for one in entries[: len(ids)]]
        if is_beginning and not anew:
            self.take(held, entries[len(ids) :])
            await held.look()
        elif list(ids) != [one["id"] for one in entries]:
            made = await self._make_log(session, entries)
            loaded = await in_worker(lambda: load(made, self._surroundings.settings))
            async with held.changing:
                if not held.live.is_mirror:
                    # Its file has come meanwhile, and says all.
                    return held
                held.change_log(loaded)
                held.live.pending.clear()
            held.live.mirrored = {one["id"] for one in entries}
        return held

    async def _begin(self, session: PiSession, entries: Sequence[dict[str, Any]]) -> OpenSession:
        made = await self._make_log(session, entries)
        loaded = await in_worker(lambda: load(made, self._surroundings.settings))
        held = self._home.hold(loaded)
        held.live.is_mirror = True
        held.live.mirrored = {one["id"] for one in entries}
        self._held[session.id] = held
        if (file := session.file) is not None:
            self._files[await in_worker(lambda: os.path.realpath(file))] = session.id
        return held

    async def _make_log(self, session: PiSession, entries: Sequence[dict[str, Any]]) -> SessionLog:
        time = session.timestamp or self._surroundings.now_iso()
        header = make_header(session.id, time, session.cwd, session.parent_session)
        made = self._stores.memory.new(None)
        await in_worker(lambda: made.hold([encode_header(header), *map(encode_entry, entries)]))
        return made

    def take(self, held: OpenSession, entries: Iterable[dict[str, Any]]) -> None:
        """Keep entries that a pi sent; who looks at the session next takes them in."""
        live = held.live
        new = [one for one in entries if one["id"] not in live.mirrored]
        lines = [encode_entry(one) for one in new]
        places = held.log.hold(lines)
        live.pending += [
            StoredLine(line, place, is_ours=False)
            for line, place in zip(lines, places, strict=True)
        ]
        live.mirrored.update(one["id"] for one in new)

    async def become_file(self, held: OpenSession, file: str) -> None:
        """The session has its file now: read it from there, under the same handle."""
        try:
            path = await in_worker(lambda: os.path.realpath(file))
            async with held.changing:
                if not held.live.is_mirror:
                    return
                made, settings = self._stores.jsonl.open(path), self._surroundings.settings
                # pi may be writing it this very moment.
                held.change_log(await in_worker(lambda: load_again(made, settings)))
                held.live.is_mirror = False
                held.live.mirrored.clear()
                held.live.pending.clear()
        except (ServiceError, SessionFileError) as error:
            log.warning("the file of a pi's session could not be read: %s", type(error).__name__)
            return
        self._drop(held)
        other = self._home.on_path(held)
        if other is not None and other is not held:
            # Somebody opened the file in the moment it came; this one goes on.
            other.is_gone = True
            other.news.reset("gone")
            self._home.forget(other)
            self._home.on_path(held)
        held.on_file()

    def keep_for_a_while(self, held: OpenSession) -> None:
        """The pi in which it lived is gone: what was said can still be exported for a while."""
        self._offered = [one for one in self._offered if one is not held] + [held]
        for old in self._offered[:-OFFERED_AT_MOST]:
            self._end_offer(old)
        self._tasks.start_soon(survive, "keeping a copy for a while", partial(self._keep, held))

    async def _keep(self, held: OpenSession) -> None:
        if held.session.index.count:
            await anyio.sleep(OFFER_SECONDS)
        self._end_offer(held)

    def _end_offer(self, held: OpenSession) -> None:
        self._offered = [one for one in self._offered if one is not held]
        if held.live.is_mirror and not held.live.pis and not held.is_gone:
            held.is_gone = True
            held.news.reset("gone")
            self._drop(held)
            self._home.forget(held)

    def _drop(self, held: OpenSession) -> None:
        self._held = {name: one for name, one in self._held.items() if one is not held}
        self._files = {file: name for file, name in self._files.items() if name in self._held}
