"""Totals over many sessions as lines of text, with a bar for each model, project and day."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from typing import Any

from pisessiond.cli.figures import count, format_cost, format_tokens
from pisessiond.cli.plain_text import cell_width, clean_line, cut, fill

Paint = Callable[[str, str], str]

_MOST = 12
"""Models and projects listed; the rest is one line."""
_DAYS = 14
"""Days listed, the newest."""
_LONGEST_NAME = 36


def totals_lines(
    found: dict[str, Any], width: int, *, ascii_only: bool = False, paint: Paint = lambda t, _: t
) -> Iterator[str]:
    """What all of them come to, then by model, project and day, the largest first."""
    tokens = found["tokens"]
    head = [
        count(found["sessions"], "session"),
        count(found["answers"], "answer"),
        f"{format_tokens(tokens['input'])} in",
        f"{format_tokens(tokens['output'])} out",
        f"{format_tokens(tokens['cacheRead'])} from the cache" if tokens["cacheRead"] else "",
        format_cost(found["cost"]),
    ]
    line = (" - " if ascii_only else " · ").join(filter(None, head))
    yield paint(cut(line, width, "~" if ascii_only else "…"), "head")
    if found["shared"]:
        yield f"{count(found['shared'], 'answer')} shared by forks counted once"
    if not found["answers"]:
        yield "nothing has been used yet"
        return
    chart = _Chart(found, width, ascii_only)
    for title, key, name in (
        ("by model", "models", "model"),
        ("by project", "projects", "cwd"),
    ):
        rows = sorted(found[key], key=chart.weight, reverse=True)
        yield from ("", paint(title, "head"))
        yield from chart.lines([(clean_line(row[name]) or "unknown", row) for row in rows], _MOST)
    days = found["days"][-_DAYS:]
    more = f", the last {_DAYS}" if len(found["days"]) > _DAYS else ""
    yield from ("", paint(f"by day{more}", "head"))
    yield from chart.lines([(_day(row["day"]), row) for row in days], _DAYS)


def _day(text: str) -> str:
    try:
        return f"{date.fromisoformat(text):%Y-%m-%d %a}"
    except ValueError:
        return clean_line(text)


class _Chart:
    """Bars by cost, or by tokens where nothing says what it cost."""

    def __init__(self, found: dict[str, Any], width: int, ascii_only: bool) -> None:
        self._by_cost = found["cost"] > 0
        self._width = width
        self._sign = "#" if ascii_only else "█"
        self._mark = "~" if ascii_only else "…"

    def weight(self, row: dict[str, Any]) -> float:
        return float(row["cost"]) if self._by_cost else float(sum(row["tokens"].values()))

    def lines(self, rows: Sequence[tuple[str, dict[str, Any]]], most: int) -> Iterator[str]:
        """A line a row: name, tokens, cost, bar; what is beyond `most` as a number."""
        shown = rows[:most]
        longest = max((cell_width(name) for name, _ in shown), default=0)
        room = min(longest, _LONGEST_NAME, max(self._width - 30, 8))
        top = max((self.weight(row) for _, row in shown), default=0) or 1
        for name, row in shown:
            tokens = format_tokens(sum(row["tokens"].values()))
            figures = f"{tokens:>6} {format_cost(row['cost']):>9}"
            left = f"  {fill(_ending(name, room, self._mark), room)} {figures}  "
            cells = max(self._width - cell_width(left), 0)
            weight = self.weight(row)
            bar = max(round(weight / top * cells), 1 if weight else 0)
            yield (left + self._sign * min(bar, cells)).rstrip()
        if len(rows) > most:
            yield f"  and {len(rows) - most:,} more"


def _ending(name: str, cells: int, mark: str) -> str:
    """The name; of one that is too long its end, which tells folders apart."""
    if cell_width(name) <= cells:
        return name
    kept = name
    while kept and cell_width(kept) > cells - 1:
        kept = kept[1:]
    return mark + kept
