"""A query: which words to look for, how an index is asked for them, and where they stand in a text.

Words are parted by white space, and all must be there. What stands in double quotes is a phrase.
A word with signs inside (`src/app.py`, `max_size`, `a.b`) is looked for with these signs; signs
around a word mean nothing. There are no operators: AND, NEAR and `*` are like any word or sign.

The index is asked for the words alone and may give too much; `Query.find` has the last word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pisessiond.core.search_words import (
    LONGEST_IDENTIFIER,
    Kind,
    fold,
    fold_with_places,
    is_hump,
    kind_of,
    pairs,
    segments,
    split_humps,
)

MAX_INDEX_TERMS: Final = 32
"""Terms that an index is asked for; the others are looked for in what it finds."""
_MAX_INDEX_TOKENS: Final = 64
"""Tokens of one phrase that an index is asked for."""

_CHUNK: Final = re.compile(r'"([^"]*)"|([^\s"]+)')
_SPACE: Final = re.compile(r"(\s+)")
_HUMPED_WORD: Final = re.compile("[A-Za-z0-9]+")

Span = tuple[int, int]


_GAP: Final = r"([\W_]+?)"
"""Whatever may stand between two words of a phrase. It may hold words that Python's own table of
characters does not know as such, and symbols; both are looked for in what it matched."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word or a phrase."""

    parts: tuple[tuple[Kind, str], ...]
    """Folded, gaps included; neither the first nor the last is a gap."""
    humps: tuple[str, ...] = ()
    """Of a single ASCII word its parts, folded: one for a word without humps."""

    @property
    def index_query(self) -> str:
        """The term in FTS5's syntax, columns `words` and `parts`; texts of it are quoted."""
        phrase, is_prefix = self._tokens()
        quoted = f'"{" ".join(phrase)}"{" *" if is_prefix else ""}'
        if len(self.parts) > 1 or not self.humps:
            return f"words : {quoted}"
        if len(self.humps) > 1:
            return f'(words : {quoted} OR parts : "{" ".join(self.humps)}")'
        return quoted

    def _tokens(self) -> tuple[list[str], bool]:
        """The tokens, and whether the last one may go on."""
        tokens: list[str] = []
        last = len(self.parts) - 1
        for at, (kind, text) in enumerate(self.parts):
            if len(tokens) >= _MAX_INDEX_TOKENS:
                return tokens[:_MAX_INDEX_TOKENS], False
            if kind == "pairs":
                run = pairs(text)
                if at == last:
                    # The run may go on in the text, so its last pair ends it.
                    return [*tokens, *(run[:-1] or run)][:_MAX_INDEX_TOKENS], len(run) == 1
                tokens += run
            elif kind != "gap":
                tokens.append(text)
        return tokens[:_MAX_INDEX_TOKENS], False

    @property
    def pattern(self) -> str:
        """A regular expression for a folded text; where it may begin and end is not in it."""
        made = []
        for kind, text in self.parts:
            if kind != "gap":
                made.append(re.escape(text))
            elif text.isspace():
                made.append(_GAP)
            else:
                made += [r"\s+" if bit.isspace() else re.escape(bit) for bit in _SPACE.split(text)]
        return "".join(made)


class Query:
    """What is looked for; `terms` is empty when there is no word in it."""

    def __init__(self, text: str) -> None:
        found = (_term(phrase or word) for phrase, word in _CHUNK.findall(text))
        self.terms = tuple(dict.fromkeys(term for term in found if term is not None))
        self._patterns = [(term, re.compile(term.pattern)) for term in self.terms]

    @property
    def index_query(self) -> str:
        """The query in FTS5's syntax; nothing in it but quoted words is the caller's text."""
        return " AND ".join(term.index_query for term in self.terms[:MAX_INDEX_TERMS])

    def find(self, text: str, most: int = 64) -> list[tuple[int, Span]] | None:
        """Where its terms stand in a text, in order, each with the number of its term.

        At most `most` places of each. None when one of them is not there.
        """
        if not self.terms:
            return None
        folded, places = fold_with_places(text)
        all_found: list[tuple[int, Span]] = []
        for number, (term, pattern) in enumerate(self._patterns):
            found = at = 0
            while found < most and (match := pattern.search(folded, at)) is not None:
                start, end = match.span()
                span = (start, end) if places is None else (places[start], places[end])
                is_phrase = all(kind_of(one) == "gap" for gap in match.groups() for one in gap)
                if is_phrase and _stands_alone(term, folded, match.span(), text, span):
                    all_found.append((number, span))
                    found += 1
                    at = end
                else:
                    # What stands alone may overlap with what does not.
                    at = _next_start(folded, text, places, start + 1)
            if not found:
                return None
        return sorted(all_found, key=lambda one: one[1])


def _term(chunk: str) -> Term | None:
    parts = list(segments(fold(chunk)))
    while parts and parts[0][0] == "gap":
        del parts[0]
    while parts and parts[-1][0] == "gap":
        del parts[-1]
    if not parts:
        return None
    humps: tuple[str, ...] = ()
    if len(parts) == 1 and parts[0][0] == "word" and parts[0][1].isascii():
        word = _HUMPED_WORD.search(chunk)
        # Folding may have made another word of it, which then has no humps that count.
        is_same = word is not None and word[0].lower() == parts[0][1]
        humps = (parts[0][1],)
        if word and is_same and len(word[0]) <= LONGEST_IDENTIFIER:
            humps = tuple(map(str.lower, split_humps(word[0])))
    return Term(tuple(parts), humps)


def _stands_alone(term: Term, folded: str, found: Span, text: str, span: Span) -> bool:
    """Whether what was found is no piece of a longer word, but for a part of an identifier."""
    start, end = found
    begins = term.parts[0][0] != "word" or _is_edge(folded, start)
    ends = term.parts[-1][0] != "word" or _is_edge(folded, end)
    if begins and ends:
        return True
    if not term.humps or len(term.parts) > 1:
        return False
    first, last = span
    stretch = text[first:last]
    return (
        (begins or is_hump(text, first))
        and (ends or is_hump(text, last))
        and tuple(map(str.lower, split_humps(stretch))) == term.humps
    )


def _next_start(folded: str, text: str, places: list[int] | None, at: int) -> int:
    """The next place from `at` on where a word or a part of one can begin."""
    while at < len(folded):
        if _is_edge(folded, at) or is_hump(text, at if places is None else places[at]):
            break
        at += 1
    return at


def _is_edge(folded: str, at: int) -> bool:
    if at in (0, len(folded)):
        return True
    return kind_of(folded[at - 1]) != "word" or kind_of(folded[at]) != "word"
