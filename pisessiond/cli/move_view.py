"""A move or a fork before it is made, as lines of text: where, then what each way would do."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from pisessiond.cli.canvas import Canvas, entry_count, forecast_words
from pisessiond.cli.figures import count, format_detail, parse_time
from pisessiond.cli.plain_text import clean_line
from pisessiond.cli.report_view import short_size
from pisessiond.client import answers

_WAY = 15
"""Cells of the name of a way to go."""


def move_lines(
    target: answers.Node | None,
    preview: answers.MovePreview,
    canvas: Canvas,
    *,
    exact: bool = False,
    is_summary_wanted: bool = False,
    now: datetime | None = None,
) -> Iterator[str]:
    """What moving to an entry would do; None is the place before the first one.

    Where a summary is wanted it is told too that there would be none.
    """
    yield _head("Navigate to", target, canvas)
    yield from canvas.wrapped(_what_happens(target, preview, exact=exact))
    left = preview["leaves"]
    if left["entries"]:
        are = "is" if left["entries"] == 1 else "are"
        stay = "it stays" if left["entries"] == 1 else "they stay"
        words = entry_count(left["entries"], left["turns"])
        yield from canvas.wrapped(f"{words} {are} left; {stay} in the tree. Files are not undone.")
    if (outside := preview["outside"]) is not None:
        yield from canvas.wrapped(_outside_words(outside, now))
    yield canvas.spread(f" {'here':<{_WAY}}{_sizes(preview, canvas)}")
    forecast = preview["summary"]
    if forecast is not None:
        yield canvas.spread(f" {'--summarize':<{_WAY}}summarised first {forecast_words(forecast)}")
    elif is_summary_wanted:
        why = "nobody could: pisessiond summarizers" if left["entries"] else "nothing is left"
        yield canvas.spread(f" {'--summarize':<{_WAY}}no summary, {why}")
    if target is not None:
        before = target.get("role") == "user" and not exact
        place = "before this message" if before else "up to this entry"
        yield canvas.spread(f" {'as a fork':<{_WAY}}a new session {place}: pisessiond fork")


def fork_lines(
    entry: answers.Node | None,
    preview: answers.MovePreview,
    canvas: Canvas,
    *,
    with_all: bool = False,
) -> Iterator[str]:
    """What a fork would hold; without an entry that of the leaf, or `with_all` of everything."""
    yield _head("Fork from" if not with_all else "Fork with all branches, at", entry, canvas)
    if preview["returnsText"] is not None:
        yield from canvas.wrapped("Its text comes back, to be changed and sent again.")
    left = preview["leaves"]
    if left["entries"]:
        words = entry_count(left["entries"], left["turns"])
        stay = "stays" if left["entries"] == 1 else "stay"
        yield from canvas.wrapped(f"{words} of the active branch {stay} in this session alone.")
    yield canvas.spread(f" {'there':<{_WAY}}{_sizes(preview, canvas)}")


def _head(what: str, entry: answers.Node | None, canvas: Canvas) -> str:
    title = "before the first entry" if entry is None else canvas.titled(entry)
    return canvas.spread(f" {what}  {title}", "" if entry is None else canvas.clock(entry["time"]))


def _what_happens(target: answers.Node | None, preview: answers.MovePreview, *, exact: bool) -> str:
    if preview["returnsText"] is not None:
        return "Its text comes back, to be changed and sent again."
    if target is None:
        return "The next message begins the session anew."
    if not preview["leaves"]["entries"] and preview["leaf"] == target["id"]:
        return "You go on from here."
    what = {"user": "message", "assistant": "answer"}.get(target.get("role") or "", "entry")
    return f"You go on after this very {what}." if exact else f"You go on after this {what}."


def _outside_words(outside: str, now: datetime | None) -> str:
    wrote = parse_time(outside, UTC)
    when = ""
    if wrote is not None:
        minutes = int(((now or datetime.now(UTC)) - wrote).total_seconds() // 60)
        when = " just now" if minutes < 1 else f" {count(minutes, 'minute')} ago"
    return f"Another program wrote here{when}: a pi in a terminal will not follow; a fork is safer."


def _sizes(preview: answers.MovePreview, canvas: Canvas) -> str:
    now, after = short_size(preview["sizeNow"]), short_size(preview["sizeAfter"])
    return f"context {now} {canvas.arrow} {after}"


def growth(before: answers.ContextSize, after: answers.ContextSize, canvas: Canvas) -> str:
    """`−15.2k`, `+812`: by how much a context has grown.

    After an edit there is only an estimate, so that is what is compared where it was known before.
    """
    was = before["estimated"] if after["measured"] is None else before["tokens"]
    grown = after["tokens"] - (before["tokens"] if was is None else was)
    return f"{canvas.minus if grown < 0 else '+'}{format_detail(abs(grown))}"


def done_line(what: str, answer: answers.Done, sizes: tuple[str, str], canvas: Canvas) -> str:
    """What was done, where the session stands, and the size before and after."""
    place = "before the first entry" if answer["leaf"] is None else str(answer["leaf"])
    before, after = sizes
    size = after if before == after else f"{before} {canvas.arrow} {after}"
    words = (clean_line(what), f"leaf {clean_line(place)}", f"context {size}")
    return f" {canvas.dot} ".join(words)
