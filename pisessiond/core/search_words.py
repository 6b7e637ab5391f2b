"""Text as search sees it: without case and accents, cut into words.

Three kinds of characters make words. Letters and digits do until something else comes. Scripts
that are written without spaces (Chinese, Japanese, Korean, Thai, …) give overlapping pairs, so
that any two characters of them are found and longer words as phrases of pairs. Of symbols, emoji
among them, each is a word of its own. All else stands between words.

What is indexed is cut by SQLite's `ascii` tokenizer, to which every character beyond ASCII belongs
to a word; so it is given text in which those that do not are gone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import groupby
from typing import Final, Literal

Kind = Literal["word", "pairs", "symbol", "gap"]

_SPACELESS: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3031-\u3035\u3040-\u312f"
    "\u3130-\u318f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f"
    "\uac00-\ud7ff\uf900-\ufaff\U0001b000-\U0001b16f\U00020000-\U0003ffff]"
)
_DRAWING: Final = re.compile("[\u2500-\u259f\u2800-\u28ff]")
"""Lines, blocks and braille: tables and progress bars, which nobody looks for."""

_STRIPPED: Final = re.compile(
    "[\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a"
    "\u064b-\u065f\u0670\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f"
    "\U000e0100-\U000e01ef\u00ad\u0640\u200c\u200d]"
)
"""Accents and points, and what joins or parts letters unseen. Other marks are vowels of theirs."""

_PLAIN: Final = str.maketrans("øłđħŧıæœ", "oldhti\0\0") | {ord("æ"): "ae", ord("œ"): "oe"}
"""Letters that look accented and that Unicode does not take apart."""

LONGEST_IDENTIFIER: Final = 200
"""What is longer is some encoding of bytes, whose parts mean nothing."""

_OTHER_RUN: Final = re.compile("[^\x00-\x7f]+")
# Only from where a word begins, or a long one without humps would be tried from each letter.
_HUMPED: Final = re.compile(
    "(?<![A-Za-z0-9])(?=[A-Za-z0-9]*?(?:[a-z0-9][A-Z]|[A-Z]{2}[a-z]))[A-Za-z0-9]++"
)
_HUMP: Final = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@cache
def marks() -> str:
    """Every combining mark, as the inside of a character class."""
    found = [code for code in range(0x300, 0x1F000) if unicodedata.category(chr(code))[0] == "M"]
    found += range(0xE0100, 0xE01F0)
    parts = []
    for _, group in groupby(enumerate(found), lambda one: one[1] - one[0]):
        codes = [code for _, code in group]
        parts.append(f"{chr(codes[0])}-{chr(codes[-1])}")
    return "".join(parts)


@cache
def _cluster() -> re.Pattern[str]:
    """A character with all that modifies it, or plain ASCII up to such a one."""
    other = (
        "[\u1100-\u115f][\u1160-\u11a7][\u11a8-\u11ff]?"  # a Korean syllable in pieces
        "|[\uff66-\uff9d][\uff9e\uff9f]"  # half-width Japanese with its voicing
        "|[^\x00-\x7f]"
    )
    unseen = f"[{marks()}\u00ad\u200c\u200d]"
    return re.compile(f"[\x00-\x7f]+(?!{unseen})|(?:[\x00-\x7f]|{other}){unseen}*")


@lru_cache(maxsize=16_384)
def _fold_cluster(cluster: str) -> str:
    if cluster.isascii():
        return cluster.lower()
    apart = unicodedata.normalize("NFKD", cluster.casefold()).casefold().translate(_PLAIN)
    apart = unicodedata.normalize("NFKD", apart)
    if "\u0400" <= apart[:1] <= "\u04ff" and "\u0306" in apart:
        # A letter with a breve is one of its own in Cyrillic.
        return unicodedata.normalize("NFC", apart)
    return unicodedata.normalize("NFC", _STRIPPED.sub("", apart))


def fold(text: str) -> str:
    """The text without case and accents."""
    if text.isascii():
        return text.lower()
    return "".join(map(_fold, _cluster().findall(text)))


def _fold(cluster: str) -> str:
    # Long stretches of ASCII would only push others out of the cache.
    return cluster.lower() if cluster.isascii() else _fold_cluster(cluster)


def fold_with_places(text: str) -> tuple[str, list[int] | None]:
    """`fold(text)`, and where each of its characters (and its end) stands in `text`.

    None: each stands where it stood.
    """
    if text.isascii():
        return text.lower(), None
    folded: list[str] = []
    places: list[int] = []
    for found in _cluster().finditer(text):
        start, end = found.span()
        piece = _fold(found[0])
        folded.append(piece)
        places += range(start, end) if found[0].isascii() else [start] * len(piece)
    places.append(len(text))
    return "".join(folded), places


@lru_cache(maxsize=16_384)
def kind_of(character: str) -> Kind:
    """What a folded character is part of."""
    if character.isascii():
        return "word" if character.isalnum() else "gap"
    if _SPACELESS.match(character):
        return "pairs"
    if character.isalnum():
        return "word"
    category = unicodedata.category(character)
    if category[0] == "M":
        return "word"
    if category in ("So", "Sm", "Sc") or "\U0001f3fb" <= character <= "\U0001f3ff":
        return "gap" if _DRAWING.match(character) else "symbol"
    return "gap"


def segments(folded: str) -> Iterator[tuple[Kind, str]]:
    """A folded text in stretches of one kind; each symbol is one."""
    for kind, group in groupby(folded, kind_of):
        if kind == "symbol":
            yield from ((kind, symbol) for symbol in group)
        else:
            yield kind, "".join(group)


def pairs(run: str) -> list[str]:
    """The overlapping pairs of a run, and its last character, so that single ones are found."""
    return [*(run[at : at + 2] for at in range(len(run) - 1)), run[-1]]


def indexed_words(text: str) -> str:
    """What to give to an index, for SQLite's `ascii` tokenizer to cut."""
    if text.isascii():
        return text
    return _OTHER_RUN.sub(_spread_match, fold(text))


def _spread_match(found: re.Match[str]) -> str:
    run = found[0]
    return _spread_short(run) if len(run) < 16 else _spread(run)


def _spread(run: str) -> str:
    spread = []
    for kind, stretch in segments(run):
        if kind == "word":
            # It may go on in ASCII to either side.
            spread.append(stretch)
        elif kind == "pairs":
            spread.append(f" {' '.join(pairs(stretch))} ")
        else:
            spread.append(f" {stretch} " if kind == "symbol" else " ")
    return "".join(spread)


_spread_short: Final = lru_cache(maxsize=16_384)(_spread)


def identifier_parts(text: str) -> str:
    """The parts of every identifier with humps (`getUserName`), in their order."""
    words = (word for word in _HUMPED.findall(text) if len(word) <= LONGEST_IDENTIFIER)
    return " ".join(" ".join(split_humps(word)) for word in words)


def split_humps(word: str) -> list[str]:
    """The parts of an identifier: `getHTTPCode` is get, HTTP and Code."""
    return _HUMP.split(word)


def is_hump(text: str, at: int) -> bool:
    """Whether a part of an identifier ends and another begins at `at`."""
    return _HUMP.match(text, at) is not None
