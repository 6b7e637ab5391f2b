"""Files that are written anew, under the same ids, while a summary of them is written."""

from pathlib import Path
from typing import Any

import anyio
import pytest

from pisessiond.service.errors import FileChanged, InvalidRequest
from pisessiond.service.open_session import OpenSession
from pisessiond.service.summary_sources import Check
from pisessiond.service.types import Compacted, Navigated
from tests.support.service import ME, OTHER, Entry, House, answer, entry, in_file, user
from tests.support.summarizers import TALK, Desk, Running, words

pytestmark = pytest.mark.anyio


@pytest.fixture
async def talk(office: House) -> OpenSession:
    return await office.opened(*TALK)


async def compact(session: OpenSession, **given: Any) -> Compacted:
    return await session.compact(**{"origin": ME, **given})


def write_anew(session: OpenSession, old: bytes, new: bytes, *, how: str) -> bytes:
    """Another program writes the file anew, with other texts under the same ids."""
    assert session.path is not None
    path = Path(session.path)
    text = path.read_bytes()
    assert old in text
    text = text.replace(old, new)
    if how == "another file":
        path.unlink()
    path.write_bytes(text)
    return text


IN_WHICH_FILE = pytest.mark.parametrize("how", ["another file", "in place"])


@IN_WHICH_FILE
async def test_a_file_that_was_read_anew_takes_it_where_all_that_was_summarised_is_as_it_was(
    talk: OpenSession, desk: Desk, how: str
) -> None:
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: compact(talk))
        await running.asked()
        epoch = talk.epoch
        write_anew(talk, b"two word", b"TWO word", how=how)
        done = await running.finish()
    assert isinstance(done, Compacted)
    assert talk.epoch != epoch
    assert in_file(talk)[-1]["firstKeptEntryId"] == "a2"


@IN_WHICH_FILE
@pytest.mark.parametrize("is_seen_before", [False, True], ids=["at the write", "before"])
async def test_a_summary_of_what_reads_otherwise_now_is_not_stored(
    talk: OpenSession, desk: Desk, how: str, is_seen_before: bool
) -> None:
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: compact(talk))
        await running.asked()
        text = write_anew(talk, b"first word", b"FIRST word", how=how)
        if is_seen_before:
            await talk.catch_up()
        error = await running.finish()
    assert isinstance(error, FileChanged)
    assert "reads otherwise now" in str(error)
    assert "nothing was written, try again" in str(error)
    assert talk.path is not None
    assert Path(talk.path).read_bytes() == text
    assert talk.operations.current is None
    # It is made anew of what is there.
    await compact(talk)
    assert "FIRST word" in str(desk.writer.tasks[-2:])


async def test_what_is_carried_on_counts_too(office: House, desk: Desk) -> None:
    """A system message that is kept, of which the compaction carries a copy."""
    message: Entry = {"role": "system", "content": "Rule one."}
    rules = entry("message", "s2", "a2", message=message)
    talk = await office.opened(*TALK, rules, answer(words("three"), "a3", "s2"))
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: compact(talk))
        await running.asked()
        write_anew(talk, b"Rule one.", b"Rule 111.", how="in place")
        assert isinstance(await running.finish(), FileChanged)


async def test_a_rewrite_that_changes_nothing_is_compared_in_one_reading(
    talk: OpenSession, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared = 0
    compare = Check.compare

    async def count(check: Check) -> None:
        nonlocal compared
        compared += 1
        await compare(check)

    monkeypatch.setattr(Check, "compare", count)
    await compact(talk)
    assert compared == 0
    await talk.append([user(words("more"))], origin=OTHER)
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: compact(talk))
        await running.asked()
        write_anew(talk, b"first", b"first", how="another file")
        done = await running.finish()
    assert isinstance(done, Compacted)
    assert compared == 1


async def test_a_draft_of_what_reads_otherwise_now_is_outdated(talk: OpenSession) -> None:
    drafted = await talk.draft_compaction(instructions=None, summarizer=None, origin=ME)
    text = write_anew(talk, b"first word", b"FIRST word", how="in place")
    with pytest.raises(InvalidRequest, match="dryRun"):
        await compact(talk, summary="x", draft=drafted.draft)
    assert talk.path is not None
    assert Path(talk.path).read_bytes() == text


@pytest.mark.parametrize(
    ("old", "is_told"), [(b"here instead", True), (b"and on", True), (b"two word", False)]
)
async def test_what_was_left_and_reads_otherwise_now_is_not_told(
    office: House, desk: Desk, old: bytes, is_told: bool
) -> None:
    side = [
        user("here instead", "u9", "a1"),
        answer("done", "a9", "u9"),
        user("and on", "u10", "a9"),
    ]
    talk = await office.opened(*TALK, *side)
    async with anyio.create_task_group() as tasks:
        running = Running(desk, tasks, lambda: talk.navigate("a2", summarize=True, origin=ME))
        await running.asked()
        text = write_anew(talk, old, old.upper(), how="another file")
        done = await running.finish()
    if is_told:
        assert isinstance(done, FileChanged)
        assert talk.path is not None
        assert (Path(talk.path).read_bytes(), talk.leaf) == (text, "u10")
    else:
        assert isinstance(done, Navigated)
        assert in_file(talk)[-1]["fromId"] == "u10"
