"""The client for programs on asyncio: the daemon, and the sessions opened there.

    async with connect(path) as client:
        session = await client.open(latest=cwd)
        await session.append(user_message("Why does the fork lose labels?"))
        async for update in session.changes():
            ...

`blocking.py` is made from this module (`python -m tests.client.generated`).
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

from pisessiond import __version__
from pisessiond.client import answers
from pisessiond.client.connection import Connection
from pisessiond.client.entries import NewId, new_entry_id
from pisessiond.client.inbox import EVERYTHING_ELSE, Notification
from pisessiond.client.params import UNSET, Unset, to_wire
from pisessiond.client.session import Session

PROTOCOL_VERSIONS = [1]
HANDSHAKE_TIMEOUT = 10.0
"""Seconds until something that accepts connections and says nothing counts as no daemon."""


@asynccontextmanager
async def connect(
    path: str,
    *,
    name: str = "python",
    client_id: str | None = None,
    cwd: str | None = None,
    new_id: NewId = new_entry_id,
) -> AsyncIterator[Client]:
    """A client of the daemon that listens on a socket, until the block ends.

    Args:
        path: The daemon's socket.
        name: Who this is, for other people's screens.
        client_id: What the daemon knows this client by over reconnects; a new one when None.
        cwd: Where relative paths start; the current folder when None.
        new_id: Makes the ids of entries that are appended without one.

    Raises:
        NoDaemon: Nobody answers there.
        RpcFailure: The daemon does not want this client, such as one of another protocol version.
    """
    connection = await Connection.open(path, HANDSHAKE_TIMEOUT)
    try:
        who = {"id": client_id or os.urandom(8).hex(), "name": name, "version": __version__}
        announced = await _initialize(connection, who, cwd or _cwd())
        yield Client(connection, announced, new_id)
    finally:
        await connection.aclose()


async def _initialize(
    connection: Connection, who: dict[str, str], cwd: str
) -> answers.Announcement:
    options = {"protocolVersions": PROTOCOL_VERSIONS, "client": who, "cwd": cwd}
    params = {
        "processId": os.getpid(),
        "rootUri": None,
        "capabilities": {},
        "clientInfo": {"name": who["name"], "version": who["version"]},
        "initializationOptions": {"pisessiond": options},
    }
    result = await connection.call("initialize", params, HANDSHAKE_TIMEOUT)
    await connection.notify("initialized", {})
    announced: answers.Announcement = result["capabilities"]["experimental"]["pisessiond"]
    return announced


class Client:
    """What a daemon can be asked beside a single session. Made by `connect`."""

    def __init__(
        self, connection: Connection, announced: answers.Announcement, new_id: NewId
    ) -> None:
        self._connection = connection
        self._new_id = new_id
        self.announced = announced
        """What the daemon said of itself: protocol version, build, limits, methods."""

    async def open(
        self,
        session: str | Unset = UNSET,
        *,
        path: str | Unset = UNSET,
        latest: str | Unset = UNSET,
    ) -> Session:
        """Opens a session by its id, its file, or as the latest of a folder, and hears of changes.

        A session is open once for a client: of two such objects only one gets each change.
        """
        folder = UNSET if latest is UNSET else {"cwd": latest}
        opened = await self.call("session/open", to_wire(session=session, path=path, latest=folder))
        return Session(self._connection, opened, self._new_id)

    async def create(
        self,
        cwd: str | None = None,
        *,
        id: str | Unset = UNSET,  # noqa: A002
        name: str | Unset = UNSET,
        store: Literal["jsonl", "memory"] = "jsonl",
        request_id: str | Unset = UNSET,
    ) -> Session:
        """Makes a new session for a folder, the current one when None, and opens it."""
        named = to_wire(id=id, name=name, store=store, request_id=request_id)
        made = await self.call("session/create", {"cwd": cwd or _cwd(), **named})
        return await self.open(made["session"])

    async def sessions(
        self,
        *,
        cwd: str | Unset = UNSET,
        query: str | Unset = UNSET,
        limit: int = 50,
        cursor: str | Unset = UNSET,
    ) -> answers.ListResult:
        """Sessions on disk and in memory, newest first; `cwd` chooses a folder."""
        params = to_wire(cwd=cwd, query=query, limit=limit, cursor=cursor)
        listed: answers.ListResult = await self.call("session/list", params)
        return listed

    async def status(self) -> answers.StatusResult:
        """What the daemon is doing."""
        status: answers.StatusResult = await self.call("daemon/status")
        return status

    async def stop_daemon(self) -> None:
        """Ends the daemon for everyone."""
        await self.call("daemon/shutdown")

    async def call(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """The result of any method, as it comes."""
        return await self._connection.call(method, params)

    async def notification(self, timeout: float | None = None) -> Notification:  # noqa: ASYNC109
        """The next notification that belongs to no session, such as `daemon/stopping`."""
        return await self._connection.receive(EVERYTHING_ELSE, timeout)


def _cwd() -> str:
    return os.getcwd()  # pathlib would make up a tenth of a command's start
