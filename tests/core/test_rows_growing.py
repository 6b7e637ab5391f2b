"""Rows that are kept up with a growing session are those made anew."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from pisessiond.core import kinds
from pisessiond.core.index import NONE
from pisessiond.core.rows.building import Known
from pisessiond.core.rows.growing import Growing as GrowingRows
from pisessiond.core.rows.row import FILTERS, Filter, Row, RowsChange
from tests.support.drawn_rows import Entry, Growing, Walk, drawn, entries_of, written
from tests.support.random_conversations import Conversation


@dataclass
class Screen:
    """A client that has every fold open, and does what the protocol says of changes."""

    levels: dict[str | None, list[Row]] = field(default_factory=dict)
    asked: int = 0
    """How many levels were asked for again."""

    def apply(self, change: RowsChange, walk: Walk) -> None:
        for name in change.gone:
            self.remove(name)
            self.levels.pop(name, None)
        for row in change.upsert:
            self.upsert(row)
        for level in change.stale:
            self.ask(level, walk)
        self.open_all(walk)

    def remove(self, name: str) -> None:
        for rows in self.levels.values():
            rows[:] = [row for row in rows if row.id != name]

    def upsert(self, row: Row) -> None:
        self.remove(row.id)
        rows = self.levels.get(row.level)
        if rows is None:
            return
        names = [one.id for one in rows]
        rows.insert(0 if row.after is None else names.index(row.after) + 1, row)

    def ask(self, name: str | None, walk: Walk) -> None:
        """Take a level and all that is open inside as it is now."""
        for level in walk.levels:
            if name is None or name in level.path:
                self.levels[level.name] = list(level.rows)
                self.asked += 1

    def open_all(self, walk: Walk) -> None:
        """Open what can be opened, and let go of what is inside of nothing any more."""
        anew = walk.by_level()
        reached: dict[str | None, list[Row]] = {}
        waiting: list[str | None] = [None]
        while waiting:
            name = waiting.pop()
            reached[name] = self.levels.get(name, list(anew.get(name, [])))
            waiting += [row.id for row in reached[name] if row.fold != "none"]
        self.levels = reached

    def shown(self) -> dict[str | None, list[Row]]:
        """The rows of every level, linked one behind the other."""
        return {name: linked(rows) for name, rows in self.levels.items()}


def linked(rows: list[Row]) -> list[Row]:
    before = None
    made = []
    for row in rows:
        made.append(replace(row, after=before))
        before = row.id
    return made


class Kept:
    """Rows of one filter that are kept up, beside a screen that shows them."""

    def __init__(self, made: Growing, filter_name: Filter) -> None:
        self.made = made
        self.filter = filter_name
        self.screen = Screen()
        self.screen.ask(None, self.walk())
        self.begin()

    def begin(self) -> None:
        self.rows = GrowingRows(self.made.tree(self.filter), self.known())

    def known(self) -> Known:
        return self.made.known()

    def walk(self) -> Walk:
        return Walk(self.made.tree(self.filter), self.known())

    def grow(self, row: int, entry: Entry) -> RowsChange:
        known = self.known()
        with nothing_is_read(self.made):
            change = self.rows.grow(row, entry, known)
        self.check(change)
        return change

    def check(self, change: RowsChange) -> None:
        walk = self.walk()
        self.screen.apply(change, walk)
        if self.rows.is_stale:
            self.begin()
        shown, anew = self.screen.shown(), walk.by_level()
        assert shown.keys() == anew.keys()
        for name, rows in anew.items():
            for is_, should_be in zip(shown[name], linked(rows), strict=False):
                assert is_ == should_be, (self.filter, name, told(change))
            assert len(shown[name]) == len(rows), (self.filter, name, told(change))
        assert self.rows.segments() == walk.levels[0].segments


@contextmanager
def nothing_is_read(made: Growing) -> Iterator[None]:
    """Fail where a body is read."""
    read = made.session._read_lines

    def refuse(places: Any) -> Any:
        raise AssertionError(places)

    made.session._read_lines = refuse
    try:
        yield
    finally:
        made.session._read_lines = read


def grown(
    drawing: str, more: str, filter_name: Filter = "default"
) -> tuple[Kept, list[RowsChange]]:
    """What each entry of `more` changes when it is appended under the leaf of a drawing."""
    made = drawn(drawing)
    kept = Kept(made, filter_name)
    changes = []
    above = made.session.leaf_id
    entries = entries_of(more, 1_000, None if above is None else str(above))
    for entry in entries:
        changes.append(kept.grow(made.append(entry), entry))
    return kept, changes


def told(change: RowsChange) -> str:
    """What a change says, in short."""
    words = [f"-{name}" for name in change.gone]
    words += [f"{row.level or ''}/{row.id}" for row in change.upsert]
    return " ".join([*words, *(f"?{name}" for name in change.stale)])


def check(drawing: str, more: str, *expected: str, filter_name: Filter = "default") -> None:
    _, changes = grown(drawing, more, filter_name)
    assert [told(change) for change in changes] == list(expected)


def test_a_message_is_a_row_behind_the_last_and_here_follows_it() -> None:
    check("", "u1 a1", "/e:u1 /here", "/e:a1 /here")


def test_what_says_nothing_changes_the_row_it_follows() -> None:
    check("u1", ".1 a1", "/e:u1 /here", "/e:a1 /here")
    check("", ".1 u1", "/here", "/e:u1 /here")


def test_a_turn_grows_into_work() -> None:
    check(
        "u1",
        "c1 r1 c2 r2 r3 a1",
        "/e:c1 /here",
        "-e:c1 /e:r1 /here",
        "/w:c1 w:c1/e:r1 w:c1/e:c2 /here",
        "-e:c2 /w:c1 w:c1/e:r2 /here",
        "/w:c1 w:c1/e:r3 /here",
        "/e:a1 /here",
    )


def test_what_is_said_before_a_call_goes_inside_with_the_result() -> None:
    check("u1", "t1 r1", "/e:t1 /here", "/w:t1 w:t1/e:t1 w:t1/e:r1 /here")


def test_a_call_that_is_left_waits_no_more() -> None:
    check("u1 c1", "u2", "/e:c1 /e:u2 /here")
    check("u1 c1 r1 c2", "u2", "/w:c1 /e:u2 w:c1/e:c2 /here")
    kept, _ = grown("u1 c1 r1 c2", "u2")
    assert all(row.outcome != "running" for rows in kept.screen.levels.values() for row in rows)


def test_a_file_that_ends_in_work_goes_on_with_it() -> None:
    check("u1 c1 r1 c2 r2", "c3 r3", "/w:c1 w:c1/e:c3 /here", "-e:c3 /w:c1 w:c1/e:r3 /here")
    check("u1 c1 r1 c2 r2 u2<r2 .1<r2", ".2", "/w:c1 w:c1/e:r2 /here")


def test_a_label_or_an_edit_asks_for_the_level_of_its_target() -> None:
    check("u1 a1", "l1:u1=good", "/e:a1 /here ?None")
    check("u1 c1 r1 c2 r2 a1", "e1:r1", "/e:a1 /here ?None")
    check("u1 a1 C1 u2", "l1:u1=good", "/e:u2 /here ?s:C1")
    check("u1 a1 u2<u1", "l1:a1=good", "/e:u2 /here ?None")


def test_a_compaction_asks_for_the_main_line() -> None:
    check("u1 a1", "C1:a1 u2", "?None", "/e:u2 /here")


def test_going_on_from_an_earlier_place_asks_for_the_main_line() -> None:
    made = drawn("u1 a1 u2 a2")
    made.move(made.session.row_of("a1"))
    kept = Kept(made, "default")
    entry = entries_of("u3<a1")[0]
    change = kept.grow(made.append(entry), entry)
    assert told(change) == "?None"
    assert "b:u2" in [row.id for row in kept.screen.levels[None]]


def test_an_anchor_changes_nothing() -> None:
    made = drawn("u1 a1 u2 a2")
    made.move(made.session.row_of("a1"))
    kept = Kept(made, "default")
    entry = entries_of(".1<a1")[0]
    assert told(kept.grow(made.append(entry, moves=False), entry)) == ""
    assert "ahead" in [row.id for row in kept.screen.levels[None]]
    # A file that ends so is read alike.
    again = Walk(Growing(written(entries_of("u1 a1 u2 a2 .1<a1"))).tree(leaf=1), Known())
    assert [row.id for row in again.levels[0].rows] == ["e:u1", "e:a1", "here", "ahead"]


def test_what_comes_elsewhere_asks_for_the_level_its_branch_stands_on() -> None:
    made = drawn("u1 a1 u2 a2 u3<a2 a3 u4<u1")
    kept = Kept(made, "default")
    for drawing, expected in (("a9<a3", "?b:a1"), ("u9<a2", "?b:a1"), ("a8<u9", "?None")):
        entry = entries_of(drawing)[0]
        change = kept.grow(made.append(entry, moves=False), entry)
        assert told(change) in (expected, "?None"), drawing


def test_joined_changes_are_as_good_as_one_by_one() -> None:
    made = drawn("u1")
    kept = Kept(made, "default")
    walk = kept.walk()
    joined = RowsChange()
    for entry in entries_of("c1 r1 c2 r2 a1 u2 c3 r3 t4", 1, "u1"):
        joined = joined.then(kept.rows.grow(made.append(entry), entry, kept.known()))
    walk = kept.walk()
    kept.screen.apply(joined, walk)
    assert kept.screen.shown() == {name: linked(rows) for name, rows in walk.by_level().items()}
    assert kept.screen.asked == 1


# Anything that may happen -------------------------------------------------------------------------


_EDITABLE = frozenset({kinds.USER, kinds.ASSISTANT, kinds.TOOL_RESULT, kinds.CUSTOM_MESSAGE})


class Life:
    """Random acts on one session, whose rows are kept up under every filter."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.values = Conversation(seed)
        self.values.grow(self.chance.choice((0, 1, 4)))
        self.made = Growing(self.values.data())
        self.kept = [Kept(self.made, filter_name) for filter_name in FILTERS]
        self.count = 0

    def act(self) -> None:
        pick = self.chance.random()
        if pick < 0.1 and self.made.session.index.count:
            self.made.move(self.chance.choice([NONE, *self.made.session.index.row_of.values()]))
            for kept in self.kept:
                kept.rows.is_stale = True
                kept.check(RowsChange(stale=(None,)))
        elif pick < 0.2:
            self.append(self.body(), parent=self.any_id(), moves=False)
        elif pick < 0.25:
            self.append({"type": "custom", "customType": "anchor"}, moves=False)
        else:
            self.append(self.body())

    def any_id(self) -> Any:
        ids = list(self.made.session.index.row_of)
        return self.chance.choice([None, *ids]) if ids else None

    def body(self) -> Entry:
        kind = self.chance.choice("u a c c r r r t f b n h m k s . S l l e C".split())
        index, leaf = self.made.session.index, self.made.session.leaf
        branch = index.branch(leaf)
        # pi edits what is on the branch alone; other edits are not marked in rows.
        editable = [row for row in branch if index.kind[row] in _EDITABLE]
        targets = {"e": editable, "C": branch, "l": list(index.row_of.values())}
        about = ""
        if kind in targets:
            if not targets[kind]:
                return entries_of("ux")[0]
            about = str(index.ids[self.chance.choice(targets[kind])])
        if kind == "l":
            about += self.chance.choice(("=good", "=other", ""))
        return entries_of(f"{kind}x:{about}" if about else f"{kind}x")[0]

    def append(self, body: Entry, *, parent: Any = ..., moves: bool = True) -> None:
        self.count += 1
        above = self.made.session.leaf_id if parent is ... else parent
        entry = {**body, "id": f"new{self.count}", "parentId": above}
        row = self.made.append(entry, moves=moves)
        for kept in self.kept:
            kept.grow(row, entry)


@pytest.mark.parametrize(
    "seeds",
    [range(5), *(pytest.param(range(at, at + 20), marks=pytest.mark.slow) for at in (5, 25, 45))],
    ids=str,
)
def test_rows_kept_up_are_those_made_anew(seeds: range) -> None:
    for seed in seeds:
        life = Life(seed)
        for _ in range(25):
            life.act()
