"""The piece of a text around what was found, as one plain line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pisessiond.core.javascript import utf16_length
from pisessiond.core.preview import HIDDEN, SURROGATE
from pisessiond.core.search_query import Span

LENGTH: Final = 160
"""Characters of the text that a snippet shows, more where what was found is longer."""
_LONGEST: Final = 400
_BEFORE: Final = 40
"""Characters shown before the first word that was found."""
_TRIED: Final = 50

_SPACES: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Snippet:
    """A line, and what was found in it."""

    text: str
    """No control, bidi or zero-width characters, white space as one space."""
    matches: tuple[Span, ...]
    """Begin and end of each match in UTF-16 code units of `text`."""


def make_snippet(text: str, found: Sequence[tuple[int, Span]]) -> Snippet:
    """The piece of `text` with most of what was found (`Query.find`; at least one)."""
    start, end = _window(text, found)
    made: list[str] = ["…"] if start > 0 else []
    length = len(made)
    matches: list[Span] = []
    at = start
    for first, last in _joined([span for _, span in found]):
        first, last = max(first, start), min(last, end)
        if first >= last:
            continue
        before, inside = _plain(text[at:first]), _plain(text[first:last])
        if not matches and at == start:
            before = before.lstrip()
        begin = length + utf16_length(before)
        length = begin + utf16_length(inside)
        if inside:
            matches.append((begin, length))
        made += [before, inside]
        at = last
    made.append(_plain(text[at:end]).rstrip())
    if end < len(text):
        made.append("…")
    return Snippet("".join(made), tuple(matches))


def _window(text: str, found: Sequence[tuple[int, Span]]) -> Span:
    """Where the snippet begins and ends in the text."""
    best, covered = found[0][1][0], 0
    for at, (_, (first, _)) in enumerate(found[:_TRIED]):
        inside = {number for number, (start, _) in found[at : at + _TRIED] if start < first + 120}
        if len(inside) > covered:
            best, covered = first, len(inside)
    longest = max((end for _, (start, end) in found if start == best), default=best)
    start = max(0, best - _BEFORE)
    end = min(len(text), max(start + LENGTH, longest), start + _LONGEST)
    if start > 0:
        # At the beginning of a word, where there is one.
        space = _SPACES.search(text, start, best)
        start = space.end() if space else start
    if end < len(text) and (space_at := text.rfind(" ", longest, end)) > 0:
        end = space_at
    return start, end


def _joined(spans: Sequence[Span]) -> list[Span]:
    """The spans in order, those that overlap as one."""
    joined: list[Span] = []
    for first, last in sorted(spans):
        if joined and first < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    return joined


def _plain(text: str) -> str:
    # Hidden characters first, or those between two spaces would leave both.
    return _SPACES.sub(" ", SURROGATE.sub("\ufffd", HIDDEN.sub("", text)))
