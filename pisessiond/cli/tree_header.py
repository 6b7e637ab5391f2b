"""The two lines above a tree: whose it is, how full the context is, and how much is shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from pisessiond.cli.canvas import Canvas
from pisessiond.cli.figures import count, format_size, format_tokens, parse_time
from pisessiond.cli.pi_view import company
from pisessiond.cli.plain_text import cell_width, clean_line, cut, fill
from pisessiond.cli.report_view import title_of
from pisessiond.client import answers

WIDE: Final = 56
"""Cells from which the header says everything."""
NARROW: Final = 24
"""Cells below which it says the percent alone."""
SHORT_BAR: Final = 5

LIVE: Final = timedelta(minutes=15)
"""A session is live while another program wrote to it so long ago at most."""

_FILTERS: Final = {"no-tools": "no tools", "user-only": "user only", "labeled-only": "labelled"}


def header_lines(
    opened: answers.OpenResult,
    rows: int,
    shown: str,
    canvas: Canvas,
    others: Sequence[answers.Present] = (),
    now: datetime | None = None,
) -> Iterator[str]:
    """Title and size, then filter and counts with model and company.

    Args:
        opened: the session as it stands.
        rows: how many rows are drawn.
        shown: the filter's name.
        canvas: where it is drawn.
        others: who else has the session open.
        now: the present; the machine's clock when None.
    """
    size = opened["contextSize"]
    yield _top(title_of(opened), size, canvas)
    left = f" {_FILTERS.get(shown, shown)} {canvas.dot} {_counts(opened, rows)}"
    if opened["problems"]:
        left += f" {canvas.dot} {count(len(opened['problems']), 'problem')}"
    if opened["readOnly"]:
        left += f" {canvas.dot} read only: {clean_line(opened['readOnly'])}"
    right = [_model(size), _company(opened, others, now or datetime.now(UTC))]
    told = f" {canvas.dot} ".join(filter(None, right))
    if cell_width(left) + cell_width(told) + 3 > canvas.width:
        told = ""
    yield canvas.spread(left, told)


def _top(title: str, size: answers.ContextSize | None, canvas: Canvas) -> str:
    words = _size_words(size, canvas)
    if canvas.width < NARROW:
        return cut(f" {words}", canvas.width, canvas.glyphs.cut)
    room = max(canvas.width - cell_width(words) - 3, 8)
    return f" {fill(cut(title, room, canvas.glyphs.cut), room)}  {words}"


def _size_words(size: answers.ContextSize | None, canvas: Canvas) -> str:
    """`84k of 200k  ▰▰▰▰▱▱▱▱▱│ 42% measured`, less of it on narrow screens."""
    if size is None:
        return "being counted"
    window = size["window"]
    tokens, percent = format_size(size["tokens"], size["source"], window)
    figure = percent or tokens
    if size["before"] is not None:
        was = format_size(size["before"], "measured", window)
        figure += f" (was {was[1] or was[0]})"
    if canvas.width < NARROW or not window:
        return figure if canvas.width < WIDE else f"{figure} {size['source']}"
    if canvas.width < WIDE:
        return f"{canvas.bar(size['tokens'], window, cells=SHORT_BAR)} {figure}"
    bar = canvas.bar(size["tokens"], window, size["dueAt"])
    return f"{tokens} of {format_tokens(window)}  {bar} {figure} {size['source']}"


def _counts(opened: answers.OpenResult, rows: int) -> str:
    return f"{count(rows, 'row')} of {count(opened['entryCount'], 'entry', 'entries')}"


def _model(size: answers.ContextSize | None) -> str:
    return clean_line((size and size["model"]) or "").partition("/")[2]


def _company(opened: answers.OpenResult, others: Sequence[answers.Present], now: datetime) -> str:
    """`2 windows, pi: idle`: who else has it open or writes to it."""
    words = [count(len(others), "window")] if others else []
    if running := company(opened.get("pis", [])):
        return ", ".join([*words, running])
    wrote = parse_time(opened["lastExternal"], UTC)
    if wrote is not None and now - wrote < LIVE:
        words.append("pi")
    return ", ".join(words)
