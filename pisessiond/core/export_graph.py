"""The lanes graph of a session as a part of a page: a list, its lanes a picture beside each item.

It is read without the picture too: each item says what it is, in which lane it stands and where a
branch ends. Titles and labels are text in elements; links lead to entries of the same page by
numbers of ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Final

from pisessiond.core import kinds
from pisessiond.core.export_lanes import Lanes
from pisessiond.core.export_text import clock_of, format_tokens, plain
from pisessiond.core.graph.gathering import FILTER_OF, Zoom, gather
from pisessiond.core.graph.layout import Layout
from pisessiond.core.graph.lines import BranchEnd, GraphLine, graph_lines
from pisessiond.core.graph.placing import lay_out
from pisessiond.core.index import NONE
from pisessiond.core.rows.building import Known, edited_at
from pisessiond.core.rows.edits import Edited
from pisessiond.core.rows.levels import Tree
from pisessiond.core.rows.lines import Lines, Ways
from pisessiond.core.rows.row import RowKind, RowSize
from pisessiond.core.rows.shapes import Shapes
from pisessiond.core.session import Session

MOST: Final = 3_000
"""Lines that are drawn; where there are more the shape alone is."""
OPEN: Final = 60
"""Lines up to which the graph is open at first."""

_STEP: Final = 256
_ZOOMS: Final[tuple[Zoom, ...]] = ("turns", "branches")
_GLYPHS: Final[dict[RowKind, str]] = {
    "user": "»",
    "answer": "«",
    "work": "≡",
    "step": "·",
    "bash": "$",
    "note": "i",
    "compaction": "▬",
    "branchSummary": "~",
    "alternative": "▸",
    "ahead": "▸",
    "here": "●",
    "meta": "·",
}
_ROLES: Final[dict[RowKind, str]] = {
    "user": "You",
    "answer": "Answer",
    "work": "Work",
    "step": "Step",
    "bash": "Shell command",
    "note": "Note",
    "alternative": "Branch",
}
"""What is said before the title; the titles of the other kinds say it themselves."""
_SHOWN: Final = frozenset(
    {
        kinds.USER,
        kinds.ASSISTANT,
        kinds.TOOL_RESULT,
        kinds.BASH,
        kinds.COMPACTION,
        kinds.BRANCH_SUMMARY,
    }
)
"""Kinds of entries that a page always shows."""
_MONTHS: Final = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def name_of(row: int) -> str:
    """What an entry is called inside its page."""
    return f"n{row}"


@dataclass(frozen=True, slots=True)
class PageGraph:
    """The graph of a whole session, laid out for a page."""

    tree: Tree
    known: Known
    layout: Layout
    zoom: Zoom

    def targets(self) -> frozenset[int]:
        """The entries it links to, which have a name in the page."""
        if len(self.layout) > MOST:
            return frozenset()
        acts = map(self._target, range(len(self.layout)))
        kind = self.tree.session.index.kind
        return frozenset(row for row in acts if row != NONE and kind[row] in _SHOWN)

    def html(self) -> Iterator[str]:
        """The part of the page, in pieces."""
        count, lanes = len(self.layout), self.layout.lanes
        words = f"Graph · {count:,} line{_plural(count)}"
        if count > MOST:
            yield f'<p class="note">{words}, too many to be drawn</p>\n'
            return
        opened = " open" if count <= OPEN else ""
        shape = ", the shape alone" if self.zoom == "branches" else ""
        words += f", {lanes} lane{_plural(lanes)}{shape}"
        yield f'<details class="graph"{opened}><summary>{words}</summary>\n<ol>\n'
        yield from self._items()
        yield "</ol></details>\n"

    def _items(self) -> Iterator[str]:
        lanes, targets = Lanes(self.layout.lanes, self._largest()), self.targets()
        last_day = ""
        for start in range(0, len(self.layout), _STEP):
            some = range(start, min(start + _STEP, len(self.layout)))
            lines = graph_lines(self.tree, self.known, self.layout, some)
            for number, line in zip(some, lines, strict=True):
                day, clock = clock_of({"timestamp": line.row.time})
                is_new, last_day = day not in ("", last_day), day or last_day
                act = self._target(number)
                name = name_of(act) if act in targets else ""
                yield _item(line, lanes.picture(line), _date(day) if is_new else clock, name)

    def _target(self, line: int) -> int:
        """The entry it leads to; from `here` to that of the line above: the leaf may be unseen."""
        above = self.layout.parent[line]
        is_here = line == self.layout.here and above != NONE
        return self.layout.segments[above if is_here else line].act

    def _largest(self) -> int:
        session = self.tree.session
        rows = {segment.last for segment in self.layout.segments} - {NONE}
        return max((session.size_at(row).tokens for row in rows), default=0)


def page_graph(session: Session) -> PageGraph:
    """The graph of a session that has been sized; reads its bodies once."""
    shapes = Shapes()
    shapes.fill(session)
    lines = Lines(session, Ways(session), session.leaf, len(shapes))
    edited = Edited()
    if not session.index.has_forward_edit and session.leaf != NONE:
        edited = edited_at(session.sizes.edits_at(session.leaf), session.entry)
    for zoom in _ZOOMS:
        tree = Tree(session, shapes, lines, FILTER_OF[zoom])
        layout = lay_out(session.index, lines.leaf, gather(tree, zoom))
        if len(layout) <= MOST:
            break
    return PageGraph(tree, Known(edited=edited), layout, zoom)


# Items -----------------------------------------------------------------------------------------


def _item(line: GraphLine, picture: str, clock: str, name: str) -> str:
    row = line.row
    title = f"<bdi>{escape(row.title) or 'without text'}</bdi>"
    role = _ROLES.get(row.kind)
    spoken = f'<span class="v">{role}: </span>' if role else ""
    sign = f'<span class="s" aria-hidden="true">{_GLYPHS.get(row.kind, "·")}</span>'
    words = f"{sign} {spoken}{title}"
    if name:
        words = f'<a href="#{name}">{words}</a>'
    label = plain(row.label)
    tag = f'<bdi class="l">{escape(label)}</bdi> ' if label else ""
    where = f'<span class="v">, {_where(line)}</span>'
    return (
        f'<li>{picture}<span class="t">{escape(clock)}</span>'
        f'<span class="w">{tag}{words}{where}</span>{_right(line)}</li>\n'
    )


def _right(line: GraphLine) -> str:
    end = "" if line.row.kind in ("here", "alternative", "ahead") else _end(line.end)
    told = " · ".join(filter(None, (end, _size(line.row.size))))
    return f'<span class="size">{told}</span>' if told else ""


def _end(end: BranchEnd | None) -> str:
    return "" if end is None else f"end · {end.entries:,} entr{'y' if end.entries == 1 else 'ies'}"


def _size(size: RowSize | None) -> str:
    if size is None:
        return ""
    return ("~" if size.source == "estimated" else "") + format_tokens(size.tokens)


def _where(line: GraphLine) -> str:
    """In words, what the picture shows."""
    words = ["main line" if line.lane == 0 else f"lane {line.lane}"]
    leaving = sum(one.count for one in line.leaving)
    if leaving:
        words.append(f"{leaving} branch{'es leave' if leaving > 1 else ' leaves'} here")
    return ", ".join(words)


def _date(day: str) -> str:
    _, month, date = day.split("-")
    return f"{int(date)} {_MONTHS[int(month) - 1]}" if 1 <= int(month) <= 12 else day


def _plural(count: int) -> str:
    return "" if count == 1 else "s"
