"""What holds for the graph of every session: random ones, and those of the corpus."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final, get_args

import pytest

from pisessiond.core.graph.gathering import FILTER_OF, Zoom
from pisessiond.core.graph.layout import BUNDLE, LANES
from pisessiond.core.graph.lines import GraphLine, graph_lines
from pisessiond.core.index import NONE
from pisessiond.core.rows.row import Row
from tests.core.test_rows_everywhere import OPENED, leaves, of_sample
from tests.support import random_conversations, random_sessions
from tests.support.drawn_graphs import Drawn, branchy, graph_of
from tests.support.drawn_rows import Growing, Walk, drawn
from tests.support.random_sessions import Made

ZOOMS: Final[tuple[Zoom, ...]] = get_args(Zoom)
_FOLDS: Final = ("summarised", "group")
"""Rows that hold others, and have no line."""


def check_session(made: Growing, seed: Any) -> None:
    for leaf in leaves(made, seed):
        for zoom in ZOOMS:
            graph = graph_of(made, zoom, leaf)
            check_order(graph)
            check_lanes(graph)
            check_rows(graph, Walk(graph.tree, made.known(leaf)), zoom)
            check_finding(graph)
            check_pages(graph, made, leaf)


def check_order(graph: Drawn) -> None:
    """Each line stands behind the one it is under, which stands for an entry above it."""
    index = graph.tree.session.index
    for number, line in enumerate(graph.lines):
        if line.parent is None:
            continue
        assert line.parent < number
        above, below = (graph.layout.segments[at] for at in (line.parent, number))
        begun = below.first if _is_own(below.kind) else below.last
        assert above.kind == "here" or index.is_ancestor(above.first, begun)
    if index.order is None:
        firsts = [one.first for one in graph.layout.segments if _is_own(one.kind)]
        assert firsts == sorted(firsts)


def _is_own(kind: str) -> bool:
    return kind not in ("here", "ahead", "alternative")


# Lanes -----------------------------------------------------------------------------------------


def branches_of(lines: list[GraphLine]) -> list[list[int]]:
    """The lines of each branch, as each line says which is the next."""
    firsts = set(range(len(lines))) - {line.next for line in lines}
    found = []
    for first in sorted(firsts):
        branch = [first]
        while (following := lines[branch[-1]].next) is not None:
            branch.append(following)
        found.append(branch)
    return found


def check_lanes(graph: Drawn) -> None:
    """No two branches are in one lane at a line but the bundle, and each line tells what is so."""
    lines = graph.lines
    passing: list[dict[int, int]] = [{} for _ in lines]
    leaving: list[dict[int, int]] = [{} for _ in lines]
    taken: set[tuple[int, int]] = set()
    for branch in branches_of(lines):
        first, last, lane = branch[0], branch[-1], lines[branch[0]].lane
        assert {lines[at].lane for at in branch} == {lane}
        assert [at for at in branch if lines[at].end is not None] == [last]
        start = lines[first].parent
        is_led = start is not None and lane != 0
        begins = first if start is None or lane == 0 or lines[first].comes_out else start
        led = range(begins, last + 1)
        if lane != BUNDLE:
            places = {(lane, at) for at in led}
            assert not places & taken
            taken |= places
        stretches = [(lane, led)]
        if lines[first].comes_out:
            assert start is not None
            stretches.append((BUNDLE, range(start, first + 1)))
        for at_lane, stretch in stretches:
            own = {at for at in branch if lines[at].lane == at_lane}
            for at in stretch:
                if at == start and at not in own and is_led:
                    leaving[at][at_lane] = leaving[at].get(at_lane, 0) + 1
                elif stretch[0] < at < stretch[-1] and at not in own:
                    passing[at][at_lane] = passing[at].get(at_lane, 0) + 1
    for at, line in enumerate(lines):
        assert {one.lane: one.count for one in line.passing} == passing[at]
        assert {one.lane: one.count for one in line.leaving} == leaving[at]
        for one in (*line.passing, *line.leaving):
            assert one.next is not None
            assert one.next > at
            assert lines[one.next].lane == one.lane or lines[one.next].comes_out
    used = max(line.lane for line in lines)
    assert used < graph.layout.lanes <= LANES + 2
    assert all(line.lane == 0 for line in lines if line.row.kind in ("here", "ahead"))


# Rows ------------------------------------------------------------------------------------------


def check_rows(graph: Drawn, walk: Walk, zoom: Zoom) -> None:
    """Every row of the tree at that zoom is there once, as the tree has it, and nothing else."""
    found = {line.row.id: line.row for line in graph.lines}
    assert len(found) == len(graph.lines)
    rows = {row.id: _placeless(row) for row in _rows_outside_work(walk)}
    assert found.items() <= rows.items()
    missing = {row.id: row for name, row in rows.items() if name not in found}
    if zoom != "branches":
        kinds = {row.kind for row in missing.values()}
        assert kinds <= {*_FOLDS, "alternative", "ahead"}
        assert not {row.kind for row in found.values()} & {*_FOLDS, "alternative", "ahead"}
        return
    assert {row.kind for row in missing.values()}.isdisjoint({"alternative", "here", "compaction"})
    for line in graph.lines:
        is_shape = line.row.kind in ("alternative", "ahead", "here", "compaction")
        assert is_shape or line.leaving


def _rows_outside_work(walk: Walk) -> Iterator[Row]:
    for level in walk.levels:
        if level.name is None or not level.name.startswith("w:"):
            yield from level.rows


def _placeless(row: Row) -> Row:
    return replace(row, level=None, after=None, depth=0)


def check_finding(graph: Drawn) -> None:
    """Each entry is found in a line that stands for it, or for what comes next on its branch."""
    tree, index = graph.tree, graph.tree.session.index
    firsts = {*graph.layout.firsts} | {tree.lines.next(NONE)}
    for row in list(index.row_of.values())[::7]:
        line = graph.layout.line_of(tree, row)
        # A branch without any row counts with where it leaves.
        while row != NONE and (start := tree.lines.start(row)) not in firsts:
            row = index.parent[start]
        if line == NONE:
            assert row == NONE
            continue
        segment = graph.layout.segments[line]
        is_here = segment.kind == "here"
        assert (
            is_here or index.is_ancestor(row, segment.last) or index.is_ancestor(segment.first, row)
        )


def check_pages(graph: Drawn, made: Growing, leaf: int) -> None:
    """A page holds the same lines as the whole."""
    size = max(len(graph.lines) // 3, 1)
    paged: list[GraphLine] = []
    for start in range(0, len(graph.lines), size):
        lines = range(start, min(start + size, len(graph.lines)))
        paged += graph_lines(graph.tree, made.known(leaf), graph.layout, lines)
    assert paged == graph.lines


@pytest.mark.parametrize(
    "make",
    [
        random_sessions.ordinary,
        random_sessions.leafy,
        random_sessions.repeated,
        random_sessions.mutated,
        random_conversations.grown,
    ],
    ids=lambda make: make.__name__,
)
@pytest.mark.parametrize(
    "seeds", [range(2), pytest.param(range(2, 20), marks=pytest.mark.slow)], ids=str
)
def test_every_row_has_a_line_and_every_branch_a_lane(
    make: Callable[[int], Made], seeds: range
) -> None:
    for seed in seeds:
        check_session(Growing(make(seed).data), seed)


@pytest.mark.slow
def test_every_row_of_the_corpus_has_a_line_and_every_branch_a_lane() -> None:
    for sample in OPENED:
        check_session(of_sample(sample), sample.name)


# Size ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("zoom", ZOOMS)
def test_ten_thousand_entries_with_two_hundred_branches_are_quick(zoom: Zoom) -> None:
    made = drawn(branchy(10_000, 200))
    layout = graph_of(made, zoom, lines=False).layout
    took = min(_time(lambda: graph_of(made, zoom, lines=False)) for _ in range(3))
    page = range(max(len(layout) - 200, 0), len(layout))
    tree = made.tree(FILTER_OF[zoom])
    told = min(_time(lambda: graph_lines(tree, made.known(), layout, page)) for _ in range(3))
    print(
        f"{zoom}: {len(layout)} lines, {layout.lanes} lanes in {took * 1000:.0f} ms, "
        f"a page of {len(page)} in {told * 1000:.0f} ms"
    )
    assert len(layout.firsts) == 200
    assert took < 0.5


def _time(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
