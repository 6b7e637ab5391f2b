"""The context size at the leaf with every change, and at any entry for whoever asks."""

import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from pisessiond.core.compaction import CompactionSettings
from pisessiond.core.composition import LARGEST
from pisessiond.core.errors import BadSetting, EntryNotFound
from pisessiond.core.pi_settings import CompactionTable, Override
from pisessiond.service import leaf_sizing, model_windows
from pisessiond.service.open_session import OpenSession
from pisessiond.service.settings import FolderSettings, Thresholds
from pisessiond.service.types import ContextSize, EntryId, SessionChange
from tests.support.naive import naive_composition
from tests.support.service import (
    ME,
    Entry,
    House,
    Listener,
    answer,
    entry,
    foreign,
    user,
)
from tests.support.windows import Windows, windows

pytestmark = pytest.mark.anyio

NAMED = {"provider": "demo", "model": "one"}


def call(call_id: str, **arguments: Any) -> Entry:
    return {"type": "toolCall", "id": call_id, "name": "bash", "arguments": arguments}


def asks(entry_id: str | None, parent: str | None, *calls: Entry, **rest: Any) -> Entry:
    message = {"role": "assistant", "content": list(calls), **rest}
    return entry("message", entry_id, parent, message=message)


def result(entry_id: str | None, parent: str | None, call_id: str, text: str) -> Entry:
    message = {"role": "toolResult", "toolCallId": call_id, "toolName": "bash", "content": text}
    return entry("message", entry_id, parent, message=message)


TALK = (
    user("## Fix the login\nplease", "u1", None),
    asks("a1", "u1", call("c1", command="pytest -q"), **NAMED),
    result("r1", "a1", "c1", "x" * 400),
    answer("Done", "a2", "r1", usage=300),
)


@pytest.fixture
async def world(tmp_path: Path, anyio_backend: str) -> AsyncIterator[Windows]:
    async with windows(tmp_path) as world:
        yield world


async def opened(world: Windows | House, *entries: Entry) -> OpenSession:
    """A session whose sizes are all known, and told."""
    house = world.house if isinstance(world, Windows) else world
    session = await house.opened(*entries)
    await session.context_size()
    await anyio.wait_all_tasks_blocked()
    return session


def check(session: OpenSession, leaf: EntryId | None, size: ContextSize | None) -> None:
    """That a size is what counting the projection message by message gives."""
    assert size is not None
    inner = session.session
    parts, ranked = naive_composition(inner.projection(inner.row_of(leaf)))
    assert size.parts == parts
    assert sum(parts.values()) == size.estimated
    assert size.unexplained == size.tokens - sum(parts.values())
    assert size.largest is not None
    assert [one.tokens for one in size.largest] == [tokens for _, tokens in ranked[:LARGEST]]
    assert {(one.entry, one.tokens) for one in size.largest} <= set(ranked)


async def whole(session: OpenSession, leaf: EntryId | None) -> ContextSize:
    """The size as it is worked out for whoever asks for that entry."""
    if leaf is None:
        return await session.context_size()
    return (await session.context_sizes([leaf]))[leaf]


# What is told ---------------------------------------------------------------------------------


async def test_a_size_says_all_that_one_can_act_on(world: Windows) -> None:
    session = await opened(world, *TALK)
    size = await session.context_size()
    assert size.parts == {
        "system": 0,
        "user": 6,
        "assistant": 1,
        "thinking": 0,
        "toolCalls": 7,
        "toolResults": 100,
        "images": 0,
        "summaries": 0,
    }
    assert (size.tokens, size.estimated, size.unexplained) == (300, 114, 186)
    assert [(one.entry, one.title, one.tokens) for one in size.largest or ()] == [
        ("r1", "bash pytest -q", 100),
        ("a1", "bash pytest -q", 7),
        ("u1", "Fix the login", 6),
        ("a2", "Done", 1),
    ]
    assert (size.model, size.window, size.percent) == ("demo/one", 1_000, 30.0)
    assert (size.grade, size.due_at, size.due) == ("ok", 1_000 - 16_384, True)
    check(session, "a2", size)


