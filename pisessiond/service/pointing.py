"""What one points at in a session file, where that is told, and what tells of it.

A line holds one entry, so a place is a line and bytes in it. All of this reads bodies, so it runs
in workers. Lines are counted from 1, bytes from 0.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pisessiond.core import kinds
from pisessiond.core.index import NONE
from pisessiond.core.javascript import parse_json
from pisessiond.core.lines import EntryId
from pisessiond.core.members import Member, members
from pisessiond.core.session import BodyMismatch, Session

NAMING: Final = ("id", "parentId", "firstKeptEntryId", "fromId", "targetId")
"""The members whose value is the id of an entry."""

MOST: Final = 1_000
"""Places told at once; an entry that more point at is a root of hundreds of attempts."""

At = Callable[[bytes], int]
"""Where in a line one points, in bytes; what a client counts in is the caller's affair."""

_HAS_IDS: Final = 2
"""The format version from which on entries carry their ids."""
_AIMED: Final = frozenset({kinds.CONTEXT_EDIT, kinds.LEAF, kinds.LABEL})
"""Kinds whose `targetId` the index knows."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Some bytes of a line of the file."""

    line: int
    text: bytes
    """The whole line."""
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Pointed:
    """What one points at."""

    row: int
    """The entry meant: the one that is named there, else that of the line; NONE: it is missing."""
    spot: Spot
    """The value that names it, or nothing at the beginning of the line."""
    member: str | None
    """The member that names it; None where one points at anything else."""


def row_at(session: Session, line: int) -> int | None:
    """The row on a line of the file; None where none is."""
    lines = session.index.line
    row = bisect_left(lines, line)
    return row if row < len(lines) and lines[row] == line else None


def point(session: Session, line: int, at: At) -> Pointed | None:
    """What one points at; None on a line that holds no entry."""
    row = row_at(session, line)
    if row is None:
        return None
    text = stored_texts(session, [row])[0]
    position = at(text)
    named_there = naming_members(text) if session.version >= _HAS_IDS else {}
    for name, member in named_there.items():
        if member.start <= position <= member.end:
            named = session.index.find(_value(text, member))
            if named is None and _value(text, member) is None:
                break
            spot = Spot(line, text, member.value, member.end)
            return Pointed(NONE if named is None else named, spot, name)
    return Pointed(row, Spot(line, text, 0, 0), None)


def find_definition(session: Session, line: int, at: At) -> Spot | None:
    """Where the entry begins that one points at; of a whole line, the one it hangs under."""
    pointed = point(session, line, at)
    if pointed is None:
        return None
    row = pointed.row if pointed.member is not None else session.index.parent[pointed.row]
    return None if row == NONE else next(_spots(session, [(row, "id")]), None)


def find_references(session: Session, line: int, at: At, *, with_itself: bool) -> list[Spot]:
    """Everything that names the entry one points at, in the order of the file.

    Args:
        session: whose.
        line: where one points.
        at: and at which byte.
        with_itself: whether the entry's own id is among them.
    """
    pointed = point(session, line, at)
    if pointed is None or pointed.row == NONE:
        return []
    pairs = naming_rows(session, pointed.row)
    if with_itself:
        pairs.append((pointed.row, "id"))
    found = _spots(session, sorted(pairs)[:MOST])
    return sorted(found, key=lambda spot: (spot.line, spot.start))


def naming_rows(session: Session, row: int) -> list[tuple[int, str]]:
    """The rows that name an entry, each with the member that does so."""
    index = session.index
    wanted = index.ids[row]
    found = [(child, "parentId") for child in list(index.children_in_file_order(row))]
    # The notes are taken in one go: others are added while this runs.
    for noting, note in list(index.notes.items()):
        kind = index.kind[noting]
        if kind == kinds.COMPACTION and note == wanted:
            found.append((noting, "firstKeptEntryId"))
        elif (kind in (kinds.CONTEXT_EDIT, kinds.LEAF) and note == wanted) or (
            kind == kinds.LABEL and note[0] == wanted
        ):
            found.append((noting, "targetId"))
    summaries = list(_rows_of_kind(session, kinds.BRANCH_SUMMARY))
    for at, body in zip(summaries, session.entries(summaries), strict=True):
        if body.get("fromId") == wanted:
            found.append((at, "fromId"))
    return found


def _rows_of_kind(session: Session, kind: int) -> Iterator[int]:
    row = session.index.kind.find(kind)
    while row >= 0:
        yield row
        row = session.index.kind.find(kind, row + 1)


def spots_of(session: Session, pairs: Sequence[tuple[int, str]]) -> list[Spot]:
    """Where these members of rows stand; the beginning of the line where there is no such one."""
    return list(_spots(session, pairs))


def _spots(session: Session, pairs: Iterable[tuple[int, str]]) -> Iterator[Spot]:
    pairs = list(pairs)
    texts = stored_texts(session, [row for row, _ in pairs])
    for (row, name), text in zip(pairs, texts, strict=True):
        # In older files an id on a line is not the entry's.
        has_ids = session.version >= _HAS_IDS
        member = naming_members(text, name).get(name) if has_ids else None
        start, end = (member.value, member.end) if member is not None else (0, 0)
        yield Spot(session.index.line[row], text, start, end)


def stored_texts(session: Session, rows: Sequence[int]) -> list[bytes]:
    """The lines of rows as they stand in the file.

    Raises:
        BodyMismatch: what stands there now is not that entry.
    """
    texts = session.stored_lines(rows)
    for row, text in zip(rows, texts, strict=True):
        if session.version >= _HAS_IDS:
            _check(session.index.ids[row], text)
    return texts


def _check(entry_id: EntryId, text: bytes) -> None:
    member = naming_members(text, "id").get("id") if text.lstrip().startswith(b"{") else None
    if member is None or _value(text, member) != entry_id:
        raise BodyMismatch(entry_id)


def naming_members(text: bytes, *also: str) -> dict[str, Member]:
    """The members of a line that name entries, and these others, by name.

    Of a repeated name it is the last, as `JSON.parse` takes it.
    """
    return {one.name: one for one in members(text) if one.name in NAMING or one.name in also}


def _value(text: bytes, member: Member) -> Any:
    return parse_json(text[member.value : member.end])
