"""The tree's rows as lines of text: a pure function of what `session/rows` answers.

The daemon says which rows there are and in which order; here they get their spine, guides, glyphs
and columns. Every client paints alike: the files under `tests/rows` are their common test.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, tzinfo
from typing import Any, Final

from pisessiond.cli.figures import format_day, format_tokens, parse_time
from pisessiond.cli.plain_text import cell_width, clean_line, cut, fill

Row = Mapping[str, Any]
"""As it comes on the wire."""
Paint = Callable[[str, str], str]
"""Gives a piece of text the look of its part: spine, role, text, label, leaf, mark, dim."""

MAX_LEVELS: Final = 4
"""Levels drawn as guides; a deeper row begins with its level's number instead."""
MIN_TEXT: Final = 12
"""A list without names is useless: so many cells are the text's, whatever else is left out."""

MAX_ID: Final = 36
"""Cells of an id at most: those of a UUID."""

WITH_TIME: Final = 56
WITH_TOKENS: Final = 40
WITH_PERCENT: Final = 24
"""Cells from which on a column is there."""
WITH_TEXT: Final = 12
"""Below that a glyph and the percent are all there is room for."""


@dataclass(frozen=True, slots=True)
class Glyphs:
    active: str
    ahead: str
    guide: str
    leaf: str
    branch: str
    """Where an alternative leaves the active part of the main line."""
    side_branch: str
    """Where one leaves an alternative."""
    arm: str
    closed: str
    open: str
    deep: str
    cut: str
    omitted: str
    replaced: str
    forks: str
    running: str
    """Where a running pi stands."""
    roles: Mapping[str, str]
    spelled: Mapping[str, str]
    """How signs in titles are written."""


UNICODE: Final = Glyphs(
    active="┃",
    ahead="┆",
    guide="│",
    leaf="●",
    branch="┠",
    side_branch="├",
    arm="─",
    closed="▸",
    open="▾",
    deep="›",
    cut="…",
    omitted="x",
    replaced="±",
    forks="⑂",
    running="‹pi›",
    roles={
        "user": "»",
        "answer": "«",
        "work": "≡",
        "step": "·",
        "bash": "$",
        "note": "i",
        "compaction": "▬",
        "summarised": "▬",
        "branchSummary": "~",
        "meta": "·",
    },
    spelled={},
)
ASCII: Final = Glyphs(
    active="|",
    ahead=":",
    guide="|",
    leaf="@",
    branch="|",
    side_branch="|",
    arm="-",
    closed="+",
    open="-",
    deep=">",
    cut="~",
    omitted="x",
    replaced="*",
    forks="Y",
    running="<pi>",
    roles={
        "user": ">",
        "answer": "<",
        "work": "=",
        "step": "-",
        "bash": "$",
        "note": "i",
        "compaction": "#",
        "summarised": "#",
        "branchSummary": "~",
        "meta": ".",
    },
    spelled={"→": ">", "·": "-", "…": "~", "⇄": "<>"},
)

_BRANCHES: Final = frozenset({"alternative", "group"})
"""Rows that leave the line; inside them a light line runs on."""


