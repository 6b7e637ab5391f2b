"""What waits to be sent to one client, and what happens when the client reads too slowly.

There is one queue, so there is one order. Three things keep it bounded. State notifications are
dropped above 1 MiB or 1,000 of them, and when the queue has drained one `session/didReset`
tells the client to open that session again. How far something is, which the next word on it makes
stale, is sent only while nothing waits. Answers are never dropped, but above 8 MiB the
connection reads no further, so that no new ones arise. And a client that takes nothing for ten
seconds while more than that waits is closed; with less, it may sleep as long as it likes, as an
editor stopped with Ctrl-Z does.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

import anyio

from pisessiond.protocol.methods import DID_RESET
from pisessiond.protocol.notification_models import DidReset
from pisessiond.protocol.wire import MAX_MESSAGE_BYTES
from pisessiond.server.envelope import notification
from pisessiond.server.streams import DIRECT_LIMIT, MessageStream

DROP_BYTES: Final = 1 << 20
DROP_COUNT: Final = 1_000
HARD_BYTES: Final = 8 << 20
STALL_SECONDS: Final = 10.0


class Stalled(Exception):
    """The client has taken nothing for too long."""


class Outbound:
    """One client's queue of encoded bodies."""

    def __init__(
        self,
        stream: MessageStream,
        *,
        stall_seconds: float = STALL_SECONDS,
        when_room: Callable[[], None] = lambda: None,
    ) -> None:
        """Sends on a stream.

        Args:
            stream: Where to.
            stall_seconds: How long a client may take nothing while too much waits.
            when_room: Called when `has_room` is true again.
        """
        self._stream = stream
        self._stall_seconds = stall_seconds
        self._when_room = when_room
        self._queue: deque[tuple[bytes, bool]] = deque()
        self._bytes = 0
        self._droppable_bytes = 0
        self._droppable_count = 0
        self._overflown: dict[str, None] = {}
        self._wake = anyio.Event()
        self._has_room = True
        self._idle = anyio.Event()
        self._idle.set()

    @property
    def queued(self) -> int:
        """Messages that wait here; what the transport holds is not counted."""
        return len(self._queue)

    @property
    def queued_bytes(self) -> int:
        """Waiting here and in the transport."""
        return self._bytes + self._stream.unsent

    def put(self, body: bytes) -> None:
        """Sends a body, or queues it behind what waits. Nothing put here is dropped."""
        if self._queue or not self._stream.try_send(body):
            self._enqueue(body, droppable=False)

    def put_state(self, session: str, body: bytes) -> None:
        """Sends a notification of a session's state, or drops it where too much waits."""
        if session in self._overflown:
            return
        if len(body) > MAX_MESSAGE_BYTES:
            # A client would take it for a broken stream; what it is about can still be asked for.
            self._overflown[session] = None
            self._wake.set()
            return
        if not self._queue and self._stream.try_send(body):
            return
        if self._droppable_bytes >= DROP_BYTES or self._droppable_count >= DROP_COUNT:
            self._overflown[session] = None
            self._wake.set()
            return
        self._enqueue(body, droppable=True)

    def put_passing(self, body: bytes) -> None:
        """Sends a body that the next of its kind makes stale, unless something waits already."""
        if not self._queue and not self._overflown:
            self._stream.try_send(body)

    def reopened(self, session: str) -> None:
        """Forgets that notifications of a session were dropped: the client gets it whole now."""
        self._overflown.pop(session, None)

    def tell_dropped(self) -> None:
        """Says now, behind what waits, which sessions have to be opened again."""
        self._send_resets()

    @property
    def has_room(self) -> bool:
        """Whether few enough answers are queued for more questions to be read."""
        return self._has_room

    async def wait_idle(self) -> None:
        """Waits until everything was handed to the transport."""
        await self._idle.wait()

    async def run(self, closed: Callable[[], bool]) -> None:
        """Sends what waits, until cancelled.

        Raises:
            Stalled: The client has taken nothing for too long.
            OSError: The client is gone.
        """
        while not closed():
            if self._queue:
                self._write_some()
                await self._drain()
            elif self._overflown:
                self._send_resets()
            else:
                self._idle.set()
                self._wake = anyio.Event()
                await self._wake.wait()

    def _enqueue(self, body: bytes, *, droppable: bool) -> None:
        self._queue.append((body, droppable))
        self._bytes += len(body)
        if droppable:
            self._droppable_bytes += len(body)
            self._droppable_count += 1
        if self._bytes >= HARD_BYTES:
            self._has_room = False
        if self._idle.is_set():
            self._idle = anyio.Event()
        self._wake.set()

    def _write_some(self) -> None:
        batch: list[bytes] = []
        size = 0
        while self._queue and size < DIRECT_LIMIT:
            body, droppable = self._queue.popleft()
            batch.append(body)
            size += len(body)
            if droppable:
                self._droppable_bytes -= len(body)
                self._droppable_count -= 1
        self._stream.write(batch)
        self._bytes -= size

    async def _drain(self) -> None:
        while True:
            before = self._stream.unsent
            with anyio.move_on_after(self._stall_seconds):
                await self._stream.drain()
                if self._bytes < HARD_BYTES // 2 and not self._has_room:
                    self._has_room = True
                    self._when_room()
                return
            if self._stream.unsent >= before and self.queued_bytes >= HARD_BYTES:
                raise Stalled

    def _send_resets(self) -> None:
        overflown, self._overflown = self._overflown, {}
        for session in overflown:
            reset = DidReset(session=session, reason="overflow")
            self.put(notification(DID_RESET.name, reset))
