"""What takes long: told to everyone, ended by whoever wants it ended, at any moment."""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from pisessiond.service.errors import Busy, DaemonStopped, OperationCancelled
from pisessiond.service.open_session import OpenSession
from pisessiond.service.subscribers import Absent
from pisessiond.service.types import Compacted, Progress
from pisessiond.summarizers.base import SummaryFailed
from tests.support.service import ME, OTHER, House, Listener, in_file, user
from tests.support.summarizers import TALK, USAGE, Desk, Gate, Running, Voice

pytestmark = pytest.mark.anyio


@pytest.fixture
async def talk(office: House) -> OpenSession:
    return await office.opened(*TALK)


def states(heard: list[Progress]) -> list[str]:
    """How operations went, without what came in between."""
    return [one.state for one in heard if one.state != "report"]


# Progress


async def test_everyone_hears_how_it_goes(talk: OpenSession, desk: Desk) -> None:
    desk.folder.keep(150)
    first, second = Listener(talk), Listener(talk)
    reported: list[Progress] = []
    await talk.compact(origin=ME, report=reported.append)
    assert first.progress == second.progress == reported
    begin, chosen, done = reported
    assert (begin.state, begin.summarizer, begin.origin) == ("begin", None, ME)
    assert (chosen.state, chosen.summarizer) == ("report", "scripted")
    assert (done.state, done.received) == ("done", 5)
    assert done.message is not None
    assert done.message.startswith("The context went from")
    assert {(one.operation, one.reason, one.session) for one in reported} == {
        ("compact", "manual", talk.handle)
    }
    assert len({one.operation_id for one in reported}) == 1
    # Whoever hears that it is done has heard what it did.
    assert first.heard[-1].kind == "compact"


async def test_what_comes_is_told_ten_times_a_second_at_most(talk: OpenSession, desk: Desk) -> None:
    desk.folder.keep(150)
    listener = Listener(talk)

    class Counting(list[int]):
        def __iter__(self) -> Generator[int]:
            for count in range(1, 201):
                desk.seconds += 0.01
                yield count

    desk.writer.arrivals = Counting()
    await talk.compact(origin=ME)
    reports = [one.received for one in listener.progress if one.state == "report"][1:]
    assert 15 <= len(reports) <= 20
    assert reports == sorted(reports)
    assert listener.progress[-1].received == 200


async def test_two_texts_are_counted_together(talk: OpenSession) -> None:
    listener = Listener(talk)
    await talk.compact(origin=ME)
    assert listener.progress[-1].received == 10


async def test_who_comes_later_is_told_what_runs(talk: OpenSession, desk: Desk) -> None:
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: talk.compact(origin=ME))
        await running.asked()
        late = Listener(talk)
        now = talk.snapshot().operation
        assert now is not None
        assert (now.operation, now.summarizer, now.received) == ("compact", "scripted", 10)
        await running.finish()
        assert [one.operation_id for one in late.progress] == [now.operation_id]
    assert talk.snapshot().operation is None


async def test_a_failure_is_told_in_a_sentence(talk: OpenSession, desk: Desk) -> None:
    listener = Listener(talk)
    desk.writer.fail()
    with pytest.raises(SummaryFailed):
        await talk.compact(origin=ME)
    desk.writer.failures.append(ZeroDivisionError("content of the session"))
    with pytest.raises(ZeroDivisionError):
        await talk.compact(origin=ME)
    ends = [one for one in listener.progress if one.state == "failed"]
    assert [one.message for one in ends] == [
        "The model is overloaded; try again later.",
        "A fault of the daemon; its log says more.",
    ]


# Cancel


async def test_anyone_may_end_it_and_everyone_hears_who(talk: OpenSession, desk: Desk) -> None:
    before = in_file(talk)
    listener = Listener(talk)
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: talk.compact(origin=ME))
        await running.asked()
        assert await talk.cancel_operation("another", by="script") is None
        tasks.start_soon(partial(talk.cancel_operation, None, by="script"))
        ended = await talk.cancel_operation(None, by="somebody else")
        # It is over, and something else can be begun.
        assert (talk.operations.current, desk.writer.at_work) == (None, 0)
        assert ended is not None
        assert ended.operation_id == listener.progress[-1].operation_id
        error = await running.over()
    assert isinstance(error, OperationCancelled)
    assert (error.operation, error.by) == ("compaction", "somebody else")
    assert listener.progress[-1].message == "Cancelled by somebody else; nothing was written."
    assert in_file(talk) == before
    assert await talk.cancel_operation(None, by="script") is None