async def test_an_empty_session_has_a_whole_size_too(world: Windows) -> None:
    session = await world.house.create()
    size = session.snapshot().context_size
    assert size is not None
    assert (size.tokens, sum((size.parts or {"user": 1}).values()), size.largest) == (0, 0, ())
    assert (size.model, size.window, size.percent, size.due) == (None, None, None, False)


async def test_an_opener_is_told_model_and_window_at_once_and_the_parts_soon(
    world: Windows,
) -> None:
    session = await world.house.opened(*TALK)
    early = session.snapshot().context_size
    assert early is not None
    assert (early.tokens, early.parts, early.largest) == (300, None, None)
    assert (early.model, early.window, early.percent) == ("demo/one", 1_000, 30.0)
    listener = Listener(session)
    with anyio.fail_after(5):
        while not listener.steps:
            await anyio.sleep(0)
    (closing,) = listener.steps
    assert (closing.base, closing.rev, closing.changes) == (1, 1, ())
    check(session, "a2", closing.context_size)
    assert session.snapshot().context_size == closing.context_size


async def test_what_an_opener_was_told_stays_known_until_more_is(world: Windows) -> None:
    # Else rows lose their percent for a moment, whenever a daemon begins.
    house = world.house
    session = await house.opened(*TALK)
    seen: list[tuple[int | None, int | None, float | None]] = []
    sized = 0
    with anyio.fail_after(5):
        while (size := session.leaf_size()) is None or size.largest is None:
            seen.append((None, None, None) if size is None else _told(size))
            sized += session.session.sizes.is_complete
            await anyio.sleep(0)
    assert set(seen) == {(300, 1_000, 30.0)} == {_told(size)}
    assert sized, "no moment in which the file was sized and its leaf not yet read"


def _told(size: ContextSize) -> tuple[int, int | None, float | None]:
    return size.tokens, size.window, size.percent


Act = Callable[[OpenSession], Any]
ACTS: dict[str, Act] = {
    "a message": lambda s: s.append([user("more words")], origin=ME),
    "an answer": lambda s: s.append([answer("Fine", usage=350)], origin=ME),
    "a result of a call made long ago": lambda s: s.append(
        [result("r2", "a2", "c1", "y" * 900)], origin=ME
    ),
    "a call and its result": lambda s: s.append(
        [
            asks("a3", "a2", call("c2", command="ls"), call("c3", command="make")),
            result("r2", "a3", "c3", "y" * 900),
        ],
        origin=ME,
    ),
    "a result of no call": lambda s: s.append([result("r2", "a2", "c9", "y" * 900)], origin=ME),
    "an image": lambda s: s.append(
        [entry("message", "i1", "a2", message={"role": "user", "content": [{"type": "image"}]})],
        origin=ME,
    ),
    "a system message": lambda s: s.append(
        [entry("message", "s1", "a2", message={"role": "system", "content": "Be brief."})],
        origin=ME,
    ),
    "a move": lambda s: s.navigate("r1", origin=ME),
    "a move to before a message": lambda s: s.navigate("u1", origin=ME),
    "a move with a summary and a label": lambda s: s.navigate(
        "a1", summary="The tests pass", label="here", origin=ME
    ),
    "an edit": lambda s: s.edit_context("r1", None, origin=ME),
    "a replacement": lambda s: s.edit_context("u1", {"content": "z" * 2_000}, origin=ME),
    "a compaction": lambda s: s.append(
        [
            entry(
                "compaction", "k1", "a2", summary="s" * 99, firstKeptEntryId="r1", tokensBefore=300
            )
        ],
        origin=ME,
    ),
    "a compaction and more": lambda s: s.append(
        [
            entry(
                "compaction", "k1", "a2", summary="s" * 99, firstKeptEntryId="r1", tokensBefore=300
            ),
            user("more words", "u2", "k1"),
        ],
        origin=ME,
    ),
    "a label": lambda s: s.label("u1", "good", origin=ME),
    "another thinking level": lambda s: s.append(
        [entry("thinking_level_change", "t1", "a2", thinkingLevel="high")], origin=ME
    ),
    "another model": lambda s: s.append(
        [entry("model_change", "m1", "a2", provider="demo", modelId="two")], origin=ME
    ),
}


