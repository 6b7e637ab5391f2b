"""What takes long in a session: one at a time, told to everyone, ended by whoever wants it ended.

A compaction and a move with a summary wait for a model, a move may wait for a client's word. The
slot keeps a second one from being begun meanwhile, and says who runs the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, Literal, TypeAlias, cast

import anyio

from pisessiond.core.errors import SessionError
from pisessiond.service.announcing import Announcer
from pisessiond.service.errors import (
    STOPPED,
    Busy,
    DaemonStopped,
    OperationCancelled,
    ServiceError,
)
from pisessiond.service.types import AnyOrigin, OperationName, Origin, Progress
from pisessiond.summarizers.base import NoSummarizer, SummaryFailed

Report: TypeAlias = Callable[[Progress], None]
"""Told where an operation stands, beside the session's subscribers."""

Reason: TypeAlias = Literal["manual", "threshold"]
State: TypeAlias = Literal["begin", "report", "done", "failed", "cancelled"]

END_SECONDS: Final = 1.0
"""How long whoever ends an operation waits for its end; half of that has always been enough."""

REPORT_SECONDS: Final = 0.1
"""How often it is told at most that more of a summary has come."""

_HOLDS_THE_LEAF: Final = frozenset({"compact", "summarise", "navigate"})
_WORDS: Final[dict[str, str]] = {
    "compact": "compaction",
    "summarise": "summary",
    "navigate": "move",
    "delete": "deletion",
}
"""What people call an operation, where its name is no noun."""

_OURSELVES: Final = "pisessiond"
_INTERNAL: Final = "A fault of the daemon; its log says more."


def name_of(origin: AnyOrigin) -> str:
    """Whoever that is, for people."""
    return origin.client if isinstance(origin, Origin) else _OURSELVES


class Operation:
    """One that runs."""

    def __init__(
        self,
        name: OperationName | Literal["delete"],
        operation_id: str,
        origin: AnyOrigin,
        reason: Reason,
        *,
        session: str,
        tell: Report,
        monotonic: Callable[[], float],
    ) -> None:
        self.name = name
        self.id = operation_id
        self.origin = origin
        self.reason: Reason = reason
        self.scope = anyio.CancelScope()
        """Holds all its work."""
        self.cancelled_by: str | None = None
        """Who ended it, for people."""
        self.is_stopped = False
        """Whether it was ended because the daemon ends."""
        self.outcome: str | None = None
        """What is told when it is done, in a sentence."""
        self.summarizer: str | None = None
        self.received = 0
        """UTF-16 code units of summary that have come."""
        self.ended = anyio.Event()
        """Set when it is over and the slot is free."""
        self._session = session
        self._tell = tell
        self._monotonic = monotonic
        self._told_at = monotonic()

    @property
    def word(self) -> str:
        """What people call it."""
        return _WORDS.get(self.name, self.name)

    def progress(self, state: State, message: str | None = None) -> Progress:
        """Where it stands."""
        return Progress(
            session=self._session,
            operation=cast("OperationName", self.name),
            operation_id=self.id,
            origin=self.origin,
            reason=self.reason,
            state=state,
            received=self.received,
            summarizer=self.summarizer,
            message=message,
        )

    @property
    def standing(self) -> Progress:
        """Where it stands while it runs."""
        return self.progress("report" if self.received else "begin")

    def tell(self, state: State, message: str | None = None) -> None:
        """Tell everyone."""
        self._told_at = self._monotonic()
        self._tell(self.progress(state, message))

    def asks(self, summarizer: str) -> None:
        """It is known who writes."""
        self.summarizer = summarizer
        self.tell("report")

    def receive(self, received: int) -> None:
        """So much has come in all; told at once, unless something was told just now."""
        self.received = received
        if self._monotonic() - self._told_at >= REPORT_SECONDS:
            self.tell("report")

    def cancel(self, by: str) -> None:
        """End it; the first who does is named."""
        if self.cancelled_by is None:
            self.cancelled_by = by
        self.scope.cancel()

    def stop(self) -> None:
        """End it, for the daemon ends; whoever did before is still named."""
        self.is_stopped = self.cancelled_by is None
        self.scope.cancel()


