"""A stretch of a session's graph: laid out and told as the session stood. It reads bodies."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from pisessiond.core.graph.gathering import Zoom, gather
from pisessiond.core.graph.layout import Layout
from pisessiond.core.graph.lines import GraphLine, graph_lines
from pisessiond.core.graph.placing import lay_out
from pisessiond.core.index import NONE
from pisessiond.core.lines import EntryId
from pisessiond.core.rows.building import Known
from pisessiond.core.rows.levels import HERE
from pisessiond.service.fork_marks import ForkMarks
from pisessiond.service.row_pages import Standing, known_at

KEPT_SECONDS: Final = 60.0
"""A layout that nobody has asked for so long is made anew for whoever comes then."""


@dataclass(frozen=True, slots=True)
class GraphWish:
    """Which lines somebody asks for."""

    zoom: Zoom = "turns"
    start: int = 0
    around: EntryId | None = None
    """An entry to be found, or `here`; with it `start` does not count."""
    count: int = 200


@dataclass(frozen=True, slots=True)
class GraphPage:
    """Lines of a graph; see the protocol's `GraphResult` for each member."""

    rev: int
    zoom: Zoom
    total: int
    lanes: int
    window: int | None
    here: int
    start: int
    lines: tuple[GraphLine, ...]
    found: int | None
    point_before: int | None
    point_after: int | None


@dataclass(frozen=True, slots=True)
class LaidOut:
    """A layout, so that the next page need not make it again."""

    key: tuple[object, ...]
    """What else would make another one."""
    layout: Layout


class KeptGraphs:
    """The layouts of one session as it stands, one a zoom, as long as somebody asks.

    A line takes 300 bytes. Nobody says that he asks no more, so what was not asked for goes after
    a while.
    """

    def __init__(self) -> None:
        self._kept: dict[Zoom, tuple[LaidOut, asyncio.TimerHandle]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def of(self, zoom: Zoom) -> LaidOut | None:
        """The layout of a zoom, if there is one."""
        kept = self._kept.get(zoom)
        return None if kept is None else kept[0]

    def keep(self, zoom: Zoom, laid_out: LaidOut) -> None:
        """Keep a layout for whoever asks next."""
        self._drop(zoom)
        timer = asyncio.get_running_loop().call_later(KEPT_SECONDS, self._drop, zoom)
        self._kept[zoom] = (laid_out, timer)

    def forget(self) -> None:
        """Keep none: the session is another now."""
        for zoom in list(self._kept):
            self._drop(zoom)

    def _drop(self, zoom: Zoom) -> None:
        kept = self._kept.pop(zoom, None)
        if kept is not None:
            kept[1].cancel()


def make_graph(
    at: Standing, wish: GraphWish, marks: ForkMarks, kept: LaidOut | None
) -> tuple[GraphPage, LaidOut]:
    """The lines asked for, and the layout they are of.

    Args:
        at: the session they are of, under the filter of the zoom.
        wish: which.
        marks: the forks that were made of it.
        kept: the layout of that zoom that was made last; None without.

    Raises:
        EntryNotFound: no entry has the id in `around`.
    """
    known = known_at(at, marks.by_row(at.tree.session))
    laid_out = _lay_out(at, wish.zoom, known, kept)
    layout = laid_out.layout
    found = _find(at, wish, layout)
    start = wish.start
    if found is not None:
        start = max(min(found - wish.count // 2, len(layout) - wish.count), 0)
    lines = range(min(start, len(layout)), min(start + wish.count, len(layout)))
    before, after = layout.points_around(lines.start, lines.stop)
    page = GraphPage(
        rev=at.rev,
        zoom=wish.zoom,
        total=len(layout),
        lanes=layout.lanes,
        window=at.standards.window,
        here=layout.here,
        start=lines.start,
        lines=tuple(graph_lines(at.tree, known, layout, lines)),
        found=found,
        point_before=None if before == NONE else before,
        point_after=None if after == NONE else after,
    )
    return page, laid_out


def _lay_out(at: Standing, zoom: Zoom, known: Known, kept: LaidOut | None) -> LaidOut:
    # Forks are told outside the revisions, and where they were made is a line of this zoom alone.
    forked = frozenset(known.forks) if zoom == "branches" else frozenset()
    key = (at.epoch, at.rev, at.standards.is_sized, forked)
    if kept is not None and kept.key == key:
        return kept
    tree = at.tree
    return LaidOut(key, lay_out(tree.session.index, tree.leaf, gather(tree, zoom, forked)))


def _find(at: Standing, wish: GraphWish, layout: Layout) -> int | None:
    if wish.around is None:
        return None
    if wish.around == HERE:
        return layout.here
    line = layout.line_of(at.tree, at.tree.session.row_of(wish.around))
    return layout.here if line == NONE else line
