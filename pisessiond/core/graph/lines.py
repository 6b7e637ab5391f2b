"""Lines of a graph as they are told: with titles, sizes and states, and the lanes beside them.

It reads the bodies that titles need, of the lines asked for and no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pisessiond.core.graph.layout import Layout, Passing
from pisessiond.core.index import NONE
from pisessiond.core.lines import EntryId
from pisessiond.core.rows.building import Builder, Known, row_size
from pisessiond.core.rows.levels import Tree
from pisessiond.core.rows.row import Row, RowSize


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane beside a line."""

    lane: int
    next: int | None
    """The next line in it; None where it is not known."""
    size: RowSize | None
    """The context size there; None until known, and for the bundle."""
    count: int = 1
    """How many branches are in it: more than one in the bundle only."""
    leads: bool = False
    """Its branch has no line yet: it only leads to the first."""


@dataclass(frozen=True, slots=True)
class BranchEnd:
    """What is told where a branch ends."""

    row: str | None
    """The row of the branch in the tree; None for the main line."""
    entry: EntryId | None
    """The last entry of it; None where the session has none."""
    entries: int
    """How many entries it has since it left the line it is on."""
    title: str
    """What it is called in the tree; "" for the main line."""
    label: str | None
    """The newest on it."""


@dataclass(frozen=True, slots=True)
class GraphLine:
    """One line of a graph; see the protocol's `GraphLine` for each member."""

    row: Row
    """The row of the tree it is; without its place there."""
    lane: int
    parent: int | None
    next: int | None
    comes_out: bool
    """Its branch leaves the bundle in this line."""
    passing: tuple[Lane, ...]
    leaving: tuple[Lane, ...]
    end: BranchEnd | None


def graph_lines(tree: Tree, known: Known, layout: Layout, lines: range) -> list[GraphLine]:
    """The lines with these numbers.

    Args:
        tree: the session as it was laid out, under the filter of the zoom.
        known: what else rows tell.
        layout: of the whole.
        lines: which.
    """
    return list(_Telling(tree, known, layout).lines(lines))


class _Telling:
    def __init__(self, tree: Tree, known: Known, layout: Layout) -> None:
        self._tree = tree
        self._known = known
        self._layout = layout
        self._builder = Builder(tree, known, None, 0)
        self._sizes: dict[int, RowSize | None] = {NONE: None}
        """By row: of the same entry lanes tell at line after line."""

    def lines(self, lines: Sequence[int]) -> Iterator[GraphLine]:
        layout = self._layout
        segments = [layout.segments[line] for line in lines]
        ends = [layout.leaves[layout.branch[line]] for line in lines if self._ends(line)]
        self._builder.read([*segments, *(one for one in ends if one is not None)])
        return (self._line(line) for line in lines)

    def _ends(self, line: int) -> bool:
        return self._layout.next(line) == NONE

    def _line(self, line: int) -> GraphLine:
        layout = self._layout
        row = self._builder.row(layout.segments[line], None)
        return GraphLine(
            row=row,
            lane=layout.lane[line],
            parent=_told(layout.parent[line]),
            next=_told(layout.next(line)),
            comes_out=layout.comes_out(line),
            passing=self._lanes(layout.passing(line)),
            leaving=self._lanes(layout.leaving(line)),
            end=self._end(line) if self._ends(line) else None,
        )

    def _lanes(self, lanes: Iterable[Passing]) -> tuple[Lane, ...]:
        return tuple(
            Lane(one.lane, _told(one.next), self._size(one.row), one.count, one.leads)
            for one in lanes
        )

    def _size(self, row: int) -> RowSize | None:
        if row not in self._sizes:
            self._sizes[row] = row_size(self._tree.session, row, self._known)
        return self._sizes[row]

    def _end(self, line: int) -> BranchEnd:
        tree = self._tree
        leaves = self._layout.leaves[self._layout.branch[line]]
        if leaves is None:
            end = tree.lines.end(tree.leaf)
            entries = tree.session.index.depth[end] + 1 if end != NONE else 0
            return BranchEnd(None, tree.session.id_of(end), entries, "", None)
        row = self._builder.row(leaves, None)
        return BranchEnd(row.id, row.entry, row.entries, row.title, row.label)


def _told(line: int) -> int | None:
    return None if line == NONE else line
