"""One session held in memory: what it answers, whoever hears of it, and what others write to it.

Questions (`reading.py`) run in workers and do not queue; they see the session as it was last
committed. What changes it on our side is `session_queue`'s business.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

import anyio
import anyio.abc
import anyio.lowlevel

from pisessiond.core.index import NONE, NeedsRebuild
from pisessiond.core.lines import EntryId
from pisessiond.core.problems import Problem
from pisessiond.core.session import BodyMismatch, Session
from pisessiond.service.announcing import Announcer
from pisessiond.service.context_sizes import make_size
from pisessiond.service.errors import FileChanged, SessionNotFound
from pisessiond.service.faults import survive
from pisessiond.service.following import foreign_entry, ids_of, take_in_line
from pisessiond.service.leaf_sizing import LeafSizing
from pisessiond.service.live.pi import LivePi
from pisessiond.service.live.session_live import SessionLive
from pisessiond.service.live.telling import foreign_changes
from pisessiond.service.loading import Loaded, load_again
from pisessiond.service.nodes import node_size
from pisessiond.service.operations import OperationSlot
from pisessiond.service.place_keeping import PlaceKeeper
from pisessiond.service.presence import Presence
from pisessiond.service.row_book import RowBook
from pisessiond.service.storing import Questions, in_worker
from pisessiond.service.subscribers import Subscriber
from pisessiond.service.surroundings import Surroundings
from pisessiond.service.types import EXTERNAL, Change, ContextSize, NodeSize, Origin, Snapshot
from pisessiond.service.write_trouble import WriteTrouble
from pisessiond.storage.base import (
    Claim,
    SessionLog,
    StoredLine,
)

T = TypeVar("T")

_ROW_BYTES = 400
"""What one entry costs in the index, ids and sizes included; measured on 100,000."""

_SLICE = 512
"""Entries sized in one go while the rest of the daemon waits for its turn; some 2 ms."""

QUESTIONS_AT_ONCE = 2
"""Questions to one session that are at work at once; more wait their turn."""

_PATIENCE_SECONDS = 0.05
"""So long sizing lets questions go first before it takes its next turn beside them."""


def _views(live: SessionLive) -> tuple[LivePi, ...]:
    return live.views


class HeldSession:
    """A session, its log, its announcer; changed by one at a time."""

    def __init__(self, handle: str, loaded: Loaded, surroundings: Surroundings) -> None:
        self.handle = handle
        self.surroundings = surroundings
        self.news = Announcer(
            handle, surroundings.next_epoch, surroundings.monotonic, surroundings.rings
        )
        self.live = SessionLive(self)
        self.presence = Presence(handle, self.news.subscribers, partial(_views, self.live))
        self.last_external: str | None = None
        self.is_gone = False
        self.on_file: Callable[[], None] = lambda: None
        """Called when the session's file has appeared or was read anew."""
        self.sizing = LeafSizing(self)
        self.rows = RowBook(self)
        self._adopt(loaded)
        self._sized = anyio.Event()
        self._workers = Questions(QUESTIONS_AT_ONCE)
        self._questions = 0
        """Questions at work in workers."""
        self._quiet = anyio.Event()
        self._client_moved = False
        self.leaf_conflict: tuple[EntryId | None, EntryId | None] | None = None
        """Ours and theirs, while another program went on elsewhere; None once someone moves."""
        self.has_unkept_place = False
        """Whether a client moved to where the file would not reopen."""
        self.places = PlaceKeeper(self)
        self.writing = WriteTrouble(self)
        self.claim: Claim | None = None
        """Held from the first write on."""
        self.last_used = surroundings.monotonic()
        self.operations = OperationSlot(handle, self.news, surroundings.monotonic)
        self.ended = anyio.Event()
        """Set when `run` is over."""
        self._tasks: anyio.abc.TaskGroup | None = None
        self._sizing_error: Exception | None = None
        self.changing = anyio.Lock()
        """Held by whoever changes the session or uses the log for more than reading lines."""

    async def claim_file(self) -> None:
        """Become the one process of ours that writes to the file.

        Raises:
            ReadOnly: another one is.
        """
        path = self.path
        if self.claim is None and path is not None:
            self.claim = await in_worker(lambda: self.surroundings.claims.claim(path))

    def close(self) -> None:
        """Give back what is held for a session that leaves memory."""
        self.log.close()
        if self.claim is not None:
            self.claim.release()
            self.claim = None

    def _adopt(self, loaded: Loaded) -> None:
        self.session: Session = loaded.session
        self.log: SessionLog = loaded.log
        self.sizing.adopt(loaded.session, loaded.early, loaded.settings)
        self.rows.reset()

    @property
    def path(self) -> str | None:
        """Its real path, the planned one while unsaved; None in memory only."""
        return self.log.path

    @property
    def epoch(self) -> str:
        return self.news.epoch

    @property
    def rev(self) -> int:
        return self.news.rev

    @property
    def subscribers(self) -> Collection[Subscriber]:
        """Who hears of its changes."""
        return self.news.subscribers

    @property
    def leaf(self) -> EntryId | None:
        return self.session.leaf_id

    @property
    def is_unsaved(self) -> bool:
        return not self.log.is_flushed

    @property
    def is_safe(self) -> bool:
        """Whether everything it holds outlives the daemon."""
        return self.log.is_safe or self.live.is_mirror

    @property
    def read_only(self) -> str | None:
        """Why nothing can be written; None when it can."""
        if self.session.is_newer:
            return "a newer pi wrote it; update pisessiond."
        if reason := self.live.read_only:
            return reason
        if not self.log.may_write:
            return "the system does not let us write to its file; look at its permissions."
        return self.log.refusal

    # Subscribing -------------------------------------------------------------------------------

    def subscribe(self, subscriber: Subscriber, since: tuple[str, int] | None = None) -> Snapshot:
        """Tell `subscriber` of every later change; the snapshot is of this very moment.

        Args:
            subscriber: who is told.
            since: the epoch and revision it knows; the snapshot then carries what it missed,
                where that is still kept.
        """
        self.news.subscribe(subscriber)
        self.presence.came(subscriber)
        return self.snapshot(since)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        self.news.unsubscribe(subscriber)
        self.presence.went(subscriber)
        self.rows.unlisten(subscriber)
        self.last_used = self.surroundings.monotonic()
        if not self.subscribers and self.has_unkept_place:
            self.start_soon(self.places.keep)

    def snapshot(self, since: tuple[str, int] | None = None) -> Snapshot:
        session, size = self.session, self.leaf_size()
        self.sizing.told = self.sizing.told or size
        missed = self.news.since(*since) if since is not None else None
        return Snapshot(
            session=self.handle,
            path=self.path,
            header=session.header,
            epoch=self.epoch,
            rev=self.rev,
            leaf=session.leaf_id,
            unsaved=self.is_unsaved,
            read_only=self.read_only,
            last_external=self.last_external,
            name=session.name,
            entry_count=session.index.count,
            context_size=size,
            problems=(*session.problems, *self.writing.problems),
            operation=self.operations.progress,
            skip_branch_prompt=self.sizing.settings.skip_branch_prompt,
            leaf_conflict=self.leaf_conflict,
            clients=self.presence.clients,
            pis=self.live.views,
            missed=tuple(missed) if missed is not None else None,
        )

    def leaf_size(self) -> ContextSize | None:
        """The context size at the leaf as far as it is known now."""
        return self.sizing.now()

    def leaf_node_size(self) -> NodeSize | None:
        """Its figure alone; may be asked for from any thread."""
        return node_size(self.session, self.session.leaf, may_read=False)

    def size_at(self, entry: EntryId | None) -> ContextSize | None:
        """The context size at an entry, if it is known at once."""
        row = self.session.index.find(entry) if entry is not None else None
        return (
            make_size(self.session, row) if row is not None and self.session.can_size(row) else None
        )

    def tell_fork(
        self, session: str, path: str | None, end: EntryId | None, origin: Origin
    ) -> None:
        """Tell everyone that a new session was begun from this one, with all down to an entry."""
        self.rows.forked(path or session, end)
        self.tell([Change("fork", origin, details={"session": session, "path": path})])

    def tell(self, changes: Sequence[Change], steps: int = 1) -> None:
        self.sizing.told = size = self.leaf_size()
        self.news.tell(changes, self.leaf, size, steps, self.rows.changes(changes, size))

    def start_soon(self, work: Callable[[], Coroutine[Any, Any, None]]) -> bool:
        """Do something beside the queue, until the session leaves memory; False when it has.

        A fault in it is logged, and the session goes on.
        """
        if self._tasks is None or self.ended.is_set():
            return False
        self._tasks.start_soon(survive, "what ran beside a session", work)
        return True

    @property
    def weight(self) -> int:
        """About what it takes in memory, in bytes."""
        return _ROW_BYTES * len(self.session.index) + self.news.kept_bytes

    @property
    def is_idle(self) -> bool:
        """Whether nobody hears of it, nothing waits and nothing runs; it may leave memory."""
        at_work = self._questions or self.operations.current or self.changing.locked()
        at_work = at_work or self.has_unkept_place or bool(self.live.pis)
        return not (self.subscribers or at_work or self.is_unsaved)

    # Other writers -----------------------------------------------------------------------------

    async def take_in_lines(self, lines: Sequence[StoredLine]) -> None:
        """Take in lines that another program wrote, and tell everyone."""
        if all(item.is_left for item in lines):
            self.writing.take_in_left(lines)
            return
        await self.live.expect(lines, ids_of)
        problems = len(self.session.problems)
        try:
            taken = [(self._take_in_line(item), item.line) for item in lines]
        except NeedsRebuild:
            self.last_external = self.surroundings.now_iso()
            await self._reload("rewritten", keep_leaf=self._client_moved)
            return
        self._tell_foreign(taken, problems)

    def _take_in_line(self, item: StoredLine) -> int | None:
        return take_in_line(self.session, item, client_moved=self._client_moved)

    def _tell_foreign(self, taken: Sequence[tuple[int | None, bytes]], problems: int) -> None:
        """Tell everyone of foreign lines taken in, and of problems beyond the first so many."""
        session = self.session
        self.last_external = self.surroundings.now_iso()
        new_problems: list[Problem] = session.problems[problems:]
        came = [(row, foreign_entry(line)) for row, line in taken if row is not None]
        if not came and not new_problems:
            return
        if (place := self.live.place()) is not None:
            session.leaf = place
        self.sizing.note(came)
        changes = foreign_changes(self, came)
        if new_problems:
            changes = changes or [Change("problem", EXTERNAL)]
            changes[0].details["problems"] = new_problems
        if came:
            self.has_unkept_place = False
            changes += self._conflict(max(row for row, _ in came))
        self.tell(changes, steps=max(len(came), 1))

    def _conflict(self, row: int) -> list[Change]:
        """What is to be told when a foreign entry, the newest, went on elsewhere than we stand."""
        session = self.session
        place = session.stands_at(row)
        if place is None or place == session.leaf or self.live.pis:
            return []
        if session.index.is_ancestor(place, session.leaf):
            return []
        ours, theirs = self.leaf, session.id_of(place)
        self.leaf_conflict = (ours, theirs)
        return [Change("leafConflict", EXTERNAL, details={"ours": ours, "theirs": theirs})]

    def place_changed(self, *, client_moved: bool) -> None:
        """Note where a client's act has left the session, and see to it that this is kept."""
        if client_moved:
            self._client_moved = True
            self.leaf_conflict = None
        lost = self.session.file_place() != self.session.leaf
        has_file = not self.is_unsaved and self.path is not None
        keeps = self.surroundings.persist != "memory" and has_file and not self.live.pis
        self.has_unkept_place = lost and keeps
        if self.has_unkept_place:
            self.places.moved()

    async def look(self) -> None:
        """Take in what other programs wrote since the file was last looked at."""
        has_unsaved = self.is_unsaved and self.session.index.count > 0
        if has_unsaved and not self.live.is_mirror:
            return
        async with self.changing:
            await self.take_in_news()

    @property
    def is_remembered(self) -> bool:
        """Whether a file that was only touched will be told from one that was rewritten."""
        return self.log.is_remembered

    async def remember(self) -> None:
        """See to `is_remembered`, once nothing else wants the file read."""
        goes_on = self.session.sizes.is_complete and not self.is_remembered
        while goes_on and not self.ended.is_set():
            async with self.changing:
                goes_on = not self.is_unsaved and await in_worker(self.log.remember)

    async def take_in_news(self) -> None:
        """The same for whoever holds `changing` already."""
        if self.live.is_mirror:
            lines, self.live.pending = self.live.pending, []
            if lines:
                await self.take_in_lines(lines)
            return
        try:
            foreign = await in_worker(self.log.look)
        except FileChanged:
            await self._reload("rewritten")
            return
        if foreign:
            await self.take_in_lines(foreign)

    def change_log(self, loaded: Loaded) -> None:
        """Go on with what was read from another log; for whoever holds `changing`."""
        self.log.close()
        self._begin_anew(loaded, "rewritten", keep_leaf=True)

    def has_entry(self, entry: EntryId) -> bool:
        """Whether an entry of that id was taken in."""
        return self.session.index.find(entry) is not None

    def keep_place_of_clients(self) -> None:
        """See to it that the place is kept to which a client moved a pi that has gone."""
        if self._client_moved:
            self.place_changed(client_moved=False)

    async def open_anew(self) -> None:
        """Read a session again that a failed sync has made read-only, so that it can be written."""
        async with self.changing:
            if self.log.refusal is not None:
                await self._reload("rewritten")

    async def catch_up(self) -> None:
        """Take in what other programs wrote, and send what was being joined: `session/sync`."""
        await self.look()
        self.news.flush()

    async def _reload(self, reason: str, *, keep_leaf: bool = False) -> None:
        """Read the session anew and begin a new epoch, at the file's leaf or at ours.

        Raises:
            FileChanged: it is no session any more, or gone.
        """
        log = self.log
        try:
            loaded = await in_worker(lambda: load_again(log, self.surroundings.settings))
        except Exception as error:
            self.is_gone = True
            self.news.reset("gone")
            raise FileChanged("it is gone or no session any more") from error
        self._begin_anew(loaded, reason, keep_leaf=keep_leaf)

    def _begin_anew(self, loaded: Loaded, reason: str, *, keep_leaf: bool) -> None:
        leaf = self.leaf
        self._adopt(loaded)
        if keep_leaf:
            self._keep_leaf(leaf)
        else:
            self._client_moved = False
            self.leaf_conflict = None
        self.has_unkept_place = False
        self._sized.set()
        self._sized = anyio.Event()
        self.start_soon(self._size_all)
        self.on_file()
        self.news.reset(reason)

    def _keep_leaf(self, leaf: EntryId | None) -> None:
        row = self.session.index.find(leaf) if leaf is not None else NONE
        if row is not None and row != self.session.leaf:
            self.session.leaf = row
            self.sizing.forget_early()

    # Sizing ------------------------------------------------------------------------------------

    async def _size_all(self) -> None:
        """Size every entry, slice by slice, leaving the loop free in between."""
        session = self.session
        try:
            await self._measure(session)
        except Exception as error:  # noqa: BLE001 - told to whoever asks for a size
            if self.session is session:
                self._sizing_error = error
                self._sized.set()
            return
        if self.session is session:
            self._sized.set()
            if session.index.count:
                await self.sizing.fill()
            if session.index.count and self.session is session:
                self.tell([], steps=0)

    async def _measure(self, session: Session) -> None:
        while self.session is session and not session.sizes.is_complete:
            await self._let_questions_pass()
            start = session.sizes.known
            sized = await in_worker(partial(session.measure_next, _SLICE))
            if session.sizes.known == start:
                session.sizes.extend(sized)
            await anyio.lowlevel.checkpoint()

    async def _let_questions_pass(self) -> None:
        """Wait, for a while, until no question is at work: workers share one interpreter."""
        if self._questions:
            self._quiet = anyio.Event()
            with anyio.move_on_after(_PATIENCE_SECONDS):
                await self._quiet.wait()

    async def sized(self) -> Session:
        """The session, once every entry of it has been sized."""
        while not self.session.sizes.is_complete:
            await self._sized.wait()
            if self.ended.is_set() or self._tasks is None:
                raise SessionNotFound(self.handle)
            if self._sizing_error is not None:
                error, self._sizing_error = self._sizing_error, None
                self._sized = anyio.Event()
                self.start_soon(self._size_all)
                raise error
        return self.session

    async def ask(self, question: Callable[[Session], T]) -> T:
        """Answer a question that reads bodies, in a worker; once more if the file had changed."""
        self._questions += 1
        try:
            return await self._workers.ask(lambda: question(self.session))
        except BodyMismatch:
            session = self.session
            async with self.changing:
                if self.session is session:
                    await self._reload("rewritten")
            return await self._workers.ask(lambda: question(self.session))
        finally:
            self._questions -= 1
            if not self._questions:
                self._quiet.set()
