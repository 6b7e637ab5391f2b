"""Which sessions were forked from one, and at which of its entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pisessiond.core import kinds
from pisessiond.core.index import NONE
from pisessiond.core.lines import EntryId
from pisessiond.core.session import Session

ListedForks = Callable[[], Iterable[tuple[str, EntryId | None]]]
"""The paths of forks that the catalogue knows, and the last entry of each that came along."""


class ForkMarks:
    """The forks of one session: those on disk, and those made here that the list has not read."""

    def __init__(self) -> None:
        self.listed: ListedForks = lambda: ()
        """May read files, so it is asked in workers."""
        self._made: dict[str, EntryId | None] = {}
        self._were_listed: set[str] = set()

    def made(self, fork: str, end: EntryId | None) -> None:
        """Remember a fork that was just made.

        Args:
            fork: its path, or its handle where it has none.
            end: the entry it goes up to; None where it begins before the first.
        """
        self._made[fork] = end

    def by_row(self, session: Session) -> dict[int, tuple[str, ...]]:
        """By row, the forks that left there. What says nothing counts with what it follows."""
        listed = dict(self.listed())
        # Once the list has known a fork, it says whether that is still there.
        self._were_listed |= self._made.keys() & listed.keys()
        gone = self._were_listed - listed.keys()
        made = {fork: end for fork, end in self._made.items() if fork not in gone}
        found: dict[int, tuple[str, ...]] = {}
        for fork, end in sorted({**listed, **made}.items()):
            row = telling_row(session, end)
            if row != NONE:
                found[row] = (*found.get(row, ()), fork)
        return found


def telling_row(session: Session, end: EntryId | None) -> int:
    """The last row down to an entry that says something; NONE where there is none."""
    index = session.index
    row = index.find(end)
    if row is None:
        return NONE
    while row != NONE and index.kind[row] not in kinds.GIVES_MESSAGE:
        row = index.parent[row]
    return row
