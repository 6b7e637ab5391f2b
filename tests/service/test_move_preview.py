"""Dry runs of moves and forks: what is told is what the act then does."""

import random
from typing import Any

import pytest

from pisessiond.core.errors import BadSetting, EntryNotFound, InvalidEntry
from pisessiond.core.fork import all_lines
from pisessiond.core.javascript import utf16_length
from pisessiond.core.summary_prompts import make_prompt
from pisessiond.models.base import ModelFacts, ModelName, Price
from pisessiond.service.errors import InvalidRequest
from pisessiond.service.open_session import OpenSession
from pisessiond.service.previews import Forecast, MovePreview
from tests.support import random_sessions
from tests.support.naive import naive_path
from tests.support.service import ME, House, answer, foreign, in_file, label, user
from tests.support.summarizers import Desk, words

pytestmark = pytest.mark.anyio

TREE = (
    user("Fix it", "u1"),
    answer(words("How?"), "a1", "u1"),
    user("Freeze the clock", "u2", "a1"),
    answer(words("Done", 200), "a2", "u2"),
    label("l2", "a2", "a1", "green"),
    user("Inject a clock", "u3", "a1"),
    answer(words("Done, too", 300), "a3", "u3"),
)


@pytest.fixture
async def session(office: House) -> OpenSession:
    return await office.opened(*TREE)


async def moved(session: OpenSession, target: Any, *, exact: bool = False) -> MovePreview:
    return await session.preview_move(target, exact=exact, summarizer=None)


async def forked(
    session: OpenSession, entry: Any = None, *, position: Any = None, cwd: str | None = None
) -> MovePreview:
    return await session.preview_fork(entry, position=position, cwd=cwd)


# Moves


async def test_a_user_message_means_before_it(session: OpenSession) -> None:
    found = await moved(session, "u2")
    assert (found.leaf, found.returns_text) == ("a1", "Freeze the clock")
    assert (found.left_entries, found.left_turns) == (2, 1)
    sizes = await session.context_sizes(["a3", "a1"])
    assert (found.size_now, found.size_after) == (sizes["a3"], sizes["a1"])


async def test_exactly_there_nothing_comes_back(session: OpenSession) -> None:
    found = await moved(session, "u2", exact=True)
    assert (found.leaf, found.returns_text, found.left_entries) == ("u2", None, 2)


async def test_to_where_one_stands_nothing_happens(session: OpenSession) -> None:
    found = await moved(session, "a3")
    assert (found.leaf, found.left_entries, found.forecast) == ("a3", 0, None)
    assert found.size_now == found.size_after


async def test_before_the_first_entry_all_is_left(session: OpenSession) -> None:
    found = await moved(session, None)
    assert (found.leaf, found.left_entries, found.left_turns) == (None, 4, 2)
    assert found.size_after.tokens == 0


async def test_a_preview_changes_nothing(session: OpenSession) -> None:
    before, rev = in_file(session), session.rev
    await moved(session, "u2")
    await forked(session, "u2")
    assert (in_file(session), session.rev, session.leaf) == (before, rev, "a3")


async def test_a_target_that_is_not_there_is_named(session: OpenSession) -> None:
    with pytest.raises(EntryNotFound):
        await moved(session, "nowhere")


# What a summary would come to


async def test_a_forecast_is_of_the_prompt_and_half_the_longest_summary(
    session: OpenSession, desk: Desk
) -> None:
    desk.writer.facts = ModelFacts(200_000, 1_000, Price(3.0, 15.0))
    found = await moved(session, "a2")
    assert desk.summarizers.to_write == [False]
    await session.navigate("a2", summarize=True, origin=ME)
    (task,) = desk.writer.tasks
    prompt = make_prompt(task)
    tokens = (utf16_length(prompt.system) + utf16_length(prompt.user) + 3) // 4
    cost = (tokens * 3.0 + 500 * 15.0) / 1_000_000
    assert found.forecast == Forecast("scripted", "demo/demo-1", tokens, cost)


async def test_an_unknown_price_is_no_price_and_nothing_is_none(
    session: OpenSession, desk: Desk
) -> None:
    found = (await moved(session, "a2")).forecast
    assert found is not None
    assert found.cost is None
    desk.writer.is_extract, desk.writer.model = True, None
    found = (await moved(session, "a2")).forecast
    assert found is not None
    assert (found.model, found.cost) == (None, 0.0)


async def test_the_model_asked_about_is_the_sessions(session: OpenSession, desk: Desk) -> None:
    await session.append(
        [{"type": "model_change", "provider": "demo", "modelId": "demo-2"}], origin=ME
    )
    await moved(session, "a2")
    assert desk.summarizers.session_models[-1] == ModelName("demo", "demo-2")


async def test_where_nobody_could_there_is_no_forecast(session: OpenSession, desk: Desk) -> None:
    found = await session.preview_move("a2", exact=False, summarizer="of another world")
    assert (found.forecast, found.left_entries) == (None, 2)
    desk.folder.set(problem=BadSetting("~/settings.json", "branchSummary.reserveTokens", "is odd"))
    assert (await moved(session, "a2")).forecast is None
    assert desk.writer.tasks == []


# Other programs


