"""Dry runs of compactions: what is told is what the act then does."""

from typing import Any

import pytest

from pisessiond.core.conversation import serialize_conversation
from pisessiond.core.errors import CannotShrink, NothingToCompact
from pisessiond.core.javascript import utf16_length
from pisessiond.core.summary_prompts import make_prompt
from pisessiond.core.tokens import estimate_tokens
from pisessiond.models.base import ModelFacts, Price
from pisessiond.service.open_session import OpenSession
from tests.support import random_sessions
from tests.support.service import ME, House, answer, entry, in_file, user
from tests.support.summarizers import TALK, Desk, words

pytestmark = pytest.mark.anyio


async def test_the_writer_bounds_the_summary_and_prices_it(office: House, desk: Desk) -> None:
    session = await office.opened(*TALK)
    desk.writer.facts = ModelFacts(200_000, 1_500, Price(3.0, 15.0))
    told = await session.prepare_compaction()
    await session.compact(origin=ME)
    prompts = [make_prompt(task) for task in desk.writer.tasks]
    tokens = sum((utf16_length(one.system) + utf16_length(one.user) + 3) // 4 for one in prompts)
    assert (told.summary_at_most, told.tokens_after) == (3_000, told.tokens_kept + 3_000)
    assert told.forecast is not None
    assert (told.forecast.summarizer, told.forecast.model) == ("scripted", "demo/demo-1")
    assert told.forecast.tokens_in == tokens
    assert told.forecast.cost == pytest.approx((tokens * 3.0 + 1_500 * 15.0) / 1_000_000)


async def test_what_is_read_comes_on_request(office: House, desk: Desk) -> None:
    session = await office.opened(*TALK)
    assert (await session.prepare_compaction()).inputs is None
    told = await session.prepare_compaction(with_input=True)
    await session.compact(origin=ME)
    assert told.inputs is not None
    assert [(one.kind, one.text, one.previous_summary) for one in told.inputs] == [
        (task.kind, serialize_conversation(task.messages), None) for task in desk.writer.tasks
    ]
    await session.append([user(words("third")), answer(words("three"))], origin=ME)
    again = await session.prepare_compaction(with_input=True)
    assert again.previous_summary
    assert again.inputs is not None
    assert again.inputs[0].previous_summary


async def test_an_omitted_entry_does_not_shorten_the_beginning_of_a_turn(
    office: House, desk: Desk
) -> None:
    omitted = entry("context_edit", "e1", "a2", targetId="a2", replacement=None)
    session = await office.opened(
        user(words("first"), "u1"),
        answer(words("one"), "a1", "u1"),
        user(words("second"), "u2", "a1"),
        answer(words("failed"), "a2", "u2"),
        omitted,
        answer(words("again"), "a3", "e1"),
        answer(words("two"), "a4", "a3"),
    )
    told = await session.prepare_compaction()
    assert (told.first_kept, told.is_split_turn) == ("a4", True)
    assert told.turn_prefix == ("u2", "a2", "e1", "a3")


async def opened(house: House, seed: int) -> OpenSession:
    made = random_sessions.ordinary(seed)
    house.sessions_folder.mkdir(parents=True, exist_ok=True)
    path = house.sessions_folder / f"{seed}.jsonl"
    path.write_bytes(made.data)
    return await house.open(path)


async def tried(act: Any) -> Any:
    try:
        return await act
    except (NothingToCompact, CannotShrink) as refusal:
        return str(refusal)


@pytest.mark.parametrize("keep", [0, 30, 400])
@pytest.mark.parametrize("seed", range(60))
async def test_a_compaction_does_what_its_preview_said(
    office: House, desk: Desk, seed: int, keep: int
) -> None:
    desk.folder.keep(keep)
    desk.writer.text = "T"
    session = await opened(office, seed)
    told = await tried(session.prepare_compaction())
    done = await tried(session.compact(origin=ME))
    if isinstance(told, str):
        assert told == done
        return
    if isinstance(done, str):
        # The text itself took the room that was left.
        assert told.tokens_kept < told.tokens_before
        return
    stored = in_file(session)[-1]
    assert stored["firstKeptEntryId"] == told.first_kept
    assert stored["tokensBefore"] == told.tokens_before == done.before
    summary = estimate_tokens({"role": "compactionSummary", "summary": stored["summary"]})
    size = await session.context_size()
    assert size.estimated == done.after == told.tokens_kept + summary
    assert told.summary_at_most == sum(task.max_tokens for task in desk.writer.tasks)
    assert bool(told.turn_prefix) == any(task.kind == "turnPrefix" for task in desk.writer.tasks)
    assert told.summarised[len(told.summarised) - len(told.turn_prefix) :] == told.turn_prefix
    assert stored["details"]["readFiles"] == list(told.read_files)
    assert stored["details"]["modifiedFiles"] == list(told.modified_files)
