"""Compactions: what is asked for, what is stored, and what happens when the session goes on."""

import errno
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from pisessiond.core.errors import BadSetting, CannotShrink, NothingToCompact
from pisessiond.models.base import ModelFacts
from pisessiond.service.errors import Busy, Degraded, InvalidRequest, LeafMoved, ReadOnly
from pisessiond.service.open_session import OpenSession
from pisessiond.service.types import Compacted
from pisessiond.storage.base import Claimed
from pisessiond.summarizers.base import NoSummarizer, SummaryFailed
from tests.support.naive import replay_all
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
from tests.support.summarizers import TALK, USAGE, Desk, Gate, Running, words

pytestmark = pytest.mark.anyio


@pytest.fixture
async def talk(office: House) -> OpenSession:
    return await office.opened(*TALK)


async def compact(session: OpenSession, **given: Any) -> Compacted:
    return await session.compact(**{"origin": ME, **given})


# What is stored


async def test_a_compaction_is_stored_as_pi_stores_its_own(talk: OpenSession, desk: Desk) -> None:
    desk.folder.keep(150)
    done = await compact(talk)
    stored = in_file(talk)[-1]
    assert list(stored) == [
        "type",
        "id",
        "parentId",
        "timestamp",
        "summary",
        "firstKeptEntryId",
        "tokensBefore",
        "details",
        "usage",
        "fromHook",
    ]
    assert stored["summary"] == (
        "Told.\n\n<read-files>\na.py\n</read-files>\n\n<modified-files>\nb.py\n</modified-files>"
    )
    assert stored["firstKeptEntryId"] == "u2"
    assert stored["details"] == {"readFiles": ["a.py"], "modifiedFiles": ["b.py"]}
    assert (stored["usage"], stored["fromHook"]) == (USAGE, False)
    assert (stored["id"], stored["parentId"]) == (done.entry, "a2")
    assert talk.leaf == done.leaf == done.entry
    size = await talk.context_size()
    assert (done.before, done.after) == (stored["tokensBefore"], size.estimated)
    assert done.after < done.before


async def test_history_and_the_beginning_of_a_turn_are_summarised_side_by_side(
    talk: OpenSession, desk: Desk
) -> None:
    desk.writer.gate = Gate()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(compact, talk)
        await desk.writer.gate.arrived()
        while desk.writer.at_work < 2:
            await anyio.lowlevel.checkpoint()
        desk.writer.gate.open()
    history, prefix = desk.writer.tasks
    assert (history.kind, prefix.kind) == ("history", "turnPrefix")
    assert [message["role"] for message in history.messages] == ["user", "assistant"]
    assert [message["role"] for message in prefix.messages] == ["user"]
    stored = in_file(talk)[-1]
    assert stored["usage"]["totalTokens"] == 2 * USAGE["totalTokens"]
    assert stored["usage"]["cost"]["total"] == pytest.approx(2 * USAGE["cost"]["total"])
    assert stored["summary"].count("Told.") == 2


async def test_a_text_that_fails_ends_the_other(talk: OpenSession, desk: Desk) -> None:
    before = in_file(talk)
    desk.writer.fail()
    with pytest.raises(SummaryFailed) as caught:
        await compact(talk)
    assert (caught.value.summarizer, caught.value.reason) == ("scripted", "overloaded")
    assert (in_file(talk), desk.writer.at_work) == (before, 0)


async def test_a_summary_without_a_model_is_marked(talk: OpenSession, desk: Desk) -> None:
    desk.writer.is_extract, desk.writer.usage = True, None
    await compact(talk)
    stored = in_file(talk)[-1]
    assert stored["details"]["summarizer"] == "extract"
    assert "usage" not in stored


async def test_wishes_reach_every_text(talk: OpenSession, desk: Desk) -> None:
    desk.writer.facts = ModelFacts(window=100_000, max_output=500)
    await compact(talk, instructions="mind the tests")
    assert [task.instructions for task in desk.writer.tasks] == ["mind the tests"] * 2
    assert {task.max_tokens for task in desk.writer.tasks} == {500}
    assert str(desk.summarizers.session_models[-1]) == "demo/demo-1"


async def test_a_second_compaction_updates_the_summary(talk: OpenSession, desk: Desk) -> None:
    await compact(talk)
    await talk.append([user(words("third")), answer(words("three"))], origin=ME)
    desk.writer.tasks.clear()
    await compact(talk)
    history = desk.writer.tasks[0]
    assert history.previous_summary is not None
    assert "Told." in history.previous_summary
    assert in_file(talk)[-1]["details"] == {"readFiles": ["a.py"], "modifiedFiles": ["b.py"]}