@pytest.mark.parametrize("name", ACTS)
async def test_the_first_change_that_tells_of_an_act_has_the_whole_size(
    world: Windows, name: str
) -> None:
    session = await opened(world, *TALK)
    listener = Listener(session)
    await ACTS[name](session)
    told = [step for step in listener.steps if step.changes]
    assert told
    for step in told:
        check(session, step.leaf, step.context_size)
    assert told[-1].context_size == await whole(session, session.leaf)
    await anyio.wait_all_tasks_blocked()
    listener.settle()
    assert [step for step in listener.steps if not step.changes] == []


async def test_acts_that_come_together_are_each_told_with_the_whole_size(world: Windows) -> None:
    session = await opened(world, *TALK)
    listener = Listener(session)
    async with anyio.create_task_group() as tasks:
        for act in (
            lambda: session.append([user("more")], origin=ME),
            lambda: session.edit_context("r1", None, origin=ME),
            lambda: session.navigate("a1", origin=ME),
            lambda: session.append([user("else")], origin=ME),
            lambda: session.navigate("r1", origin=ME),
            lambda: session.edit_context("u1", {"content": "z" * 99}, origin=ME),
        ):
            tasks.start_soon(act)
    assert len(listener.steps) == 6
    for step in listener.steps:
        check(session, step.leaf, step.context_size)


async def test_what_another_program_appends_is_told_with_the_whole_size(world: Windows) -> None:
    session = await opened(world, *TALK)
    listener = Listener(session)
    foreign(
        session,
        asks("a3", "a2", call("c2", command="make"), **NAMED),
        result("r2", "a3", "c2", "y" * 900),
    )
    await session.look()
    (step,) = listener.steps
    check(session, "r2", step.context_size)
    assert step.context_size is not None
    assert (step.context_size.largest or ())[0].title == "bash make"


@pytest.mark.parametrize(
    "line",
    [
        entry("context_edit", "e1", "a2", targetId="r1", replacement=None),
        entry("compaction", "k1", "a2", summary="s", firstKeptEntryId="a1", tokensBefore=1),
        result("r2", "a2", "c1", "y" * 900),
        user("elsewhere", "u9", "u1"),
    ],
    ids=["edit", "compaction", "old call", "branch"],
)
async def test_what_an_append_of_another_program_cannot_tell_is_told_soon(
    world: Windows, line: Entry
) -> None:
    session = await opened(world, *TALK)
    listener = Listener(session)
    foreign(session, line)
    await session.look()
    await anyio.wait_all_tasks_blocked()
    with anyio.fail_after(5):
        while (size := listener.steps[-1].context_size) is None or size.largest is None:
            await anyio.sleep(0)
    check(session, line["id"], size)
    assert len(listener.steps) <= 2


async def test_a_file_whose_sizes_are_walked_is_told_of_soon(world: Windows) -> None:
    """An edit of what is not above it, which pi never writes."""
    odd = entry("context_edit", "e1", "u1", targetId="a2", replacement={"content": "short"})
    session = await opened(world, TALK[0], odd, asks("a1", "e1", **NAMED), *TALK[2:])
    check(session, "a2", await session.context_size())
    listener = Listener(session)
    await session.append([user("more words")], origin=ME)
    with anyio.fail_after(5):
        while (size := listener.steps[-1].context_size) is None or size.largest is None:
            await anyio.sleep(0)
    check(session, session.leaf, size)
    assert size == await whole(session, session.leaf)


async def test_an_edit_far_up_a_long_branch_is_told_with_the_whole_size(house: House) -> None:
    """Where counting anew on the event loop would take long."""
    lines = [user("first", "n0", None)]
    lines += [user("x" * (n % 97), f"n{n}", f"n{n - 1}") for n in range(1, 6_000)]
    session = await opened(house, *lines)
    listener = Listener(session)
    for number in range(60):
        await session.edit_context(f"n{96 + 97 * number}", None, origin=ME)
    await session.navigate("n5900", exact=True, origin=ME)
    await session.navigate("n5999", exact=True, origin=ME)
    listener.settle()
    for step in listener.steps[::7] + listener.steps[-2:]:
        check(session, step.leaf, step.context_size)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
