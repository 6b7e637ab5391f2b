"""The segments of one level: a line's, with what leaves it under each branch point.

Nothing is built but the level asked for. A level is named by the row one opens.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from pisessiond.core import kinds
from pisessiond.core.index import NONE
from pisessiond.core.rows.cutting import Cutter, Segment, has_row
from pisessiond.core.rows.lines import Lines
from pisessiond.core.rows.row import Filter
from pisessiond.core.rows.shapes import Shapes
from pisessiond.core.session import Session
from pisessiond.core.sizes import first_kept_row

ALONE: Final = 5
"""Alternatives of one branch point that stand alone; more are put into a group."""

HERE: Final = "here"
AHEAD: Final = "ahead"


class NoSuchLevel(Exception):
    """No row of that name can be opened now."""

    def __init__(self, level: str) -> None:
        super().__init__(f"No row {level!r} can be opened; ask for the main line anew.")
        self.level = level


@dataclass(slots=True)
class Tree:
    """What the levels of one session are made from, under one filter."""

    session: Session
    shapes: Shapes
    lines: Lines
    filter: Filter

    @property
    def leaf(self) -> int:
        """The row one stands at; NONE before the first entry."""
        return self.lines.leaf

    # Names -------------------------------------------------------------------------------------

    def id_of(self, segment: Segment) -> str:
        """The name of a segment's row."""
        ids = self.session.index.ids
        match segment.kind:
            case "here":
                return HERE
            case "ahead":
                return AHEAD
            case "work":
                return f"w:{ids[segment.first]}"
            case "alternative":
                return f"b:{ids[segment.first]}"
            case "group":
                point = segment.branch_point
                return f"g:{ids[point]}" if point != NONE else "g:"
            case "summarised":
                return f"s:{ids[segment.compaction]}"
            case _:
                return f"e:{ids[segment.act]}"

    # Levels ------------------------------------------------------------------------------------

    def level(self, name: str | None) -> list[Segment]:
        """The segments inside a row, or of the main line.

        Raises:
            NoSuchLevel: there is no such row, or nothing is inside it.
        """
        if name is None:
            return [*self.main().segments, *self.leaf_segments()]
        if name == AHEAD:
            return self._ahead_level()
        sign, _, entry = name.partition(":")
        row = self.row_named(entry)
        if sign == "g" and entry == "":
            return self.branches(NONE)
        if row is None:
            raise NoSuchLevel(name)
        match sign:
            case "b":
                return self._alternative_level(row)
            case "g":
                return self.branches(row)
            case "w":
                return self._work_level(row, name)
            case "s":
                return self._summarised_level(row)
            case _:
                raise NoSuchLevel(name)

    def inside(self, segment: Segment) -> list[Segment]:
        """The segments inside a row that holds parts of lines: all that can be opened but work.

        Raises:
            NoSuchLevel: it is none of those.
        """
        match segment.kind:
            case "ahead":
                return self._ahead_level()
            case "alternative":
                return self._alternative_level(segment.first)
            case "group":
                return self.branches(segment.branch_point)
            case "summarised":
                return self._summarised_level(segment.compaction)
            case _:
                raise NoSuchLevel(self.id_of(segment))

    def row_named(self, entry: str) -> int | None:
        found = self.session.index.find(entry)
        if found is None and entry.lstrip("-").replace(".", "", 1).isdigit():
            # A number read from a file stays a number.
            number = float(entry)
            found = self.session.index.find(int(number) if number.is_integer() else number)
        return found

    def main(self) -> Cutter:
        """The main line up to the leaf, in a cutter that can be fed on."""
        cutter = self._cutter()
        leaf = self.leaf
        if self.filter == "labeled-only":
            self._place_labelled(cutter)
            return cutter
        for segment in self._alternatives(NONE):
            cutter.place(segment)
        if leaf != NONE:
            self._cut_line(cutter, self.session.index.branch(leaf), leaf)
            if self.goes_on():
                # What a call waits for is not to be seen from here.
                cutter.end_work()
        return cutter

    def goes_on(self) -> bool:
        """Whether anything with a row stands below the leaf."""
        return any(map(self.has_rows, self.lines.children(self.leaf)))

    def _cutter(self) -> Cutter:
        return Cutter(self.session, self.shapes, self.filter)

    def leaf_segments(self) -> list[Segment]:
        """`here`, the rest of the line in one row, and what leaves the line at the leaf."""
        if self.filter == "labeled-only":
            return []
        return [self.here(), *self._behind_leaf()]

    def here(self) -> Segment:
        """The row that says where one stands."""
        leaf = self.leaf
        return Segment("here", leaf, leaf, leaf, entries=0)

    def _behind_leaf(self) -> list[Segment]:
        leaf = self.leaf
        found: list[Segment] = []
        line = list(self.lines.onwards(leaf))
        if line and self.has_rows(line[0]):
            inside = len(self._ahead_level())
            found.append(
                Segment(
                    "ahead",
                    line[-1],
                    line[0],
                    line[-1],
                    entries=len(line),
                    tokens=self._sum(line),
                    rows=inside,
                )
            )
        return found + (self._alternatives(leaf) if leaf != NONE else [])

    def _ahead_level(self) -> list[Segment]:
        cutter = self._cutter()
        self._feed(cutter, list(self.lines.onwards(self.leaf)))
        cutter.end_work()
        return cutter.segments

    def _alternative_level(self, first: int) -> list[Segment]:
        line = [first, *self.lines.onwards(first)]
        cutter = self._cutter()
        self._cut_line(cutter, line, line[-1])
        cutter.end_work()
        return cutter.segments

    def _summarised_level(self, compaction: int) -> list[Segment]:
        line = self._line_of(compaction)
        cutter = self._cutter()
        self._feed(cutter, line[: self._kept_from(line, compaction)])
        cutter.end_work()
        return cutter.segments

    def _work_level(self, first: int, name: str) -> list[Segment]:
        rows, is_open = self._work_rows(first)
        inside = Cutter(self.session, self.shapes, "inside")
        inside.feed(rows)
        if len(inside.segments) < 2:
            raise NoSuchLevel(name)
        if not is_open:
            inside.end_work()
        return inside.segments

    def _work_rows(self, first: int) -> tuple[list[int], bool]:
        """The entries of the work that begins with one, and whether more may be added to it."""
        cutter = self._cutter()
        stop = self.kept_depth(first)
        depth = self.session.index.depth
        rows: list[int] = []
        for row in (first, *self.lines.onwards(first)):
            if depth[row] == stop and rows:
                return rows, False
            cutter.feed([row])
            if len(cutter.segments) != 1:
                return rows, False
            rows.append(row)
            if row == self.leaf:
                return rows, cutter.is_work and not self.goes_on()
            if self._is_branch_point(row) and self._alternatives(row):
                # Only what has no row goes on behind it.
                cutter.end_work()
        return rows, False

    # Lines -------------------------------------------------------------------------------------

    def _cut_line(self, cutter: Cutter, line: Sequence[int], end: int) -> None:
        """A line with its summarised part, if a compaction above its end makes one."""
        compaction = self.session.index.state_at(end).compaction
        kept = 0
        if compaction != NONE and self._stands_on(line, compaction):
            kept = self._kept_from(line, compaction)
        summarised = self._summarised(line[:kept], compaction) if kept else None
        if summarised is None:
            # What has no rows counts with the first row behind it.
            self._feed(cutter, line)
            return
        cutter.place(summarised)
        self._feed(cutter, line[kept:])

    def _stands_on(self, line: Sequence[int], row: int) -> bool:
        depth = self.session.index.depth
        at = depth[row] - depth[line[0]]
        return 0 <= at < len(line) and line[at] == row

    def _line_of(self, row: int) -> list[int]:
        """The line a row is on, from its beginning down to the row."""
        index = self.session.index
        start = self.lines.start(row)
        return index.branch(row, index.parent[start])

    def _kept_from(self, line: Sequence[int], compaction: int) -> int:
        """How many rows of a line stand before the first one that a compaction keeps."""
        depth = self.session.index.depth
        first = first_kept_row(self.session.index, compaction)
        return max(depth[first] - depth[line[0]], 0)

    def summarising(self, row: int) -> int:
        """The compaction that summarises the beginning of a row's line; NONE without one."""
        index, leaf = self.session.index, self.leaf
        start = self.lines.start(row)
        if start != self.lines.next(NONE):
            end = self.lines.end(row)
        elif leaf != NONE and (row == leaf or not index.is_ancestor(leaf, row)):
            end = leaf
        else:
            return NONE
        compaction = index.state_at(end).compaction
        return compaction if index.is_ancestor(start, compaction) else NONE

    def kept_depth(self, row: int) -> int:
        """At what depth the part of a row's line begins that a compaction keeps; NONE without."""
        compaction = self.summarising(row)
        if compaction == NONE:
            return NONE
        index = self.session.index
        return index.depth[first_kept_row(index, compaction)]

    def _summarised(self, line: Sequence[int], compaction: int) -> Segment | None:
        cutter = self._cutter()
        self._feed(cutter, line)
        cutter.end_work()
        if not cutter.segments:
            return None
        return Segment(
            "summarised",
            line[-1],
            line[0],
            line[-1],
            entries=len(line),
            tokens=self._sum(line),
            rows=len(cutter.segments),
            compaction=compaction,
        )

    def _feed(self, cutter: Cutter, line: Sequence[int]) -> None:
        leaf, points = self.leaf, self.session.index.branch_points
        start = 0
        for at, row in enumerate(line):
            # What leaves at the leaf stands behind `here` and what is ahead.
            if row in points and row != leaf:
                cutter.feed(line[start : at + 1])
                start = at + 1
                for segment in self._alternatives(row):
                    cutter.place(segment)
        cutter.feed(line[start:])

    def _is_branch_point(self, row: int) -> bool:
        return row in self.session.index.branch_points

    def _sum(self, rows: Iterable[int]) -> int:
        own = self.session.sizes.own
        if len(own) == len(self.session.index):
            return sum(map(own.__getitem__, rows))
        return sum(own[row] for row in rows if row < len(own))

    # Alternatives ------------------------------------------------------------------------------

    def _alternatives(self, point: int) -> list[Segment]:
        """What leaves the line at an entry: alone, or in a group where they are many."""
        branches = self.branches(point)
        if len(branches) <= ALONE:
            return branches
        newest = max(branches, key=lambda one: one.last)
        group = Segment(
            "group",
            newest.act,
            branches[0].first,
            newest.last,
            entries=sum(one.entries for one in branches),
            tokens=sum(one.tokens for one in branches),
            rows=len(branches),
            branch_point=point,
        )
        return [group]

    def is_grouped(self, point: int) -> bool:
        """Whether the alternatives at an entry are so many that they stand in a group."""
        leaving = self.lines.leaving(point)
        if len(leaving) <= ALONE:
            return False
        shown = filter(self.has_rows, leaving)
        return next(islice(shown, ALONE, None), None) is not None

    def branches(self, point: int) -> list[Segment]:
        """The alternatives at an entry, labelled before, newest first."""
        found = [
            self._alternative(point, child)
            for child in self.lines.leaving(point)
            if self.has_rows(child)
        ]
        found.sort(key=lambda one: (one.labelled == NONE, -one.last))
        return found

    def _alternative(self, point: int, first: int) -> Segment:
        line = [first, *self.lines.onwards(first)]
        ids, labels = self.session.index.ids, self.session.labels
        return Segment(
            "alternative",
            line[-1],
            first,
            line[-1],
            entries=len(line),
            tokens=self._sum(line),
            rows=1,
            branch_point=point,
            labelled=max((row for row in line if ids[row] in labels), default=NONE),
        )

    def has_rows(self, first: int, without: int = NONE) -> bool:
        """Whether anything at or below an entry gives a row, one entry not counted."""
        waiting = [first]
        while waiting:
            row = waiting.pop()
            if row != without and has_row(self.session, self.shapes, row, self.filter):
                return True
            waiting += self.lines.children(row)
        return False

    # Labelled ----------------------------------------------------------------------------------

    def _place_labelled(self, cutter: Cutter) -> None:
        """Labelled entries of the whole tree, flat, with the compactions and `here`."""
        session, index = self.session, self.session.index
        targets = map(index.find, list(session.labels))
        found = {row for row in targets if row is not None and self.lines.sees(row)}
        found |= {
            row
            for row in range(len(index))
            if index.kind[row] == kinds.COMPACTION and index.is_ancestor(row, self.leaf)
        }
        above = sorted(row for row in found if row <= self.leaf)
        below = sorted(row for row in found if row > self.leaf)
        for row in above:
            cutter.place(self._labelled(row))
        cutter.place(self.here())
        for row in below:
            cutter.place(self._labelled(row))

    def _labelled(self, row: int) -> Segment:
        """A row by itself, apart from the line it is on."""
        every = Cutter(self.session, self.shapes, "all")
        every.feed([row])
        every.end_work()
        return every.segments[0]
