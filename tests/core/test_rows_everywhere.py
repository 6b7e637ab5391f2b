"""What holds of the rows of any session: random trees and the corpus, every filter, many leaves."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from typing import Any, Final

import pytest

from pisessiond.core import kinds
from pisessiond.core.index import NONE, NeedsRebuild
from pisessiond.core.javascript import utf16_length
from pisessiond.core.rows.cutting import has_row
from pisessiond.core.rows.levels import HERE, NoSuchLevel, Tree
from pisessiond.core.rows.places import find_entry, path_of_level
from pisessiond.core.rows.row import FILTERS, TITLE, Filter
from pisessiond.core.rows.shapes import shape_of
from tests.support import random_conversations, random_sessions
from tests.support.corpus import SAMPLES, Sample
from tests.support.drawn_rows import Growing, Level, Walk
from tests.support.random_sessions import Made
from tests.support.seen import open_file

_FOUND_ONE_BY_ONE: Final = 400
_OF_NO_LINE: Final = ("alternative", "group", "here", "ahead", "summarised")


def leaves(made: Growing, seed: Any, count: int = 4) -> list[int]:
    """Some rows to stand at, and none."""
    rows = list(made.session.index.in_order())
    rows = [row for row in rows if made.session.index.kind[row] != kinds.REPLACED]
    chosen = random.Random(f"{seed}").sample(rows, min(count, len(rows)))
    return [made.session.leaf, NONE, *chosen]


def check_rows(tree: Tree, walk: Walk) -> None:
    check_names(walk)
    for level in walk.levels:
        check_level(tree, level)
    if tree.filter == "labeled-only":
        return
    stand_for = entries_of_rows(tree, walk)
    check_reach(tree, stand_for)
    if len(stand_for) <= _FOUND_ONE_BY_ONE:
        check_finding(tree, walk, stand_for)


def check_names(walk: Walk) -> None:
    names = Counter(row.id for row in walk.rows())
    assert not {name for name, count in names.items() if count > 1}
    assert names[HERE] == 1


def check_level(tree: Tree, level: Level) -> None:
    assert path_of_level(tree, level.name) == level.path
    for row, segment in zip(level.rows, level.segments, strict=True):
        assert row.depth == len(level.path)
        assert utf16_length(row.title) <= TITLE
        assert "\n" not in row.title
        assert (row.fold == "none") == (row.rows == 0)
        if row.rows and row.kind != "alternative":
            assert len(tree.level(row.id)) == row.rows
        if row.kind == "alternative":
            assert tree.level(row.id)
        assert segment.entries == row.entries
    if tree.filter != "labeled-only":
        check_shares(tree, level)


def check_shares(tree: Tree, level: Level) -> None:
    """The rows of a level share out one line: each begins where the one before it ended."""
    index = tree.session.index
    if level.name is not None and level.name.startswith("g:"):
        assert all(segment.kind == "alternative" for segment in level.segments)
        return
    own = [one for one in level.segments if one.kind not in _OF_NO_LINE[:-1]]
    for before, after in pairwise(own):
        assert index.is_ancestor(before.last, after.first)
    shared = [one for one in own if one.kind != "summarised"]
    for before, after in pairwise(own):
        assert after.entries == index.depth[after.last] - index.depth[before.last]
    if shared:
        end = end_of_level(tree, level.name)
        assert shared[-1].last == end or own[-1].last == end
        top = start_of_level(tree, level.name)
        assert sum(one.entries for one in own) == index.depth[end] - top


def start_of_level(tree: Tree, name: str | None) -> int:
    """The depth at which the line of a level begins."""
    if name is None or name.startswith("s:"):
        line = tree.leaf if name is None else row_named(tree, name)
        return tree.session.index.depth[tree.lines.start(line)] - 1
    if name == "ahead":
        return tree.session.index.depth[tree.leaf] if tree.leaf != NONE else -1
    return tree.session.index.depth[row_named(tree, name)] - 1


def end_of_level(tree: Tree, name: str | None) -> int:
    if name is None:
        return tree.leaf
    if name == "ahead":
        return tree.lines.end(tree.leaf)
    row = row_named(tree, name)
    if name.startswith("b:"):
        return tree.lines.end(row)
    level = tree.level(name)
    if name.startswith("w:"):
        return next(one for one in reversed(level)).last
    index = tree.session.index
    kept = tree.kept_depth(row)
    return index.ancestor_at(row, kept - 1)


def row_named(tree: Tree, name: str) -> int:
    row = tree.row_named(name.partition(":")[2])
    assert row is not None
    return row


def entries_of_rows(tree: Tree, walk: Walk) -> dict[int, list[tuple[Level, int]]]:
    """By row of the index, the rows that stand for it, works and summarised parts aside."""
    parent = tree.session.index.parent
    found: dict[int, list[tuple[Level, int]]] = {}
    for level in walk.levels:
        for at, segment in enumerate(level.segments):
            if segment.kind in (*_OF_NO_LINE, "work"):
                continue
            row = segment.last
            for _ in range(segment.entries):
                found.setdefault(row, []).append((level, at))
                row = parent[row]
    return found


def check_reach(tree: Tree, stand_for: dict[int, list[tuple[Level, int]]]) -> None:
    """Every entry that has a row is seen exactly once when every fold is opened."""
    session = tree.session
    for row in range(len(session.index)):
        if session.index.kind[row] == kinds.REPLACED:
            continue
        seen = stand_for.get(row, [])
        assert len(seen) <= 1, session.index.ids[row]
        if has_row(session, tree.shapes, row, tree.filter):
            assert len(seen) == 1, session.index.ids[row]
            level, at = seen[0]
            assert row in (level.segments[at].act, level.segments[at].first)


def check_finding(tree: Tree, walk: Walk, stand_for: dict[int, list[tuple[Level, int]]]) -> None:
    """An entry is found where it is seen; one that is not gives way to what is above it."""
    by_name = {level.name: level for level in walk.levels}
    for row, seen in stand_for.items():
        level, at = seen[0]
        assert find_entry(tree, tree.session.index.ids[row]) == (level.path, at)
    index = tree.session.index
    hidden = [row for row in index.row_of.values() if row not in stand_for]
    for row in hidden[:20]:
        above = [at for at in index.branch(row) if at in stand_for]
        try:
            path, at = find_entry(tree, index.ids[row])
        except NoSuchLevel:
            assert not above
            continue
        level = by_name[path[-1] if path else None]
        found = level.segments[at]
        if found.kind == "summarised":
            # All that has rows in there is on branches that leave it.
            assert index.is_ancestor(found.first, row)
        elif index.is_ancestor(row, found.first):
            # What comes before the first row of a line counts with it.
            assert at == 0
        else:
            assert (level, at) == stand_for[above[-1]][0]


def check_session(made: Growing, seed: Any, filters: tuple[Filter, ...] = FILTERS) -> None:
    for leaf in leaves(made, seed):
        for filter_name in filters:
            tree = made.tree(filter_name, leaf)
            check_rows(tree, Walk(tree, made.known(leaf)))


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
def test_rows_show_every_entry_once(make: Callable[[int], Made], seeds: range) -> None:
    for seed in seeds:
        check_session(Growing(make(seed).data), seed)


OPENED: Final = tuple(sample for sample in SAMPLES if "error" not in sample.pi_open)


@pytest.mark.slow
def test_rows_of_the_corpus_show_every_entry_once() -> None:
    for sample in OPENED:
        check_session(of_sample(sample), sample.name)


def of_sample(sample: Sample) -> Growing:
    made = Growing.__new__(Growing)
    made.take(open_file(sample.path))
    return made


# Shapes ------------------------------------------------------------------------------------------


def test_both_roads_to_a_shape_agree() -> None:
    compared = 0
    for made in some_sessions():
        session = made.session
        for row in range(len(session.index)):
            if session.index.kind[row] == kinds.REPLACED:
                continue
            kind, entry = session.index.kind[row], session.entry(row)
            assert (made.shapes.of[row], made.shapes.tool(row)) == shape_of(kind, entry), entry
            compared += 1
    assert compared > 2_000


def some_sessions() -> Iterator[Growing]:
    for seed in range(40):
        for make in (random_sessions.ordinary, random_sessions.mutated):
            yield Growing(make(seed).data)


# Growing -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seeds", [range(2), pytest.param(range(2, 20), marks=pytest.mark.slow)], ids=str
)
def test_no_row_turns_from_childless_into_a_parent(seeds: range) -> None:
    for seed in seeds:
        whole = random_conversations.grown(seed) if seed % 2 else random_sessions.ordinary(seed)
        header, *lines = whole.data.splitlines(keepends=True)
        made = Growing(header)
        childless: dict[tuple[Filter, str], bool] = {}
        for line in lines[:60]:
            append(made, line)
            for filter_name in FILTERS:
                for row in Walk(made.tree(filter_name), made.known()).rows():
                    is_childless = row.fold == "none"
                    before = childless.setdefault((filter_name, row.id), is_childless)
                    assert is_childless or not before, row.id
                    childless[filter_name, row.id] = is_childless


def append(made: Growing, line: bytes) -> None:
    # A parent that comes after its child makes the session be read anew.
    with suppress(NeedsRebuild):
        made.append(json.loads(line))
