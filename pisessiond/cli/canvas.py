"""What the views of one act share: how wide they are, their signs, and how a line is laid out."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from datetime import tzinfo
from typing import Final

from pisessiond.cli.figures import count, format_day, format_tokens, parse_time
from pisessiond.cli.plain_text import cell_width, clean_line, cut, fill
from pisessiond.cli.row_view import ASCII, UNICODE, Glyphs
from pisessiond.client import answers

BAR_CELLS: Final = 10
FIGURE_CELLS: Final = 14
"""What stands at the right end of a line and is no longer than this is kept on narrow screens."""
LONGEST_TITLE: Final = 200
_ROW_KINDS: Final = {
    "user": "user",
    "assistant": "answer",
    "toolResult": "step",
    "bashExecution": "bash",
    "custom": "note",
    "custom_message": "note",
    "compaction": "compaction",
    "branch_summary": "branchSummary",
}
"""By role or type, the kind of row an entry gives."""


@dataclass(frozen=True, slots=True)
class Canvas:
    """Where a view is drawn."""

    width: int = 80
    """In cells."""
    is_ascii: bool = False
    zone: tzinfo | None = None
    """The reader's zone; the machine's when None."""

    @property
    def glyphs(self) -> Glyphs:
        """The signs of roles and of cutting."""
        return ASCII if self.is_ascii else UNICODE

    @property
    def arrow(self) -> str:
        return "->" if self.is_ascii else "→"

    @property
    def minus(self) -> str:
        return "-" if self.is_ascii else "−"

    @property
    def dot(self) -> str:
        """What stands between two things told on one line."""
        return "-" if self.is_ascii else "·"

    def spread(self, left: str, right: str = "") -> str:
        """One line with something at its right end.

        What does not fit is cut on the left, for the right holds figures; words there give way.
        """
        room = self.width - cell_width(right) - 2
        if not right or (cell_width(left) > room and cell_width(right) > FIGURE_CELLS):
            return cut(left, self.width, self.glyphs.cut)
        left = cut(left, max(room, 1), self.glyphs.cut)
        return f"{fill(left, room)}  {right}"

    def wrapped(self, words: str) -> list[str]:
        """A sentence on as many lines as it takes."""
        return [f" {line}" for line in textwrap.wrap(words, max(self.width - 1, 12))]

    def rule(self, words: str) -> str:
        """A line across with words in it."""
        dash = "-" if self.is_ascii else "─"
        head = cut(f" {dash * 2} {words} ", self.width, self.glyphs.cut)
        return head + dash * (self.width - cell_width(head))

    def titled(self, node: answers.Node) -> str:
        """Sign, label and words of an entry."""
        key = node.get("role") if node["type"] == "message" else node["type"]
        sign = self.glyphs.roles[_ROW_KINDS.get(key or "", "meta")]
        label = node.get("label")
        tag = f"[{clean_line(label)}] " if label else ""
        words = clean_line(node["preview"][:LONGEST_TITLE]) or clean_line(node["type"])
        return f"{sign} {tag}{words}"

    def clock(self, time: str | None) -> str:
        """`14:31`; empty where there is no time that can be read."""
        read = parse_time(time, self.zone)
        return f"{read:%H:%M}" if read else ""

    def span(self, first: str | None, last: str | None) -> str:
        """`09:12–13:29`, with days where they are two."""
        start, end = parse_time(first, self.zone), parse_time(last, self.zone)
        if start is None or end is None:
            return ""
        dash = "-" if self.is_ascii else "–"
        if f"{start:%F %H:%M}" == f"{end:%F %H:%M}":
            return f"{start:%H:%M}"
        if start.date() == end.date():
            return f"{start:%H:%M}{dash}{end:%H:%M}"
        return f"{format_day(start)} {start:%H:%M}{dash}{format_day(end)} {end:%H:%M}"

    def bar(
        self, tokens: int, window: int | None, due_at: int | None = None, cells: int = BAR_CELLS
    ) -> str:
        """How full a window is, with a mark where compaction begins by itself; empty without one.

        Rounded; one cell from above nothing on, and never full below all of it.
        """
        if not window:
            return ""
        full, empty, mark = ("#", ".", "|") if self.is_ascii else ("▰", "▱", "│")
        filled = round(tokens * cells / window)
        filled = max(filled, 1) if tokens > 0 else 0
        filled = cells if tokens >= window else min(filled, cells - 1)
        drawn = full * filled + empty * (cells - filled)
        if due_at is None or due_at >= window:
            return drawn
        at = max(int(due_at * cells / window), 0)
        return drawn[:at] + mark + drawn[at + 1 :]


def forecast_words(forecast: answers.Forecast) -> str:
    """`by opus-5: 155k in, about $0.55`."""
    writer = clean_line(forecast["model"] or forecast["summarizer"]).rpartition("/")[2]
    words = f"{format_tokens(forecast['tokensIn'])} in"
    if cost := forecast["cost"]:
        words += f", about ${cost:.2f}" if cost >= 0.01 else ", less than $0.01"
    return f"by {writer}: {words}"


def entry_count(number: int, turns: int = 0) -> str:
    """`6 entries`, `6 entries (1 turn)`."""
    words = count(number, "entry", "entries")
    return words if not turns else f"{words} ({count(turns, 'turn')})"
