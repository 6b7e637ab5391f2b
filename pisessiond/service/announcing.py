"""Telling a session's subscribers what happened: revisions, joined deltas, and a ring of them.

`rev` grows by one per entry or move, without gaps; `epoch` names one loading. Under a storm of
changes those of about 50 ms are joined into one, so that eight editors are not woken a thousand
times a second; the last state is always sent. The ring keeps what was sent, so that a client that
lost its connection can be given just what it missed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import anyio

from pisessiond.core.lines import EntryId
from pisessiond.core.rows.row import Filter, RowsChange
from pisessiond.service.subscribers import Subscriber
from pisessiond.service.types import Change, ContextSize, Progress, SessionChange

JOIN_SECONDS = 0.05
"""How long changes are joined during a storm."""

CALM = 16
"""Changes in that time that are still told one by one, at once."""

JOINED_AT_MOST = 512
"""Changes joined into one; then it is sent at once."""

JOINED_BYTES = 1 << 20
"""About what they may come to; one message must not grow beyond what clients take."""

RING_REVS = 4_096
RING_BYTES = 8 << 20
_NODE_BYTES = 400
"""What a node costs on the wire, about, where a change was never encoded."""


def _spelled(value: Any) -> int:
    """About how long a value is as JSON: its strings count, and a little for all else."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(16 + _spelled(part) for part in value.values())
    if isinstance(value, list | tuple):
        return sum(_spelled(part) for part in value)
    return 16


def _size_of(change: SessionChange) -> int:
    """About what a change costs on the wire."""
    if change.encoded is not None:
        return len(change.encoded)
    size = _NODE_BYTES
    for part in change.changes:
        size += sum(_NODE_BYTES + len(node.label or "") for node in part.nodes)
        size += _spelled(part.details)
    return size


def _joined_rows(changes: Sequence[SessionChange]) -> dict[Filter, RowsChange]:
    """What happened to rows over several changes, by filter."""
    joined: dict[Filter, RowsChange] = {}
    for change in changes:
        for name, rows in change.rows.items():
            before = joined.get(name)
            joined[name] = rows if before is None else before.then(rows)
    return joined


class RingBudget:
    """What the rings of all sessions may keep together; the fullest give way first."""

    def __init__(self, limit: int = 64 << 20) -> None:
        self._limit = limit
        self._rings: dict[Ring, None] = {}

    def enter(self, ring: Ring) -> None:
        self._rings[ring] = None

    def leave(self, ring: Ring) -> None:
        self._rings.pop(ring, None)

    def enforce(self) -> None:
        """Make the largest rings forget until all fit."""
        while sum(ring.size for ring in self._rings) > self._limit:
            max(self._rings, key=lambda ring: ring.size).forget_oldest()


class Ring:
    """The newest changes of one epoch, as they were sent."""

    def __init__(self, budget: RingBudget) -> None:
        self._changes: deque[SessionChange] = deque()
        self._sizes: deque[int] = deque()
        self._budget = budget
        self.size = 0
        """About what it keeps, in bytes."""

    def clear(self) -> None:
        self._changes.clear()
        self._sizes.clear()
        self.size = 0

    def keep(self, change: SessionChange) -> None:
        """Add what was just sent, forgetting the oldest beyond the limits."""
        size = _size_of(change)
        self._changes.append(change)
        self._sizes.append(size)
        self.size += size
        while self._changes and (
            self.size > RING_BYTES or change.rev - self._changes[0].base > RING_REVS
        ):
            self.forget_oldest()
        self._budget.enforce()

    def forget_oldest(self) -> None:
        self._changes.popleft()
        self.size -= self._sizes.popleft()

    def since(self, rev: int) -> list[SessionChange] | None:
        """What was sent after `rev`; None when `rev` is not a state that was sent and is kept."""
        found: list[SessionChange] = []
        for change in reversed(self._changes):
            if change.rev <= rev and change.base != change.rev:
                break
            found.append(change)
            if change.base == rev:
                break
        found.reverse()
        while found and found[0].base == found[0].rev == rev and len(found) > 1:
            if found[1].base != rev:
                break
            found.pop(0)
        return found if found and found[0].base == rev else None