@pytest.mark.parametrize("how", ["alone", "with its request", "after somebody's cancel"])
async def test_a_daemon_that_ends_says_that_it_was_that(
    office: House, talk: OpenSession, desk: Desk, how: str
) -> None:
    before = in_file(talk)
    listener = Listener(talk)
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: talk.compact(origin=ME))
        await running.asked()
        if how == "after somebody's cancel":
            talk.operations.cancel(None, "script")
        office.sessions.stop_operations()
        if how == "with its request":
            running.scope.cancel()
        error = await running.over()
    stopped = "The daemon was stopped; nothing was written."
    if how == "alone":
        assert isinstance(error, DaemonStopped)
        assert (str(error), error.operation, error.by) == (stopped, "compaction", None)
    told = stopped if "somebody" not in how else "Cancelled by script; nothing was written."
    assert (listener.progress[-1].state, listener.progress[-1].message) == ("cancelled", told)
    assert in_file(talk) == before


async def test_a_request_that_is_taken_back_ends_it(talk: OpenSession, desk: Desk) -> None:
    listener = Listener(talk)
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: talk.compact(origin=ME))
        await running.asked()
        running.scope.cancel()
        await running.over()
        assert talk.operations.current is None
        assert listener.progress[-1].message == "Cancelled by editor; nothing was written."
    assert desk.writer.at_work == 0


async def test_what_cannot_be_ended_is_not(talk: OpenSession) -> None:
    with talk.operations.hold("delete", ME, is_told=False):
        assert await talk.cancel_operation(None, by="script") is None
        with pytest.raises(Busy):
            await talk.compact(origin=OTHER)
    assert talk.snapshot().operation is None


class Stepwise:
    """Awaits something and does something else where it has to wait for the `at`th time."""

    def __init__(self, act: Awaitable[Any], at: int, then: Callable[[], object]) -> None:
        self._act = act
        self._left = at
        self._then = then

    @property
    def has_come(self) -> bool:
        """Whether it waited so often."""
        return self._left <= 0

    def __await__(self) -> Generator[Any, Any, Any]:
        inner = self._act.__await__()
        give: Callable[[], Any] = lambda: inner.send(None)  # noqa: E731 - replaced below
        while True:
            try:
                waited_for = give()
            except StopIteration as end:
                return end.value
            self._left -= 1
            if self._left == 0:
                self._then()
            try:
                yield waited_for
            except BaseException as error:  # noqa: BLE001 - handed on, whatever it is
                thrown = error
                give = lambda thrown=thrown: inner.throw(thrown)  # type: ignore[misc]  # noqa: E731
            else:
                give = lambda: inner.send(None)  # noqa: E731


Act = Callable[[OpenSession], Awaitable[Any]]

ACTS: dict[str, Act] = {
    "compaction": lambda session: session.compact(origin=ME),
    "given": lambda session: session.compact(summary="by hand", origin=ME),
    "draft": lambda session: session.draft_compaction(
        instructions=None, summarizer=None, origin=ME
    ),
    "move": lambda session: session.navigate("a1", origin=ME),
    "summarised move": lambda session: session.navigate("a1", summarize=True, origin=ME),
}


@pytest.mark.parametrize("how", ["by another", "request"])
@pytest.mark.parametrize("what", ACTS)
async def test_it_can_be_ended_wherever_it_waits(
    office: House, desk: Desk, what: str, how: str
) -> None:
    ended = done = 0
    for at in range(1, 200):
        session = await office.opened(*TALK, name=f"s{at}")
        listener = Listener(session)
        voice, _ = (Voice(session, name, willCompact={}, willNavigate={}) for name in "vw")
        await session.context_size()
        before, rev, others = in_file(session), session.rev, set(asyncio.all_tasks())
        request = anyio.CancelScope()
        end = partial(session.operations.cancel, None, "script")
        stepwise = Stepwise(ACTS[what](session), at, request.cancel if how == "request" else end)
        outcome: Any = None
        with request:
            try:
                outcome = await stepwise
            except OperationCancelled as error:
                outcome = error
        assert session.operations.current is None
        assert desk.writer.at_work == 0
        # The window at a new leaf is looked up beside everything else, and ends by itself.
        await anyio.wait_all_tasks_blocked()
        assert asyncio.all_tasks() - others == set()
        last = listener.progress[-1:]
        if outcome is None or isinstance(outcome, OperationCancelled):
            ended += 1
            assert (in_file(session), session.rev, session.leaf) == (before, rev, "a2")
            assert states(last) in (["cancelled"], [])
        else:
            done += 1
            assert states(last) == ["done"]
        assert states(listener.progress) in ([], ["begin", "cancelled"], ["begin", "done"])
        assert voice.progress == listener.progress
        await works_still(session)
        if not stepwise.has_come:
            break
    else:
        pytest.fail("it never ended")
    assert ended >= 3
    assert done >= 1


