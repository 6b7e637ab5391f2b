"""What fills the context, as lines of text: a pure function of the wire's `ContextSize`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pisessiond.cli.figures import format_detail, format_tokens
from pisessiond.cli.plain_text import clean_line, cut, fill
from pisessiond.cli.report_view import size_text
from pisessiond.client import answers

PARTS: Final = {
    "system": "system",
    "user": "user",
    "assistant": "assistant",
    "thinking": "thinking",
    "toolCalls": "tool calls",
    "toolResults": "tool results",
    "images": "images",
    "summaries": "summaries",
}

_FAR_OFF: Final = 0.2
"""From which share of the shown figure on it is said that the estimate does not fit."""

_ID_CELLS: Final = 8


def context_lines(size: answers.ContextSize, width: int) -> Iterator[str]:
    """Size, model and when a compaction is due; the parts; the entries that take most.

    Parts are estimates; what is over or missing to the shown figure is a line of its own.
    """
    yield f"context {size_text(size)}"
    if words := _circumstances(size):
        yield cut(f"  {words}", width)
    yield from _part_lines(size)
    yield from _largest_lines(size, width)


def _circumstances(size: answers.ContextSize) -> str:
    words = [] if size["model"] is None else [clean_line(size["model"])]
    if size["window"] is None:
        words.append("window unknown")
    if size["dueAt"] is not None:
        above = format_tokens(max(size["dueAt"], 0))
        words.append("a compaction is due" if size["due"] else f"compaction due above {above}")
    return " · ".join(words)


def _part_lines(size: answers.ContextSize) -> Iterator[str]:
    parts, shown = size.get("parts") or {}, size["tokens"]
    for part, tokens in sorted(parts.items(), key=lambda item: -item[1]):
        if tokens:
            yield _part_line(
                PARTS.get(part, clean_line(part)), format_detail(tokens), tokens, shown
            )
    rest = size.get("unexplained") or 0
    if not rest:
        return
    figure = ("+" if rest > 0 else "-") + format_detail(abs(rest))
    yield _part_line("not explained", figure, abs(rest), shown)
    estimated = shown - rest
    if abs(rest) > shown * _FAR_OFF and estimated:
        how = "low" if rest > 0 else "high"
        yield f"  estimate runs {how} here (x{shown / estimated:.1f})"


def _part_line(name: str, figure: str, tokens: int, shown: int) -> str:
    return f"  {name:<13} {figure:>7} {_share(tokens, shown):>5}".rstrip()


def _share(tokens: int, shown: int) -> str:
    """Of the shown figure; nothing where nothing is shown."""
    return f"{int(tokens * 100 / shown + 0.5)}%" if shown else ""


def _largest_lines(size: answers.ContextSize, width: int) -> Iterator[str]:
    largest = size.get("largest") or []
    if largest:
        yield "ten largest" if len(largest) == 10 else "largest"
    for number, one in enumerate(largest, 1):
        share = _share(one["tokens"], size["tokens"])
        entry = fill(clean_line(str(one["entry"])), _ID_CELLS)
        figures = f"{number:>3} {format_detail(one['tokens']):>7} {share:>5}"
        yield cut(f"{figures}  {entry}  {clean_line(one['title'])}".rstrip(), width)