async def test_whatever_happens_each_change_tells_what_asking_tells(
    world: Windows, seed: int
) -> None:
    chance = random.Random(seed)
    session = await opened(world, *TALK)
    steps: list[SessionChange] = []
    listener = Listener(session)
    for number in range(60):
        inner = session.session
        branch = [inner.id_of(row) for row in inner.index.branch(inner.leaf)]
        on_branch = chance.choice([one for one in branch if one is not None] or ["u1"])
        pick = chance.randrange(9)
        kind = session.session.index.kind[session.session.row_of(on_branch)]
        if pick < 3:
            words = "w" * chance.randrange(3_000)
            made = asks(None, None, call(f"c{number}", command=f"ls {number}"))
            await session.append([made if pick else user(words)], origin=ME)
        elif pick < 5:
            words = "w" * chance.randrange(3_000)
            call_id = f"c{chance.randrange(number + 1)}"
            made = result(None, None, call_id, words)
            await session.append([made], origin=ME)
        elif pick == 5 and kind in (1, 2, 3):
            change = chance.choice([None, {"content": "r" * chance.randrange(2_000)}])
            await session.edit_context(on_branch, change, origin=ME)
        elif pick == 6:
            ids = session.session.index.ids
            await session.navigate(chance.choice(ids), exact=True, origin=ME)
        elif pick == 7:
            summary = "s" * chance.randrange(900)
            made = entry("compaction", summary=summary, firstKeptEntryId=on_branch, tokensBefore=1)
            if session.leaf is not None and on_branch in branch:
                await session.append([made], origin=ME)
        else:
            at = session.session.file_place()
            parent: Any = session.session.id_of(at)
            foreign(session, user("w" * chance.randrange(3_000), f"f{seed}-{number}", parent))
            await session.look()
        listener.settle()
        steps, listener.steps = listener.steps, []
        for step in steps:
            size = step.context_size
            is_ours = any(change.origin == ME for change in step.changes)
            if is_ours or (size is not None and size.largest is not None):
                check(session, step.leaf, size)
        await anyio.wait_all_tasks_blocked()
        now = await session.context_size()
        check(session, session.leaf, now)
        if session.leaf is not None:
            assert now == await whole(session, session.leaf)


# Windows and settings -------------------------------------------------------------------------


async def test_a_window_that_has_to_be_looked_up_is_told_when_it_is_known(world: Windows) -> None:
    world.models.slow.add("demo/one")
    session = await world.house.opened(*TALK)
    listener = Listener(session)
    size = session.snapshot().context_size
    assert size is not None
    assert (size.model, size.window, size.percent, size.due_at) == ("demo/one", None, None, None)
    world.models.may_go_on.set()
    with anyio.fail_after(5):
        while (
            not listener.steps
            or (told := listener.steps[-1].context_size) is None
            or (told.window is None)
        ):
            await anyio.sleep(0)
    assert (told.window, told.percent) == (1_000, 30.0)
    assert listener.steps[-1].changes == ()


async def test_who_asks_waits_for_the_window(world: Windows) -> None:
    world.models.slow.add("demo/one")
    session = await world.house.opened(*TALK)
    world.models.may_go_on.set()
    assert (await session.context_size()).window == 1_000
    sizes = await session.context_sizes(["u1", "a1"])
    assert [sizes[one].window for one in ("u1", "a1")] == [None, 1_000]


async def test_a_lookup_that_does_not_end_holds_nothing_up(
    world: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_windows, "PATIENCE_SECONDS", 0.05)
    world.models.slow.add("demo/one")
    session = await opened(world, *TALK)
    asked = await session.context_size()
    assert (asked.model, asked.window, asked.percent) == ("demo/one", None, None)
    assert (await session.context_sizes(["a1"]))["a1"].window is None
    await session.refresh_settings()
    listener = Listener(session)
    foreign(session, entry("context_edit", "e1", "a2", targetId="r1", replacement=None))
    await session.look()
    with anyio.fail_after(5):
        while (size := listener.steps[-1].context_size) is None or size.largest is None:
            await anyio.sleep(0)
    check(session, "e1", size)
    # It is looked up once, however many ask.
    assert world.models.looked_up == ["demo/one"]


