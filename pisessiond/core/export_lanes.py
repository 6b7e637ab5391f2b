"""The lanes beside one line of a graph as a small picture (SVG), line under line without a gap.

Nothing of a session is in it but how large the context was. Looks come from the page's own style,
by class: `k0` the main line, `k1` to `k8` the lanes beside it, `k9` the bundle, `ka` what is ahead;
`c0` to `c9` are thin lines that lead to them.
"""

from __future__ import annotations

from typing import Final

from pisessiond.core.graph.layout import BUNDLE
from pisessiond.core.graph.lines import GraphLine, Lane
from pisessiond.core.rows.row import RowSize

HEIGHT: Final = 26
_MIDDLE: Final = HEIGHT // 2
_FEW: Final = 4
"""So many lanes have room to be wide."""
_THIN: Final = 2
_BUNDLE_WIDTH: Final = 34
_CURVE: Final = 6


class Lanes:
    """The pictures of a graph's lines, to be drawn one after another from the first on."""

    def __init__(self, lanes: int, largest: int) -> None:
        """Begin above the first line.

        Args:
            lanes: of the whole graph.
            largest: the largest context size in it, in tokens; so wide lanes are at most.
        """
        self._largest = max(largest, 1)
        self._main = 40 if lanes <= _FEW else 24
        self._side = 16 if lanes <= _FEW else 8
        self._pitch = self._side + (6 if lanes <= _FEW else 4)
        self._width = self._main + 8 + self._pitch * (lanes - 1)
        if lanes > BUNDLE:
            self._width += _BUNDLE_WIDTH - self._pitch
        self._above: dict[int, int] = {}
        """By lane that has begun, how wide it was at its last line."""

    def picture(self, line: GraphLine) -> str:
        """The lanes at the next line."""
        parts = [self._passing(one) for one in line.passing]
        parts += [self._leaving(one, line.lane) for one in line.leaving]
        parts += [self._out(line.lane)] if line.comes_out else []
        parts += [self._own(line), _number(self._x(BUNDLE), line)]
        return (
            f'<svg width="{self._width}" height="{HEIGHT}" viewBox="0 0 {self._width} {HEIGHT}" '
            f'aria-hidden="true">{"".join(parts)}</svg>'
        )

    def _x(self, lane: int) -> int:
        """The middle of a lane."""
        if lane == 0:
            return self._main // 2 + 2
        return self._main + 8 + self._pitch * (lane - 1) + self._side // 2

    def _wide(self, lane: int, size: RowSize | None) -> int:
        """How wide a lane is, an even number."""
        most = self._main if lane == 0 else self._side
        if size is None or lane == BUNDLE:
            return _THIN
        share = min(size.tokens / self._largest, 1)
        return max(2 * round(share * most / 2), _THIN)

    def _passing(self, one: Lane) -> str:
        x = self._x(one.lane)
        if one.leads or one.lane == BUNDLE:
            return f'<path class="d c{one.lane}" d="M{x} 0V{HEIGHT}"/>'
        wide = self._wide(one.lane, one.size)
        return f'<path class="k{one.lane}" d="M{x - wide // 2} 0h{wide}v{HEIGHT}h-{wide}z"/>'

    def _leaving(self, one: Lane, own: int) -> str:
        """From the middle of the line over to the lane, and down."""
        x = self._x(one.lane)
        before = x - _CURVE if one.lane > own else x + _CURVE
        bend = f"H{before}Q{x} {_MIDDLE} {x} {_MIDDLE + _CURVE}V{HEIGHT}"
        return f'<path class="d c{one.lane}" d="M{self._x(own)} {_MIDDLE}{bend}"/>'

    def _out(self, own: int) -> str:
        """From above, out of the bundle, over to the line's own lane."""
        x = self._x(BUNDLE)
        return (
            f'<path class="d c{own}" d="M{x} 0V{_MIDDLE - _CURVE}'
            f'Q{x} {_MIDDLE} {x - _CURVE} {_MIDDLE}H{self._x(own)}"/>'
        )

    def _own(self, line: GraphLine) -> str:
        lane, x = line.lane, self._x(line.lane)
        wide = self._wide(lane, line.row.size)
        above = self._above.pop(lane, None)
        led = ""
        if above is None:
            # It begins here; from its branch point a thin line leads to it.
            top, above = _MIDDLE - 7, wide
            if line.parent is not None and not line.comes_out:
                led = f'<path class="d c{lane}" d="M{x} 0V{top}"/>'
        else:
            top = 0
        bottom = HEIGHT
        if line.next is None:
            bottom = _MIDDLE + 7
        else:
            self._above[lane] = wide
        shape = "a" if "ahead" in line.row.flags else str(lane)
        middle = _MIDDLE if top == 0 else top
        body = (
            f'<path class="k{shape}" d="M{x - above // 2} {top}L{x - wide // 2} {middle}V{bottom}'
            f'h{wide}V{middle}L{x + above // 2} {top}z"/>'
        )
        return led + body + _mark(line, x, self._main if lane == 0 else self._side)


def _mark(line: GraphLine, x: int, room: int) -> str:
    """What tells a line's own lane from those that pass: a dot, or a bar for a compaction."""
    if line.row.kind == "compaction":
        return f'<path class="b" d="M{x - room // 2} {_MIDDLE}h{room}"/>'
    here = ' class="h"' if line.row.kind == "here" else ""
    return f'<circle{here} cx="{x}" cy="{_MIDDLE}" r="{6 if here else 4}"/>'


def _number(x: int, line: GraphLine) -> str:
    """How many branches are in the bundle."""
    beside = (*line.passing, *line.leaving)
    held = sum(one.count for one in beside if one.lane == BUNDLE)
    return f'<text x="{x + 5}" y="{_MIDDLE + 4}">+{held}</text>' if held else ""