class Announcer:
    """Revisions and subscribers of one open session."""

    def __init__(
        self,
        handle: str,
        next_epoch: Callable[[], str],
        monotonic: Callable[[], float],
        budget: RingBudget,
    ) -> None:
        self.handle = handle
        self.rev = 1
        self.subscribers: dict[Subscriber, None] = {}
        self._next_epoch = next_epoch
        self._monotonic = monotonic
        self._budget = budget
        self._ring = Ring(budget)
        budget.enter(self._ring)
        self._pending: list[SessionChange] = []
        self._pending_size = 0
        self._recent: deque[float] = deque(maxlen=CALM)
        self._storm = anyio.Event()
        self.epoch = next_epoch()

    @property
    def kept_bytes(self) -> int:
        """About what the ring takes in memory."""
        return self._ring.size

    def subscribe(self, subscriber: Subscriber) -> None:
        """Tell `subscriber` of every later change; what was joined so far goes out first."""
        self.flush()
        self.subscribers[subscriber] = None

    def unsubscribe(self, subscriber: Subscriber) -> None:
        self.subscribers.pop(subscriber, None)

    def since(self, epoch: str, rev: int) -> list[SessionChange] | None:
        """What a client at that revision has missed; None when only a snapshot tells."""
        self.flush()
        if epoch != self.epoch or rev > self.rev:
            return None
        return [] if rev == self.rev else self._ring.since(rev)

    def tell(
        self,
        changes: Sequence[Change],
        leaf: EntryId | None,
        size: ContextSize | None,
        steps: int = 1,
        rows: Mapping[Filter, RowsChange] | None = None,
    ) -> None:
        """Say what happened in the last `steps` entries or moves; at once unless in a storm."""
        base = self.rev
        self.rev += steps
        change = SessionChange(
            self.handle, self.epoch, base, self.rev, tuple(changes), leaf, size, rows or {}
        )
        now = self._monotonic()
        is_storm = len(self._recent) == CALM and now - self._recent[0] < JOIN_SECONDS
        self._recent.append(now)
        if not self._pending and not is_storm:
            self._send(change)
            return
        cost = _size_of(change)
        if self._pending_size + cost > JOINED_BYTES:
            self.flush()
        self._pending.append(change)
        self._pending_size += cost
        self._storm.set()
        if len(self._pending) >= JOINED_AT_MOST:
            self.flush()

    def flush(self) -> None:
        """Send what was joined so far."""
        if not self._pending:
            return
        first, last = self._pending[0], self._pending[-1]
        parts = tuple(part for change in self._pending for part in change.changes)
        rows = _joined_rows(self._pending)
        self._pending = []
        self._pending_size = 0
        self._send(
            replace(last, base=first.base, changes=parts, rows=rows, encoded=None, encoded_rows={})
        )

    def _send(self, change: SessionChange) -> None:
        for subscriber in list(self.subscribers):
            subscriber.session_changed(change)
        self._ring.keep(change)

    def progress(self, progress: Progress) -> None:
        """Say where an operation stands, after all that happened before."""
        if progress.state != "report":
            self.flush()
        for subscriber in list(self.subscribers):
            subscriber.session_progress(progress)

    def reset(self, reason: str) -> None:
        """Begin a new epoch; every subscriber has to open the session again."""
        self._pending = []
        self._pending_size = 0
        self._ring.clear()
        self.epoch = self._next_epoch()
        self.rev = 1
        for subscriber in list(self.subscribers):
            subscriber.session_reset(self.handle, reason)

    def close(self) -> None:
        """Give back what the ring keeps."""
        self.flush()
        self._ring.clear()
        self._budget.leave(self._ring)

    async def run(self) -> None:
        """Send joined changes when their time has come, until cancelled."""
        while True:
            await self._storm.wait()
            self._storm = anyio.Event()
            await anyio.sleep(JOIN_SECONDS)
            self.flush()
