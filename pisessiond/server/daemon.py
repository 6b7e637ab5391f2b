"""The process: listeners, signals, connections, and an orderly end. Owns every task there is."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import TaskGroup

from pisessiond.protocol.methods import STOPPING
from pisessiond.protocol.wire import MAX_CLIENTS
from pisessiond.server.claim import Claim
from pisessiond.server.connection import Connection
from pisessiond.server.listener import Door, Listener, ListenError, bind_private
from pisessiond.server.state import About, DaemonState
from pisessiond.server.streams import open_socket, open_stdio
from pisessiond.service.faults import log_fault

if TYPE_CHECKING:
    from pisessiond.service.sessions import Sessions

log = logging.getLogger(__name__)

STOP_SECONDS: Final = 3.0
"""How long clients may take to be done when the daemon ends; the sessions' own end comes after,
and together they stay under the five seconds that a service manager or a user grants."""

SESSIONS_SECONDS: Final = 1.5
"""How long the sessions may take to keep what has to be kept."""

TEND_SECONDS: Final = 1.0
"""How often the socket's file is looked after, at most."""

MAX_CONNECTIONS: Final = 2 * MAX_CLIENTS
"""Beyond the clients that are served, so many more may be told that they are too many; those after
them are closed without a word."""


@dataclass(frozen=True, slots=True)
class Doors:
    """Where clients come in, beside the Unix socket's path."""

    claim: Claim | None = None
    """The hold on the state folder; None for a socket that is no one's address."""
    listening: socket.socket | None = None
    """The socket, where it listens already."""
    inherited: bool = False
    """Whether a service manager made that, and keeps it."""
    tcp: socket.socket | None = None
    """A listening socket on loopback."""


class Daemon:
    """Serves one set of sessions to many clients."""

    def __init__(self, sessions: Sessions, about: About) -> None:
        self.state = DaemonState(sessions=sessions, about=about)

    async def serve_socket(
        self, path: Path, ready: Callable[[], None] = lambda: None, doors: Doors | None = None
    ) -> None:
        """Serves a Unix socket until a signal, `daemon/shutdown`, or nobody has come for long.

        Args:
            path: Where; a dead socket there is replaced.
            ready: Called once, when a client can connect.
            doors: Other ways in.

        Raises:
            AlreadyServed: Someone serves it.
            ListenError: The path or its folder will not do.
        """
        doors = doors or Doors()
        listening = doors.listening or bind_private(path)
        with self._signals():
            async with anyio.create_task_group() as tasks:
                await self._serve_socket(tasks, listening, path, ready, doors)
                tasks.cancel_scope.cancel()

    async def _serve_socket(
        self,
        tasks: TaskGroup,
        listening: socket.socket,
        path: Path,
        ready: Callable[[], None],
        doors: Doors,
    ) -> None:
        def accept(transport: str, connection: socket.socket) -> None:
            self.state.arriving += 1
            tasks.start_soon(self._connect, transport, connection)

        listener = Listener(listening, path, partial(accept, "unix"), inherited=doors.inherited)
        open_doors: list[Door] = [listener]
        if doors.tcp is not None:
            open_doors.append(Door(doors.tcp, partial(accept, "tcp")))
            self.state.tcp = "{}:{}".format(*open_doors[1].socket_name)
        try:
            for door in open_doors:
                door.start()
            log.info("listening")
            ready()
            tasks.start_soon(self._tend, listener, doors.claim)
            await self.state.stopping.wait()
        finally:
            if doors.claim is not None:
                doors.claim.stopping()
            for door in open_doors:
                door.close()
        await self._stop()

    async def _tend(self, listener: Listener, claim: Claim | None) -> None:
        """Makes a socket again whose file vanished, and ends the daemon when it is long idle."""
        idle = self.state.about.idle
        pause = min(TEND_SECONDS, idle / 4) if idle else TEND_SECONDS
        while True:
            await anyio.sleep(pause)
            # On its way out the daemon has removed the socket itself.
            if self.state.stopping.is_set():
                return
            if claim is not None and claim.is_lost:
                # The state folder was removed: new clients make another one and start another
                # daemon. This one stays for those it has.
                if not (self.state.connections or self.state.arriving):
                    self.state.stop("lost")
            elif listener.is_missing:
                self._make_again(listener, claim)
            elif idle and self.state.quiet_seconds() >= idle and self._last_call(listener, claim):
                self.state.stop("idle")

    def _make_again(self, listener: Listener, claim: Claim | None) -> None:
        with claim.holding_start() if claim is not None else nullcontext(True) as may:
            # Who starts just now finds our life lock, gives up, and it is done next time.
            if may:
                try:
                    listener.make_again()
                    log.warning("the socket's file had vanished and was made again")
                except ListenError as error:
                    log.error("the socket's file vanished: %s", error)

    def _last_call(self, listener: Listener, claim: Claim | None) -> bool:
        """Closes the socket, if nobody comes at this very moment."""
        with claim.holding_start() if claim is not None else nullcontext(True) as may:
            # Who holds the start lock is about to connect.
            if not may:
                return False
            try:
                done = listener.last_call()
            except ListenError as error:
                log.error("the socket was not made again: %s", error)
                return False
            if done and claim is not None:
                claim.stopping()
            return done

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

    async def _connect(self, transport: str, taken: socket.socket) -> None:
        try:
            if len(self.state.connections) + self.state.arriving > MAX_CONNECTIONS:
                log.warning("a connection was closed: there are %d", MAX_CONNECTIONS)
                taken.close()
                return
            connection = Connection(self.state, await open_socket(taken, transport))
        except OSError:
            taken.close()
            return
        except BaseException:
            # The daemon ends at this very moment.
            taken.close()
            raise
        finally:
            self.state.arriving -= 1
        await self._run(connection)

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
