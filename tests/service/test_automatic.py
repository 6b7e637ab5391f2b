"""Compacting without being asked: when it is done, when not, and when it is given up."""

from dataclasses import replace
from functools import partial

import anyio
import anyio.lowlevel
import pytest

from pisessiond.core.compaction import CompactionSettings
from pisessiond.core.errors import BadSetting
from pisessiond.core.pi_settings import CompactionTable, Override
from pisessiond.service.open_session import OpenSession
from tests.support.service import (
    ME,
    OTHER,
    Entry,
    House,
    Listener,
    answer,
    entry,
    foreign,
    in_file,
    user,
)
from tests.support.summarizers import CALLS, TALK, Desk, Gate, Running, Voice, words

pytestmark = pytest.mark.anyio


@pytest.fixture
async def talk(office: House, desk: Desk) -> OpenSession:
    """A session of four hundred tokens, whose model takes fewer."""
    desk.folder.set(compacts_automatically=True)
    desk.folder.keep(150, reserve=100)
    desk.models.window = 400
    return await office.opened(*TALK)


async def end_turn(session: OpenSession, *entries: Entry) -> int:
    """Append an answer (or these); how many compactions there are when all has settled."""
    given = entries or (user("on"), answer(words("three", 50)))
    await session.append(given, origin=ME)
    await settled(session)
    return compactions(session)


def compactions(session: OpenSession) -> int:
    return [one["type"] for one in in_file(session)].count("compaction")


async def settled(session: OpenSession) -> None:
    """Wait until the session sees to nothing by itself."""
    with anyio.fail_after(10):
        while session.automatic.is_at_work:
            await anyio.sleep(0.001)


async def test_it_is_done_after_a_turn(talk: OpenSession, desk: Desk) -> None:
    listener = Listener(talk)
    assert await end_turn(talk) == 1
    stored = in_file(talk)[-1]
    assert (stored["type"], stored["fromHook"]) == ("compaction", False)
    begin, *_, done = listener.progress
    assert (begin.state, begin.reason, begin.origin) == ("begin", "threshold", "repair")
    assert done.state == "done"
    assert ("compact", "repair") in listener.take()
    assert await end_turn(talk, answer("small")) == 1


CALLING = {"role": "assistant", "content": [{"type": "text", "text": "x"}, *CALLS]}
NO_TURNS: dict[str, list[Entry]] = {
    "a prompt": [user("x")],
    "a call": [entry("message", message=CALLING)],
    "an error": [answer("x")],
    "a label": [entry("label", targetId="u1", label="x")],
}
NO_TURNS["an error"][0]["message"]["stopReason"] = "error"


@pytest.mark.parametrize("what", NO_TURNS)
async def test_a_turn_that_goes_on_is_left_alone(talk: OpenSession, desk: Desk, what: str) -> None:
    listener = Listener(talk)
    assert await end_turn(talk, *NO_TURNS[what]) == 0
    assert (desk.writer.tasks, listener.progress) == ([], [])
    # A mark behind the answer does not hide it.
    assert await end_turn(talk, answer("x"), entry("custom", customType="mark")) == 1


@pytest.mark.parametrize("what", ["ours", "pi's", "window", "model's", "problem"])
async def test_who_does_not_want_it_is_left_alone(talk: OpenSession, desk: Desk, what: str) -> None:
    table = CompactionTable(CompactionSettings(enabled=False, reserve_tokens=100))
    match what:
        case "ours":
            desk.folder.set(compacts_automatically=False)
        case "pi's":
            desk.folder.set(compaction=table)
        case "window":
            desk.models.window = None
        case "model's":
            desk.models.window = 100_000
        case _:
            override = Override(problem=BadSetting("f", "k", "is wrong"))
            ours = desk.folder.settings.compaction
            desk.folder.set(compaction=replace(ours, overrides={"demo/demo-1": override}))
    listener = Listener(talk)
    assert await end_turn(talk) == 0
    assert (desk.writer.tasks, listener.progress) == ([], [])


async def test_a_session_others_write_to_is_left_alone(talk: OpenSession, desk: Desk) -> None:
    foreign(talk, user("from outside", "f1", "a2"))
    assert await end_turn(talk) == 0
    assert desk.writer.tasks == []


