"""All open sessions: opening, making, finding and closing them."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Literal

import anyio
import anyio.abc

from pisessiond.core.errors import SessionFileError
from pisessiond.core.flush import FlushRule
from pisessiond.core.headers import encode_header, file_name, is_session_id, make_header
from pisessiond.service.cataloguing import ListSubscriber
from pisessiond.service.errors import (
    FileChanged,
    InvalidRequest,
    SessionExists,
    SessionNotFound,
)
from pisessiond.service.faults import go_on, survive
from pisessiond.service.finding import Finder
from pisessiond.service.forking import NewSession
from pisessiond.service.importing import Source, read_copy, write_copy
from pisessiond.service.listing import ListPage, Wanted
from pisessiond.service.live.registry import LivePis
from pisessiond.service.loading import Loaded, fill, load, load_or_begin, return_to_noted_place
from pisessiond.service.open_session import OpenSession
from pisessiond.service.places import Places
from pisessiond.service.searching import SearchPage, SearchWish
from pisessiond.service.session_list import SessionList
from pisessiond.service.stores import Stores
from pisessiond.service.storing import in_worker
from pisessiond.service.surroundings import Surroundings
from pisessiond.service.types import Deleted, Imported, Origin
from pisessiond.service.watching import Watching, WatchState

logger = logging.getLogger(__name__)

NewSessionId = Callable[[], str]

IDLE_SECONDS = 600.0
"""How long a session that nobody has open stays in memory."""

ROOM_SECONDS = 30.0
"""How often it is looked for sessions that may leave memory."""

HELD_AT_MOST = 256
"""Sessions held before idle ones leave too: each keeps its file open, and many systems let a
process open no more than 1,024."""


class Sessions:
    """The open sessions of one daemon. Use as the value of `open_sessions`."""

    def __init__(
        self,
        stores: Stores,
        places: Places,
        surroundings: Surroundings,
        new_session_id: NewSessionId,
        flush: FlushRule,
        tasks: anyio.abc.TaskGroup,
    ) -> None:
        self._stores = stores
        self._places = places
        self._surroundings = surroundings
        self._new_session_id = new_session_id
        self._flush = flush
        self._tasks = tasks
        self._by_handle: dict[str, OpenSession] = {}
        self._by_path: dict[str, OpenSession] = {}
        self._opening: dict[str, anyio.Event] = {}
        self._leaving: dict[str, anyio.Event] = {}
        """By path, those let go of that have not given their claim back yet."""
        self._finder = Finder(stores.jsonl, places)
        self._list = SessionList(stores, places, surroundings, lambda: self.open_sessions)
        self._budget = surroundings.memory_budget
        self.live = LivePis(self, stores, surroundings, tasks)
        """The running pi that are connected."""
        self._watching = (
            None
            if surroundings.watches is None
            else Watching(surroundings.watches, lambda: self.open_sessions, self.forget)
        )

    @property
    def open_sessions(self) -> Sequence[OpenSession]:
        """Every session that is held open."""
        return list(self._by_handle.values())

    @property
    def watch_state(self) -> WatchState | None:
        """How changes by other programs are noticed; None: by looking when something is asked."""
        return None if self._watching is None else self._watching.state

    def _sessions_changed(self) -> None:
        self._list.sessions_changed()
        if self._watching is not None:
            self._watching.sessions_changed()

    def get(self, session: str) -> OpenSession:
        """The open session with this handle.

        Raises:
            SessionNotFound: none is open under it.
        """
        found = self._by_handle.get(session)
        if found is None:
            raise SessionNotFound(session)
        if found.is_gone:
            self.forget(found)
            raise SessionNotFound(session)
        found.last_used = self._surroundings.monotonic()
        return found

    async def create(
        self,
        *,
        cwd: str,
        id: str | None = None,  # noqa: A002 - the protocol's word
        name: str | None = None,
        store: Literal["jsonl", "memory"] = "jsonl",
        session_dir: str | None = None,
        origin: Origin,
    ) -> OpenSession:
        """A new session; it is on disk once the flush rule says so.

        Raises:
            InvalidRequest: `cwd` is not absolute, or the id is not one that pi takes.
            SessionExists: an open session has that id.
        """
        if not os.path.isabs(cwd):
            raise InvalidRequest("cwd", "must be an absolute path.")
        if id is not None and not is_session_id(id):
            reason = (
                "takes letters, digits, '.', '_' and '-', beginning and ending with the first two."
            )
            raise InvalidRequest("id", reason)
        if id is not None and id in self._by_handle:
            raise SessionExists(id)
        folder = self._places.folder_for(cwd, session_dir).path
        opened = await self._begin(
            [], cwd=cwd, session_id=id, parent_session=None, folder=folder, store=store
        )
        if name:
            await opened.rename(name, origin=origin)
        return opened

    async def open(
        self,
        *,
        path: str | None = None,
        session: str | None = None,
        latest_cwd: str | None = None,
        session_dir: str | None = None,
    ) -> OpenSession:
        """An open session, loaded if need be, with what other programs wrote to it taken in.

        Raises:
            SessionNotFound: nothing is there.
            AmbiguousSession: several files carry the id.
            NotASession: the file is no session.
            Unreadable: the system does not let us read it.
        """
        if session is not None:
            if session not in self._by_handle:
                await self.bring_back()
            if session in self._by_handle:
                return await self._refreshed(self.get(session))
            path = await in_worker(lambda: self._finder.path_of(session))
        elif latest_cwd is not None:
            cwd = latest_cwd
            path = await in_worker(lambda: self._finder.latest(cwd, session_dir))
        if path is None:
            raise InvalidRequest("session", "say which session: a path, a handle or latest.")
        wanted = path
        real = await in_worker(lambda: os.path.realpath(wanted))
        return await self._open_path(real)

    async def _refreshed(self, opened: OpenSession) -> OpenSession:
        opened.last_used = self._surroundings.monotonic()
        try:
            await opened.open_anew()
            await opened.look()
        except FileChanged as error:
            if not opened.is_gone:
                raise
            self.forget(opened)
            raise SessionNotFound(opened.handle) from error
        return opened

    async def _open_path(self, path: str) -> OpenSession:
        if path not in self._by_path:
            await self.bring_back()
        if (mirror := await self.live.mirrors.planned_at(path)) is not None:
            return await self._refreshed(mirror)
        if path not in self._by_path and (same := await self.live.same_file(path)) is not None:
            return await self._refreshed(same)
        # From here to the entry in `_opening` nothing may wait, or two would load one file.
        while path in self._opening:
            await self._opening[path].wait()
        known = self._by_path.get(path)
        if known is not None and not known.is_gone:
            try:
                return await self._refreshed(known)
            except SessionNotFound:
                # What is there now, if anything, is told by reading it.
                return await self._open_path(path)
        if known is not None:
            self.forget(known)
        self._opening[path] = anyio.Event()
        try:
            if (leaving := self._leaving.get(path)) is not None:
                # It may still be writing; two at a time would each be the other's other program.
                await leaving.wait()
            loaded = await in_worker(lambda: self._load(path))
            opened = self.hold(loaded)
            self.live.greet(opened)
            return opened
        finally:
            self._opening.pop(path).set()

    async def bring_back(self) -> None:
        """Hold the sessions that a daemon which is no more held and had not saved."""
        for log in await in_worker(self._stores.jsonl.bring_back):
            try:
                loaded = await in_worker(partial(load, log))
            except SessionFileError as error:
                logger.error("an unsaved session could not be brought back: %s", error)
                log.close()
                continue
            if log.path is not None and log.path in self._by_path:
                # Its file was empty, and is open here as a new session.
                log.close()
                continue
            self.hold(loaded)
            logger.info("an unsaved session was brought back")

    async def import_copy(
        self,
        *,
        path: str | None,
        text: str | None,
        session_id: str | None,
        cwd: str | None,
        home_cwd: str,
        session_dir: str | None = None,
    ) -> Imported:
        """Copy a session file, or a session that came as text, among pi's own.

        Args:
            path: the source file, which is only read; or None with `text`.
            text: the lines themselves.
            session_id: the new id; None keeps the session's own, "" makes one.
            cwd: the folder it is to belong to; None keeps the session's own.
            home_cwd: the folder of one whose header names none.
            session_dir: the client's own session folder.

        Raises:
            SessionExists: a session has the id already.
            NotASession: the source is none.
            InvalidRequest: the id is not one that pi takes.
        """
        if session_id == "":
            session_id = self._new_session_id()
        source = Source(path, text, session_id, cwd)
        now = self._surroundings.now_iso()
        await self.bring_back()

        def copy() -> tuple[str, str]:
            made = read_copy(self._stores.jsonl, source)
            if made.session_id in self._by_handle or self._finder.has(made.session_id):
                raise SessionExists(made.session_id)
            folder = self._places.folder_for(made.cwd or home_cwd, session_dir).path
            written = write_copy(self._stores.jsonl, made, folder, now)
            self._list.note_made(written)
            return made.session_id, written

        with anyio.CancelScope(shield=True):
            new_id, new_path = await in_worker(copy)
        return Imported(new_id, new_path)

    async def delete(
        self, *, session: str | None, path: str | None, discard: bool, origin: Origin
    ) -> Deleted:
        """Move a session's file to the trash and let go of it; everyone who has it open is told.

        Raises:
            SessionNotFound, NotASession: nothing is there, or something else is.
            InvalidRequest: it is on no disk, and `discard` does not say that it may be lost.
            NotThrownAway: there is no trash for it; nothing has changed.
        """
        opened = await self.open(session=session, path=path)
        trashed = await opened.delete(discard=discard, origin=origin)
        self.forget(opened)
        return Deleted(opened.handle, opened.path, trashed)

    def _load(self, path: str) -> Loaded:
        log = self._stores.jsonl.open(path)
        header = make_header(
            self._new_session_id(), self._surroundings.now_iso(), os.path.dirname(path)
        )
        loaded = load_or_begin(log, header, self._surroundings.settings)
        return_to_noted_place(loaded, path, self._surroundings.place_notes)
        return loaded

    async def begin(self, new: NewSession) -> tuple[str, str | None, bool]:
        """A new session with these entries (a fork); see `Nursery`."""
        cwd = new.cwd or "/"
        memory = new.parent_session is None
        folder = os.path.dirname(new.folder) if new.folder else self._places.folder_for(cwd).path
        opened = await self._begin(
            new.lines,
            cwd=cwd,
            session_id=None,
            parent_session=new.parent_session,
            folder=folder,
            store="memory" if memory else "jsonl",
        )
        return opened.handle, opened.path, opened.is_unsaved

    async def _begin(
        self,
        lines: Sequence[bytes],
        *,
        cwd: str,
        session_id: str | None,
        parent_session: str | None,
        folder: str,
        store: Literal["jsonl", "memory"],
    ) -> OpenSession:
        session_id = session_id or self._new_session_id()
        timestamp = self._surroundings.now_iso()
        header = make_header(session_id, timestamp, cwd, parent_session)
        path = None if store == "memory" else os.path.join(folder, file_name(session_id, timestamp))

        def make() -> Loaded:
            chosen = self._stores.memory if path is None else self._stores.jsonl
            log = chosen.new(os.path.realpath(path) if path else None)
            fill(log, [encode_header(header), *lines], self._flush)
            return load(log, self._surroundings.settings)

        return self.hold(await in_worker(make))

    def hold(self, loaded: Loaded) -> OpenSession:
        """Hold a session that was just read or made."""
        session_id = loaded.session.id
        path = loaded.log.path
        handle = session_id if session_id not in self._by_handle else path or self._new_session_id()
        opened = OpenSession(handle, loaded, self._flush, self._surroundings)
        opened.nursery = self
        opened.on_file = self._sessions_changed
        self._by_handle[handle] = opened
        if path is not None:
            opened.rows.forks.listed = partial(self._list.forks_of, path)
            self._by_path[path] = opened
        self._tasks.start_soon(self._run, opened)
        self._sessions_changed()
        self.make_room(keep=opened)
        return opened

    async def _run(self, opened: OpenSession) -> None:
        """Run a session's queue; should a fault end it, clients are told to open it anew."""
        await survive("a session", opened.run)
        if self._by_handle.get(opened.handle) is opened and not opened.is_gone:
            opened.is_gone = True
            opened.news.reset("rewritten")
            self.forget(opened)

    def held_at(self, path: str) -> OpenSession | None:
        """The session that is held of the file at a real path."""
        found = self._by_path.get(path)
        return None if found is None or found.is_gone else found

    def on_path(self, opened: OpenSession) -> OpenSession | None:
        """Find a session by its file from now on; which was found there until then."""
        path = opened.path
        if path is None:
            return None
        before, self._by_path[path] = self._by_path.get(path), opened
        opened.rows.forks.listed = partial(self._list.forks_of, path)
        return before

    def make_room(self, keep: OpenSession | None = None) -> None:
        """Let idle sessions leave memory.

        Those not used for long go, and beyond the budget the others, least used first. Nothing is
        lost: they are read again when they are asked for.
        """
        now = self._surroundings.monotonic()
        idle = [s for s in self.open_sessions if s.is_idle and s is not keep]
        idle.sort(key=lambda s: s.last_used)
        excess = sum(s.weight for s in self.open_sessions) - self._budget
        for opened in idle:
            is_old = now - opened.last_used >= IDLE_SECONDS
            if excess <= 0 and len(self._by_handle) <= HELD_AT_MOST and not is_old:
                break
            excess -= opened.weight
            self.forget(opened)

    async def watch(self) -> None:
        """Notice what other programs do to the files of open sessions, until cancelled."""
        if self._watching is not None:
            await self._watching.run()

    async def keep_room(self) -> None:
        """Call `make_room` now and then, until cancelled."""
        while True:
            await anyio.sleep(ROOM_SECONDS)
            self.make_room()

    def forget(self, opened: OpenSession) -> None:
        """Let go of a session; its queue ends."""
        self._list.note_ours(opened)
        self._by_handle.pop(opened.handle, None)
        if opened.path is not None and self._by_path.get(opened.path) is opened:
            del self._by_path[opened.path]
        self._leaving = {path: end for path, end in self._leaving.items() if not end.is_set()}
        if opened.path is not None:
            self._leaving[opened.path] = opened.ended
        self._sessions_changed()
        opened.stop()

    def stop_operations(self) -> None:
        """End what takes long, for the daemon ends; everyone who waits is told so."""
        for opened in self.open_sessions:
            opened.operations.stop()

    async def aclose(self) -> None:
        """End every session's queue; what is being written is finished first."""
        for opened in self.open_sessions:
            await opened.places.keep()
            opened.stop()
        for opened in self.open_sessions:
            await opened.ended.wait()

    async def list(self, wanted: Wanted) -> ListPage:
        """A page of sessions, families of forks by their newest activity.

        Raises:
            InvalidRequest: the cursor is none that an answer gave.
        """
        await self.bring_back()
        return await self._list.page(wanted)

    async def search(self, wish: SearchWish) -> SearchPage:
        """A page of the entries in which words stand, on disk or not.

        Raises:
            InvalidRequest: the cursor is none that an answer gave, or nothing can be searched.
        """
        await self.bring_back()
        return await self._list.search(wish)

    def watch_list(self, subscriber: ListSubscriber) -> None:
        """Tell of changes of the list from now on."""
        self._list.watch(subscriber)

    def unwatch_list(self, subscriber: ListSubscriber) -> None:
        """Tell no more; not having told is no error."""
        self._list.unwatch(subscriber)

    def let_go(self) -> None:
        """Close what is kept about all sessions."""
        self._list.close()

    async def catalogue(self) -> None:
        """Read what files say in the background, until cancelled."""
        await self._list.run()


@asynccontextmanager
async def open_sessions(
    stores: Stores,
    places: Places,
    surroundings: Surroundings,
    new_session_id: NewSessionId,
    flush: FlushRule,
) -> AsyncIterator[Sessions]:
    """The sessions of a daemon; leaving the context ends every session's queue."""
    try:
        async with anyio.create_task_group() as tasks:
            sessions = Sessions(stores, places, surroundings, new_session_id, flush, tasks)
            await sessions.bring_back()
            tasks.start_soon(go_on, "making room", sessions.keep_room)
            tasks.start_soon(go_on, "watching files", sessions.watch)
            tasks.start_soon(go_on, "cataloguing", sessions.catalogue)
            yield sessions
            tasks.cancel_scope.cancel()
    finally:
        sessions.let_go()
