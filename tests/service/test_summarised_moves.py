"""Moves for which the branch that is left is summarised first, and moves clients hear of before."""

from typing import Any

import anyio
import pytest

from pisessiond.core.errors import BadSetting, EntryNotFound
from pisessiond.models.base import ModelFacts
from pisessiond.service.errors import Busy, LeafMoved, OperationCancelled, ReadOnly
from pisessiond.service.open_session import OpenSession
from pisessiond.service.types import Navigated
from pisessiond.summarizers.base import NoSummarizer, SummaryFailed
from tests.support.service import ME, OTHER, House, Listener, answer, entry, foreign, in_file, user
from tests.support.summarizers import CALLS, TALK, USAGE, Desk, Running, Voice, words

pytestmark = pytest.mark.anyio

SIDE = [
    user("here instead", "u9", "a1"),
    entry(
        "message",
        "a9",
        "u9",
        message={"role": "assistant", "content": [{"type": "text", "text": "done"}, *CALLS]},
    ),
    user("and on", "u10", "a9"),
]
"""A second branch below a1, where the session stands when it is opened."""


@pytest.fixture
async def talk(office: House) -> OpenSession:
    return await office.opened(*TALK, *SIDE)


async def go(session: OpenSession, target: Any = "a2", **given: Any) -> Navigated:
    return await session.navigate(target, **{"summarize": True, "origin": ME, **given})


async def stays(session: OpenSession, kind: type[Exception], **given: Any) -> Exception:
    """The error; the leaf is where it was, nothing is written, nothing runs."""
    before, rev, leaf = in_file(session), session.rev, session.leaf
    with pytest.raises(kind) as caught:
        await go(session, **given)
    assert (in_file(session), session.rev, session.leaf) == (before, rev, leaf)
    assert session.operations.current is None
    return caught.value


# What is stored


async def test_the_summary_stands_at_the_new_place(talk: OpenSession, desk: Desk) -> None:
    listener = Listener(talk)
    done = await go(talk, label="from the side")
    summary, label = in_file(talk)[-2:]
    assert list(summary) == [
        "type",
        "id",
        "parentId",
        "timestamp",
        "fromId",
        "summary",
        "details",
        "usage",
        "fromHook",
    ]
    assert (summary["type"], summary["parentId"], summary["fromId"]) == (
        "branch_summary",
        "a2",
        "u10",
    )
    assert summary["details"] == {"readFiles": ["a.py"], "modifiedFiles": ["b.py"]}
    assert (summary["usage"], summary["fromHook"]) == (USAGE, False)
    assert "Told." in summary["summary"]
    assert summary["summary"].endswith("<modified-files>\nb.py\n</modified-files>")
    assert (label["targetId"], label["label"]) == (summary["id"], "from the side")
    assert (done.summary_entry, done.leaf) == (summary["id"], label["id"])
    assert [one.state for one in listener.progress] == ["begin", "report", "done"]
    assert {one.operation for one in listener.progress} == {"summarise"}


async def test_only_what_is_left_is_told(talk: OpenSession, desk: Desk) -> None:
    await go(talk, instructions="mind the tests", replaces_instructions=True)
    (task,) = desk.writer.tasks
    assert task.kind == "branch"
    assert (task.instructions, task.replaces_instructions) == ("mind the tests", True)
    texts = str(task.messages)
    assert "here instead" in texts
    assert not any(word in texts for word in ("first", "one word", "second", "two"))


async def test_a_prompt_comes_back(talk: OpenSession) -> None:
    done = await go(talk, "u2")
    assert done.editor_text == words("second")
    assert in_file(talk)[-1]["parentId"] == "a1"


@pytest.mark.parametrize(("window", "left"), [(None, 3), (16_384 + 10, 1)])
async def test_the_newest_that_fit_the_window_are_told(
    talk: OpenSession, desk: Desk, window: int | None, left: int
) -> None:
    desk.models.window = window
    desk.writer.facts = ModelFacts(max_output=700)
    await go(talk)
    (task,) = desk.writer.tasks
    assert (len(task.messages), task.max_tokens) == (left, 700)