@pytest.mark.parametrize(
    ("what", "at"),
    [
        # Two texts are written side by side, with three steps each.
        *(("compaction", at) for at in range(1, 7)),
        *(("draft", at) for at in range(1, 7)),
        *(("summarised move", at) for at in range(1, 4)),
    ],
)
async def test_it_can_be_ended_wherever_a_text_is_written(
    talk: OpenSession, desk: Desk, what: str, at: int
) -> None:
    before, steps = in_file(talk), 0
    listener = Listener(talk)

    def step() -> None:
        nonlocal steps
        steps += 1
        if steps == at:
            talk.operations.cancel(None, "script")

    desk.writer.on_step = step
    with pytest.raises(OperationCancelled):
        await ACTS[what](talk)
    assert (in_file(talk), talk.leaf, desk.writer.at_work) == (before, "a2", 0)
    assert states(listener.progress) == ["begin", "cancelled"]
    await works_still(talk)


@pytest.mark.parametrize("state", ["begin", "report", "done"])
async def test_who_ends_it_on_hearing_of_it_ends_it(talk: OpenSession, state: str) -> None:
    class Quick(Listener):
        def session_progress(self, progress: Progress) -> None:
            super().session_progress(progress)
            if progress.state == state:
                self.session.operations.cancel(None, "quick")

    quick = Quick(talk)
    before = in_file(talk)
    if state == "done":
        await talk.compact(origin=ME)
        assert states(quick.progress) == ["begin", "done"]
        return
    with pytest.raises(OperationCancelled):
        await talk.compact(origin=ME)
    assert states(quick.progress) == ["begin", "cancelled"]
    assert (in_file(talk), talk.operations.current) == (before, None)


async def works_still(session: OpenSession) -> None:
    """Everything can be done that could be done before."""
    await session.append([user("on")], origin=OTHER)
    leaf = session.leaf
    await session.navigate("a2", origin=OTHER)
    done = await session.compact(origin=OTHER)
    assert in_file(session)[-1]["id"] == done.entry
    assert (await session.navigate(leaf, exact=True, origin=OTHER)).leaf == leaf


async def test_what_is_being_written_is_answered(talk: OpenSession, desk: Desk) -> None:
    listener = Listener(talk)
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: talk.compact(origin=ME))
        await running.asked()
        # The entry is handed to the queue, which waits for its turn to write.
        async with talk.changing:
            running.let_through()
            await some_time()
            running.scope.cancel()
            assert talk.operations.cancel(None, "script") is not None
            await some_time()
            assert talk.operations.current is not None
        outcome = await running.over()
    assert isinstance(outcome, Compacted)
    assert states(listener.progress) == ["begin", "done"]
    assert in_file(talk)[-1]["id"] == outcome.entry


async def some_time() -> None:
    """Let everything go on that does not wait for anything."""
    for _ in range(50):
        await anyio.lowlevel.checkpoint()


# What clients say


async def test_clients_hear_of_a_compaction_before_it_is_written(
    talk: OpenSession, desk: Desk
) -> None:
    voice = Voice(talk, willCompact={})
    before = in_file(talk)
    desk.writer.gate = Gate()
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: talk.compact(origin=ME))
        await voice.was_asked.wait()
        assert in_file(talk) == before
        await running.asked()
        await running.finish()
    ((method, params, seconds),) = voice.asked
    assert (method, seconds) == ("session/willCompact", 5.0)
    assert (params["session"], params["reason"]) == (talk.handle, "manual")
    assert params["operation_id"] == voice.progress[0].operation_id
    assert params["preparation"].first_kept == "a2"


async def test_one_who_does_not_want_it_ends_it(talk: OpenSession, desk: Desk) -> None:
    listener = Listener(talk)
    slow = Voice(talk, "slow", willCompact={})
    slow.is_silent = True
    Voice(talk, "code", willCompact={"cancel": True})
    with pytest.raises(OperationCancelled) as caught:
        await talk.compact(origin=ME)
    assert caught.value.by == "code"
    assert listener.progress[-1].message == "Cancelled by code; nothing was written."
    assert desk.writer.tasks == []


