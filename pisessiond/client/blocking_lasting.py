"""A connection that comes back after its daemon went, for scripts without a loop.

The twin of `lasting.py`, which says more. Here a loss is noticed when something is asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from pisessiond.client.blocking_connection import BlockingConnection
from pisessiond.client.errors import ConnectionLost, NoDaemon, Unsafe
from pisessiond.client.inbox import Notification
from pisessiond.client.progress import OnProgress
from pisessiond.client.repeating import PATIENCE, may_repeat, pauses


class BlockingKept(Protocol):
    """A session that has to be opened again on a new connection."""

    @property
    def handle(self) -> str:
        """Under which the daemon of now knows it; another daemon may choose another."""

    def restore(self, connection: BlockingConnection) -> None:
        """Does so."""


class BlockingLastingConnection:
    """Connections to one daemon, one after another."""

    def __init__(self, first: BlockingConnection, join: Callable[[], BlockingConnection]) -> None:
        """Takes over a connection; `join` makes another one, as far as `initialize`."""
        self._now = first
        self._join = join
        self._kept: dict[BlockingKept, None] = {}
        self._closed = False

    def keep(self, kept: BlockingKept) -> None:
        """Sets something up again whenever the connection was renewed."""
        self._kept[kept] = None

    def drop(self, kept: BlockingKept) -> None:
        """Ends that."""
        self._kept.pop(kept, None)

    def call(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        timeout: float | None = None,
        *,
        progress: OnProgress | None = None,
    ) -> Any:
        """As `BlockingConnection.call`; made again after a loss, if that can do no harm.

        Raises:
            ConnectionLost: The daemon did not come back, or whether the request was carried out
                is not known and it must not be made twice.
        """
        about = self._known_as((params or {}).get("session"))
        while True:
            try:
                return self._now.call(method, params, timeout, progress=progress)
            except ConnectionLost as lost:
                self._renew(lost)
                if not may_repeat(method, params):
                    raise
                if about is not None:
                    params = {**(params or {}), "session": about.handle}

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._now.notify(method, params)

    def receive(self, topic: str, timeout: float | None = None) -> Notification:
        """As `BlockingConnection.receive`, over all losses.

        Raises:
            ConnectionLost: The daemon did not come back.
            TimeoutError: None came in time.
        """
        about = self._known_as(topic)
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = None if deadline is None else max(deadline - time.monotonic(), 0)
            try:
                return self._now.receive(topic if about is None else about.handle, left)
            except ConnectionLost as lost:
                self._renew(lost)

    def put(self, notification: Notification) -> None:
        self._now.put(notification)

    def forget(self, topic: str) -> None:
        self._now.forget(topic)

    def close(self) -> None:
        self._closed = True
        self._now.close()

    def _known_as(self, handle: object) -> BlockingKept | None:
        """The session that has this handle now."""
        return next((one for one in self._kept if one.handle == handle), None)

    def _renew(self, lost: ConnectionLost) -> None:
        if self._closed:
            raise lost
        self._now.close()
        deadline = time.monotonic() + PATIENCE
        for pause in pauses():
            try:
                self._now = self._renewed()
                return
            except Unsafe:
                raise
            except (NoDaemon, ConnectionLost, TimeoutError) as error:
                if time.monotonic() + pause > deadline:
                    raise ConnectionLost(f"the daemon did not come back: {error}") from error
            time.sleep(pause)

    def _renewed(self) -> BlockingConnection:
        connection = self._join()
        try:
            for kept in list(self._kept):
                kept.restore(connection)
        except BaseException:
            connection.close()
            raise
        return connection
