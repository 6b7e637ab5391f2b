"""Two branches side by side: where they parted, and what each has added since.

A branch is a list of rows from below the common ancestor to its end. One end may stand above the
other, then its list is empty; two roots have no ancestor in common, then both lists are whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pisessiond.core import kinds
from pisessiond.core.dates import date_ms
from pisessiond.core.file_operations import FileLists, FileOperations, compute_file_lists
from pisessiond.core.index import Index
from pisessiond.core.session import Session
from pisessiond.core.totals import Tally, Totals

_SLICE = 512
"""Bodies held at once."""


@dataclass(frozen=True, slots=True)
class Parting:
    """Where two branches parted, and the rows of each since, root side first."""

    ancestor: int
    """The deepest row on both; NONE (of `core.index`) when they share none."""
    a: list[int]
    b: list[int]


@dataclass(frozen=True, slots=True)
class Stretch:
    """What some entries that follow one another add up to."""

    entries: int
    turns: int
    """How many of them are user messages."""
    totals: Totals
    """What the answers and summaries among them used."""
    seconds: float
    """From the first to the last time that can be read; 0 where the clock went back."""
    files: FileLists
    """As the tool calls among them tell; what summaries tell of other branches is not theirs."""


def part(index: Index, a: int, b: int) -> Parting:
    """Where the branches down to two rows parted; NONE is the place before the first entry."""
    ancestor = index.common_ancestor(a, b)
    return Parting(ancestor, index.branch(a, above=ancestor), index.branch(b, above=ancestor))


def add_up(session: Session, rows: Sequence[int]) -> Stretch:
    """What these rows add up to.

    Raises:
        BodyMismatch: the file holds something else by now.
    """
    tally, operations = Tally(), FileOperations()
    for start in range(0, len(rows), _SLICE):
        for entry in session.entries(rows[start : start + _SLICE]):
            tally.add(entry)
            message = entry.get("message")
            if entry.get("type") == "message" and isinstance(message, dict):
                operations.add_message(message)
    return Stretch(
        entries=len(rows),
        turns=count_turns(session.index, rows),
        totals=tally.all,
        seconds=_seconds(session.index, rows),
        files=compute_file_lists(operations),
    )


def count_turns(index: Index, rows: Sequence[int]) -> int:
    """How many of these rows are user messages."""
    kind = index.kind
    return sum(kind[row] == kinds.USER for row in rows)


def _seconds(index: Index, rows: Sequence[int]) -> float:
    first, last = _first_time(index, rows), _first_time(index, reversed(rows))
    if first is None or last is None:
        return 0.0
    return max(last - first, 0) / 1000


def _first_time(index: Index, rows: Iterable[int]) -> int | None:
    """The first time among these rows that can be read, in milliseconds."""
    for row in rows:
        time = index.times[row]
        if isinstance(time, str) and (ms := date_ms(time)) is not None:
            return ms
    return None
