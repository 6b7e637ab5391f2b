"""The client for programs on asyncio: the daemon, and the sessions opened there.

    async with connect() as client:
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
from pisessiond.client.address import agent_folder
from pisessiond.client.answering import Handlers
from pisessiond.client.connection import Connection
from pisessiond.client.entries import NewId, new_entry_id
from pisessiond.client.errors import ConnectionLost, RpcFailure
from pisessiond.client.inbox import EVERYTHING_ELSE, Notification
from pisessiond.client.lasting import LastingConnection
from pisessiond.client.params import UNSET, Unset, to_wire
from pisessiond.client.questions import Filter
from pisessiond.client.session import Session
from pisessiond.protocol.build import current_build, is_older

PROTOCOL_VERSIONS = [1]
HANDSHAKE_TIMEOUT = 10.0
"""Seconds until something that accepts connections and says nothing counts as no daemon."""
_JOIN_ATTEMPTS = 20
_JOIN_PAUSE = 0.05


@asynccontextmanager
async def connect(
    path: str | None = None,
    *,
    name: str = "python",
    client_id: str | None = None,
    cwd: str | None = None,
    new_id: NewId = new_entry_id,
    reconnect: bool = False,
    start: bool = True,
    requests: Handlers | None = None,
) -> AsyncIterator[Client]:
    """A client of the daemon, until the block ends.

    Without a path it finds the user's own daemon, or starts it. One that is older than this program
    and that nobody else uses is replaced.

    Args:
        path: The socket of some other daemon.
        name: Who this is, for other people's screens.
        client_id: What the daemon knows this client by over reconnects; a new one when None.
        cwd: Where relative paths start; the current folder when None.
        new_id: Makes the ids of entries that are appended without one.
        reconnect: Whether to come back after the daemon was stopped or killed: sessions are opened
            again, readers of changes miss nothing, and what can be asked twice is.
        start: Whether to start the user's own daemon when there is none.
        requests: What answers the daemon's requests, by method: `session/summarize`,
            `session/willCompact`, `session/willNavigate`. Each is given the parameters and returns
            the result, or None for nothing to say; what it raises counts as no answer.

    Raises:
        NoDaemon: Nobody answers there, or none could be started.
        RpcFailure: The daemon does not want this client, such as one of another protocol version.
    """
    who = {"id": client_id or os.urandom(8).hex(), "name": name, "version": __version__}
    joining = _Joining(path, who, cwd or _cwd(), start, requests or {})
    connection = await joining.join()
    lasting = LastingConnection(connection, joining.join) if reconnect else connection
    try:
        yield Client(lasting, joining, new_id)
    finally:
        await lasting.aclose()


class _Joining:
    """How one client gets to its daemon, the first time and each time after."""

    def __init__(
        self, path: str | None, who: dict[str, str], cwd: str, start: bool, requests: Handlers
    ) -> None:
        self._path = path
        self._who = who
        self.client_id = who["id"]
        self._cwd = cwd
        self._start = start
        self._requests = requests
        self.announced: answers.Announcement | None = None
        self.older_daemon: str | None = None

    async def join(self) -> Connection:
        """A connection on which `initialize` was answered."""
        attempts = 1 if self._path is not None else _JOIN_ATTEMPTS
        while True:
            attempts -= 1
            connection = await Connection.open(
                self._path, HANDSHAKE_TIMEOUT, start=self._start, handlers=self._requests
            )
            try:
                self.announced = await self._initialize(connection)
                if not attempts or not await self._replaces(connection, self.announced["build"]):
                    return connection
                await connection.aclose()
            except ConnectionLost:
                # It was just about to end: whoever comes next finds another one.
                await connection.aclose()
                if not attempts:
                    raise
            except BaseException:
                await connection.aclose()
                raise
            await Connection.pause(_JOIN_PAUSE)

    async def _initialize(self, connection: Connection) -> answers.Announcement:
        options: dict[str, Any] = {
            "protocolVersions": PROTOCOL_VERSIONS,
            "client": self._who,
            "cwd": self._cwd,
        }
        if self._requests:
            options["requests"] = list(self._requests)
        if self._path is None:
            options["agentDir"] = agent_folder()
        if wished := os.environ.get("PI_CODING_AGENT_SESSION_DIR"):
            # The daemon has an environment of its own.
            options["sessionDir"] = wished
        params = {
            "processId": os.getpid(),
            "rootUri": None,
            "capabilities": {},
            "clientInfo": {"name": self._who["name"], "version": self._who["version"]},
            "initializationOptions": {"pisessiond": options},
        }
        result = await connection.call("initialize", params, HANDSHAKE_TIMEOUT)
        await connection.notify("initialized", {})
        announced: answers.Announcement = result["capabilities"]["experimental"]["pisessiond"]
        return announced

    async def _replaces(self, connection: Connection, build: str) -> bool:
        """Ends an older daemon that nobody else uses, so that one of this build takes its place."""
        ours = current_build()
        if self._path is not None or not self._start or not is_older(build, ours):
            self.older_daemon = None
            return False
        try:
            await connection.call("daemon/shutdown", {"ifIdle": True}, HANDSHAKE_TIMEOUT)
        except RpcFailure as failure:
            self.older_daemon = (
                f"the daemon is of build {build} and this program of {ours}; it is in use and runs "
                f"on: {failure.message}"
            )
            return False
        return True


class Client:
    """What a daemon can be asked beside a single session. Made by `connect`."""

    def __init__(
        self, connection: Connection | LastingConnection, joining: _Joining, new_id: NewId
    ) -> None:
        self._connection = connection
        self._joining = joining
        self._new_id = new_id

    @property
    def announced(self) -> answers.Announcement:
        """What the daemon said of itself: protocol version, build, limits, methods."""
        assert self._joining.announced is not None, "a client exists once it has joined"
        return self._joining.announced

    @property
    def client_id(self) -> str:
        """What the daemon knows this client by."""
        return self._joining.client_id

    @property
    def older_daemon(self) -> str | None:
        """A sentence, where the daemon is older than this program and could not be replaced."""
        return self._joining.older_daemon

    async def open(
        self,
        session: str | Unset = UNSET,
        *,
        path: str | Unset = UNSET,
        latest: str | Unset = UNSET,
        rows: Filter | Unset = UNSET,
    ) -> Session:
        """Opens a session by its id, its file, or as the latest of a folder, and hears of changes.

        With `rows` (a filter) the answer holds the rows around `here`, and changes tell of rows.

        A session is open once for a client: of two such objects only one gets each change.
        """
        folder = UNSET if latest is UNSET else {"cwd": latest}
        wish = UNSET if rows is UNSET else {"filter": rows}
        named = to_wire(session=session, path=path, latest=folder, rows=wish)
        opened = await self.call("session/open", named)
        return Session(self._connection, opened, self._new_id, rows)

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
        name: str | Unset = UNSET,
        open: bool = False,  # noqa: A002 - the protocol's word
        unsaved: bool = False,
        live: bool = False,
        limit: int = 50,
        cursor: str | Unset = UNSET,
    ) -> answers.ListResult:
        """Sessions on disk and in memory, families of forks by their newest activity.

        `cwd` chooses a folder; with `name`, `open`, `unsaved` and `live` only such are among them.
        """
        params = to_wire(cwd=cwd, query=query, name=name, limit=limit, cursor=cursor)
        only = {"open": open, "unsaved": unsaved, "live": live}
        params |= {word: True for word, is_wanted in only.items() if is_wanted}
        listed: answers.ListResult = await self.call("session/list", params)
        return listed

    async def search(
        self,
        query: str,
        *,
        session: str | Unset = UNSET,
        role: str | Unset = UNSET,
        tool: str | Unset = UNSET,
        label: str | Unset = UNSET,
        cwd: str | Unset = UNSET,
        since: str | Unset = UNSET,
        limit: int = 20,
        cursor: str | Unset = UNSET,
    ) -> answers.SearchResult:
        """Entries in which all words of the query stand, the best and newest first.

        `session` to `since` (an ISO time) leave out all others.
        """
        params = to_wire(
            query=query,
            session=session,
            role=role,
            tool=tool,
            label=label,
            cwd=cwd,
            since=since,
            limit=limit,
            cursor=cursor,
        )
        found: answers.SearchResult = await self.call("session/search", params)
        return found

    async def import_session(
        self,
        path: str | Unset = UNSET,
        *,
        text: str | Unset = UNSET,
        id: str | Unset = UNSET,  # noqa: A002
        new_id: bool = False,
        cwd: str | Unset = UNSET,
        request_id: str | Unset = UNSET,
    ) -> answers.ImportResult:
        """Copies a session file, or the lines of one, among pi's own; the source is only read."""
        params = to_wire(
            path=path, text=text, id=id, new_id=new_id or UNSET, cwd=cwd, request_id=request_id
        )
        made: answers.ImportResult = await self.call("session/import", params)
        return made

    async def delete(
        self,
        session: str | Unset = UNSET,
        *,
        path: str | Unset = UNSET,
        discard: bool = False,
        request_id: str | Unset = UNSET,
    ) -> answers.DeleteResult:
        """Moves a session's file to the trash; one that is on no disk goes with `discard` only."""
        params = to_wire(
            session=session, path=path, discard=discard or UNSET, request_id=request_id
        )
        gone: answers.DeleteResult = await self.call("session/delete", params)
        return gone

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
