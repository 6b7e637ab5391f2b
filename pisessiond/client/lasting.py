"""A connection that comes back after its daemon went, for programs on asyncio.

It has the methods of `Connection`. When the connection ends it makes a new one, which starts a
daemon if there is none, opens the sessions again that were open, and makes those requests again
that may be. What was missed meanwhile reaches the readers of changes as usual.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from pisessiond.client.connection import Connection
from pisessiond.client.errors import ConnectionLost, NoDaemon, Unsafe
from pisessiond.client.inbox import Notification
from pisessiond.client.progress import OnProgress
from pisessiond.client.repeating import PATIENCE, may_repeat, pauses


class Kept(Protocol):
    """A session that has to be opened again on a new connection."""

    @property
    def handle(self) -> str:
        """Under which the daemon of now knows it; another daemon may choose another."""

    async def restore(self, connection: Connection) -> None:
        """Does so."""


class LastingConnection:
    """Connections to one daemon, one after another."""

    def __init__(self, first: Connection, join: Callable[[], Awaitable[Connection]]) -> None:
        """Takes over a connection.

        Args:
            first: One that was just made.
            join: Makes another one, as far as `initialize`.
        """
        self._now = first
        self._join = join
        self._kept: dict[Kept, None] = {}
        self._renewing = asyncio.Lock()
        self._closed = False

    def keep(self, kept: Kept) -> None:
        """Sets something up again whenever the connection was renewed."""
        self._kept[kept] = None

    def drop(self, kept: Kept) -> None:
        """Ends that."""
        self._kept.pop(kept, None)

    async def call(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
        *,
        progress: OnProgress | None = None,
    ) -> Any:
        """As `Connection.call`; made again after a loss, if that can do no harm.

        Raises:
            ConnectionLost: The daemon did not come back, or whether the request was carried out
                is not known and it must not be made twice.
        """
        about = self._known_as((params or {}).get("session"))
        while True:
            connection = self._now
            try:
                return await connection.call(method, params, timeout, progress=progress)
            except ConnectionLost as lost:
                await self._renew(connection, lost)
                if not may_repeat(method, params):
                    raise
                if about is not None:
                    params = {**(params or {}), "session": about.handle}

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        await self._now.notify(method, params)

    async def receive(self, topic: str, timeout: float | None = None) -> Notification:  # noqa: ASYNC109
        """As `Connection.receive`, over all losses.

        Raises:
            ConnectionLost: The daemon did not come back.
            TimeoutError: None came in time.
        """
        about = self._known_as(topic)
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            connection = self._now
            left = None if deadline is None else max(deadline - time.monotonic(), 0)
            try:
                return await connection.receive(topic if about is None else about.handle, left)
            except ConnectionLost as lost:
                await self._renew(connection, lost)

    def put(self, notification: Notification) -> None:
        self._now.put(notification)

    def forget(self, topic: str) -> None:
        self._now.forget(topic)

    async def aclose(self) -> None:
        self._closed = True
        await self._now.aclose()

    def _known_as(self, handle: object) -> Kept | None:
        """The session that has this handle now."""
        return next((one for one in self._kept if one.handle == handle), None)

    async def _renew(self, old: Connection, lost: ConnectionLost) -> None:
        """Has another connection when it returns, whoever of the callers made it."""
        async with self._renewing:
            if self._now is not old:
                return
            if self._closed:
                raise lost
            await old.aclose()
            deadline = time.monotonic() + PATIENCE
            for pause in pauses():
                try:
                    self._now = await self._renewed()
                    return
                except Unsafe:
                    raise
                except (NoDaemon, ConnectionLost, TimeoutError) as error:
                    if time.monotonic() + pause > deadline:
                        raise ConnectionLost(f"the daemon did not come back: {error}") from error
                await asyncio.sleep(pause)

    async def _renewed(self) -> Connection:
        connection = await self._join()
        try:
            # Before anyone else can use it, so that no request comes before its session is open.
            for kept in list(self._kept):
                await kept.restore(connection)
        except BaseException:
            await connection.aclose()
            raise
        return connection
