"""Where each line of a graph stands: its number and its lane, and which lanes pass it by."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from pisessiond.core.graph.gathering import Branch, Node, branch_of, covering
from pisessiond.core.index import NONE, Index
from pisessiond.core.rows.cutting import Segment
from pisessiond.core.rows.levels import Tree

LANES: Final = 8
"""Lanes beside that of the main line."""
BUNDLE: Final = LANES + 1
"""The lane of all branches that none of those is free for."""

_BY_PLACE: Final = itemgetter(0)
_EMPTY: Final[tuple[int, ...]] = (NONE,) * BUNDLE


@dataclass(frozen=True, slots=True)
class Passing:
    """A lane that passes a line by, or begins there."""

    lane: int
    next: int
    """The next line in it; NONE where it is not known."""
    row: int
    """The entry whose context size the lane has there; NONE for the bundle."""
    count: int = 1
    """How many branches are in it: more than one in the bundle only."""
    leads: bool = False
    """Its branch has no line yet: it only leads to the first."""


@dataclass(slots=True)
class Layout:
    """A graph: lines by number, oldest first. Branches have numbers too; the main line's is 0."""

    firsts: list[int]
    """By branch, its first entry; of the main line NONE."""
    leaves: list[Segment | None]
    """By branch, the alternative it is in the tree; None for the main line."""
    above: array[int]
    """By branch, the line it leaves at; NONE for the main line and for further roots."""
    segments: list[Segment]
    """By line, what it stands for."""
    parent: array[int]
    """By line, the one it stands under; NONE for a root."""
    branch: array[int]
    """By line, its branch."""
    lane: bytearray
    """By line."""
    own: list[array[int]]
    """By branch, its lines."""
    live: list[tuple[int, ...]]
    """By line, the branch in each lane just below it; the bundle aside."""
    bundled: array[int]
    """By line, how many branches are in the bundle just below it."""
    joined: dict[int, int]
    """By line, how many join the bundle there."""
    through: list[tuple[int, int]]
    """The lines that one comes to from the bundle, each with that in which its branch joined."""
    points: list[int]
    """The lines at which branches leave, in order."""
    here: int
    """The line that says where one stands."""
    lanes: int
    """How many lanes there are, the bundle among them."""

    def __len__(self) -> int:
        return len(self.segments)

    def line_of(self, tree: Tree, row: int) -> int:
        """The line that stands for an entry; for one without, the nearest on its branch.

        NONE where there is neither that nor a line above its branch.
        """
        numbers = {first: number for number, first in enumerate(self.firsts)}
        found = branch_of(tree, numbers, row)
        if found is None:
            return NONE
        branch, row = found
        own = self.own[branch]
        at = covering(tree, [self.segments[line] for line in own], row)
        return own[at] if at != NONE else self.above[branch]

    def next(self, line: int) -> int:
        """The next line of the same branch; NONE at its end."""
        return self._next_of(self.branch[line], line)

    def comes_out(self, line: int) -> bool:
        """Whether a line is its branch's first, in which that leaves the bundle for a lane."""
        lane, branch = self.lane[line], self.branch[line]
        is_new = lane != BUNDLE and branch != self._before(line)[lane]
        return is_new and self.above[branch] != NONE

    def passing(self, line: int) -> Iterator[Passing]:
        """The lanes that come from above a line and go on below it; its own only as the bundle."""
        for lane, (above, below) in enumerate(
            zip(self._before(line), self.live[line], strict=True)
        ):
            if above == below != NONE and lane != self.lane[line]:
                yield self._passing(lane, above, line)
        count = self.bundled[line] - self.joined.get(line, 0)
        if self.lane[line] == BUNDLE and self.next(line) != NONE:
            count -= 1
        if count:
            yield Passing(BUNDLE, self._next_bundled(line), NONE, count)

    def leaving(self, line: int) -> Iterator[Passing]:
        """The lanes that begin in a line and are led there from its own."""
        own = self.branch[line]
        for lane, (above, below) in enumerate(
            zip(self._before(line), self.live[line], strict=True)
        ):
            if above != below and below not in (NONE, own) and self.above[below] == line:
                yield self._passing(lane, below, line)
        if joined := self.joined.get(line, 0):
            yield Passing(BUNDLE, self._next_bundled(line), NONE, joined)

    def points_around(self, first: int, stop: int) -> tuple[int, int]:
        """The nearest lines before and behind a stretch at which branches leave; NONE for none."""
        before = bisect_right(self.points, first - 1)
        behind = bisect_right(self.points, stop - 1)
        return (
            self.points[before - 1] if before else NONE,
            self.points[behind] if behind < len(self.points) else NONE,
        )

    def _before(self, line: int) -> tuple[int, ...]:
        return self.live[line - 1] if line else _EMPTY

    def _next_of(self, branch: int, line: int) -> int:
        own = self.own[branch]
        at = bisect_right(own, line)
        return own[at] if at < len(own) else NONE

    def _passing(self, lane: int, branch: int, line: int) -> Passing:
        own = self.own[branch]
        at = bisect_right(own, line)
        leaves = self.leaves[branch]
        # Before its first line a branch is as large as where it begins.
        row = self.segments[own[at - 1]].last if at or leaves is None else leaves.branch_point
        return Passing(lane, own[at], row, leads=not at)

    def _next_bundled(self, line: int) -> int:
        at = bisect_right(self.through, (line, len(self)))
        while at < len(self.through):
            found, joined = self.through[at]
            if joined <= line:
                return found
            at += 1
        return NONE


