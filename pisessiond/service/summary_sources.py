"""The entries that a summary tells of, and whether they still read as they did when it was begun.

A summary takes minutes. Another program may write the file anew meanwhile, under the same ids; what
was written then tells of something that is nowhere, and would hide what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Final, TypeVar

from pisessiond.core.errors import EntryNotFound
from pisessiond.core.lines import EntryId
from pisessiond.core.session import Session
from pisessiond.service.errors import FileChanged, ServiceError
from pisessiond.service.held_session import HeldSession

T = TypeVar("T")

_READ_AT_ONCE: Final = 128
_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class Source:
    """Entries as they were read."""

    ids: tuple[EntryId, ...]
    digest: bytes
    """Of their lines."""
    epoch: str
    """The session's when they were read; in another one they may read otherwise."""


def digest_rows(session: Session, rows: Sequence[int]) -> bytes:
    """A digest of the lines of rows, as the current format spells them; reads them."""
    found = blake2b(digest_size=16)
    for at in range(0, len(rows), _READ_AT_ONCE):
        for line in session.lines(rows[at : at + _READ_AT_ONCE]):
            found.update(line.strip(b" \t\r\n"))
            found.update(b"\n")
    return found.digest()


def make_source(session: Session, rows: Sequence[int], epoch: str) -> Source:
    """The entries of these rows as they are now; reads them."""
    ids = [entry for row in rows if (entry := session.id_of(row)) is not None]
    return Source(tuple(ids), digest_rows(session, rows), epoch)


async def ask_with_epoch(held: HeldSession, question: Callable[[Session, str], T]) -> T:
    """The answer to a question that is told in which epoch it is asked.

    Raises:
        FileChanged: the file is rewritten again and again.
    """
    for _ in range(_TRIES):
        epoch = held.epoch
        answer = await held.ask(partial(_put, question, epoch))
        if held.epoch == epoch:
            return answer
    raise FileChanged("it is rewritten again and again")


def _put(question: Callable[[Session, str], T], epoch: str, session: Session) -> T:
    return question(session, epoch)


class ReadAnew(ServiceError):
    """The session was read anew since, so that its entries have to be compared first."""

    def __init__(self) -> None:
        super().__init__("The session was read anew; what the summary tells of is compared first.")


class Check:
    """Sees to it that a summary is stored only while its source reads as it did."""

    def __init__(self, held: HeldSession, source: Source) -> None:
        self._held = held
        self._source = source
        self._sound = source.epoch

    def insist(self) -> None:
        """Raises: ReadAnew: `compare` has to be asked; no I/O is needed otherwise."""
        if self._held.epoch != self._sound:
            raise ReadAnew

    async def compare(self) -> None:
        """Read the entries again, in a worker.

        Raises:
            FileChanged: one of them is another now, or gone.
        """

        def ask(session: Session, epoch: str) -> tuple[bytes | None, str]:
            try:
                rows = [session.row_of(entry) for entry in self._source.ids]
            except EntryNotFound:
                return None, epoch
            return digest_rows(session, rows), epoch

        digest, epoch = await ask_with_epoch(self._held, ask)
        if digest != self._source.digest:
            raise FileChanged(
                "what was summarised reads otherwise now", "nothing was written, try again"
            )
        self._sound = epoch
