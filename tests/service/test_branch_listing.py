"""Every branch by its end: which there are, what they are called, in pages and by words."""

import threading
import time
from collections.abc import AsyncIterator

import anyio
import pytest

from pisessiond.core.measuring import Own
from pisessiond.core.rows.row import Row
from pisessiond.core.session import Session
from pisessiond.service.branch_listing import Branch, BranchWish
from pisessiond.service.errors import InvalidRequest
from pisessiond.service.open_session import OpenSession
from pisessiond.service.row_pages import RowsWish
from tests.support.random_sessions import ordinary
from tests.support.service import ME, House, answer, entry, label, user

pytestmark = pytest.mark.anyio


async def _forked_path(house: House) -> OpenSession:
    """Three ways on from a1: by u2, by u3 (labelled), by nothing but a label."""
    return await house.opened(
        user("How does it work?", "u1"),
        answer("Like this.", "a1", "u1", usage=50),
        user("Try the Naïve way", "u2", "a1"),
        answer("It broke.", "a2", "u2", usage=80),
        user("Use a clock", "u3", "a1"),
        answer("Done.", "a3", "u3", usage=60),
        entry("model_change", "m3", "a3", provider="p", modelId="m"),
        label("l3", "m3", "u3", "green"),
        entry("custom", "x1", "a1", customType="state", data={}),
        user("On the first way", "u4", "a2"),
    )


async def _branches(session: OpenSession, query: str = "", limit: int = 50) -> list[Branch]:
    """All pages."""
    found: list[Branch] = []
    cursor = None
    while True:
        page = await session.rows.branches(BranchWish(query, limit, cursor))
        assert len(page.branches) <= limit
        assert (page.epoch, page.rev) == (session.epoch, session.rev)
        found += page.branches
        if (cursor := page.cursor) is None:
            return found


def _drawn(branches: list[Branch]) -> list[str]:
    return [
        f"{one.entry} {one.entries} {one.first} / {one.last}"
        + (f" [{one.label}]" if one.label else "")
        + (" *" if one.active else "")
        for one in branches
    ]


async def test_each_branch_is_told_by_its_end_the_active_one_first(house: House) -> None:
    session = await _forked_path(house)
    found = await _branches(session)
    assert _drawn(found) == [
        "u4 5 How does it work? / On the first way *",
        "l3 4 Use a clock / Done. [green]",
    ]
    assert [one.size and one.size.tokens for one in found] == [84, 60]
    assert [one.size and one.size.source for one in found] == ["measured", "measured"]
    assert found[1].time is not None


