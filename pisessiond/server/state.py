"""What all connections of a daemon share: the sessions, who is connected, whether it is to end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio

from pisessiond.server.replay import Replays

if TYPE_CHECKING:
    from pisessiond.server.connection import Connection
    from pisessiond.service.sessions import Sessions


@dataclass(frozen=True, slots=True)
class About:
    """What the daemon says of itself."""

    version: str
    agent_dir: str | None = None
    """pi's agent folder that it serves, as a real path; None: clients are not compared."""
    address: str | None = None
    """Where it listens; None on stdio."""
    log: str | None = None
    """Path of its log; None when that is standard error."""
    token: str | None = None
    """What a client on TCP has to show; None: nobody is let in there."""
    idle: float = 0.0
    """Seconds without clients and work after which the daemon ends; 0: never."""


@dataclass(slots=True, eq=False)
class DaemonState:
    """Made by the daemon, given to each connection."""

    sessions: Sessions
    about: About
    connections: set[Connection] = field(default_factory=set)
    """Those that are served; changed by `joined` and `left` alone."""
    replays: Replays = field(default_factory=lambda: Replays(time.monotonic))
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    stopping: anyio.Event = field(default_factory=anyio.Event)
    stop_reason: str = ""
    when_stopping: Callable[[], None] = lambda: None
    """Called once, when the end begins."""
    arriving: int = 0
    """Connections that were taken and are not served yet."""
    tcp: str | None = None
    """Host and port of the TCP door; None while there is none."""
    _quiet_since: float = field(default_factory=time.monotonic)
    _someone_left: anyio.Event = field(default_factory=anyio.Event)

    def joined(self, connection: Connection) -> None:
        """Counts a connection in."""
        self.connections.add(connection)

    def left(self, connection: Connection) -> None:
        """Counts a connection out."""
        self.connections.discard(connection)
        self._quiet_since = time.monotonic()
        self._someone_left.set()
        self._someone_left = anyio.Event()

    async def wait_left(self) -> None:
        """Waits until no connection is left."""
        while self.connections:
            await self._someone_left.wait()

    def holds_unsaved(self) -> bool:
        """Whether a session has entries that are on no disk and would be gone with the daemon."""
        unsafe = [one for one in self.sessions.open_sessions if not one.is_safe]
        known = (one.snapshot() for one in unsafe)
        return any(snapshot.entry_count for snapshot in known)

    def others_at_work(self, connection: Connection) -> str | None:
        """What keeps the daemon from being ended for the sake of one client; None: nothing.

        Bridges of running pi do not: they come to the next daemon by themselves.
        """
        clients = [one for one in self.connections if one.pi is None]
        for other in clients:
            if other is not connection and other.phase != "new":
                return other.client.name
        if self.arriving or len(clients) > 1:
            return "a client that is just connecting"
        return "a session that is not on disk yet" if self.holds_unsaved() else None

    def quiet_seconds(self) -> float:
        """For how long there has been no client (bridges of running pi aside) and no work."""
        has_clients = any(one.pi is None for one in self.connections)
        if has_clients or self.arriving or self.holds_unsaved():
            self._quiet_since = time.monotonic()
        return time.monotonic() - self._quiet_since

    def stop(self, reason: str) -> None:
        """Asks the daemon to end; the first reason counts."""
        self.stop_reason = self.stop_reason or reason
        if not self.stopping.is_set():
            self.when_stopping()
        self.stopping.set()