@dataclass(frozen=True, slots=True)
class RowView:
    """How rows are painted."""

    width: int = 80
    glyphs: Glyphs = UNICODE
    zone: tzinfo | None = None
    """The reader's zone; the machine's when None."""
    today: date | None = None
    """The day whose first row needs no date."""
    paint: Paint = lambda text, _part: text
    standing: Mapping[str, str] = field(default_factory=dict)
    """The signs of rows at which running pi stand, by row."""

    def draw(self, rows: Sequence[Row], opened: Collection[str] = ()) -> Iterator[str]:
        """The lines of rows that stand as they are to be shown, opened ones before their inside.

        Args:
            rows: in the order of the screen.
            opened: ids of the rows that are open.
        """
        by_id = {row["id"]: row for row in rows}
        day = self.today
        for row in rows:
            time = parse_time(row["time"], self.zone)
            clock = self._clock(row, time, day)
            day = time.date() if time is not None else day
            right = self._right(row, clock)
            left = self._left(row, by_id, row["id"] in opened)
            yield self._line(row, left, right)

    # The left: where and what.

    def _left(self, row: Row, by_id: Mapping[str, Row], is_open: bool) -> list[tuple[str, str]]:
        """Guides and glyph with their parts, up to where the text begins."""
        glyphs = self.glyphs
        if row["kind"] == "here":
            return [(glyphs.leaf + " ", "leaf")]
        spine = glyphs.ahead if self._is_ahead(row, by_id) else glyphs.active
        fold = " " if row["fold"] == "none" else glyphs.open if is_open else glyphs.closed
        if row["kind"] in _BRANCHES:
            return [(self._branch_guides(row, by_id, spine) + fold + " ", "spine")]
        guides = self._guides(row, by_id, spine)
        if row["kind"] == "ahead":
            return [(guides + fold + " ", "spine")]
        role = glyphs.roles.get(row["kind"], glyphs.roles["meta"])
        return [(guides + fold, "spine"), (role + " ", "role")]

    @staticmethod
    def _is_ahead(row: Row, by_id: Mapping[str, Row]) -> bool:
        """Whether the spine beside a row is ahead of the leaf: its own, or what it is inside."""
        outer: Row | None = row
        while outer is not None:
            if "ahead" in outer["flags"]:
                return True
            outer = by_id.get(outer["level"])
        return False

    def _guides(self, row: Row, by_id: Mapping[str, Row], spine: str) -> str:
        depth = row["depth"]
        if depth > MAX_LEVELS:
            return f"{spine}{depth}{self.glyphs.deep}"
        return spine + "".join(" " + sign for sign in self._lines(row, by_id, depth))

    def _branch_guides(self, row: Row, by_id: Mapping[str, Row], spine: str) -> str:
        """The same of a row that leaves a line: an arm reaches from the line to it."""
        glyphs, depth = self.glyphs, row["depth"]
        if depth > MAX_LEVELS:
            return f"{spine}{depth}{glyphs.deep}{glyphs.arm}"
        if depth == 0:
            return (glyphs.ahead if "ahead" in row["flags"] else glyphs.branch) + glyphs.arm
        lines = self._lines(row, by_id, depth)
        return (
            spine
            + "".join(" " + sign for sign in lines[:-1])
            + f" {glyphs.side_branch}{glyphs.arm}"
        )

    def _lines(self, row: Row, by_id: Mapping[str, Row], depth: int) -> list[str]:
        """For each level above the row, the light line of an alternative, or nothing."""
        signs: list[str] = []
        level = row["level"]
        while level is not None and len(signs) < depth:
            outer = by_id.get(level)
            has_line = outer is None or outer["kind"] in _BRANCHES
            signs.append(self.glyphs.guide if has_line else " ")
            level = None if outer is None else outer["level"]
        signs += [" "] * (depth - len(signs))
        return signs[::-1]

    # The right: marks, time, size.

    def _clock(self, row: Row, time: datetime | None, day: date | None) -> str:
        if row["kind"] == "work" and row["duration"] is not None:
            return format_duration(row["duration"])
        if time is None or row["kind"] == "here":
            return ""
        return f"{time:%H:%M}" if time.date() == day else format_day(time)

    def _right(self, row: Row, clock: str) -> str:
        width = self.width
        if width < WITH_PERCENT:
            return ""
        tokens, percent = size_texts(row["size"])
        marks = f" {self.marks(row):>2}"
        if width < WITH_TOKENS:
            return f"{marks}{percent:>5}"
        if width < WITH_TIME:
            return f"{marks} {tokens:>6} {percent:>5}"
        return f"{marks}  {clock:>5} {tokens:>6} {percent:>5}"

    def marks(self, row: Row) -> str:
        """The signs of a row's states."""
        glyphs, flags = self.glyphs, row["flags"]
        signs = ["+"] if "unsaved" in flags else []
        if row["failed"]:
            signs.append(f"!{row['failed']}")
        elif "problem" in flags:
            signs.append("!")
        if "omitted" in flags:
            signs.append(glyphs.omitted)
        elif row.get("out"):
            signs.append(f"{glyphs.omitted}{row['out']}")
        if "replaced" in flags:
            signs.append(glyphs.replaced)
        if row["forks"]:
            signs.append(f"{glyphs.forks}{len(row['forks'])}")
        if row["id"] in self.standing:
            signs.append(self.standing[row["id"]])
        return " ".join(signs)

    # Both.

    def _line(self, row: Row, left: list[tuple[str, str]], right: str) -> str:
        if self.width < WITH_TEXT:
            return self._tiny(row, left)
        used = sum(cell_width(text) for text, _ in left)
        room = self.width - used - cell_width(right)
        if room < MIN_TEXT:
            # What tells rows apart is kept; the columns give way.
            right = right[max(MIN_TEXT - room, 0) :] if len(right) > MIN_TEXT - room else ""
            room = self.width - used - cell_width(right)
        room = max(room, 0)
        label = f"[{clean_line(row['label'])}] " if row["label"] else ""
        label = cut(label, room, self.glyphs.cut)
        text = cut(self._title(row), room - cell_width(label), self.glyphs.cut)
        filled = fill(label + text, room)[len(label) :]
        part = "leaf" if row["kind"] == "here" else "text" if "active" in row["flags"] else "dim"
        paint = self.paint
        line = "".join(paint(piece, look) for piece, look in left)
        return (line + paint(label, "label") + paint(filled, part) + paint(right, "dim")).rstrip()

    def _tiny(self, row: Row, left: list[tuple[str, str]]) -> str:
        shown = cut("".join(text for text, _ in left).rstrip(), self.width, self.glyphs.cut)
        room = self.width - cell_width(shown)
        percent = size_texts(row["size"])[1]
        percent = percent if len(percent) < room else ""
        return (self.paint(fill(shown, self.width - len(percent)), "spine") + percent).rstrip()

    def _title(self, row: Row) -> str:
        title = clean_line(row["title"])
        for sign, spelled in self.glyphs.spelled.items():
            title = title.replace(sign, spelled)
        return title


def id_column(rows: Sequence[Row], mark: str) -> list[str]:
    """For each row the entry that acting on it means, all equally wide.

    Args:
        rows: as they are drawn.
        mark: stands where an id is cut.
    """
    ids = ["" if row["entry"] is None else clean_line(str(row["entry"])) for row in rows]
    ids = [cut(one, MAX_ID, mark) for one in ids]
    cells = max(map(cell_width, ids), default=0)
    return [fill(one, cells) for one in ids]


def size_texts(size: Mapping[str, Any] | None) -> tuple[str, str]:
    """Tokens and percent of a row's size, with `~` before what is estimated; empty without."""
    if size is None:
        return "", ""
    tilde = "" if size["source"] == "measured" else "~"
    percent = size["percent"]
    shown = "" if percent is None else f"{tilde}{int(percent + 0.5)}%"
    return tilde + format_tokens(size["tokens"]), shown


def format_duration(milliseconds: int) -> str:
    """`45s`, `6m12s`, `1h05m`, `2d04h`."""
    seconds = (milliseconds + 500) // 1000
    if seconds < 60:
        return f"{seconds}s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes}m{seconds:02}s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours}h{minutes:02}m"
    days, hours = divmod(hours, 24)
    return f"{days}d{hours:02}h"