async def test_the_first_summary_stands(talk: OpenSession, desk: Desk) -> None:
    Voice(talk, "none", willCompact={})
    details = {"mine": 1}
    given = {"summary": "By a client.", "details": details, "usage": USAGE}
    Voice(talk, "first", willCompact=given)
    Voice(talk, "second", willCompact={"summary": "Another."})
    desk.summarizers.is_there = False
    await talk.compact(origin=ME)
    stored = in_file(talk)[-1]
    assert (stored["summary"], stored["details"]) == ("By a client.", details)
    assert (stored["usage"], stored["fromHook"]) == (USAGE, True)
    assert desk.writer.tasks == []


async def test_instructions_of_a_client_replace_those_given(talk: OpenSession, desk: Desk) -> None:
    Voice(talk, willCompact={"custom_instructions": "of the client"})
    await talk.compact(instructions="mine", origin=ME)
    assert {task.instructions for task in desk.writer.tasks} == {"of the client"}


@pytest.mark.parametrize("broken", [Absent("x"), {"cancel": False, "summary": "  "}])
async def test_who_has_nothing_to_say_is_passed_over(
    talk: OpenSession, desk: Desk, broken: Any
) -> None:
    Voice(talk, willCompact=broken)
    await talk.compact(origin=ME)
    assert in_file(talk)[-1]["fromHook"] is False


async def test_who_never_answers_has_five_seconds(talk: OpenSession, desk: Desk) -> None:
    silent, quick = Voice(talk, "silent", willCompact={}), Voice(talk, "quick", willCompact={})
    silent.is_silent = True
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: talk.compact(origin=ME))
        await quick.was_asked.wait()
        with pytest.raises(Busy):
            await talk.navigate("u1", origin=OTHER)
        await talk.append([user("meanwhile")], origin=OTHER)
        assert desk.writer.tasks == []
        silent.time.set()
        await running.asked()
        assert isinstance(await running.finish(), Compacted)
    assert [seconds for _, _, seconds in silent.asked] == [5.0]


async def test_a_given_summary_is_not_replaced(talk: OpenSession) -> None:
    voice = Voice(talk, willCompact={"summary": "Another."})
    await talk.compact(summary="by hand", origin=ME)
    assert in_file(talk)[-1]["summary"] == "by hand"
    assert len(voice.asked) == 1


# Lending


async def test_whoever_asks_lends_its_own_model(talk: OpenSession, desk: Desk) -> None:
    desk.folder.keep(150)
    answer = {"summary": " By my model. ", "usage": USAGE, "model": "mine/large"}
    other = Voice(talk, "other", summarize={"summary": "Not mine."})
    mine = Voice(talk, ME.client_id, summarize=answer)
    assert [one.name for one in await talk.summarizers()] == ["scripted", "client"]
    await talk.compact(summarizer="client", origin=ME)
    ((method, params, seconds),) = mine.asked
    assert (method, seconds, other.asked) == ("session/summarize", 600.0, [])
    assert sorted(params) == ["kind", "max_tokens", "operation_id", "prompt", "session", "system"]
    assert "first word" in params["prompt"]
    stored = in_file(talk)[-1]
    assert stored["summary"].startswith("By my model.\n\n<read-files>")
    assert (stored["usage"], stored["fromHook"]) == (USAGE, False)
    assert mine.progress[-1].received == len("By my model.")


async def test_the_reason_of_a_client_that_lends_no_model_is_told(talk: OpenSession) -> None:
    Voice(talk, summarize=Absent("x", "The quota is used up."))
    with pytest.raises(SummaryFailed, match=r"gave none: The quota is used up\.$"):
        await talk.compact(summarizer="client", origin=OTHER)


@pytest.mark.parametrize(
    ("answer", "reason"), [(Absent("x"), "client"), ({"summary": " \n"}, "empty")]
)
async def test_a_lent_model_that_gives_nothing_is_a_failure(
    talk: OpenSession, answer: Any, reason: str
) -> None:
    Voice(talk, summarize=answer)
    before = in_file(talk)
    with pytest.raises(SummaryFailed) as caught:
        await talk.compact(summarizer="client", origin=OTHER)
    assert (caught.value.reason, "nvim" in str(caught.value)) == (reason, True)
    assert in_file(talk) == before
