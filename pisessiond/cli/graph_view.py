"""The lanes graph as lines of text: a pure function of what `session/graph` answers.

```
 13:58 ██──┬─┐   « The fixture's clock is naive                    74k   37%
 14:20 ░░  █ │   » Try freezing the clock                end · 14  88k   44%
```

The full block stands in the lane of the line itself and is as wide as the context was full. Lanes
that pass it by are light blocks, thin where they only lead to a branch that begins further down.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from pisessiond.cli.canvas import Canvas
from pisessiond.cli.figures import format_day, parse_time
from pisessiond.cli.plain_text import cell_width, clean_line, cut, fill
from pisessiond.cli.row_view import Paint, RowView, size_texts

Line = Mapping[str, Any]
"""As it comes on the wire."""

BUNDLE: Final = 9
"""The lane that says how many branches are in it."""

WITH_TIME: Final = 64
WITH_TOKENS: Final = 40
WITH_PERCENT: Final = 24
"""Cells from which on a column is there."""
_FEW: Final = 4
"""So many lanes have room to be wide."""
_BUNDLE_CELLS: Final = 5
"""A block of its own, and how many branches are in it."""


@dataclass(frozen=True, slots=True)
class Signs:
    """What lanes are drawn with."""

    own: str
    ahead: str
    """Of the line's own lane behind where one stands."""
    passing: str
    leading: str
    waist: str
    across: str
    crossing: str
    begins: str
    begins_last: str
    begins_left: str
    comes_out: str
    leaf: str


UNICODE: Final = Signs("█", "▒", "░", "│", "═", "─", "┼", "┬", "┐", "┌", "┘", "●")
ASCII: Final = Signs("#", "%", ":", "|", "=", "-", "+", "+", "+", "+", "+", "@")


@dataclass(frozen=True, slots=True)
class Columns:
    """Where the lanes stand."""

    main: int
    """Cells of the main line's lane."""
    side: int
    """Cells of each other one."""
    gap: int
    lanes: int

    @classmethod
    def of(cls, lanes: int, width: int) -> Columns:
        """What so many lanes take on a screen."""
        if width < WITH_TOKENS:
            return cls(1, 1, 0, lanes)
        if width < WITH_TIME:
            return cls(3, 1, 0 if lanes > _FEW else 1, lanes)
        return cls(5, 2 if lanes <= _FEW else 1, 1, lanes)

    def start(self, lane: int) -> int:
        """The first cell of a lane."""
        return 0 if lane == 0 else self.main + self.gap + (lane - 1) * (self.side + self.gap)

    def cells(self, lane: int) -> int:
        """How many it has."""
        if lane == BUNDLE:
            return _BUNDLE_CELLS
        return self.side if lane else self.main

    @property
    def width(self) -> int:
        """Cells of all lanes."""
        return self.start(self.lanes - 1) + self.cells(self.lanes - 1)


@dataclass(frozen=True, slots=True)
class GraphView:
    """How a graph is painted."""

    canvas: Canvas
    today: date | None = None
    """The day whose first line needs no date."""
    paint: Paint = lambda text, _part: text

    def draw(self, lines: Sequence[Line], lanes: int) -> Iterator[str]:
        """The lines of a graph.

        Args:
            lines: as they were answered, from the oldest on.
            lanes: of the whole graph.
        """
        columns = Columns.of(lanes, self.canvas.width)
        full = max((line["size"]["tokens"] for line in lines if line["size"]), default=0)
        picture = _Picture(columns, ASCII if self.canvas.is_ascii else UNICODE, full)
        day = self.today
        for line in lines:
            time = parse_time(line["time"], self.canvas.zone)
            clock = ""
            if time is not None and line["kind"] != "here":
                clock = f"{time:%H:%M}" if time.date() == day else format_day(time)
                day = time.date()
            yield self._line(line, clock, picture.lanes(line))

    def _line(self, line: Line, clock: str, lanes: str) -> str:
        width, paint = self.canvas.width, self.paint
        left = f" {clock:>5} " if width >= WITH_TIME else ""
        right = self._right(line)
        room = max(width - len(left) - cell_width(lanes) - 1 - cell_width(right), 0)
        label = f"[{clean_line(line['label'])}] " if line["label"] else ""
        label = cut(label, room, self.canvas.glyphs.cut)
        role = cut(self._role(line), room - cell_width(label), "")
        text = cut(
            self._title(line), room - cell_width(label) - cell_width(role), self.canvas.glyphs.cut
        )
        part = "leaf" if line["kind"] == "here" else "text" if "active" in line["flags"] else "dim"
        filled = fill(role + label + text, room)[len(role) + len(label) :]
        size = line["size"]
        look = {"warn": "warn", "high": "error"}.get(size["grade"] if size else "", "dim")
        drawn = (
            paint(left, "dim")
            + paint(cut(lanes, width, ""), "spine")
            + " "
            + paint(role, "role")
            + paint(label, "label")
            + paint(filled, part)
            + paint(right, look)
        )
        return drawn.rstrip()

    def _role(self, line: Line) -> str:
        glyphs = self.canvas.glyphs
        sign = glyphs.roles.get(line["kind"], "")
        if line["kind"] in ("alternative", "ahead"):
            sign = glyphs.closed
        return f"{sign} " if sign else ""

    def _title(self, line: Line) -> str:
        title = clean_line(line["title"])
        for sign, spelled in self.canvas.glyphs.spelled.items():
            title = title.replace(sign, spelled)
        return title

    def _right(self, line: Line) -> str:
        width = self.canvas.width
        if width < WITH_PERCENT:
            return ""
        tokens, percent = size_texts(line["size"])
        if width < WITH_TOKENS:
            return f"{percent:>5}"
        marks = RowView(width, self.canvas.glyphs).marks(line)
        words = "  ".join(filter(None, (marks, self._end(line) if width >= WITH_TIME else "")))
        return f"  {words} {tokens:>6} {percent:>5}"

    def _end(self, line: Line) -> str:
        end = line.get("end")
        if end is None or line["kind"] in ("here", "alternative", "ahead"):
            return ""
        return f"end {self.canvas.dot} {end['entries']:,}"


