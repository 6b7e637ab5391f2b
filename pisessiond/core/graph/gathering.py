"""The lines of a graph before they have lanes: every row of the tree, branch by branch.

It reads no bodies.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, TypeVar

from pisessiond.core.index import NONE
from pisessiond.core.rows.cutting import Segment
from pisessiond.core.rows.levels import Tree
from pisessiond.core.rows.row import Filter

T = TypeVar("T")

Zoom: TypeAlias = Literal["branches", "turns", "entries"]

FILTER_OF: Final[dict[Zoom, Filter]] = {
    "branches": "default",
    "turns": "default",
    "entries": "all",
}
"""The filter of the tree whose rows a zoom draws."""

_SHAPE: Final = ("compaction", "here")
"""Rows that `branches` always shows."""
_FOLDS: Final = ("summarised", "ahead")
"""Rows whose inside goes on with the line they are on."""
_ALTERNATIVES: Final = ("alternative", "group")


@dataclass(slots=True, eq=False)
class Node:
    """A line of the graph that has no number yet."""

    segment: Segment
    above: Node | None = field(repr=False)
    """The line it stands under, on its own branch or on the one it leaves; None for a root."""


@dataclass(slots=True, eq=False)
class Branch:
    """A line of the tree: the main line, or an alternative since it left another one."""

    first: int
    """Its first entry; of the main line NONE."""
    leaves: Segment | None
    """The alternative it is in the tree; None for the main line."""
    above: Node | None = field(repr=False)
    """The line of the graph it leaves at; None for the main line and for further roots."""
    nodes: list[Node] = field(default_factory=list)
    """Its lines, oldest first; none where only branches that leave it have rows."""
    ahead: Segment | None = None
    """Of the main line: the row of all that follows the leaf; None where nothing does."""

    def add(self, segment: Segment) -> Node:
        """Put a line at its end."""
        node = Node(segment, self.nodes[-1] if self.nodes else self.above)
        self.nodes.append(node)
        return node


def gather(tree: Tree, zoom: Zoom, forked: Collection[int] = ()) -> list[Branch]:
    """All branches with their lines; the main line is the first.

    Args:
        tree: under the filter of the zoom.
        zoom: how much is shown.
        forked: the rows at which other sessions were forked, which `branches` shows too.
    """
    branches = _every_line(tree)
    if zoom == "branches":
        _leave_shape_alone(tree, branches, forked)
    return branches


def _every_line(tree: Tree) -> list[Branch]:
    main = Branch(NONE, None, None)
    branches = [main]
    waiting = _fill(tree, main, tree.level(None))
    while waiting:
        branch = waiting.pop()
        assert branch.leaves is not None
        branches.append(branch)
        waiting += _fill(tree, branch, tree.inside(branch.leaves))
    return branches


def _fill(tree: Tree, branch: Branch, segments: list[Segment]) -> list[Branch]:
    """Give a branch its lines; the branches that leave it, still without any."""
    leaving: list[Branch] = []
    here: Node | None = None
    for segment in _flat(tree, branch, segments):
        if segment.kind in _ALTERNATIVES:
            at = branch.nodes[-1] if branch.nodes else branch.above
            if segment.branch_point == NONE:
                at = None
            elif here is not None and segment.branch_point == tree.leaf:
                # What leaves at the leaf is told behind what is ahead.
                at = here
            alone = [segment] if segment.kind == "alternative" else tree.inside(segment)
            leaving += [Branch(one.first, one, at) for one in alone]
            continue
        node = branch.add(segment)
        if segment.kind == "here":
            here = node
    return leaving


def _flat(tree: Tree, branch: Branch, segments: list[Segment]) -> Iterator[Segment]:
    """The segments of a level, with those inside what only folds a part of it away."""
    for segment in segments:
        if segment.kind not in _FOLDS:
            yield segment
            continue
        if segment.kind == "ahead":
            branch.ahead = segment
        yield from tree.inside(segment)


# The zoom `branches` ----------------------------------------------------------------------------


def _leave_shape_alone(tree: Tree, branches: list[Branch], forked: Collection[int]) -> None:
    """Leave only lines that make the shape, and end each branch in the row of the branch."""
    kept = {branch.above for branch in branches if branch.above is not None}
    by_first = {branch.first: branch for branch in branches}
    kept |= {node for row in forked if (node := _node_of(tree, by_first, row)) is not None}
    # A branch is gathered after the one it leaves, so that what it hangs on is settled.
    for branch in branches:
        shown = [one for one in branch.nodes if one in kept or one.segment.kind in _SHAPE]
        branch.nodes = []
        for node in shown:
            node.above = branch.nodes[-1] if branch.nodes else branch.above
            branch.nodes.append(node)
        end = branch.leaves or branch.ahead
        if end is not None:
            branch.add(end)


# Finding --------------------------------------------------------------------------------------


def branch_of(tree: Tree, known: Mapping[int, T], row: int) -> tuple[T, int] | None:
    """The branch an entry is on, and the entry; of a branch without any row, where that leaves.

    Args:
        tree: whose entry it is.
        known: the branches by their first entries, the main line by NONE.
        row: the entry.
    """
    index, lines = tree.session.index, tree.lines
    while row != NONE:
        start = lines.start(row)
        branch = known.get(NONE if start == lines.next(NONE) else start)
        if branch is not None:
            return branch, row
        row = index.parent[start]
    return None


def covering(tree: Tree, segments: Sequence[Segment], row: int) -> int:
    """Which of a branch's lines stands for an entry, or comes next; the last where none does.

    NONE without any line.
    """
    depths = [_depth(tree, one.last) for one in segments]
    return min(bisect_left(depths, _depth(tree, row)), len(depths) - 1)


def _node_of(tree: Tree, by_first: dict[int, Branch], row: int) -> Node | None:
    found = branch_of(tree, by_first, row)
    if found is None:
        return None
    branch, row = found
    at = covering(tree, [one.segment for one in branch.nodes], row)
    return branch.nodes[at] if at != NONE else branch.above


def _depth(tree: Tree, row: int) -> int:
    return tree.session.index.depth[row] if row != NONE else NONE
