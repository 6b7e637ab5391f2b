"""The questions of a session as the file has them, with the context size at each."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

from pisessiond.core import kinds
from pisessiond.core.index import NONE
from pisessiond.core.lines import EntryId
from pisessiond.core.session import Session


@dataclass(frozen=True, slots=True)
class Turn:
    """An entry one may want to go back to, or where one stands."""

    id: EntryId
    line: int
    """Counted from 1."""
    tokens: int
    """The context size if one stood there."""
    is_measured: bool
    percent: float | None
    """Of the window; None when that is unknown."""


@dataclass(frozen=True, slots=True)
class Turns:
    """Those of a stretch of the file."""

    questions: tuple[Turn, ...] = ()
    here: Turn | None = None
    """Where one stands; None where that is on no line of the stretch."""


def find_turns(
    session: Session, window: int | None, first: int, last: int | None, most: int
) -> Turns:
    """The questions of the lines from `first` to `last` (None: the end), the newest `most`.

    Args:
        session: whose; every row must have been sized.
        window: what percentages are of, in tokens; None when unknown.
        first: counted from 1.
        last: itself included.
        most: questions at most.
    """
    index = session.index
    start = bisect_left(index.line, first)
    stop = len(session.sizes.own) if last is None else bisect_left(index.line, last + 1)
    rows: list[int] = []
    row = index.kind.rfind(kinds.USER, start, stop)
    while row >= 0 and len(rows) < most:
        rows.append(row)
        row = index.kind.rfind(kinds.USER, start, row)
    leaf = session.leaf
    here = _turn(session, leaf, window) if leaf != NONE and start <= leaf < stop else None
    return Turns(tuple(_turn(session, one, window) for one in reversed(rows)), here)


def _turn(session: Session, row: int, window: int | None) -> Turn:
    size = session.size_at(row)
    percent = None if not window else size.tokens * 100 / window
    ids, lines = session.index.ids, session.index.line
    return Turn(ids[row], lines[row], size.tokens, size.measured is not None, percent)