async def test_the_system_messages_are_carried_on(office: House, desk: Desk) -> None:
    system: Entry = {"role": "system", "content": "Rules.", "timestamp": 7}
    session = await office.opened(
        entry("message", "s1", None, message=system), *({**TALK[0], "parentId": "s1"}, *TALK[1:])
    )
    await compact(session)
    carried = in_file(session)[-1]["systemMessage"]
    assert (carried["content"], carried["timestamp"]) == ("Rules.", desk.hand.ms)


async def test_a_given_summary_is_anothers_word(talk: OpenSession, desk: Desk) -> None:
    await compact(talk, summary="by hand")
    stored = in_file(talk)[-1]
    assert (stored["summary"], stored["fromHook"]) == ("by hand", True)
    assert not {"details", "usage"} & set(stored)
    assert desk.writer.tasks == []


# What is refused


async def refused(session: OpenSession, kind: type[Exception], **given: Any) -> Exception:
    """The error; nothing changed, and the session can be worked with."""
    before, rev, leaf = in_file(session), session.rev, session.leaf
    with pytest.raises(kind) as caught:
        await compact(session, **given)
    assert (in_file(session), session.rev, session.leaf) == (before, rev, leaf)
    assert session.operations.current is None
    return caught.value


async def test_what_cannot_shrink_is_refused_before_anybody_is_asked(
    office: House, desk: Desk
) -> None:
    session = await office.opened(user("", "u1"), answer(words("all"), "a1", "u1"))
    error = await refused(session, CannotShrink)
    assert isinstance(error, CannotShrink)
    assert (error.before, error.after) == (100, 100)
    assert desk.writer.tasks == []
    with pytest.raises(CannotShrink):
        await session.prepare_compaction()


async def test_a_provider_that_counts_less_than_the_estimate_is_no_reason(office: House) -> None:
    small = answer(words("two"), "a2", "u2", usage=90)
    session = await office.opened(*TALK[:-1], small)
    done = await compact(session)
    assert (done.before, in_file(session)[-1]["tokensBefore"]) == (90, 90)


async def test_a_summary_that_is_too_long_to_help_is_not_stored(
    talk: OpenSession, desk: Desk
) -> None:
    desk.writer.text = words("long", 1_000)
    error = await refused(talk, CannotShrink)
    assert isinstance(error, CannotShrink)
    assert error.after >= error.before
    assert desk.writer.tasks != []


async def test_nothing_is_asked_where_nothing_can_be_written(talk: OpenSession, desk: Desk) -> None:
    assert talk.path is not None
    talk.session.version = 99
    await refused(talk, ReadOnly)
    with pytest.raises(ReadOnly):
        await talk.draft_compaction(instructions=None, summarizer=None, origin=ME)
    assert desk.writer.tasks == []


async def test_settings_that_mean_nothing_are_named(talk: OpenSession, desk: Desk) -> None:
    problem = BadSetting("~/.pi/agent/settings.json", "compaction.keepRecentTokens", "is no number")
    desk.folder.set(problem=problem)
    await refused(talk, BadSetting)
    with pytest.raises(BadSetting):
        await talk.prepare_compaction()


async def test_nobody_writes(talk: OpenSession, desk: Desk) -> None:
    await refused(talk, NoSummarizer, summarizer="of another world")
    desk.summarizers.is_there = False
    await refused(talk, NoSummarizer)
    preview = await talk.prepare_compaction()
    assert (preview.forecast, bool(preview.no_summarizer)) == (None, True)


async def test_a_leaf_that_is_another_is_told_before_anybody_is_asked(
    talk: OpenSession, desk: Desk
) -> None:
    await refused(talk, LeafMoved, base_leaf="u2")
    await compact(talk, base_leaf="a2")
    assert len(desk.writer.tasks) == 2


async def test_before_the_first_entry_there_is_nothing(office: House) -> None:
    session = await office.opened()
    await refused(session, NothingToCompact)


async def test_five_failures_in_a_row_leave_nothing(talk: OpenSession, desk: Desk) -> None:
    listener = Listener(talk)
    desk.folder.keep(150)
    desk.writer.fail(5)
    for _ in range(5):
        await refused(talk, SummaryFailed)
    assert [one.state for one in listener.progress if one.state != "report"] == [
        "begin",
        "failed",
    ] * 5
    done = await compact(talk)
    assert in_file(talk)[-1]["id"] == done.entry


