"""What all connections of a daemon share: the sessions, who is connected, whether it is to end."""

from __future__ import annotations

import time
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
    _someone_left: anyio.Event = field(default_factory=anyio.Event)

    def joined(self, connection: Connection) -> None:
        """Counts a connection in."""
        self.connections.add(connection)

    def left(self, connection: Connection) -> None:
        """Counts a connection out."""
        self.connections.discard(connection)
        self._someone_left.set()
        self._someone_left = anyio.Event()

    async def wait_left(self) -> None:
        """Waits until no connection is left."""
        while self.connections:
            await self._someone_left.wait()

    def stop(self, reason: str) -> None:
        """Asks the daemon to end; the first reason counts."""
        self.stop_reason = self.stop_reason or reason
        self.stopping.set()