async def test_another_program_that_writes_meanwhile_ends_it(talk: OpenSession, desk: Desk) -> None:
    listener = Listener(talk)
    gate = desk.writer.gate = Gate()
    await talk.append([answer("three")], origin=ME)
    await gate.arrived()
    foreign(talk, user("from outside", "f1", str(talk.leaf)))
    gate.open()
    await settled(talk)
    assert compactions(talk) == 0
    assert listener.progress[-1].state == "cancelled"
    assert "another program" in str(listener.progress[-1].message)


async def test_what_runs_already_goes_on(talk: OpenSession, desk: Desk) -> None:
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: talk.compact(origin=OTHER))
        await running.asked()
        assert await end_turn(talk) == 0
        await running.finish()
    assert compactions(talk) == 1


async def test_it_is_given_up_after_three_failures(talk: OpenSession, desk: Desk) -> None:
    listener = Listener(talk)
    desk.writer.fail(10)
    for tries in (1, 2, 3, 3, 3):
        assert await end_turn(talk) == 0
        assert [one.state for one in listener.progress].count("failed") == tries
    desk.writer.failures.clear()
    assert await end_turn(talk) == 0
    # The files were changed, in whatever.
    desk.folder.set()
    assert await end_turn(talk) == 1


async def test_a_success_by_hand_counts(talk: OpenSession, desk: Desk) -> None:
    desk.writer.fail(3)
    for _ in range(3):
        await end_turn(talk)
    await talk.compact(origin=ME)
    assert compactions(talk) == 1
    assert await end_turn(talk, user(words("more", 400)), answer(words("and", 200))) == 2


async def test_a_success_of_its_own_counts(talk: OpenSession, desk: Desk) -> None:
    listener = Listener(talk)
    for round_of in range(1, 4):
        desk.writer.fail(2)
        for _ in range(2):
            await end_turn(talk, user(words("more", 300)), answer(words("and")))
        assert await end_turn(talk) == round_of
    assert [one.state for one in listener.progress].count("failed") == 6


async def test_nobody_to_write_is_told_once(talk: OpenSession, desk: Desk) -> None:
    listener = Listener(talk)
    desk.summarizers.is_there = False
    for _ in range(6):
        assert await end_turn(talk) == 0
    assert [one.state for one in listener.progress] == ["begin", "failed"]
    desk.summarizers.is_there = True
    assert await end_turn(talk) == 1


async def test_what_cannot_help_is_not_tried(talk: OpenSession, desk: Desk) -> None:
    listener = Listener(talk)
    desk.folder.keep(10_000, reserve=100)
    for _ in range(5):
        assert await end_turn(talk) == 0
    assert (desk.writer.tasks, listener.progress) == ([], [])
    desk.folder.keep(150, reserve=100)
    assert await end_turn(talk) == 1


async def test_clients_have_a_word(talk: OpenSession, desk: Desk) -> None:
    voice = Voice(talk, willCompact={"cancel": True})
    assert await end_turn(talk) == 0
    ((_, params, _),) = voice.asked
    assert params["reason"] == "threshold"
    assert voice.progress[-1].state == "cancelled"


async def test_it_is_ended_like_any_other(talk: OpenSession, desk: Desk) -> None:
    gate = desk.writer.gate = Gate()
    await talk.append([answer("three")], origin=ME)
    await gate.arrived()
    with pytest.raises(Exception, match="pisessiond compacts it"):
        await talk.compact(origin=ME)
    assert await talk.cancel_operation(None, by="nvim") is not None
    await settled(talk)
    assert (compactions(talk), talk.operations.current) == (0, None)


async def test_turns_that_end_at_once_are_looked_at_once(talk: OpenSession, desk: Desk) -> None:
    desk.models.window = 1_000
    listener = Listener(talk)
    async with anyio.create_task_group() as tasks:
        for name in ("three", "four", "five", "six"):
            given = [user(words(name, 150)), answer(words(name))]
            tasks.start_soon(partial(talk.append, given, origin=ME))
    await settled(talk)
    assert compactions(talk) == 1
    assert [one.state for one in listener.progress if one.state != "report"] == ["begin", "done"]


async def test_a_session_that_ends_takes_it_along(office: House, desk: Desk) -> None:
    desk.folder.set(compacts_automatically=True)
    desk.folder.keep(150, reserve=100)
    desk.models.window = 400
    session = await office.opened(*TALK)
    gate = desk.writer.gate = Gate()
    await session.append([answer("three")], origin=ME)
    await gate.arrived()
    await office.sessions.aclose()
    assert (desk.writer.at_work, session.operations.current) == (0, None)