def lay_out(index: Index, leaf: int, branches: Sequence[Branch]) -> Layout:
    """Numbers and lanes for the lines of branches.

    Args:
        index: of the session.
        leaf: where it stands; NONE before the first entry.
        branches: as they were gathered.
    """
    return _Placing(branches, _in_order(index, leaf, branches)).layout()


# Order -----------------------------------------------------------------------------------------


def _in_order(index: Index, leaf: int, branches: Sequence[Branch]) -> list[tuple[int, Node]]:
    """All lines, oldest first, each behind the one it stands under and with its branch."""
    place = _places(index)
    placed = []
    for number, branch in enumerate(branches):
        for node in branch.nodes:
            segment = node.segment
            if segment.kind == "here":
                at = 3 * place(leaf) + 1
            elif segment is branch.leaves or segment is branch.ahead:
                at = 3 * place(segment.last) + 2
            else:
                at = 3 * place(segment.first)
            placed.append((at, number, node))
    placed.sort(key=_BY_PLACE)
    return [(number, node) for _, number, node in placed]


def _places(index: Index) -> Callable[[int], int]:
    """By row, a number that grows with the file and is larger than that of its parent."""
    if index.order is None:
        return int
    order = list(index.order)
    youngest = array("q", bytes(8 * (max(order, default=NONE) + 1)))
    places = array("q", youngest)
    for at, row in enumerate(order):
        above = index.parent[row]
        # A child that the file has before its parent counts as no older than that.
        youngest[row] = max(row, youngest[above]) if above != NONE else row
        places[row] = youngest[row] * (len(order) + 1) + at
    return lambda row: places[row] if row != NONE else NONE


# Lanes -----------------------------------------------------------------------------------------


class _Placing:
    """Going through the lines once, from the oldest on."""

    def __init__(self, branches: Sequence[Branch], lines: Sequence[tuple[int, Node]]) -> None:
        numbers = {id(node): line for line, (_, node) in enumerate(lines)}

        def number(node: Node | None) -> int:
            return NONE if node is None else numbers[id(node)]

        self._branches = branches
        self._segments = [node.segment for _, node in lines]
        self._branch = array("i", [branch for branch, _ in lines])
        self._parent = array("i", [number(node.above) for _, node in lines])
        self._above = array("i", [number(branch.above) for branch in branches])
        self._own = [array("i") for _ in branches]
        for line, branch in enumerate(self._branch):
            self._own[branch].append(line)
        self._leaving = self._leaving_branches()
        self._lane_of: dict[int, int] = {}
        """By branch that is under way or was, its lane."""
        self._in_lane = [NONE] * BUNDLE
        """By lane, the branch that is in it now."""
        self._held = 0
        """How many are in the bundle now."""
        self._joined: dict[int, int] = {}
        self._through: list[tuple[int, int]] = []

    def _leaving_branches(self) -> dict[int, list[int]]:
        """By line, the branches that leave there, the one that goes on first before."""
        found: dict[int, list[int]] = {}
        for branch, above in enumerate(self._above):
            if above != NONE and self._own[branch]:
                found.setdefault(above, []).append(branch)
        for leaving in found.values():
            leaving.sort(key=lambda branch: self._own[branch][0])
        return found

    def layout(self) -> Layout:
        lanes = bytearray()
        live: list[tuple[int, ...]] = []
        bundled = array("i")
        now = _EMPTY
        for line, branch in enumerate(self._branch):
            is_first, is_last = line == self._own[branch][0], line == self._own[branch][-1]
            if is_first:
                self._begin(branch, line)
            lanes.append(self._lane_of[branch])
            for leaving in self._leaving.get(line, ()):
                self._leave(leaving, line)
            if is_last:
                self._end(branch)
            if is_first or is_last or line in self._leaving:
                now = tuple(self._in_lane)
            live.append(now)
            bundled.append(self._held)
        here = next(at for at, one in enumerate(self._segments) if one.kind == "here")
        return Layout(
            [branch.first for branch in self._branches],
            [branch.leaves for branch in self._branches],
            self._above,
            self._segments,
            self._parent,
            self._branch,
            lanes,
            self._own,
            live,
            bundled,
            self._joined,
            sorted(self._through),
            sorted(self._leaving),
            here,
            BUNDLE + 1 if self._through else max(self._lane_of.values(), default=0) + 1,
        )

    def _begin(self, branch: int, line: int) -> None:
        """A branch has its first line: if it has no lane yet, or none of its own, it gets one."""
        known = self._lane_of.get(branch)
        if known is None or known == BUNDLE:
            lane = 0 if branch == 0 else self._free()
            self._held += (lane == BUNDLE) - (known == BUNDLE)
            self._put(branch, lane)
            if lane == BUNDLE:
                # It stays there, and all its lines with it.
                later = self._own[branch] if known is None else self._own[branch][1:]
                self._through += [(own, line) for own in later]

    def _leave(self, branch: int, line: int) -> None:
        """A branch leaves another one in a line."""
        lane = self._free()
        self._put(branch, lane)
        if lane == BUNDLE:
            self._held += 1
            self._joined[line] = self._joined.get(line, 0) + 1
            self._through.append((self._own[branch][0], line))

    def _end(self, branch: int) -> None:
        lane = self._lane_of[branch]
        if lane == BUNDLE:
            self._held -= 1
        else:
            self._in_lane[lane] = NONE

    def _put(self, branch: int, lane: int) -> None:
        self._lane_of[branch] = lane
        if lane != BUNDLE:
            self._in_lane[lane] = branch

    def _free(self) -> int:
        """The lowest lane beside the main line that is free, else the bundle."""
        for lane in range(1, BUNDLE):
            if self._in_lane[lane] == NONE:
                return lane
        return BUNDLE