# While the summary is written


async def test_entries_go_on_while_it_is_written(talk: OpenSession, desk: Desk) -> None:
    listener = Listener(talk)
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: compact(talk))
        await running.asked()
        await talk.append([user("meanwhile", None)], origin=OTHER)
        await talk.label("u1", "here", origin=OTHER)
        await talk.rename("a name", origin=OTHER)
        foreign(talk, user("from outside", "f1", str(talk.leaf)))
        done = await running.finish()
    stored = in_file(talk)
    assert isinstance(done, Compacted)
    assert stored[-1]["id"] == done.entry
    assert (stored[-1]["parentId"], stored[-1]["firstKeptEntryId"]) == ("f1", "a2")
    assert stored[-1]["tokensBefore"] == done.before
    size = await talk.context_size()
    assert done.after == size.estimated
    texts = json.dumps((await talk.context(talk.leaf, limit=None, cursor=None)).messages)
    assert "meanwhile" in texts
    assert "from outside" in texts
    assert listener.progress[-1].state == "done"


async def test_system_messages_that_come_meanwhile_are_not_lost(
    talk: OpenSession, desk: Desk
) -> None:
    def system(text: str) -> Entry:
        return {"role": "system", "content": text, "timestamp": 5}

    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: compact(talk))
        await running.asked()
        for text in ("Rule one.", "Rule two."):
            await talk.append([{"type": "message", "message": system(text)}], origin=OTHER)
        done = await running.finish()
    assert isinstance(done, Compacted)
    page = await talk.context(talk.leaf, limit=None, cursor=None)
    state = replay_all(page.messages).message()
    assert state is not None
    assert state["content"] == "Rule one.\n\nRule two."


@pytest.mark.parametrize("what", ["edit", "compaction", "away", "rewritten"])
async def test_what_makes_the_cut_another_one_lets_it_fall(
    talk: OpenSession, desk: Desk, what: str
) -> None:
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: compact(talk))
        await running.asked()
        assert talk.path is not None
        if what == "edit":
            await talk.edit_context("a2", None, origin=OTHER)
        elif what == "compaction":
            other = entry("compaction", summary="s", firstKeptEntryId="a2", tokensBefore=1)
            await talk.append([other], origin=OTHER)
        elif what == "away":
            await talk.append([entry("leaf", targetId="u1")], origin=OTHER)
        else:
            path = Path(talk.path)
            path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
        before = in_file(talk)
        error = await running.finish()
    assert isinstance(error, LeafMoved)
    assert in_file(talk) == before
    assert talk.operations.current is None


async def test_a_second_one_is_told_who_runs_the_first(talk: OpenSession, desk: Desk) -> None:
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: compact(talk))
        await anyio.sleep(0.01)
        for act in (
            lambda: compact(talk, origin=OTHER),
            lambda: compact(talk, origin=OTHER, summary="by hand"),
            lambda: talk.draft_compaction(instructions=None, summarizer=None, origin=OTHER),
            lambda: talk.navigate("u1", origin=OTHER),
            lambda: talk.navigate("u1", exact=True, origin=OTHER),
            lambda: talk.navigate("u1", summarize=True, origin=OTHER),
            lambda: talk.fork(None, position=None, cwd=None, origin=OTHER),
        ):
            with pytest.raises(Busy) as caught:
                await act()
            assert (caught.value.operation, caught.value.client) == ("compact", "editor")
        done = await running.finish()
    assert isinstance(done, Compacted)
    assert [one["type"] for one in in_file(talk)].count("compaction") == 1
    assert len(desk.writer.tasks) == 2


# Drafts


async def test_a_draft_is_stored_nowhere_until_it_is_asked_for(
    talk: OpenSession, desk: Desk
) -> None:
    before, rev = in_file(talk), talk.rev
    drafted = await talk.draft_compaction(instructions=None, summarizer=None, origin=ME)
    assert (in_file(talk), talk.rev, drafted.usage) == (before, rev, in_usage(2))
    assert drafted.preview.first_kept == "a2"
    assert drafted.preview.forecast is not None
    asked = len(desk.writer.tasks)
    await talk.append([user("meanwhile")], origin=OTHER)
    done = await compact(talk, summary="edited", draft=drafted.draft)
    stored = in_file(talk)[-1]
    assert stored["id"] == done.entry
    assert (stored["summary"], stored["fromHook"]) == ("edited", False)
    assert stored["usage"] == drafted.usage
    assert stored["details"] == {"readFiles": ["a.py"], "modifiedFiles": ["b.py"]}
    assert len(desk.writer.tasks) == asked