async def test_sizes_that_take_their_time_are_waited_for(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on, measure_next = threading.Event(), Session.measure_next

    def measure(session: Session, count: int) -> list[Own]:
        assert goes_on.wait(10)
        return measure_next(session, count)

    monkeypatch.setattr(Session, "measure_next", measure)
    session = await _forked_path(house)
    found: list[Branch] = []

    async def ask() -> None:
        found.extend(await _branches(session))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        assert found == []
        goes_on.set()
    assert [one.size and one.size.tokens for one in found] == [84, 60]


async def test_where_one_stands_further_up_the_branch_goes_on_to_its_end(house: House) -> None:
    session = await _forked_path(house)
    await session.append([user("More")], origin=ME)
    await session.navigate("a2", origin=ME, exact=True)
    first, *_ = _drawn(await _branches(session))
    assert first.endswith(" 6 How does it work? / More *")


async def test_words_are_looked_for_in_label_and_texts_without_case_and_accents(
    house: House,
) -> None:
    session = await _forked_path(house)
    for query, ends in (
        ("GREEN done", ["l3"]),
        ("clock", ["l3"]),
        ("naive", []),
        ("first WAY how", ["u4"]),
        ("clock way", []),
        ("", ["u4", "l3"]),
    ):
        assert [one.entry for one in await _branches(session, query)] == ends, query


async def test_pages_of_any_size_tell_every_branch_once(house: House) -> None:
    entries = [user("root", "r")]
    for number in range(23):
        entries.append(user(f"way {number}", f"w{number}", "r"))
    session = await house.opened(*entries)
    whole = [one.entry for one in await _branches(session)]
    assert whole == [f"w{number}" for number in reversed(range(23))]
    for limit in (1, 2, 7, 22, 23, 24):
        assert [one.entry for one in await _branches(session, limit=limit)] == whole
    assert [one.entry for one in await _branches(session, "way", limit=4)] == whole
    await session.navigate("w7", origin=ME, exact=True)
    assert [one.entry for one in await _branches(session, limit=1)][:2] == ["w7", "w22"]


async def test_a_branch_that_grows_between_two_pages_is_not_told_twice(house: House) -> None:
    entries = [user("root", "r"), *(user(f"way {n}", f"w{n}", "r") for n in range(6))]
    session = await house.opened(*entries)
    page = await session.rows.branches(BranchWish(limit=3))
    assert [one.entry for one in page.branches] == ["w5", "w4", "w3"]
    await session.append([user("more", "w4b", "w4")], origin=ME, detached=True)
    page = await session.rows.branches(BranchWish(limit=3, cursor=page.cursor))
    assert [one.entry for one in page.branches] == ["w2", "w1", "w0"]


@pytest.mark.parametrize("cursor", ["", "w1", "-1", "²", "1.5"])
async def test_a_cursor_that_no_answer_gave_is_refused(house: House, cursor: str) -> None:
    session = await _forked_path(house)
    with pytest.raises(InvalidRequest, match="cursor"):
        await session.rows.branches(BranchWish(cursor=cursor))


async def test_an_empty_session_has_no_branch(house: House) -> None:
    assert await _branches(await house.create()) == []


@pytest.mark.parametrize("seed", range(30))
async def test_there_are_as_many_as_the_tree_shows(house: House, seed: int) -> None:
    house.sessions_folder.mkdir(parents=True)
    path = house.sessions_folder / f"{seed}.jsonl"
    path.write_bytes(ordinary(seed).data)
    session = await house.open(path)
    shown = {row.entry: row.entries async for row in _alternatives(session)}
    found = await _branches(session)
    for one in found:
        if not one.active:
            assert shown.pop(one.entry) == one.entries
    # A branch of which only another one that leaves it has rows is shown, but is no place to go.
    assert len({one.entry for one in found}) == len(found)
    assert sum(one.active for one in found) <= 1
    for rest in shown:
        assert await _has_no_rows(session, rest)


async def _alternatives(session: OpenSession) -> AsyncIterator[Row]:
    """Every alternative row, wherever it is."""
    levels: list[str | None] = [None]
    while levels:
        level = levels.pop()
        rows: list[Row] = []
        after = None
        while True:
            page = await session.rows.page(RowsWish(level=level, after=after, count=2_000))
            rows += page.rows
            if (after := page.after) is None:
                break
        for row in rows:
            if row.rows and row.kind != "work":
                levels.append(row.id)
            if row.kind == "alternative":
                yield row


async def _has_no_rows(session: OpenSession, end: object) -> bool:
    async for row in _alternatives(session):
        if row.entry == end:
            page = await session.rows.page(RowsWish(level=row.id, count=2_000))
            return all(one.kind in ("alternative", "group") for one in page.rows)
    raise AssertionError(end)


async def test_five_thousand_branches_are_quick(house: House) -> None:
    entries = [user("root", "r")]
    for number in range(5_000):
        entries.append(user(f"way {number}", f"w{number}", "r"))
        entries.append(answer(f"said {number}", f"s{number}", f"w{number}"))
    session = await house.opened(*entries)
    await session.rows.page(RowsWish(around="here"))
    began = time.perf_counter()
    page = await session.rows.branches(BranchWish())
    first = time.perf_counter() - began
    began = time.perf_counter()
    found = await _branches(session, "4321")
    searched = time.perf_counter() - began
    print(f"5,000 branches: a page {first * 1000:.0f} ms, one searched {searched * 1000:.0f} ms")
    assert len(page.branches) == 50
    assert [one.entry for one in found] == ["s4321"]
    assert first < 1
    assert searched < 2


async def test_a_branch_on_a_branch_on_a_branch_is_found_without_recursion(house: House) -> None:
    entries = [user("root", "n0")]
    for number in range(1, 3_000):
        entries.append(user(f"left {number}", f"o{number}", f"n{number - 1}"))
        entries.append(user(f"way {number}", f"n{number}", f"n{number - 1}"))
    entries.append(user("the newest", "z", "o1"))
    session = await house.opened(*entries)
    found = await _branches(session, limit=500)
    assert len(found) == 3_000
    assert found[0].entry == "z"
    assert found[0].active
