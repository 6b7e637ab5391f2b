"""Two branches of a session since they parted, in figures."""

from __future__ import annotations

from dataclasses import dataclass

from pisessiond.core.comparison import Stretch, add_up, part
from pisessiond.core.index import NONE
from pisessiond.core.lines import EntryId
from pisessiond.core.session import Session
from pisessiond.service.looking import SizeAt, look
from pisessiond.service.reading import token_totals
from pisessiond.service.session_acts import SessionActs
from pisessiond.service.types import ContextSize
from pisessiond.service.views import ComparedSide, Comparison


@dataclass(frozen=True, slots=True)
class _Found:
    ancestor: int
    ends: tuple[int, int]
    a: Stretch
    b: Stretch


async def compare(
    held: SessionActs, size_at: SizeAt, a: EntryId | None, b: EntryId | None
) -> Comparison:
    """What each of two branches has added since they parted; None is before the first entry.

    Raises:
        EntryNotFound: an end is not there.
    """
    session, found = await look(held, lambda session: _compare(session, a, b))
    sizes = [await size_at(session, row) for row in found.ends]
    at = found.ancestor
    return Comparison(
        rev=held.rev,
        ancestor=session.id_of(at),
        ancestor_size=None if at == NONE else await size_at(session, at),
        a=_side(found.a, sizes[0]),
        b=_side(found.b, sizes[1]),
    )


def _compare(session: Session, a: EntryId | None, b: EntryId | None) -> _Found:
    ends = session.row_of(a), session.row_of(b)
    parted = part(session.index, *ends)
    left, right = add_up(session, parted.a), add_up(session, parted.b)
    return _Found(parted.ancestor, ends, left, right)


def _side(stretch: Stretch, size: ContextSize) -> ComparedSide:
    return ComparedSide(
        entries=stretch.entries,
        turns=stretch.turns,
        size=size,
        tokens=token_totals(stretch.totals),
        cost=stretch.totals.cost,
        seconds=stretch.seconds,
        read_files=stretch.files.read_files,
        modified_files=stretch.files.modified_files,
    )