async def test_no_window_no_percent(world: Windows) -> None:
    del world.models.facts["demo/one"]
    session = await opened(world, *TALK)
    size = await session.context_size()
    assert (size.model, size.window, size.percent, size.due_at) == ("demo/one", None, None, None)
    assert (size.grade, size.due) == ("ok", False)


async def test_a_window_may_be_asked_with(world: Windows) -> None:
    session = await opened(world, *TALK)
    size = await session.context_size(window=20_000)
    assert (size.window, size.percent, size.due_at, size.due) == (20_000, 1.5, 3_616, False)
    sizes = await session.context_sizes(["a1", "a2"], window=20_000)
    assert sizes["a2"] == size
    assert sizes["a1"].percent == 100 * sizes["a1"].tokens / 20_000
    # Nobody else is told of it.
    assert (await session.context_size()).window == 1_000


@pytest.mark.parametrize(
    ("tokens", "grade"),
    [(699, "ok"), (700, "warn"), (899, "warn"), (900, "high"), (1_200, "high")],
)
async def test_the_grade_comes_from_the_thresholds(world: Windows, tokens: int, grade: str) -> None:
    session = await opened(world, *TALK)
    await session.append([answer("x", usage=tokens)], origin=ME)
    size = await session.context_size()
    assert (size.percent, size.grade) == (tokens / 10, grade)
    world.settings.found = FolderSettings(thresholds=Thresholds(10.0, 200.0))
    await session.refresh_settings()
    assert (await session.context_size()).grade == "warn"


async def test_due_is_what_pi_would_compact(world: Windows) -> None:
    table = CompactionTable(
        CompactionSettings(reserve_tokens=600), {"demo/two": Override(reserve_tokens=49_800)}
    )
    world.settings.found = FolderSettings(compaction=table)
    session = await opened(world, *TALK)
    size = await session.context_size()
    assert (size.due_at, size.due) == (400, False)
    await session.append([answer("x", usage=400)], origin=ME)
    assert not (await session.context_size()).due
    await session.append([answer("x", usage=401)], origin=ME)
    assert (await session.context_size()).due
    change = entry("model_change", provider="demo", modelId="two")
    await session.append([change], origin=ME)
    size = await session.context_size()
    assert (size.model, size.window, size.due_at, size.due) == ("demo/two", 50_000, 200, True)


async def test_nothing_is_due_where_compaction_is_off_or_its_settings_mean_nothing(
    world: Windows,
) -> None:
    session = await opened(world, *TALK)
    off = CompactionTable(CompactionSettings(enabled=False))
    for found in (
        FolderSettings(compaction=off),
        FolderSettings(problem=BadSetting("settings.json", "compaction.reserveTokens", "is -1")),
    ):
        world.settings.found = found
        await session.refresh_settings()
        size = await session.context_size()
        assert (size.window, size.due_at, size.due) == (1_000, None, False)


async def test_settings_are_read_at_opening_at_each_request_and_with_another_model(
    world: Windows,
) -> None:
    session = await opened(world, *TALK)
    await anyio.wait_all_tasks_blocked()
    assert set(world.settings.asked) == {"/srv/project"}
    listener = Listener(session)
    world.settings.found = FolderSettings(thresholds=Thresholds(1.0, 2.0))
    await session.append([user("x")], origin=ME)
    assert [step.context_size and step.context_size.grade for step in listener.steps] == ["ok"]
    await session.refresh_settings()
    # All are told, not just who asked.
    assert [step.context_size and step.context_size.grade for step in listener.steps[1:]] == [
        "high"
    ]
    world.settings.found = FolderSettings()
    change = entry("model_change", provider="demo", modelId="two")
    await session.append([change], origin=ME)
    with anyio.fail_after(5):
        while (size := listener.steps[-1].context_size) is None or size.grade != "ok":
            await anyio.sleep(0)
    assert size.window == 50_000


