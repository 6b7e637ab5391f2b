"""Whether a session's log takes writes, and telling everyone when that changes.

A failed write is answered to whoever asked for it; the others learn here that the disk is full, or
that it failed and the session is read-only, and later that writing works again. What failed writes
and torn lines leave in a file is told here too.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pisessiond.core.lines import OddLine, read_line
from pisessiond.core.problems import Problem
from pisessiond.service.errors import Degraded, ServiceError
from pisessiond.service.types import REPAIR, AnyOrigin, Change
from pisessiond.storage.base import StoredLine

if TYPE_CHECKING:
    from pisessiond.service.held_session import HeldSession

_LEFT = "This is what a write left that failed; it is no entry and was never acknowledged."
_ENDED = "This line was cut short by whoever wrote it; it was ended, so that the next is whole."
_WORKS = "Writing works again."


class WriteTrouble:
    """The state of one session's writing."""

    def __init__(self, session: HeldSession) -> None:
        # Weakly, as it is the session's own: what leaves memory is freed at once.
        self._session: HeldSession = weakref.proxy(session)
        self._problem: Problem | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What keeps the session from being written at present."""
        refusal = self._session.log.refusal
        if self._problem is None and refusal is not None:
            return (Problem("degraded", refusal),)
        return (self._problem,) if self._problem is not None else ()

    async def failed(self, error: Degraded, origin: AnyOrigin) -> None:
        """A write failed: take in what it left, and tell everyone unless they know.

        The caller holds `changing`, and the acts of that write are as if they had not been.
        """
        try:
            await self._session.take_in_news()
        except ServiceError:
            # Whatever is in the file will be found by the next look.
            pass
        if self._problem is None or self._problem.message != str(error):
            self._problem = Problem("degraded", str(error))
            self._tell([self._problem], origin)

    def works(self, origin: AnyOrigin) -> None:
        """A write was stored."""
        if self._problem is not None:
            self._problem = None
            self._tell([Problem("recovered", _WORKS)], origin)

    def take_in_left(self, lines: Sequence[StoredLine]) -> None:
        """Count what failed writes of ours left in the file."""
        session = self._session.session
        found = []
        for item in lines:
            session.line_count += 1
            if isinstance(odd := read_line(item.line), OddLine):
                found.append(Problem(odd.kind, _LEFT, session.line_count, item.locator[0]))
        session.problems += found
        if found:
            self._tell(found, REPAIR)

    def line_ended(self, offset: int) -> None:
        """Our write has ended a torn last line, which begins at this byte."""
        session = self._session.session
        for position, known in enumerate(session.problems):
            if known.offset == offset and known.kind == "badLine":
                problem = Problem("tornTail", _ENDED, known.line, offset)
                session.problems[position] = problem
                self._tell([problem], REPAIR)
                return

    def _tell(self, problems: list[Problem], origin: AnyOrigin) -> None:
        self._session.tell([Change("problem", origin, details={"problems": problems})])
