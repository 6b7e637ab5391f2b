"""The client for scripts without a loop: the daemon, and the sessions opened there.

    with connect() as client:
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
from pisessiond.client.address import agent_folder
from pisessiond.client.answering import BlockingHandlers
from pisessiond.client.blocking_connection import BlockingConnection
from pisessiond.client.blocking_lasting import BlockingLastingConnection
from pisessiond.client.blocking_questions import Filter
from pisessiond.client.blocking_session import BlockingSession
from pisessiond.client.entries import NewId, new_entry_id
from pisessiond.client.errors import ConnectionLost, RpcFailure
from pisessiond.client.inbox import EVERYTHING_ELSE, Notification
from pisessiond.client.params import UNSET, Unset, to_wire
from pisessiond.protocol.build import current_build, is_older

PROTOCOL_VERSIONS = [1]
HANDSHAKE_TIMEOUT = 10.0
"""Seconds until something that accepts connections and says nothing counts as no daemon."""
_JOIN_ATTEMPTS = 20
_JOIN_PAUSE = 0.05


@contextmanager
def connect(
    path: str | None = None,
    *,
    name: str = "python",
    client_id: str | None = None,
    cwd: str | None = None,
    new_id: NewId = new_entry_id,
    reconnect: bool = False,
    start: bool = True,
    requests: BlockingHandlers | None = None,
) -> Iterator[BlockingClient]:
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
    connection = joining.join()
    lasting = BlockingLastingConnection(connection, joining.join) if reconnect else connection
    try:
        yield BlockingClient(lasting, joining, new_id)
    finally:
        lasting.close()


class _Joining:
    """How one client gets to its daemon, the first time and each time after."""

    def __init__(
        self,
        path: str | None,
        who: dict[str, str],
        cwd: str,
        start: bool,
        requests: BlockingHandlers,
    ) -> None:
        self._path = path
        self._who = who
        self.client_id = who["id"]
        self._cwd = cwd
        self._start = start
        self._requests = requests
        self.announced: answers.Announcement | None = None
        self.older_daemon: str | None = None

    def join(self) -> BlockingConnection:
        """A connection on which `initialize` was answered."""
        attempts = 1 if self._path is not None else _JOIN_ATTEMPTS
        while True:
            attempts -= 1
            connection = BlockingConnection.open(
                self._path, HANDSHAKE_TIMEOUT, start=self._start, handlers=self._requests
            )
            try:
                self.announced = self._initialize(connection)
                if not attempts or not self._replaces(connection, self.announced["build"]):
                    return connection
                connection.close()
            except ConnectionLost:
                # It was just about to end: whoever comes next finds another one.
                connection.close()
                if not attempts:
                    raise
            except BaseException:
                connection.close()
                raise
            BlockingConnection.pause(_JOIN_PAUSE)

    def _initialize(self, connection: BlockingConnection) -> answers.Announcement:
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
        result = connection.call("initialize", params, HANDSHAKE_TIMEOUT)
        connection.notify("initialized", {})
        announced: answers.Announcement = result["capabilities"]["experimental"]["pisessiond"]
        return announced

    def _replaces(self, connection: BlockingConnection, build: str) -> bool:
        """Ends an older daemon that nobody else uses, so that one of this build takes its place."""
        ours = current_build()
        if self._path is not None or not self._start or not is_older(build, ours):
            self.older_daemon = None
            return False
        try:
            connection.call("daemon/shutdown", {"ifIdle": True}, HANDSHAKE_TIMEOUT)
        except RpcFailure as failure:
            self.older_daemon = (
                f"the daemon is of build {build} and this program of {ours}; it is in use and runs "
                f"on: {failure.message}"
            )
            return False
        return True


class BlockingClient:
    """What a daemon can be asked beside a single session. Made by `connect`."""

    def __init__(
        self,
        connection: BlockingConnection | BlockingLastingConnection,
        joining: _Joining,
        new_id: NewId,
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

    def open(
        self,
        session: str | Unset = UNSET,
        *,
        path: str | Unset = UNSET,
        latest: str | Unset = UNSET,
        rows: Filter | Unset = UNSET,
    ) -> BlockingSession:
        """Opens a session by its id, its file, or as the latest of a folder, and hears of changes.

        With `rows` (a filter) the answer holds the rows around `here`, and changes tell of rows.

        A session is open once for a client: of two such objects only one gets each change.
        """
        folder = UNSET if latest is UNSET else {"cwd": latest}
        wish = UNSET if rows is UNSET else {"filter": rows}
        named = to_wire(session=session, path=path, latest=folder, rows=wish)
        opened = self.call("session/open", named)
        return BlockingSession(self._connection, opened, self._new_id, rows)

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
        listed: answers.ListResult = self.call("session/list", params)
        return listed

    def search(
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
        found: answers.SearchResult = self.call("session/search", params)
        return found

    def import_session(
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
        made: answers.ImportResult = self.call("session/import", params)
        return made

    def delete(
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
        gone: answers.DeleteResult = self.call("session/delete", params)
        return gone

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
