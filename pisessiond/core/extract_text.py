"""Pieces of text that stand for more: first paragraphs, sentences, lines cut where nothing tears.

Nothing here knows a language; sentences end where most scripts end them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from pisessiond.core.javascript import cut_utf16, utf16_length, well_formed

_FENCE: Final = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_SENTENCE_END: Final = re.compile(
    r"(?<=[.!?…])\s+|(?<=[。！？｡])|\n\s*(?=\n|[-*+#>]|\d+[.)]\s)|\n{2,}"
)
_PARAGRAPH_END: Final = re.compile(r"\n\s*\n")
_LIST_ITEM: Final = re.compile(
    r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(\S.*)$", re.MULTILINE
)
_MARKUP: Final = re.compile(r"^[#>\s*+-]+(?=\S)")
_LOOKED_AT: Final = 20_000
"""Characters of one text that are looked at: what is pasted at length speaks for itself seldom."""


def plain(text: str) -> str:
    """The text without fenced code, at most some thousand characters of it."""
    return _FENCE.sub("\n\n", text[:_LOOKED_AT])


def lead(text: str) -> str:
    """The first paragraph that is no code; where all is code the first line of it."""
    paragraphs = (one_line(part) for part in _PARAGRAPH_END.split(plain(text)))
    lines = map(one_line, text[:_LOOKED_AT].splitlines())
    code = (line for line in lines if line and not line.startswith(("```", "~~~")))
    return next(filter(None, paragraphs), "") or next(code, "")


def sentences(text: str) -> Iterator[str]:
    """The sentences and list items outside code, each as one line."""
    for part in _SENTENCE_END.split(plain(text)):
        line = one_line(_MARKUP.sub("", part.strip()))
        if line:
            yield line


def list_items(text: str) -> list[str]:
    """The items of the lists outside code, each as one line, without their marks."""
    return [one_line(found[1]) for found in _LIST_ITEM.finditer(plain(text))]


def one_line(text: str) -> str:
    """The text with white space as single spaces and without lone surrogates."""
    return well_formed(" ".join(text.split()))


def shorten(line: str, limit: int) -> str:
    """The line in at most so many UTF-16 code units, cut behind a word where there are words.

    A character is never parted from what belongs to it: accents, variation selectors, skin tones,
    and what zero-width joiners join.
    """
    if utf16_length(line) <= limit:
        return line
    end = len(cut_utf16(line, limit - 1))
    while end > 0 and _belong_together(line[end - 1], line[end]):
        end -= 1
    # A script without spaces, or one long word, is cut between characters.
    space = line.rfind(" ", end * 2 // 3, end + 1)
    if space > 0:
        end = space
    return line[:end].rstrip() + "…"


def _belong_together(before: str, after: str) -> bool:
    if before == "\u200d" or after in "\u200d\ufe0e\ufe0f\u20e3":
        return True
    return unicodedata.combining(after) > 0 or "\U0001f3fb" <= after <= "\U0001f3ff"