async def test_where_nothing_is_left_nothing_is_told(talk: OpenSession, desk: Desk) -> None:
    await talk.navigate("a1", origin=ME)
    done = await go(talk, "a2", label="here")
    assert (done.summary_entry, desk.writer.tasks) == (None, [])
    (label,) = in_file(talk)[len(TALK) + len(SIDE) :]
    assert (label["targetId"], talk.leaf) == ("a2", label["id"])


async def test_what_says_nothing_is_not_summarised(office: House, desk: Desk) -> None:
    session = await office.opened(*TALK, entry("custom", "c1", "a1", customType="mark"))
    done = await go(session)
    assert (done.leaf, done.summary_entry, desk.writer.tasks) == ("a2", None, [])


async def test_standing_there_already_asks_nobody(talk: OpenSession, desk: Desk) -> None:
    listener = Listener(talk)
    assert (await go(talk, "u10")).leaf == "u10"
    assert (desk.writer.tasks, listener.progress) == ([], [])


async def test_before_the_first_entry_the_whole_branch_is_left(
    talk: OpenSession, desk: Desk
) -> None:
    done = await go(talk, None)
    stored = in_file(talk)[-1]
    assert (stored["id"], stored["parentId"]) == (done.summary_entry, None)
    assert "first" in str(desk.writer.tasks[0].messages)


# What is refused


async def test_a_failure_leaves_the_leaf(talk: OpenSession, desk: Desk) -> None:
    desk.writer.fail(5)
    for _ in range(5):
        await stays(talk, SummaryFailed)
    await stays(talk, NoSummarizer, summarizer="of another world")
    await stays(talk, EntryNotFound, target="nowhere")
    await stays(talk, LeafMoved, base_leaf="a2")
    assert (await go(talk)).summary_entry is not None


async def test_nobody_is_asked_in_vain(talk: OpenSession, desk: Desk) -> None:
    desk.folder.set(problem=BadSetting("~/.pi/agent/settings.json", "x", "is wrong"))
    await stays(talk, BadSetting)
    talk.session.version = 99
    await stays(talk, ReadOnly)
    assert desk.writer.tasks == []


@pytest.mark.parametrize("who", ["ours", "theirs"])
async def test_a_leaf_that_moved_meanwhile_stays_there(
    talk: OpenSession, desk: Desk, who: str
) -> None:
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: go(talk))
        await running.asked()
        if who == "ours":
            await talk.append([answer("meanwhile", usage=5)], origin=OTHER)
        else:
            foreign(talk, answer("meanwhile", "f1", "u10"))
        error = await running.finish()
    assert isinstance(error, LeafMoved)
    assert error.leaf == talk.leaf == in_file(talk)[-1]["id"]
    assert in_file(talk)[-1]["message"]["content"][0]["text"] == "meanwhile"


async def test_metadata_meanwhile_does_not_count(talk: OpenSession, desk: Desk) -> None:
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: go(talk))
        await running.asked()
        await talk.label("u1", "x", origin=OTHER)
        await talk.rename("x", origin=OTHER)
        done = await running.finish()
    assert isinstance(done, Navigated)
    stored = in_file(talk)[-1]
    assert (stored["parentId"], stored["fromId"]) == ("a2", in_file(talk)[-2]["id"])


async def test_one_at_a_time(talk: OpenSession, desk: Desk) -> None:
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: go(talk))
        await running.asked()
        for act in (
            lambda: go(talk),
            lambda: talk.navigate("u1", origin=OTHER),
            lambda: talk.navigate(None, exact=True, origin=OTHER),
            lambda: talk.compact(origin=OTHER),
        ):
            with pytest.raises(Busy) as caught:
                await act()
            assert (caught.value.operation, caught.value.client) == ("summarise", "editor")
        assert talk.leaf == "u10"
        assert isinstance(await running.finish(), Navigated)


