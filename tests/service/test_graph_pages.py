"""The graph of an open session: pages, what is found in it, and what an append makes of it."""

from typing import Any

import anyio
import pytest

from pisessiond.core.errors import EntryNotFound
from pisessiond.core.graph.layout import Layout
from pisessiond.core.graph.lines import GraphLine
from pisessiond.core.graph.placing import lay_out
from pisessiond.service import graph_pages
from pisessiond.service.graph_pages import GraphPage, GraphWish
from pisessiond.service.open_session import OpenSession
from tests.support.service import ME, House, answer, user

pytestmark = pytest.mark.anyio


async def _two_ways(house: House) -> OpenSession:
    """From a1 one went on by u2, came back, and went on by u3."""
    return await house.opened(
        user("How does it work?", "u1"),
        answer("Like this.", "a1", "u1", usage=50),
        user("Try it so", "u2", "a1"),
        answer("It broke.", "a2", "u2", usage=80),
        user("Use a clock", "u3", "a1"),
        answer("Done.", "a3", "u3", usage=60),
    )


async def _graph(session: OpenSession, wish: GraphWish | None = None) -> GraphPage:
    return await session.rows.graph(wish or GraphWish())


def _drawn(page: GraphPage) -> list[str]:
    return [f"{one.lane} {one.row.id}" for one in page.lines]


async def test_lines_have_lanes_titles_and_sizes(house: House) -> None:
    session = await _two_ways(house)
    await session.context_sizes(["u1"])
    page = await _graph(session)
    assert _drawn(page) == ["0 e:u1", "0 e:a1", "1 e:u2", "1 e:a2", "0 e:u3", "0 e:a3", "0 here"]
    assert (page.total, page.lanes, page.here, page.rev) == (7, 2, 6, session.rev)
    end = page.lines[3]
    assert end.row.title == "It broke."
    assert end.end is not None
    assert (end.end.row, end.end.entry, end.end.entries) == ("b:u2", "a2", 2)
    assert end.end.title == "Try it so · 2"
    assert _size_of(page.lines[2]) == 50, "the main line passes as it was left"


def _size_of(line: GraphLine) -> int | None:
    [passing] = line.passing
    return None if passing.size is None else passing.size.tokens


async def test_an_append_is_a_line_more(house: House) -> None:
    session = await _two_ways(house)
    before = await _graph(session)
    await session.append([user("More")], origin=ME)
    after = await _graph(session)
    assert after.rev == before.rev + 1
    assert _drawn(after)[:6] == _drawn(before)[:6]
    assert after.total == before.total + 1
    assert after.here == before.here + 1


async def test_a_move_gives_the_main_line_to_another_branch(house: House) -> None:
    session = await _two_ways(house)
    await _graph(session)
    await session.navigate("a2", origin=ME, exact=True)
    page = await _graph(session)
    assert _drawn(page) == ["0 e:u1", "0 e:a1", "0 e:u2", "0 e:a2", "0 here", "1 e:u3", "1 e:a3"]


async def test_an_entry_is_found_with_what_is_around_it(house: House) -> None:
    session = await _two_ways(house)
    page = await _graph(session, GraphWish(around="a2", count=3))
    assert (page.start, page.found) == (2, 3)
    assert _drawn(page) == ["1 e:u2", "1 e:a2", "0 e:u3"]
    assert (page.point_before, page.point_after) == (1, None)
    page = await _graph(session, GraphWish(around="here", count=2))
    assert (page.start, page.found, page.here) == (5, 6, 6)
    with pytest.raises(EntryNotFound):
        await _graph(session, GraphWish(around="nobody"))


async def test_a_layout_is_kept_for_the_next_page_and_no_longer_than_somebody_asks(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []

    def counted(*args: Any) -> Layout:
        made.append(args)
        return lay_out(*args)

    monkeypatch.setattr("pisessiond.service.graph_pages.lay_out", counted)
    session = await _two_ways(house)
    await session.context_sizes(["u1"])
    for start in (0, 2, 4):
        await _graph(session, GraphWish(start=start, count=2))
    assert len(made) == 1
    await session.append([user("More")], origin=ME)
    await _graph(session)
    assert len(made) == 2
    monkeypatch.setattr(graph_pages, "KEPT_SECONDS", 0.01)
    await _graph(session, GraphWish(zoom="entries"))
    with anyio.fail_after(10):
        while len(session.rows._graphs) > 1:
            await anyio.sleep(0.01)
    await _graph(session, GraphWish(zoom="entries"))
    assert len(made) == 4


async def test_where_sessions_were_forked_from_is_a_line_of_the_shape(house: House) -> None:
    session = await _two_ways(house)
    before = await _graph(session, GraphWish(zoom="branches"))
    assert _drawn(before) == ["0 e:a1", "1 b:u2", "0 here"]
    session.rows.forked("/srv/other.jsonl", "u2")
    after = await _graph(session, GraphWish(zoom="branches"))
    assert _drawn(after) == ["0 e:a1", "1 e:u2", "1 b:u2", "0 here"]
    assert after.lines[1].row.forks == ("/srv/other.jsonl",)


async def test_a_graph_that_is_asked_for_while_entries_come_is_of_one_moment(house: House) -> None:
    session = await _two_ways(house)

    async def append() -> None:
        for number in range(40):
            await session.append([user(f"More {number}")], origin=ME)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(append)
        for _ in range(40):
            page = await _graph(session)
            assert page.total == len(page.lines)
            assert page.here == page.total - 1
            ids = [line.row.id for line in page.lines]
            assert len(set(ids)) == len(ids)


async def test_past_the_end_there_are_no_lines(house: House) -> None:
    session = await _two_ways(house)
    page = await _graph(session, GraphWish(start=100))
    assert (page.start, page.lines, page.total) == (7, (), 7)


async def test_an_empty_session_is_one_line(house: House) -> None:
    page = await _graph(await house.create())
    assert _drawn(page) == ["0 here"]
    assert page.lines[0].end is not None
    assert page.lines[0].end.entry is None
