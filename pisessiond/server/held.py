"""Messages of one client that were read while no more of them could be taken.

Normally such messages stay unread, in the system's buffers. Only while the daemon waits for an
answer of that very client it has to read on, or the answer, which comes behind them, would never
be reached.
"""

from __future__ import annotations

from collections import deque
from typing import Final

HELD_BYTES: Final = 4 << 20
"""Above it no more is read; one message may come on top, as large as messages may be."""

_OVERHEAD: Final = 200
"""Bytes that keeping even the smallest message costs, about."""


class HeldMessages:
    """Bodies in the order they came, and the ids of those that are requests."""

    def __init__(self) -> None:
        self._bodies: deque[tuple[object, bytes]] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._bodies)

    @property
    def is_full(self) -> bool:
        """Whether no more may be read."""
        return self._bytes >= HELD_BYTES

    def put(self, request_id: object, body: bytes) -> None:
        """Keeps a body behind the others."""
        self._bodies.append((request_id, body))
        self._bytes += len(body) + _OVERHEAD

    def take(self) -> bytes:
        """The oldest body."""
        _, body = self._bodies.popleft()
        self._bytes -= len(body) + _OVERHEAD
        return body

    def clear(self) -> None:
        """Forgets all."""
        self._bodies.clear()
        self._bytes = 0

    def drop(self, request_id: object) -> bool:
        """Forgets the request of that id; whether there was one."""
        for position, (held, body) in enumerate(self._bodies):
            if held is not None and held == request_id:
                del self._bodies[position]
                self._bytes -= len(body) + _OVERHEAD
                return True
        return False