async def test_a_move_that_waits_for_its_turn_does_not_move_what_is_being_summarised(
    talk: OpenSession, desk: Desk
) -> None:
    async with anyio.create_task_group() as tasks:
        await talk.changing.acquire()
        try:
            plain = Running(desk, tasks, lambda: talk.navigate("a2", origin=OTHER))
            await anyio.wait_all_tasks_blocked()
            with talk.operations.hold("compact", ME):
                talk.changing.release()
                error = await plain.over()
        except BaseException:
            tasks.cancel_scope.cancel()
            raise
    assert isinstance(error, Busy)
    assert talk.leaf == "u10"


# What clients say


async def test_clients_hear_of_every_move_before(talk: OpenSession, desk: Desk) -> None:
    voice = Voice(talk, willNavigate={})
    await go(talk)
    await talk.navigate("u10", exact=True, origin=OTHER)
    (_, first, seconds), (_, second, _) = voice.asked
    assert seconds == 5.0
    assert (first["target"], first["summarize"]) == ("a2", True)
    assert (first["preparation"].left_entries, first["preparation"].leaf) == (3, "a2")
    assert first["preparation"].forecast.summarizer == "scripted"
    assert (second["target"], second["summarize"]) == ("u10", False)
    assert [(one.operation, one.state) for one in voice.progress if one.state != "report"] == [
        ("summarise", "begin"),
        ("summarise", "done"),
        ("navigate", "begin"),
        ("navigate", "done"),
    ]


async def test_one_who_does_not_want_it_keeps_the_leaf(talk: OpenSession) -> None:
    Voice(talk, "code", willNavigate={"cancel": True})
    for summarize in (True, False):
        error = await stays(talk, OperationCancelled, summarize=summarize)
        assert isinstance(error, OperationCancelled)
        assert error.by == "code"


async def test_a_client_may_give_summary_and_label(talk: OpenSession, desk: Desk) -> None:
    given = {"summary": "By a client.", "details": {"mine": 1}, "label": "theirs"}
    Voice(talk, willNavigate=given)
    desk.summarizers.is_there = False
    await go(talk, label="ours")
    summary, label = in_file(talk)[-2:]
    assert (summary["summary"], summary["details"]) == ("By a client.", {"mine": 1})
    assert (summary["fromHook"], label["label"]) == (True, "theirs")
    # Where nobody wants a summary, none is made.
    done = await talk.navigate("u10", exact=True, origin=ME)
    assert done.summary_entry is None


async def test_instructions_of_a_client_replace_those_given(talk: OpenSession, desk: Desk) -> None:
    Voice(talk, willNavigate={"custom_instructions": "theirs"})
    await go(talk, instructions="ours")
    assert desk.writer.tasks[0].instructions == "theirs"


async def test_a_plain_move_waits_for_who_never_answers(talk: OpenSession, desk: Desk) -> None:
    voice = Voice(talk, willNavigate={})
    voice.is_silent = True
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: talk.navigate("a2", origin=ME))
        await voice.was_asked.wait()
        with pytest.raises(Busy) as caught:
            await talk.navigate("u1", origin=OTHER)
        assert caught.value.operation == "navigate"
        await talk.append([user("meanwhile")], origin=OTHER)
        voice.time.set()
        done = await running.over()
    assert isinstance(done, Navigated)
    assert talk.leaf == done.leaf == "a2"


async def test_what_moves_nothing_asks_nobody(talk: OpenSession) -> None:
    voice = Voice(talk, willNavigate={"cancel": True})
    assert (await talk.navigate("u10", origin=ME)).leaf == "u10"
    assert voice.asked == []


async def test_a_leaf_that_is_another_when_clients_have_spoken_is_told(
    talk: OpenSession, desk: Desk
) -> None:
    voice = Voice(talk, willNavigate={})
    voice.is_silent = True
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: talk.navigate("a2", origin=ME, base_leaf="u10"))
        await voice.was_asked.wait()
        await talk.append([user("meanwhile")], origin=OTHER)
        voice.time.set()
        assert isinstance(await running.over(), LeafMoved)
    assert talk.leaf == in_file(talk)[-1]["id"]
