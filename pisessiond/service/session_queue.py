"""The queue of one open session: its single writer.

Every change goes through one queue. The path of a commit:

1. staged on the event loop: the act is decided on a `Draft`, against the session as it will be;
2. written and synced in a worker, the loop being free meanwhile; acts that wait share one sync;
3. committed on the loop in one step: index, leaf, `rev`, the answer, and what subscribers are told.

If another program wrote first, its lines are taken in and the acts are decided anew. Questions
(`reading.py`) do not queue; they see the session as it was last committed.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio
import anyio.abc
import anyio.lowlevel
from msgspec import UNSET, UnsetType

from pisessiond.core import kinds
from pisessiond.core.changes import Draft, NewEntry
from pisessiond.core.flush import FlushRule, calls_for_flush
from pisessiond.core.index import NeedsRebuild
from pisessiond.core.lines import EntryId
from pisessiond.core.session import BodyMismatch
from pisessiond.service.errors import (
    Degraded,
    FileChanged,
    LeafMoved,
    PiBusy,
    ReadOnly,
    SessionNotFound,
)
from pisessiond.service.faults import go_on
from pisessiond.service.following import about_others
from pisessiond.service.held_session import HeldSession
from pisessiond.service.leaf_sizing import keep_telling
from pisessiond.service.live.routing import Asked, LostPi, write_through
from pisessiond.service.live.session_live import NowOwned
from pisessiond.service.loading import Loaded, migrated_lines
from pisessiond.service.nodes import make_node
from pisessiond.service.storing import in_worker
from pisessiond.service.surroundings import Surroundings
from pisessiond.service.types import AnyOrigin, Change, ChangeKind, Node
from pisessiond.storage.base import StoredLine

_BATCH = 256
"""Acts that share one write at most."""

_BUSY_AT_MOST = 20
"""So often an act that may wait comes to a pi that is at work again."""


@dataclass(slots=True)
class Plan:
    """What an act decided: told to subscribers once its entries are stored."""

    kind: ChangeKind
    value: Any = None
    """What the act answers with, besides rev and leaf."""
    details: dict[str, Any] = field(default_factory=dict)
    target: EntryId | None = None
    """Of a move: the entry that was asked for, which may be a message one stands before."""


@dataclass(slots=True)
class Act:
    """A change that waits for its turn."""

    decide: Callable[[Draft], Plan]
    origin: AnyOrigin
    base_leaf: EntryId | UnsetType | None
    done: anyio.Event = field(default_factory=anyio.Event)
    started: bool = False
    abandoned: bool = False
    plan: Plan | None = None
    entries: tuple[NewEntry, ...] = ()
    leaf: EntryId | None = None
    rev: int = 0
    error: Exception | None = None
    asked: Asked | None = None
    """What a running pi was asked for it."""

    def fail(self, error: Exception) -> None:
        self.error = error
        self.done.set()


def _is_move(act: Act, plan: Plan) -> bool:
    """Whether a client put the leaf somewhere, rather than going on from where it was."""
    if any(new.head.kind == kinds.LEAF for new in act.entries):
        return True
    return plan.kind == "navigate" and plan.details["from"] != plan.details["to"]


def _with_ids(kind: ChangeKind, value: Any, real: Mapping[EntryId, EntryId]) -> Any:
    """What an act answers with, the ids of its draft replaced by those that were given."""
    match kind:
        case "append":
            return [real.get(entry_id, entry_id) for entry_id in value]
        case "compact":
            return real.get(value, value)
        case "navigate":
            text, added = value
            return text, real.get(added, added)
        case _:
            return value


class SessionQueue(HeldSession):
    """One session's single writer."""

    def __init__(
        self, handle: str, loaded: Loaded, flush: FlushRule, surroundings: Surroundings
    ) -> None:
        super().__init__(handle, loaded, surroundings)
        self.flush = flush
        self._acts: deque[Act] = deque()
        self._wake = anyio.Event()

    @property
    def is_idle(self) -> bool:
        return super().is_idle and not self._acts

    async def run(self) -> None:
        """Work through the queue until stopped; the owner runs this as a task."""
        try:
            async with anyio.create_task_group() as tasks:
                self._tasks = tasks
                tasks.start_soon(go_on, "joining changes", self.news.run)
                tasks.start_soon(go_on, "telling who is there", self.presence.run)
                tasks.start_soon(go_on, "keeping the place", self.places.run)
                telling = partial(keep_telling, self.sizing.bell, weakref.ref(self.sizing))
                tasks.start_soon(go_on, "telling sizes", telling)
                self.start_soon(self._size_all)
                while True:
                    if not self._acts:
                        self._wake = anyio.Event()
                        await self._wake.wait()
                    await self.live.settled()
                    await self._work()
        finally:
            self.ended.set()
            self._sized.set()
            self.news.close()
            self.close()
            while self._acts:
                self._acts.popleft().fail(SessionNotFound(self.handle))

    def stop(self) -> None:
        """End `run`; what is being written is finished first."""
        if self._tasks is not None:
            self._tasks.cancel_scope.cancel()

    async def _work(self) -> None:
        batch: list[Act] = []
        at_most = 1 if self.live.pis else _BATCH
        while self._acts and len(batch) < at_most:
            act = self._acts.popleft()
            if not act.abandoned:
                act.started = True
                batch.append(act)
        with anyio.CancelScope(shield=True):
            try:
                async with self.changing:
                    self.live.insist_settled()
                    if self.live.pis or any(act.asked is not None for act in batch):
                        await self._write_through(batch)
                    else:
                        await self.claim_file()
                        await self._commit_or_tell(batch)
            except (NowOwned, LostPi):
                self._put_back([act for act in batch if act.started and not act.done.is_set()])
            except Exception as error:  # noqa: BLE001 - whatever it is, the queue goes on
                for act in batch:
                    if act.started and not act.done.is_set():
                        act.fail(error)

    async def _write_through(self, batch: list[Act]) -> None:
        """Have the pi that has the session open make the first act; the others go back."""
        self._put_back(batch[1:])
        for act in batch[:1]:
            await write_through(self, act)

    def decide_alone(self, act: Act) -> bool:
        """Decide an act that is stored elsewhere; False when it was refused, and has failed."""
        draft = Draft(self.session, self.surroundings.new_id, self.surroundings.now_iso())
        return bool(self._decide([act], draft))

    def finish_elsewhere(self, act: Act, ids: Sequence[EntryId]) -> None:
        """An act was stored by a pi, and its entries are taken in: see that it is told, answer it.

        Args:
            act: what was decided here.
            ids: those that pi gave its entries, in order.
        """
        plan = act.plan
        assert plan is not None
        real = dict(zip((new.head.id for new in act.entries), ids, strict=False))
        plan.value = _with_ids(plan.kind, plan.value, real)
        place = self.live.place()
        if place is not None and place != self.session.leaf:
            self.rows.left(self.session.leaf)
            self.session.leaf = place
            self.tell([Change(plan.kind, act.origin, details=plan.details)])
        self._client_moved = self._client_moved or _is_move(act, plan)
        act.leaf, act.rev = self.leaf, self.rev
        act.done.set()
        self.stored(act)

    def check_writable(self) -> None:
        """Raises: SessionNotFound, ReadOnly: nothing can be written."""
        if self.is_gone or self.ended.is_set():
            raise SessionNotFound(self.handle)
        if reason := self.read_only:
            owner = self.live.owner
            raise ReadOnly(reason, None if owner is None else f"pi {owner.pid}")

    async def claim_to_write(self, origin: AnyOrigin) -> None:
        """Make sure that what is about to be made for this session can be written then.

        Raises:
            SessionNotFound, ReadOnly: it cannot.
            PiBusy, AmbiguousOwner, SessionChanged: nor through the pi that has it open.
        """
        self.check_writable()
        await self.live.ready(origin)
        async with self.changing:
            if not self.live.pis:
                await self.claim_file()

    async def act(
        self,
        decide: Callable[[Draft], Plan],
        origin: AnyOrigin,
        base_leaf: EntryId | UnsetType | None = UNSET,
        *,
        is_paid: bool = False,
    ) -> Act:
        """Queue a change and wait until it is stored and told.

        One that was paid for already waits until the pi that has the session open is idle, instead
        of being refused.

        Cancelling takes the act out as long as it has not been started; afterwards it runs to
        its end and its result is returned.

        Raises:
            LeafMoved: the leaf is not `base_leaf`.
            RequestError: the act was refused by the rules.
            ServiceError: it could not be written, or the pi that has the session open refused.
        """
        for _ in range(_BUSY_AT_MOST):
            try:
                return await self._act(Act(decide, origin, base_leaf))
            except PiBusy as error:
                await self.live.wait_idle(origin, error, is_paid=is_paid)
        return await self._act(Act(decide, origin, base_leaf))

    async def _act(self, act: Act) -> Act:
        self.check_writable()
        self._acts.append(act)
        self._wake.set()
        try:
            await act.done.wait()
        except anyio.get_cancelled_exc_class():
            if not act.started:
                act.abandoned = True
                raise
            with anyio.CancelScope(shield=True):
                await act.done.wait()
        if act.error is not None:
            raise act.error
        return act

    async def _commit_or_tell(self, batch: list[Act]) -> None:
        try:
            await self._commit(batch)
        except Degraded as error:
            await self.writing.failed(error, batch[-1].origin)
            raise

    async def _commit(self, batch: list[Act], tries: int = 3) -> None:
        draft = Draft(self.session, self.surroundings.new_id, self.surroundings.now_iso())
        accepted = self._decide(batch, draft)
        if not accepted:
            return
        lines = [new.line for new in draft.entries]
        try:
            await self._warm(accepted, draft)
            if not lines:
                self._finish(accepted)
                return
            self.live.insist_ours()
            if self.session.needs_migration:
                await self._migrate()
                foreign: bool = True
            else:
                foreign = not await self._store(accepted, draft, lines)
        except (FileChanged, BodyMismatch):
            if tries <= 0:
                raise
            await self._reload("rewritten")
            foreign = True
        if foreign:
            await self._commit(accepted, tries - 1)

    async def _warm(self, accepted: Sequence[Act], draft: Draft) -> None:
        """Read, in a worker, what the sizes at the new leaf will need: edits and their targets."""
        session = self.session
        index = session.index
        new_edits = [new.head for new in draft.entries if new.head.kind == kinds.CONTEXT_EDIT]
        wanted = {row for head in new_edits if (row := index.find(head.note)) is not None}
        for head in new_edits:
            above = index.find(head.parent_id)
            if above is not None:
                wanted.update(*session.sizes.edits_at(above).items())
        leaf = index.find(accepted[-1].leaf)
        if wanted:
            rows = sorted(wanted)
            bodies = await in_worker(lambda: session.entries(rows))
            session.keep(zip(rows, bodies, strict=True))
        if leaf is not None and session.sizes.is_complete and not session.can_size(leaf):
            await in_worker(lambda: session.size_at(leaf))
        await self.sizing.prepare(draft, [act.leaf for act in accepted])

    def _decide(self, batch: Sequence[Act], draft: Draft) -> list[Act]:
        """Those acts that the rules take, decided on the draft; the others are refused.

        What is refused behind an accepted act is perhaps refused because of it, and that is not
        stored yet: it goes back into the queue with all behind it, and is decided anew.
        """
        accepted: list[Act] = []
        for at, act in enumerate(batch):
            mark = draft.mark()
            count = len(draft.entries)
            try:
                base = act.base_leaf
                if base is not UNSET and not draft.is_leaf_since(base):
                    raise LeafMoved(draft.leaf, self.rev)
                act.plan = act.decide(draft)
            except Exception as error:  # noqa: BLE001 - a fault in one act is not the others'
                draft.undo(mark)
                if accepted:
                    self._put_back(batch[at:])
                    break
                act.fail(error)
                continue
            act.entries = tuple(draft.entries[count:])
            act.leaf = draft.leaf
            accepted.append(act)
        return accepted

    def _put_back(self, acts: Sequence[Act]) -> None:
        for act in acts:
            act.started = False
        self._acts.extendleft(reversed(acts))

    async def _store(self, accepted: list[Act], draft: Draft, lines: list[bytes]) -> bool:
        """Store drafted lines and commit them; False when foreign lines came first."""
        log = self.log
        was_unsaved = self.is_unsaved
        if was_unsaved and not calls_for_flush(self.flush, [n.head.kind for n in draft.entries]):
            places = await in_worker(lambda: log.hold(lines))
            stored = [
                StoredLine(line, place, is_ours=True)
                for line, place in zip(lines, places, strict=True)
            ]
        else:
            outcome = await in_worker(lambda: log.append(lines))
            if not outcome.written:
                await self.take_in_lines(outcome.lines)
                return False
            stored = outcome.lines
            if outcome.ended is not None:
                self.writing.line_ended(outcome.ended)
        await self._take_in(accepted, draft, stored)
        if not self.is_unsaved:
            self.writing.works(accepted[-1].origin)
        if was_unsaved and not self.is_unsaved:
            self.on_file()
            self.tell([Change("save", accepted[-1].origin, details={"path": self.path})])
        return True

    async def _take_in(self, accepted: list[Act], draft: Draft, stored: list[StoredLine]) -> None:
        """Commit what is stored now: our lines, and any that came between, in file order."""
        ours = iter(draft.entries)
        foreign: list[tuple[int | None, bytes]] = []
        problems = len(self.session.problems)
        try:
            for item in stored:
                if item.is_ours:
                    new = next(ours)
                    self.session.take_in(new.head, new.line, item.locator[0])
                else:
                    foreign.append((self._take_in_line(item), item.line))
        except NeedsRebuild:
            # All of it is stored, so that it must not be decided anew, only read anew.
            await self._reload("rewritten")
            foreign = []
        if foreign:
            self._tell_foreign(foreign, problems)
        self._finish(accepted)

    def _finish(self, accepted: list[Act]) -> None:
        for act in accepted:
            plan = act.plan
            assert plan is not None
            moved = self.session.leaf_id != act.leaf
            if moved and _is_move(act, plan):
                self.rows.left(self.session.leaf)
            self.session.leaf = self.session.row_of(act.leaf)
            came = [(self.session.row_of(new.head.id), new.entry) for new in act.entries]
            self.sizing.note(came)
            self.rows.note(came, act.origin)
            self.place_changed(client_moved=_is_move(act, plan))
            if act.entries or moved:
                change = Change(plan.kind, act.origin, self._nodes(act), plan.details)
                others = self._about_others(act) if plan.kind in ("append", "navigate") else []
                self.tell([change, *others], steps=max(len(act.entries), 1))
            act.rev = self.rev
            act.done.set()
            self.stored(act)

    def stored(self, act: Act) -> None:
        """An act was stored and told; for whoever goes on from there."""

    def _about_others(self, act: Act) -> list[Change]:
        session = self.session
        rows = [session.row_of(new.head.id) for new in act.entries]
        return about_others(session, rows, act.origin)

    def _nodes(self, act: Act) -> tuple[Node, ...]:
        session = self.session
        return tuple(
            make_node(session, session.row_of(new.head.id), new.entry) for new in act.entries
        )

    async def _migrate(self) -> None:
        """Write an old file in the current format, as the write that a client asked for."""
        session, log = self.session, self.log

        def rewrite() -> None:
            if log.look():
                raise FileChanged("another program wrote to it")
            log.rewrite(migrated_lines(session, log))

        await in_worker(rewrite)
        await self._reload("rewritten", keep_leaf=True)