def in_usage(times: int) -> dict[str, Any]:
    """What so many texts used."""
    return {
        **{name: value * times for name, value in USAGE.items() if name != "cost"},
        "cost": {
            **{name: value * times for name, value in USAGE["cost"].items()},
            "totalFromProvider": False,
        },
    }


async def test_a_draft_that_is_not_kept_is_refused(talk: OpenSession, desk: Desk) -> None:
    desk.folder.keep(150)
    drafts = [
        (await talk.draft_compaction(instructions=None, summarizer=None, origin=ME)).draft
        for _ in range(5)
    ]
    error = await refused(talk, InvalidRequest, summary="x", draft=drafts[0])
    assert isinstance(error, InvalidRequest)
    assert error.path == "draft"
    await refused(talk, InvalidRequest, summary="x", draft="made up")
    await compact(talk, summary="x", draft=drafts[1])
    await refused(talk, InvalidRequest, summary="x", draft=drafts[1])
    await refused(talk, InvalidRequest, summary="x", draft=drafts[2])


async def test_a_draft_of_another_branch_is_refused(talk: OpenSession) -> None:
    drafted = await talk.draft_compaction(instructions=None, summarizer=None, origin=ME)
    await talk.navigate("u1", exact=True, origin=ME)
    error = await refused(talk, InvalidRequest, summary="x", draft=drafted.draft)
    assert "dryRun" in str(error)
    await talk.navigate("a2", origin=ME)
    await compact(talk, summary="x", draft=drafted.draft)


# The dry run


async def test_a_dry_run_says_what_the_compaction_does(talk: OpenSession, desk: Desk) -> None:
    desk.writer.facts = ModelFacts(window=50_000)
    preview = await talk.prepare_compaction(summarizer=None, with_input=True)
    assert (preview.summarised, preview.turn_prefix) == (("m1", "u1", "a1", "u2"), ("u2",))
    assert preview.inputs is not None
    assert [one.kind for one in preview.inputs] == ["history", "turnPrefix"]
    assert "first" in preview.inputs[0].text
    assert "second" in preview.inputs[1].text
    assert desk.writer.tasks == []
    assert desk.summarizers.to_write == [False]
    done = await compact(talk)
    assert desk.summarizers.to_write == [False, True]
    assert done.before == preview.tokens_before
    stored = in_file(talk)[-1]
    assert stored["firstKeptEntryId"] == preview.first_kept
    assert preview.tokens_kept < done.after <= preview.tokens_after


# Files of other kinds, and files that cannot be written


@pytest.mark.parametrize("store", ["jsonl", "memory"])
async def test_a_session_of_our_own_is_compacted(office: House, store: Any) -> None:
    session = await office.create(store)
    given = [{name: one[name] for name in one if name != "parentId"} for one in TALK]
    await session.append(given, origin=ME)
    done = await compact(session)
    assert session.leaf == done.entry
    assert session.session.entry(len(TALK))["firstKeptEntryId"] == "a2"


async def test_an_old_file_is_migrated_by_it(office: House) -> None:
    session = await office.opened(*TALK, version=2)
    done = await compact(session)
    assert in_file(session)[-1]["id"] == done.entry
    assert session.session.is_current_format


async def test_another_daemon_that_holds_the_file_is_found_before(
    office: House, desk: Desk
) -> None:
    class Taken:
        def claim(self, path: str) -> Any:
            raise Claimed("4711")

    session = await office.opened(*TALK)
    session.surroundings = replace(session.surroundings, claims=Taken())
    await refused(session, ReadOnly)
    assert desk.writer.tasks == []


async def test_a_full_disk_is_told_and_leaves_nothing(office: House, talk: OpenSession) -> None:
    listener = Listener(talk)
    before = in_file(talk)
    office.files.fail("write", errno.ENOSPC)
    with pytest.raises(Degraded):
        await compact(talk)
    assert (in_file(talk), talk.leaf, talk.operations.current) == (before, "a2", None)
    assert [one.state for one in listener.progress if one.state != "report"] == ["begin", "failed"]
    assert (await compact(talk)).leaf == talk.leaf
