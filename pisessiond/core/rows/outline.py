"""The whole tree at once, nested: lines into turns, and what can be opened with its inside.

Where rows are asked for level by level, an outline shows every level, but the inside of work.
Its items say where in the file they stand, so that an editor can go there and fold them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from pisessiond.core.index import NONE
from pisessiond.core.rows.building import Builder, Known
from pisessiond.core.rows.cutting import Segment
from pisessiond.core.rows.levels import Tree
from pisessiond.core.rows.row import Row

MAX_DEPTH: Final = 64
"""What would be nested deeper stands flat at this depth: editors and encoders count levels."""

_OPENED: Final = frozenset({"alternative", "group", "summarised", "ahead"})
"""Rows whose inside is shown; that of work is many lines that say little."""
_BESIDE: Final = frozenset({"compaction", "branchSummary", *_OPENED})
"""Rows that belong to no turn."""


@dataclass(slots=True)
class Item:
    """A row, or a turn under the row of its question."""

    row: Row
    first: int
    """The first line of the file it stands for, counted from 1."""
    last: int
    is_run: bool
    """Whether all lines from first to last are its own."""
    holds_leaf: bool = False
    """Whether one stands at its last entry; never of what holds items of its own."""
    children: list[Item] = field(default_factory=list)


def make_outline(tree: Tree, known: Known, most: int) -> list[Item]:
    """The items of the main line, and in them those of everything that leaves it.

    Args:
        tree: whose.
        known: what rows tell beside the tree.
        most: items at most. Levels nearer to the main line come first, of a long level its end.
    """
    return _Outline(tree, known).make(most)


@dataclass(slots=True)
class _Outline:
    tree: Tree
    known: Known

    def make(self, most: int) -> list[Item]:
        top: list[Item] = []
        waiting: deque[tuple[str | None, list[Item], int]] = deque([(None, top, 1)])
        while waiting and most > 0:
            level, into, depth = waiting.popleft()
            segments = [one for one in self.tree.level(level) if one.kind != "here"][-most:]
            most -= len(segments)
            items = self._items(segments, level)
            for item, at in _nest(items, into, depth):
                if item.row.kind in _OPENED and item.row.rows:
                    is_deep = at >= MAX_DEPTH
                    inside = into if is_deep else item.children
                    waiting.append((item.row.id, inside, at if is_deep else at + 1))
        return top

    def _items(self, segments: Sequence[Segment], level: str | None) -> list[Item]:
        rows = Builder(self.tree, self.known, level, 0).rows(segments, None)
        return [self._item(one, row) for one, row in zip(segments, rows, strict=True)]

    def _item(self, segment: Segment, row: Row) -> Item:
        index = self.tree.session.index
        first, last = index.line[segment.first], index.line[segment.last]
        # A branch of a group is no line that goes on from another one's first entry.
        is_line = segment.kind != "group"
        steps = index.depth[segment.last] - index.depth[segment.first]
        return Item(
            row,
            min(first, last),
            max(first, last),
            is_run=is_line and last - first == steps,
            holds_leaf=segment.kind not in _OPENED and segment.last == self.tree.leaf != NONE,
        )


def _nest(items: Iterable[Item], into: list[Item], depth: int) -> list[tuple[Item, int]]:
    """Put a level's items into a list, those of a turn under its question; each with its depth.

    What leaves the line in the middle of a turn stands in it, at its end behind it.
    """
    placed: list[tuple[Item, int]] = []
    turn: Item | None = None
    leaving: list[Item] = []

    def put(item: Item, inside: Item | None) -> None:
        is_nested = inside is not None and depth < MAX_DEPTH
        (inside.children if inside is not None and is_nested else into).append(item)
        placed.append((item, depth + is_nested))

    def let_go(inside: Item | None) -> None:
        for one in leaving:
            put(one, inside)
        leaving.clear()

    for item in items:
        if item.row.kind in ("alternative", "group"):
            leaving.append(item)
        elif item.row.kind == "user" or item.row.kind in _BESIDE:
            let_go(None)
            put(item, None)
            turn = item if item.row.kind == "user" else None
        else:
            let_go(turn)
            put(item, turn)
            if turn is not None:
                _reach(turn, item)
    let_go(None)
    return placed


def _reach(turn: Item, item: Item) -> None:
    """Let a turn go on to the end of one of its items."""
    turn.is_run = turn.is_run and item.is_run and item.first == turn.last + 1
    turn.first, turn.last = min(turn.first, item.first), max(turn.last, item.last)
