"""Compactions and summarised moves among everything else, in any order, against a plain list.

Operations wait for a summary that the machine lets come, fail or end; meanwhile clients and
another program append, edit, label and move. After each step the file, the leaf and what is told
are what a list of dictionaries says.
"""

import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.abc
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from pisessiond.core.errors import CannotShrink, NothingToCompact
from pisessiond.service.errors import Busy, InvalidRequest, LeafMoved, OperationCancelled
from pisessiond.service.open_session import OpenSession
from pisessiond.service.previews import DraftSummary
from pisessiond.service.types import Compacted, Navigated
from pisessiond.summarizers.base import SummaryFailed
from tests.support.loop import Loop
from tests.support.machines import run_machine
from tests.support.naive import naive_branch, naive_messages, naive_size
from tests.support.service import (
    ME,
    OTHER,
    Entry,
    Listener,
    answer,
    foreign,
    in_file,
    service,
    user,
)
from tests.support.summarizers import Desk, Gate, words

METADATA = ("label", "session_info", "custom")
BREAKS_A_CUT = ("compaction", "context_edit")


class _Pending:
    """An operation that has been begun, and what the list said then."""

    def __init__(self, kind: str, leaf: str, target: str | None = None) -> None:
        self.kind = kind
        self.leaf = leaf
        self.target = target
        self.outcome: Any = None
        self.over = anyio.Event()
        self.gate: Gate | None = None
        """Where its summary waits."""
        self.scope: anyio.CancelScope | None = None

    async def run(self, act: Callable[[], Awaitable[Any]]) -> None:
        with anyio.CancelScope() as self.scope:
            try:
                self.outcome = await act()
            except Exception as error:  # noqa: BLE001 - compared with what the list says
                self.outcome = error
        self.over.set()


@asynccontextmanager
async def _tasks() -> AsyncIterator[anyio.abc.TaskGroup]:
    async with anyio.create_task_group() as tasks:
        yield tasks
        tasks.cancel_scope.cancel()


class InterleavingMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.loop = Loop()
        self.desk = Desk()
        self.house = self.loop.enter(service(self.folder, "immediate", hand=self.desk.hand))
        self.tasks: anyio.abc.TaskGroup = self.loop.enter(_tasks())
        self.leaf: str | None = None
        self.pending: _Pending | None = None
        self.drafts: list[tuple[str, str]] = []
        """Names of drafts, and the leaf each was made at."""
        self.count = 0

    @initialize(turns=st.integers(1, 4))
    def start(self, turns: int) -> None:
        self.session: OpenSession = self.loop.run(self.house.create())
        self.listener = self.loop.run(self.hear())
        for _ in range(turns):
            self.append_a_turn(None)

    async def hear(self) -> Listener:
        # On the loop, as all who listen do: a size may become known at any moment.
        return Listener(self.session)

    def teardown(self) -> None:
        self.loop.close()
        shutil.rmtree(self.folder)

    # What goes on meanwhile ----------------------------------------------------------------

    @property
    def entries(self) -> list[Entry]:
        return in_file(self.session)

    def word(self) -> str:
        self.count += 1
        return f"word{self.count}"

    def run(self, act: Awaitable[Any]) -> Any:
        self.desk.hand.wind()
        return self.loop.run(act)

    @rule(data=st.data())
    def something_else(self, data: st.DataObject) -> None:
        acts: list[Callable[[st.DataObject], None]] = [self.append_a_turn] * 2
        if self.leaf is not None:
            acts += [self.label_and_name, self.another_program, self.edit, self.move]
        data.draw(st.sampled_from(acts))(data)

    def append_a_turn(self, data: st.DataObject | None) -> None:
        size = 150 if data is None else data.draw(st.sampled_from([3, 60, 150]))
        given = [user(words(self.word(), size)), answer(words(self.word(), size))]
        self.leaf = self.run(self.session.append(given, origin=OTHER)).leaf

    def label_and_name(self, data: st.DataObject) -> None:
        target = data.draw(st.sampled_from([one["id"] for one in self.entries]))
        self.run(self.session.label(target, "x", origin=OTHER))
        self.leaf = self.run(self.session.rename("x", origin=OTHER)).leaf

    def edit(self, data: st.DataObject) -> None:
        branch = naive_branch(self.entries, self.leaf)
        targets = [one["id"] for one in branch if one["type"] == "message"]
        if targets:
            target = data.draw(st.sampled_from(targets))
            self.leaf = self.run(self.session.edit_context(target, None, origin=OTHER)).leaf

    def another_program(self, data: st.DataObject) -> None:
        self.count += 1
        entry_id = f"f{self.count}"
        text = words(self.word(), data.draw(st.sampled_from([3, 60])))
        self.desk.hand.wind()
        time = self.desk.hand.now_iso()
        foreign(self.session, user(text, entry_id, self.leaf, timestamp=time))
        self.run(self.session.look())
        self.leaf = entry_id

    def move(self, data: st.DataObject) -> None:
        target = data.draw(st.sampled_from([one["id"] for one in self.entries]))
        if self.pending is not None:
            with pytest.raises(Busy, match="is busy: editor "):
                self.run(self.session.navigate(target, exact=True, origin=OTHER))
            return
        done = self.run(self.session.navigate(target, exact=True, origin=OTHER))
        self.leaf = target
        assert done.leaf == target

    # Operations ----------------------------------------------------------------------------

    def begin(self, pending: _Pending, act: Callable[[], Awaitable[Any]]) -> None:
        """Begin it, and see it wait for a summary or end at once."""

        async def start() -> None:
            gate = pending.gate = self.desk.writer.gate = Gate()
            self.tasks.start_soon(pending.run, act)
            async with anyio.create_task_group() as either:

                async def asked() -> None:
                    await gate.arrived()
                    either.cancel_scope.cancel()

                either.start_soon(asked)
                await pending.over.wait()
                either.cancel_scope.cancel()

        before = self.entries
        self.run(start())
        if not pending.over.is_set():
            assert self.pending is None
            self.pending = pending
        elif isinstance(pending.outcome, Busy):
            assert self.pending is not None
        else:
            self.ended_at_once(pending, before)

    def ended_at_once(self, pending: _Pending, before: list[Entry]) -> None:
        assert self.pending is None
        if isinstance(pending.outcome, Navigated):
            # Nothing was left behind that says anything.
            assert pending.kind == "move"
            assert pending.outcome.summary_entry is None
            self.leaf = pending.target
        else:
            assert isinstance(pending.outcome, NothingToCompact | CannotShrink)
        assert self.entries == before

    @precondition(lambda self: self.leaf)
    @rule(data=st.data(), kind=st.sampled_from(["compact", "draft", "move"]))
    def begin_one(self, data: st.DataObject, kind: str) -> None:
        session, leaf = self.session, self.leaf or ""
        if kind == "compact":
            self.begin(_Pending(kind, leaf), lambda: session.compact(origin=ME))
        elif kind == "draft":
            draft = partial(session.draft_compaction, instructions=None, summarizer=None)
            self.begin(_Pending(kind, leaf), lambda: draft(origin=ME))
        else:
            target = data.draw(st.sampled_from([one["id"] for one in self.entries]))
            move = partial(session.navigate, target, exact=True, summarize=True)
            self.begin(_Pending(kind, leaf, target), lambda: move(origin=ME))

    @precondition(lambda self: self.pending)
    @rule()
    def let_it_come(self) -> None:
        self.desk.writer.text = "short"
        self.settle(lambda: None)

    @precondition(lambda self: self.pending)
    @rule(how=st.sampled_from(["long", "fails", "cancelled", "request taken back"]))
    def let_it_go_wrong(self, how: str) -> None:
        pending = self.pending
        assert pending is not None
        self.desk.writer.text = words("long", 2_000)
        if how == "long":
            self.settle(lambda: None)
        elif how == "fails":
            self.desk.writer.fail()
            self.settle(lambda: None, fails=True)
            self.desk.writer.failures.clear()
        else:
            self.cancel(pending, by_request=how != "cancelled")

    def cancel(self, pending: _Pending, *, by_request: bool) -> None:
        def end() -> None:
            if by_request:
                assert pending.scope is not None
                pending.scope.cancel()
            else:
                assert self.session.operations.cancel(None, "script") is not None

        # At the last moment: what comes is there already.
        opens = len(self.entries) % 2 == 0
        self.settle(end, is_cancelled=True, opens=opens)

    def settle(
        self,
        then: Callable[[], None],
        *,
        fails: bool = False,
        is_cancelled: bool = False,
        opens: bool = True,
    ) -> None:
        """Let the pending operation end, and hold what it left to what the list says."""
        pending, before = self.pending, self.entries
        assert pending is not None
        holds = self.still_holds(pending, before)

        async def finish() -> None:
            assert pending.gate is not None
            if opens:
                pending.gate.open()
            then()
            with anyio.fail_after(3):
                await pending.over.wait()

        self.run(finish())
        self.pending = None
        assert self.session.operations.current is None
        outcome = pending.outcome
        if is_cancelled:
            assert outcome is None or isinstance(outcome, OperationCancelled)
            assert self.entries == before
        elif fails:
            assert isinstance(outcome, SummaryFailed)
            assert self.entries == before
        elif isinstance(outcome, CannotShrink):
            assert pending.kind == "compact"
            assert self.entries == before
        elif isinstance(outcome, DraftSummary):
            assert self.entries == before
            self.drafts.append((outcome.draft, pending.leaf))
        elif not holds:
            assert isinstance(outcome, LeafMoved)
            assert self.entries == before
        else:
            self.check_stored(pending, before)

    def still_holds(self, pending: _Pending, entries: list[Entry]) -> bool:
        since: list[Entry] = []
        for one in reversed(naive_branch(entries, self.leaf)):
            if one["id"] == pending.leaf:
                kinds = {one["type"] for one in since}
                if pending.kind == "move":
                    return kinds <= set(METADATA)
                return not kinds & set(BREAKS_A_CUT)
            since.append(one)
        return False

    def check_stored(self, pending: _Pending, before: list[Entry]) -> None:
        *rest, stored = self.entries
        assert rest == before
        outcome = pending.outcome
        if pending.kind == "move":
            assert isinstance(outcome, Navigated)
            assert (stored["type"], stored["id"]) == ("branch_summary", outcome.summary_entry)
            assert (stored["parentId"], stored["fromId"]) == (pending.target, self.leaf)
        else:
            assert isinstance(outcome, Compacted)
            assert (stored["type"], stored["id"]) == ("compaction", outcome.entry)
            assert stored["parentId"] == self.leaf
            kept = [one["id"] for one in naive_branch(before, pending.leaf)]
            assert stored["firstKeptEntryId"] in kept
            assert outcome.after == naive_size(naive_branch(self.entries, stored["id"]))[0]
        assert stored["fromHook"] is False
        self.leaf = stored["id"]

    @precondition(lambda self: self.drafts and not self.pending)
    @rule(data=st.data())
    def store_a_draft(self, data: st.DataObject) -> None:
        name, leaf = data.draw(st.sampled_from(self.drafts))
        pending = _Pending("compact", leaf)
        before = self.entries
        holds = self.still_holds(pending, before)
        is_kept = name in [known for known, _ in self.drafts[-4:]]
        store = self.session.compact(summary="edited", draft=name, origin=ME)
        if not (holds and is_kept):
            with pytest.raises(InvalidRequest):
                self.run(store)
            assert self.entries == before
            return
        pending.outcome = self.run(store)
        self.check_stored(pending, before)
        self.drafts.remove((name, leaf))

    # What must hold ------------------------------------------------------------------------

    @invariant()
    def everything_is_as_the_list_says(self) -> None:
        if hasattr(self, "session"):
            self.loop.run(self.check())

    async def check(self) -> None:
        session, entries = self.session, self.entries
        self.listener.settle()
        assert session.leaf == self.leaf == self.listener.leaf
        assert self.listener.rev == session.rev
        assert self.listener.resets == []
        assert list(session.session.index.ids) == [one["id"] for one in entries]
        context = await session.context(self.leaf, limit=None, cursor=None)
        assert list(context.messages) == naive_messages(naive_branch(entries, self.leaf))
        assert (session.operations.current is None) == (self.pending is None)
        assert self.desk.writer.at_work == 0 or self.pending is not None
        self.check_told()

    def check_told(self) -> None:
        """Each operation begins, goes on and ends once, one after another."""
        running: str | None = None
        for one in self.listener.progress:
            if one.state == "begin":
                assert running is None
                running = one.operation_id
            assert one.operation_id == running
            if one.state in ("done", "failed", "cancelled"):
                assert one.message
                running = None
        assert (running is None) == (self.pending is None)


def run(examples: int, steps: int) -> None:
    run_machine(InterleavingMachine, examples, steps)


def test_operations_among_everything_else() -> None:
    run(30, 30)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_operations_among_everything_else_for_long() -> None:
    run(200, 50)