async def test_another_programs_write_is_told_for_a_quarter_of_an_hour(
    session: OpenSession, desk: Desk
) -> None:
    assert (await moved(session, "u2")).outside is None
    foreign(session, answer("more", "a4", "a3"))
    await session.look()
    desk.hand.wind(15 * 60_000 - 1)
    assert (await moved(session, "u2")).outside == session.last_external
    assert (await forked(session)).outside == session.last_external
    desk.hand.wind(1)
    assert (await moved(session, "u2")).outside is None


# Forks


async def test_a_fork_holds_the_path_to_its_end(session: OpenSession) -> None:
    found = await forked(session, "u2")
    assert (found.leaf, found.returns_text) == ("a1", "Freeze the clock")
    assert (found.left_entries, found.left_turns, found.forecast) == (2, 1, None)
    here = await forked(session)
    assert (here.leaf, here.left_entries) == ("a3", 0)
    assert here.size_after == here.size_now


async def test_labels_are_no_place_to_stand_at(session: OpenSession) -> None:
    assert (await forked(session, "l2", position="at")).leaf == "a2"


async def test_with_all_branches_one_stands_where_the_file_would_reopen(
    session: OpenSession, office: House
) -> None:
    await session.navigate("a2", origin=ME)
    found = await forked(session, cwd="/srv/elsewhere")
    assert (found.leaf, found.left_entries) == ("a3", 2)


async def test_what_cannot_be_forked_is_refused_alike(session: OpenSession) -> None:
    with pytest.raises(InvalidEntry):
        await forked(session, "a1")
    with pytest.raises(InvalidRequest):
        await forked(session, position="before")
    with pytest.raises(EntryNotFound):
        await forked(session, "nowhere")


# Random trees


def parents_of(session: OpenSession) -> dict[str, str | None]:
    index = session.session.index
    return {
        str(entry): None if (up := session.session.id_of(index.parent[row])) is None else str(up)
        for entry, row in index.row_of.items()
    }


async def opened(house: House, seed: int) -> OpenSession:
    made = random_sessions.ordinary(seed)
    house.sessions_folder.mkdir(parents=True, exist_ok=True)
    path = house.sessions_folder / f"{seed}.jsonl"
    path.write_bytes(made.data)
    return await house.open(path)


@pytest.mark.parametrize("seed", range(60))
async def test_a_move_does_what_its_preview_said(office: House, desk: Desk, seed: int) -> None:
    session = await opened(office, seed)
    chance = random.Random(seed)
    for _ in range(4):
        target = chance.choice([None, *session.session.index.row_of])
        exact = chance.random() < 0.3
        left, parents = session.leaf, parents_of(session)
        told = await moved(session, target, exact=exact)
        done = await session.navigate(target, exact=exact, origin=ME)
        assert (told.leaf, told.returns_text) == (done.leaf, done.editor_text)
        assert told.size_after == await session.context_size()
        after = set(naive_path(session.leaf, parents))  # type: ignore[arg-type]
        gone = [one for one in naive_path(left, parents) if one not in after]  # type: ignore[arg-type]
        assert told.left_entries == len(gone)
        entries = {entry["id"]: entry for entry in in_file(session)}
        users = [one for one in gone if entries[one].get("message", {}).get("role") == "user"]
        assert told.left_turns == len(users)


@pytest.mark.parametrize("seed", range(60))
async def test_a_summary_is_made_from_what_its_preview_counted(
    office: House, desk: Desk, seed: int
) -> None:
    session = await opened(office, seed)
    chance = random.Random(seed)
    desk.writer.facts = ModelFacts(window=chance.choice((None, 20_000, 200_000)))
    for _ in range(3):
        target = chance.choice([None, *session.session.index.row_of])
        told = await moved(session, target)
        desk.writer.tasks.clear()
        done = await session.navigate(target, summarize=True, origin=ME)
        assert (told.forecast is None) == (desk.writer.tasks == []) == (done.summary_entry is None)
        if told.forecast is not None:
            prompts = map(make_prompt, desk.writer.tasks)
            sizes = [utf16_length(one.system) + utf16_length(one.user) for one in prompts]
            assert told.forecast.tokens_in == sum((size + 3) // 4 for size in sizes)


@pytest.mark.parametrize("seed", range(60))
async def test_a_fork_holds_what_its_preview_said(office: House, seed: int) -> None:
    session = await opened(office, seed)
    chance = random.Random(seed)
    for _ in range(3):
        entry = chance.choice([None, *session.session.index.row_of])
        cwd = chance.choice((None, "/srv/elsewhere"))
        position: Any = None if entry is None else chance.choice(("at", "before"))
        try:
            told = await forked(session, entry, position=position, cwd=cwd)
        except InvalidEntry:
            with pytest.raises(InvalidEntry):
                await session.fork(entry, position=position, cwd=cwd, origin=ME)
            continue
        done = await session.fork(entry, position=position, cwd=cwd, origin=ME)
        made = office.sessions.get(done.session)
        assert told.returns_text == done.editor_text
        assert told.leaf == last_that_says_something(made, with_all=entry is None and bool(cwd))
        assert told.size_after == await made.context_size()


def last_that_says_something(made: OpenSession, *, with_all: bool) -> Any:
    """The leaf of a fork without the labels written anew behind it; a copy of all has its own."""
    if with_all:
        assert all_lines(made.session)
        return made.leaf
    index, row = made.session.index, made.session.leaf
    while row >= 0 and b'"type":"label"' in made.session.lines([row])[0].replace(b" ", b""):
        row = index.parent[row]
    return made.session.id_of(row)