@dataclass(frozen=True, slots=True)
class _Picture:
    """The lanes beside one line after another."""

    columns: Columns
    signs: Signs
    full: int
    """The largest context size of the graph, for where the window is not known."""

    def lanes(self, line: Line) -> str:
        """All lanes at a line, as wide as the columns are."""
        columns, signs, own = self.columns, self.signs, line["lane"]
        cells = [" "] * columns.width
        for one in line["passing"]:
            start = columns.start(one["lane"])
            if one.get("leads"):
                cells[start] = signs.leading
            elif one["lane"] != BUNDLE:
                filled = self._filled(one["lane"], one["tokens"], one["percent"])
                cells[start : start + filled] = signs.passing * filled
        size = line["size"]
        tokens, percent = (size["tokens"], size["percent"]) if size else (None, None)
        filled = self._filled(own, tokens, percent)
        for one in sorted(line["leaving"], key=lambda one: int(one["lane"])):
            self._lead(cells, own, filled, one["lane"], signs.begins_last)
        if line.get("comesOut"):
            self._lead(cells, own, filled, BUNDLE, signs.comes_out)
        self._put_own(cells, line, filled)
        self._put_bundle(cells, line)
        return "".join(cells)

    def _filled(self, lane: int, tokens: int | None, percent: float | None) -> int:
        most = self.columns.cells(lane) if lane != BUNDLE else 1
        if tokens is None:
            return 1
        share = percent / 100 if percent is not None else tokens / max(self.full, 1)
        return min(max(int(share * most + 0.5), 1), most)

    def _put_own(self, cells: list[str], line: Line, filled: int) -> None:
        signs = self.signs
        sign = signs.ahead if "ahead" in line["flags"] else signs.own
        if line["kind"] == "compaction":
            sign = signs.waist
        start = self.columns.start(line["lane"])
        cells[start : start + filled] = sign * filled
        if line["kind"] == "here":
            cells[start + min(filled, self.columns.main - 1)] = signs.leaf

    def _put_bundle(self, cells: list[str], line: Line) -> None:
        beside = (*line["passing"], *line["leaving"])
        held = sum(one.get("count", 1) for one in beside if one["lane"] == BUNDLE)
        if not held:
            return
        start = self.columns.start(BUNDLE)
        # Where the line's own lane is the bundle its block stands in front of the number.
        at = start + (line["lane"] == BUNDLE)
        told = _short_count(held)
        cells[at : at + len(told)] = told

    def _lead(self, cells: list[str], own: int, filled: int, other: int, end: str) -> None:
        """Draw a connection from a line's lane to another one, across what is between."""
        columns, signs = self.columns, self.signs
        begin, target = columns.start(own) + filled, columns.start(other)
        if other < own:
            begin, target = target, columns.start(own)
            end = signs.begins_left
            across = range(begin + 1, target)
        else:
            across = range(begin, target)
        known = {
            signs.leading: signs.crossing,
            signs.begins_last: signs.begins,
            " ": signs.across,
        }
        for at in across:
            sign = cells[at]
            is_start = any(at == columns.start(lane) for lane in range(columns.lanes))
            if sign == signs.passing:
                cells[at] = signs.crossing if is_start else signs.across
            else:
                cells[at] = known.get(sign, sign)
        cells[target if other > own else begin] = end


def _short_count(held: int) -> str:
    """A number of branches in four cells; of thousands the whole ones."""
    return f"+{held}" if held < 1_000 else f"+{min(held // 1_000, 99)}k"
