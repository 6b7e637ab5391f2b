"""The client for scripts without a loop: the daemon, and the sessions opened there.

    with connect(path) as client:
        session = client.open(latest=cwd)
        session.append(user_message("Why does the fork lose labels?"))
        for update in session.changes():
            ...

It is made from `aio.py`: change that one, then run `python -m tests.client.generated`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

from pisessiond import __version__
from pisessiond.client import answers
from pisessiond.client.blocking_connection import BlockingConnection
from pisessiond.client.blocking_session import BlockingSession
from pisessiond.client.entries import NewId, new_entry_id
from pisessiond.client.inbox import EVERYTHING_ELSE, Notification
from pisessiond.client.params import UNSET, Unset, to_wire

PROTOCOL_VERSIONS = [1]
HANDSHAKE_TIMEOUT = 10.0
"""Seconds until something that accepts connections and says nothing counts as no daemon."""


@contextmanager
def connect(
    path: str,
    *,
    name: str = "python",
    client_id: str | None = None,
    cwd: str | None = None,
    new_id: NewId = new_entry_id,
) -> Iterator[BlockingClient]:
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
    connection = BlockingConnection.open(path, HANDSHAKE_TIMEOUT)
    try:
        who = {"id": client_id or os.urandom(8).hex(), "name": name, "version": __version__}
        announced = _initialize(connection, who, cwd or _cwd())
        yield BlockingClient(connection, announced, new_id)
    finally:
        connection.close()


def _initialize(
    connection: BlockingConnection, who: dict[str, str], cwd: str
) -> answers.Announcement:
    options = {"protocolVersions": PROTOCOL_VERSIONS, "client": who, "cwd": cwd}
    params = {
        "processId": os.getpid(),
        "rootUri": None,
        "capabilities": {},
        "clientInfo": {"name": who["name"], "version": who["version"]},
        "initializationOptions": {"pisessiond": options},
    }
    result = connection.call("initialize", params, HANDSHAKE_TIMEOUT)
    connection.notify("initialized", {})
    announced: answers.Announcement = result["capabilities"]["experimental"]["pisessiond"]
    return announced


class BlockingClient:
    """What a daemon can be asked beside a single session. Made by `connect`."""

    def __init__(
        self, connection: BlockingConnection, announced: answers.Announcement, new_id: NewId
    ) -> None:
        self._connection = connection
        self._new_id = new_id
        self.announced = announced
        """What the daemon said of itself: protocol version, build, limits, methods."""

    def open(
        self,
        session: str | Unset = UNSET,
        *,
        path: str | Unset = UNSET,
        latest: str | Unset = UNSET,
    ) -> BlockingSession:
        """Opens a session by its id, its file, or as the latest of a folder, and hears of changes.

        A session is open once for a client: of two such objects only one gets each change.
        """
        folder = UNSET if latest is UNSET else {"cwd": latest}
        opened = self.call("session/open", to_wire(session=session, path=path, latest=folder))
        return BlockingSession(self._connection, opened, self._new_id)

    def create(
        self,
        cwd: str | None = None,
        *,
        id: str | Unset = UNSET,  # noqa: A002
        name: str | Unset = UNSET,
        store: Literal["jsonl", "memory"] = "jsonl",
        request_id: str | Unset = UNSET,
    ) -> BlockingSession:
        """Makes a new session for a folder, the current one when None, and opens it."""
        named = to_wire(id=id, name=name, store=store, request_id=request_id)
        made = self.call("session/create", {"cwd": cwd or _cwd(), **named})
        return self.open(made["session"])

    def sessions(
        self,
        *,
        cwd: str | Unset = UNSET,
        query: str | Unset = UNSET,
        limit: int = 50,
        cursor: str | Unset = UNSET,
    ) -> answers.ListResult:
        """Sessions on disk and in memory, newest first; `cwd` chooses a folder."""
        params = to_wire(cwd=cwd, query=query, limit=limit, cursor=cursor)
        listed: answers.ListResult = self.call("session/list", params)
        return listed

    def status(self) -> answers.StatusResult:
        """What the daemon is doing."""
        status: answers.StatusResult = self.call("daemon/status")
        return status

    def stop_daemon(self) -> None:
        """Ends the daemon for everyone."""
        self.call("daemon/shutdown")

    def call(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """The result of any method, as it comes."""
        return self._connection.call(method, params)

    def notification(self, timeout: float | None = None) -> Notification:
        """The next notification that belongs to no session, such as `daemon/stopping`."""
        return self._connection.receive(EVERYTHING_ELSE, timeout)


def _cwd() -> str:
    return os.getcwd()  # pathlib would make up a tenth of a command's start
