"""Giving each line of a graph its number and its lane."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Final

from pisessiond.core.graph.gathering import Branch, Node
from pisessiond.core.graph.layout import BUNDLE, NO_LANES, Layout
from pisessiond.core.index import NONE, Index

_BY_PLACE: Final = itemgetter(0)


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
        now = NO_LANES
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