async def test_the_model_is_the_last_one_that_is_named_in_full(world: Windows) -> None:
    session = await opened(
        world,
        entry("model_change", "m1", None, provider="demo", modelId="two"),
        user("a", "u1", "m1"),
        answer("b", "a1", "u1"),
        asks("a2", "a1", provider="demo"),
        entry("model_change", "m2", "a2", provider="other", modelId=7),
        asks("a3", "m2", **NAMED),
        user("c", "u2", "m1"),
    )
    sizes = await session.context_sizes(["m1", "u1", "a1", "a2", "m2", "a3", "u2"])
    assert [size.model for size in sizes.values()] == [*["demo/two"] * 5, "demo/one", "demo/two"]
    assert (await session.context_size()).model == "demo/two"
    await session.append([asks(None, None, **NAMED)], origin=ME)
    assert (await session.context_size()).model == "demo/one"


# Other entries --------------------------------------------------------------------------------


async def test_sizes_at_a_set_of_entries_are_whole(world: Windows) -> None:
    session = await opened(
        world,
        *TALK,
        user("else", "u2", "a1"),
        entry("context_edit", "e1", "u2", targetId="u1", replacement=None),
        entry("compaction", "k1", "a2", summary="s" * 40, firstKeptEntryId="r1", tokensBefore=300),
        user("after", "u3", "k1"),
    )
    ids = ["u3", "u1", "e1", "k1", "a2", "r1", "a1", "u2"]
    sizes = await session.context_sizes(ids)
    assert list(sizes) == ids
    for one in ids:
        check(session, one, sizes[one])
    with pytest.raises(EntryNotFound):
        await session.context_sizes(["u1", "nowhere"])


async def test_the_size_before_a_compaction_is_told_until_the_next_answer(
    world: Windows,
) -> None:
    session = await opened(world, *TALK)
    listener = Listener(session)
    made = entry("compaction", summary="s" * 40, firstKeptEntryId="r1", tokensBefore=300)
    await session.append([made], origin=ME)
    await session.append([user("go on")], origin=ME)
    await session.append([answer("x", "a9", str(session.leaf), usage=140)], origin=ME)
    await session.edit_context("a9", {"content": "y"}, origin=ME)
    told = [step.context_size for step in listener.steps]
    assert [size and (size.before, size.measured) for size in told] == [
        (300, None),
        (300, None),
        (None, 140),
        (None, None),
    ]


async def test_an_append_that_goes_on_reads_nothing_and_asks_no_worker(
    world: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await opened(world, *TALK)
    listener = Listener(session)

    def refuse(*_: Any) -> None:
        raise AssertionError("an append should cost the same however much was there before")

    monkeypatch.setattr(leaf_sizing, "read_needs", refuse)
    monkeypatch.setattr(leaf_sizing, "Composition", refuse)
    monkeypatch.setattr(session.session, "entries", refuse)
    for number in range(200):
        made = asks(None, None, call(f"c{number}", command=f"ls {number}"))
        await session.append([made, result(None, None, f"c{number}", "x" * number)], origin=ME)
    monkeypatch.undo()
    listener.settle()
    check(session, session.leaf, listener.steps[-1].context_size)
    assert listener.steps[-1].context_size == await whole(session, session.leaf)


async def test_a_size_names_the_thinking_level_in_force(world: Windows) -> None:
    high = entry("thinking_level_change", "t1", "a2", thinkingLevel="high")
    session = await opened(world, *TALK, high)
    assert (await session.context_size()).thinking_level == "high"
    sizes = await session.context_sizes(["a2", "t1"])
    assert [sizes[one].thinking_level for one in ("a2", "t1")] == [None, "high"]
    listener = Listener(session)
    await session.navigate("a2", exact=True, origin=ME)
    await session.navigate("t1", exact=True, origin=ME)
    told = [step.context_size for step in listener.steps if step.changes]
    assert [size.thinking_level for size in told if size is not None] == [None, "high"]


async def test_a_thinking_level_is_known_before_the_file_is_sized(world: Windows) -> None:
    high = entry("thinking_level_change", "t1", "a2", thinkingLevel="high")
    session = await world.house.opened(*TALK, high)
    early = session.snapshot().context_size
    assert early is not None
    assert (early.parts, early.thinking_level) == (None, "high")
