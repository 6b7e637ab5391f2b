"""The process: listeners, signals, connections, and an orderly end. Owns every task there is."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

import anyio

from pisessiond.protocol.methods import STOPPING
from pisessiond.server.connection import Connection
from pisessiond.server.faults import log_fault
from pisessiond.server.listener import Listener, bind_private
from pisessiond.server.state import About, DaemonState
from pisessiond.server.streams import MessageStream, open_stdio

if TYPE_CHECKING:
    from pisessiond.service.sessions import Sessions

log = logging.getLogger(__name__)

STOP_SECONDS: Final = 3.0
"""How long clients may take to be done when the daemon ends; the sessions' own end comes after,
and together they stay under the five seconds that a service manager or a user grants."""

SESSIONS_SECONDS: Final = 1.5
"""How long the sessions may take to keep what has to be kept."""


class Daemon:
    """Serves one set of sessions to many clients."""

    def __init__(self, sessions: Sessions, about: About) -> None:
        self.state = DaemonState(sessions=sessions, about=about)

    async def serve_socket(self, path: Path, ready: Callable[[], None] = lambda: None) -> None:
        """Serves a Unix socket until a signal or `daemon/shutdown`.

        Args:
            path: Where; a dead socket there is replaced.
            ready: Called once, when a client can connect.

        Raises:
            AlreadyServed: Someone serves it.
            ListenError: The path or its folder will not do.
        """
        listening = bind_private(path)
        with self._signals():
            await self._serve_socket(listening, path, ready)

    async def _serve_socket(
        self, listening: socket.socket, path: Path, ready: Callable[[], None]
    ) -> None:
        async with anyio.create_task_group() as tasks:

            def accept(stream: MessageStream) -> None:
                tasks.start_soon(self._connect, stream)

            listener = Listener(listening, path, accept)
            try:
                await listener.start()
                log.info("listening")
                ready()
                await self.state.stopping.wait()
            finally:
                listener.close()
            await self._stop()
            tasks.cancel_scope.cancel()

    async def serve_stdio(self) -> int:
        """Serves one client over standard input and output, until it leaves.

        Returns:
            The exit status: 1 if the client sent `exit` without `shutdown`, as LSP wants it.
        """
        stream = await open_stdio()
        connection = Connection(self.state, stream)
        with self._signals():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._serve_one, connection)
                await self.state.stopping.wait()
                await self._stop()
                tasks.cancel_scope.cancel()
        return 1 if connection.exited_early else 0

    async def _serve_one(self, connection: Connection) -> None:
        await self._run(connection)
        self.state.stop("left")

    async def _connect(self, stream: MessageStream) -> None:
        await self._run(Connection(self.state, stream))

    async def _run(self, connection: Connection) -> None:
        try:
            await connection.run()
        except Exception as error:  # noqa: BLE001
            # One escaping error would end the task group, and with it every other client.
            log_fault(log, f"client {connection.number} ended", error)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Lets SIGTERM and SIGINT end the daemon in order, and SIGHUP do nothing.

        A terminal that goes away is no reason for the other clients to lose theirs.

        Plain handlers, not the loop's: asyncio passes a signal on as one byte of the pipe that
        workers also write to, and where a busy moment has filled it the signal is lost.
        """
        loop = asyncio.get_running_loop()

        def end(_number: int, _frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(self.state.stop, "signal")

        def ignore(_number: int, _frame: FrameType | None) -> None:
            pass

        handlers = {signal.SIGTERM: end, signal.SIGINT: end, signal.SIGHUP: ignore}
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def _stop(self) -> None:
        reason = self.state.stop_reason
        log.info("stopping: %s", reason)
        for connection in list(self.state.connections):
            connection.notify(STOPPING.name, {"reason": reason})
            connection.close_soon()
        with anyio.move_on_after(STOP_SECONDS):
            await self.state.wait_left()
        with anyio.move_on_after(SESSIONS_SECONDS) as limit:
            await self.state.sessions.aclose()
        if limit.cancelled_caught:
            log.error("the sessions were not done in time")
