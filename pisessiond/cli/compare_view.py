"""Two branches side by side since they parted, as lines of text: a function of the wire's JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Final

from pisessiond.cli.canvas import Canvas
from pisessiond.cli.figures import count, format_cost, format_tokens
from pisessiond.cli.plain_text import cell_width, clean_line, cut, fill
from pisessiond.cli.report_view import short_size
from pisessiond.cli.row_view import format_duration
from pisessiond.client import answers

FILES_SHOWN: Final = 8
"""Paths in one list; of more the number is told."""

_NAME: Final = 18
"""Cells of the first column."""


def compare_lines(
    answer: answers.CompareResult,
    ancestor: answers.Node | None,
    names: tuple[str, str],
    canvas: Canvas,
) -> Iterator[str]:
    """Entries, sizes, time, cost and files of both.

    Args:
        answer: what the daemon says.
        ancestor: the entry where they parted, where there is one.
        names: what the two are called.
        canvas: where it is drawn.
    """
    table = _Table(canvas)
    yield _head(answer, ancestor, canvas)
    a, b = answer["a"], answer["b"]
    yield table.row("", f"A  {clean_line(names[0])}", f"B  {clean_line(names[1])}")
    yield table.row("entries", *(_entries(side) for side in (a, b)))
    base = answer["ancestorSize"]
    yield table.row("context", *(_context(side, base, canvas) for side in (a, b)))
    yield table.row("time, cost", *(_effort(side) for side in (a, b)))
    yield table.row("tokens", *(_tokens(side["tokens"]) for side in (a, b)))
    yield from _files(a["files"], b["files"], table)


def _head(answer: answers.CompareResult, ancestor: answers.Node | None, canvas: Canvas) -> str:
    if answer["ancestor"] is None:
        return canvas.spread(" since  the beginning: they share no entry")
    size = short_size(answer["ancestorSize"]) if answer["ancestorSize"] else ""
    if ancestor is None:
        return canvas.spread(f" since  {clean_line(str(answer['ancestor']))}", size)
    right = "  ".join(part for part in (canvas.clock(ancestor["time"]), size) if part)
    return canvas.spread(f" since  {canvas.titled(ancestor)}", right)


def _entries(side: answers.ComparedSide) -> str:
    return f"{side['entries']:,}, {count(side['turns'], 'turn')}"


def _context(side: answers.ComparedSide, base: answers.ContextSize | None, canvas: Canvas) -> str:
    if base is None:
        return short_size(side["size"])
    grown = side["size"]["tokens"] - base["tokens"]
    sign = "+" if grown >= 0 else canvas.minus
    return f"{short_size(side['size'])}  ({sign}{format_tokens(abs(grown))})"


def _effort(side: answers.ComparedSide) -> str:
    return f"{format_duration(round(side['seconds'] * 1000))}  {format_cost(side['cost'])}"


def _tokens(tokens: answers.TokenTotals) -> str:
    read = tokens["input"] + tokens["cacheRead"] + tokens["cacheWrite"]
    return f"{format_tokens(read)} in, {format_tokens(tokens['output'])} out"


def _files(a: answers.FileLists, b: answers.FileLists, table: _Table) -> Iterator[str]:
    """Modified files of both and of one alone, then how many were only read."""
    both = [path for path in a["modified"] if path in b["modified"]]
    for row in table.listed("files, both", both, []):
        yield row
    ones = [path for path in a["modified"] if path not in both]
    others = [path for path in b["modified"] if path not in both]
    for row in table.listed("files, one only", ones, others):
        yield row
    if a["read"] or b["read"]:
        yield table.row("files only read", f"{len(a['read']):,}", f"{len(b['read']):,}")


class _Table:
    """A name and two columns."""

    def __init__(self, canvas: Canvas) -> None:
        self._canvas = canvas
        self._cells = max((canvas.width - _NAME - 3) // 2, 8)

    def row(self, name: str, a: str, b: str) -> str:
        mark = self._canvas.glyphs.cut
        a, b = (cut(text, self._cells, mark) for text in (a, b))
        return f" {fill(name, _NAME)}{fill(a, self._cells)}  {b}".rstrip()

    def listed(self, name: str, a: Sequence[str], b: Sequence[str]) -> Iterator[str]:
        """Paths below each other; of long ones the end is shown, which tells more."""
        columns = [self._shown(paths) for paths in (a, b)]
        for number, (one, other) in enumerate(zip_longest(*columns, fillvalue="")):
            yield self.row("" if number else name, one, other)

    def _shown(self, paths: Sequence[str]) -> list[str]:
        shown = [self._end(clean_line(path)) for path in paths[:FILES_SHOWN]]
        more = len(paths) - len(shown)
        return [*shown, f"{more:,} more"] if more else shown

    def _end(self, path: str) -> str:
        mark = self._canvas.glyphs.cut
        if cell_width(path) <= self._cells:
            return path
        while path and cell_width(path) > self._cells - len(mark):
            path = path[1:]
        return mark + path