class OperationSlot:
    """Holds what takes long in one session."""

    def __init__(self, session: str, news: Announcer, monotonic: Callable[[], float]) -> None:
        self._session = session
        self._news = news
        self._monotonic = monotonic
        self._count = 0
        self._told = False
        self.current: Operation | None = None

    @property
    def progress(self) -> Progress | None:
        """Where what runs stands; None when nothing does that everyone is told of."""
        now = self.current
        if now is None or not self._told:
            return None
        return now.standing

    def cancel(self, operation_id: str | None, by: str) -> Operation | None:
        """End what runs, if it is that one (None: whatever); which that is.

        When its entry is being written it is too late, and it is carried out.
        """
        now = self.current
        if now is None or now.name == "delete" or operation_id not in (None, now.id):
            return None
        now.cancel(by)
        return now

    def stop(self) -> None:
        """End what runs, for the daemon ends."""
        if self.current is not None:
            self.current.stop()

    def refuse_if_held(self) -> None:
        """Raises: Busy: something runs."""
        if self.current is not None:
            raise Busy(self.current.name, name_of(self.current.origin))

    def refuse_move(self, own: Operation | None = None) -> None:
        """Raises: Busy: something other than `own` runs that needs the leaf where it is."""
        now = self.current
        if now is not None and now is not own and now.name in _HOLDS_THE_LEAF:
            raise Busy(now.name, name_of(now.origin))

    @contextmanager
    def hold(
        self,
        name: OperationName | Literal["delete"],
        origin: AnyOrigin,
        *,
        reason: Reason = "manual",
        report: Report | None = None,
        is_told: bool = True,
    ) -> Iterator[Operation]:
        """Run an operation; everyone is told that it begins and how it ended.

        Args:
            name: what it is.
            origin: who wants it.
            reason: why.
            report: is told beside the subscribers.
            is_told: False for what is over before anybody could act on it.

        Raises:
            Busy: another one runs.
            OperationCancelled: someone ended it.
        """
        self.refuse_if_held()
        self._count += 1

        def tell(progress: Progress) -> None:
            if is_told:
                self._news.progress(progress)
                if report is not None:
                    report(progress)

        operation = Operation(
            name,
            f"{self._news.epoch}.{self._count}",
            origin,
            reason,
            session=self._session,
            tell=tell,
            monotonic=self._monotonic,
        )
        self.current, self._told = operation, is_told
        try:
            yield from _run(operation)
        finally:
            self.current = None
            operation.ended.set()


def _run(operation: Operation) -> Iterator[Operation]:
    operation.tell("begin")
    try:
        with operation.scope:
            yield operation
        if operation.scope.cancelled_caught:
            if operation.is_stopped:
                raise DaemonStopped(operation.word)
            raise OperationCancelled(operation.word, operation.cancelled_by)
    except OperationCancelled as error:
        operation.tell("cancelled", _cancelled(operation, error.by))
        raise
    except anyio.get_cancelled_exc_class():
        # Whoever asked for it has taken the request back, or is gone.
        by = operation.cancelled_by or name_of(operation.origin)
        operation.tell("cancelled", _cancelled(operation, by))
        raise
    except Exception as error:
        operation.tell("failed", _sentence(error))
        raise
    operation.tell("done", operation.outcome)


def _cancelled(operation: Operation, client: str | None) -> str:
    if operation.is_stopped:
        return STOPPED
    return f"Cancelled by {client}; nothing was written." if client else "Cancelled."


def _sentence(error: Exception) -> str:
    is_known = isinstance(error, SessionError | ServiceError | SummaryFailed | NoSummarizer)
    return str(error) if is_known else _INTERNAL
