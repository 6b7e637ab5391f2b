"""`$/progress` for one request: how far its operation is, told to whoever sent it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from pisessiond.protocol.methods import PROGRESS
from pisessiond.protocol.notification_models import ProgressParams, WorkDone
from pisessiond.server.envelope import notification

if TYPE_CHECKING:
    from pisessiond.server.connection import Connection
    from pisessiond.service.types import Progress

_TITLES: Final[dict[str, str]] = {
    "compact": "Compacting",
    "summarise": "Summarising the branch",
    "navigate": "Moving",
    "fork": "Forking",
}


class _WorkDone:
    """Tells of one operation: a beginning, reports, and one end."""

    def __init__(self, connection: Connection, token: str | int) -> None:
        self._outbound = connection.outbound
        self._token = token
        self._runs = False

    def report(self, progress: Progress) -> None:
        """Tells where the operation stands; the service does so ten times a second at most."""
        match progress.state:
            case "begin":
                self._runs = True
                title = _TITLES[progress.operation]
                value = WorkDone(kind="begin", title=title, cancellable=True)
                self._outbound.put(self._body(value))
            case "report":
                value = WorkDone(kind="report", message=_so_far(progress))
                self._outbound.put_passing(self._body(value))
            case _:
                self.end(progress.message)

    def end(self, message: str | None = None) -> None:
        """Tells that it has ended, if it had begun and that was not told yet."""
        if self._runs:
            self._runs = False
            value = WorkDone(kind="end")
            if message is not None:
                value.message = message
            self._outbound.put(self._body(value))

    def _body(self, value: WorkDone) -> bytes:
        return notification(PROGRESS.name, ProgressParams(token=self._token, value=value))


@contextmanager
def work_done(
    connection: Connection, token: str | int | None
) -> Iterator[Callable[[Progress], None] | None]:
    """What is to be told of the operation inside the block; None where nobody wants to hear.

    An end comes in any case before the answer.
    """
    if token is None:
        yield None
        return
    told = _WorkDone(connection, token)
    try:
        yield told.report
    finally:
        told.end()


def _so_far(progress: Progress) -> str:
    if progress.received or progress.summarizer is None:
        return f"{short_count(progress.received)} received"
    return f"waiting for {progress.summarizer}"


def short_count(count: int) -> str:
    """A number of characters as people read it in passing: `999`, `1.2k`, `13k`."""
    if count < 1_000:
        return str(count)
    thousands = f"{count / 1_000:.1f}" if count < 9_950 else f"{count / 1_000:.0f}"
    return f"{thousands}k"
