"""Where each line of a graph stands: its number and its lane, and which lanes pass it by."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pisessiond.core.graph.gathering import branch_of, covering
from pisessiond.core.index import NONE
from pisessiond.core.rows.cutting import Segment
from pisessiond.core.rows.levels import Tree

LANES: Final = 8
"""Lanes beside that of the main line."""
BUNDLE: Final = LANES + 1
"""The lane of all branches that none of those is free for."""
NO_LANES: Final[tuple[int, ...]] = (NONE,) * BUNDLE
"""No branch in any lane, as above the first line."""


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
        return self.live[line - 1] if line else NO_LANES

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
