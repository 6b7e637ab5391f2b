"""Raw clients of a real daemon, and the whole client algorithm in a few lines.

A `Peer` sends and hears messages and can stop reading; a `Follower` holds one session as an editor
would, from deltas alone wherever that is allowed.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec

from pisessiond.server.framing import FrameDecoder, frame

PATIENCE = 60.0
"""Seconds after which an answer counts as missing."""

Json = dict[str, Any]
_decode = msgspec.json.Decoder(Json).decode


class Refused(Exception):
    """The error of an answer."""

    def __init__(self, error: Json) -> None:
        super().__init__(str(error))
        self.code: int = error["code"]
        self.data: Json = error.get("data", {})
        self.kind = self.data.get("kind")


class Peer:
    """One connection. Whatever comes that was not asked for is kept in `strays`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.told: Callable[[str, Json], None] = lambda method, params: None
        """Hears every notification."""
        self.strays: list[Json] = []
        self.ended = asyncio.Event()
        """Set when the daemon has closed the connection."""
        self._waiting: dict[Any, asyncio.Future[Any]] = {}
        self._number = 0
        self._reading = asyncio.Event()
        self._reading.set()
        self._task = asyncio.create_task(self._read())

    @classmethod
    async def connect(cls, socket: str) -> "Peer":
        """A connection before `initialize`."""
        return cls(*await asyncio.open_unix_connection(socket))

    async def initialize(self, name: str) -> Json:
        ours = {"protocolVersions": [1], "client": {"id": f"{name}-id", "name": name}}
        given = {"capabilities": {}, "initializationOptions": {"pisessiond": ours}}
        result: Json = await self.call("initialize", given)
        return result

    def send(self, message: Json) -> None:
        self.writer.write(frame(msgspec.json.encode({"jsonrpc": "2.0", **message})))

    def ask(self, method: str, params: object, number: Any = None) -> asyncio.Future[Any]:
        """Send a request; the result, or `Refused`, comes with the future."""
        if number is None:
            self._number += 1
            number = self._number
        answer = asyncio.get_running_loop().create_future()
        if self.ended.is_set():
            self._lose(answer)
            return answer
        self._waiting[number] = answer
        self.send({"id": number, "method": method, "params": params})
        return answer

    async def call(self, method: str, params: object) -> Any:
        return await asyncio.wait_for(self.ask(method, params), PATIENCE)

    def cancel(self, number: Any) -> None:
        self.send({"method": "$/cancelRequest", "params": {"id": number}})

    def stall(self) -> None:
        """Take nothing more from the socket, until `go_on`."""
        self._reading.clear()

    def go_on(self) -> None:
        self._reading.set()

    async def _read(self) -> None:
        decoder = FrameDecoder()
        with contextlib.suppress(OSError):
            while True:
                await self._reading.wait()
                data = await self.reader.read(1 << 16)
                if not data:
                    break
                decoder.feed(data)
                while (body := decoder.next_body()) is not None:
                    self._take(_decode(body))
        self.ended.set()
        for answer in self._waiting.values():
            if not answer.done():
                self._lose(answer)

    @staticmethod
    def _lose(answer: asyncio.Future[Any]) -> None:
        answer.set_exception(ConnectionResetError("the daemon closed the connection"))
        # Looked at, so that nobody is warned of an answer that nobody waits for.
        answer.exception()

    def _take(self, message: Json) -> None:
        if "method" in message:
            self.told(message["method"], message["params"])
            return
        answer = self._waiting.pop(message["id"], None)
        if answer is None:
            self.strays.append(message)
        elif not answer.done():
            if "error" in message:
                answer.set_exception(Refused(message["error"]))
            else:
                answer.set_result(message["result"])

    async def close(self) -> None:
        """Close as a client does that leaves; what it was not asked for fails the test."""
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()
        await self._end()
        assert self.strays == []

    async def drop(self) -> None:
        """Vanish without a word."""
        self.writer.transport.abort()
        await self._end()

    async def _end(self) -> None:
        self._reading.set()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


@contextlib.asynccontextmanager
async def peer(socket: str, name: str = "peer") -> AsyncIterator[Peer]:
    """A client that has said its name."""
    made = await Peer.connect(socket)
    try:
        await made.initialize(name)
        yield made
    except BaseException:
        await made.drop()
        raise
    else:
        await made.close()


class Follower:
    """One session as a client holds it, kept in step by the client algorithm of the protocol.

    Apply a delta only if its epoch is mine and its base is my rev; ignore a lower one; for a higher
    one, another epoch or a reset open the session again, from where I stand.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.handle = ""
        self.epoch = ""
        self.rev = 0
        self.leaf: Any = None
        self.name: str | None = None
        self.parents: dict[Any, Any] = {}
        self.labels: dict[Any, str] = {}
        self.resets: list[str] = []
        self.snapshots = 0
        """How often it began anew."""
        self.applied = 0
        """Deltas that were applied."""
        self.is_stale = True
        """Whether it has to open the session again."""
        self._peer: Peer | None = None
        self._opening = False
        self._keeping_up = asyncio.Lock()
        self._early: list[tuple[str, Json]] = []

    def attach(self, peer: Peer) -> None:
        """Follow over this connection from now on."""
        self._peer = peer
        self.is_stale = True
        self._opening = False
        peer.told = self.hear

    def hear(self, method: str, params: Json) -> None:
        """Take a notification in, or keep it until the session is open here."""
        if params.get("session") != self.handle and not self._opening:
            return
        if self._opening:
            self._early.append((method, params))
        elif method == "session/didReset":
            self.resets.append(params["reason"])
            self.is_stale = True
        elif method == "session/didChange" and not self.is_stale:
            self._judge(params)

    def _judge(self, delta: Json) -> None:
        if delta["epoch"] != self.epoch:
            self.is_stale = True
        elif delta["base"] == self.rev:
            self._apply(delta["changes"])
            self.rev, self.leaf = delta["rev"], delta["leaf"]
            self.applied += 1
        elif delta["rev"] > self.rev:
            self.is_stale = True

    def _apply(self, changes: list[Json]) -> None:
        for change in changes:
            for node in change.get("nodes", ()):
                self._upsert(node)
            if change["kind"] == "label":
                self._label(change["target"], change["label"])
            elif change["kind"] == "rename":
                self.name = change["name"]

    def _upsert(self, node: Json) -> None:
        self.parents[node["id"]] = node["parent"]
        if "label" in node:
            self._label(node["id"], node["label"])

    def _label(self, target: Any, label: str | None) -> None:
        if label:
            self.labels[target] = label
        else:
            self.labels.pop(target, None)

    async def keep_up(self) -> None:
        """Open the session, again and again, until nothing is missing."""
        # Of two acts that begin at once, one opens it for both.
        async with self._keeping_up:
            while self.is_stale:
                await self.open()

    async def open(self) -> None:
        """Open the session from where this client stands: what is missing, or all of it."""
        assert self._peer is not None
        asked: Json = {"path": self.path}
        if self.epoch:
            asked["since"] = {"epoch": self.epoch, "rev": self.rev}
        self._opening = True
        opened = await self._peer.call("session/open", asked)
        self.handle = opened["session"]
        # What was told before the answer stands in it. Only what comes after it counts.
        if opened["mode"] == "deltas":
            assert (opened["base"], opened["epoch"]) == (self.rev, self.epoch)
            self._apply(opened["changes"])
        else:
            await self._fetch(opened["session"])
            self.name = opened["name"]
            self.snapshots += 1
        self.epoch, self.rev, self.leaf = opened["epoch"], opened["rev"], opened["leaf"]
        self.is_stale = self._opening = False
        early, self._early = self._early, []
        for method, params in early:
            self.hear(method, params)

    async def _fetch(self, handle: str) -> None:
        """The whole tree. What changes meanwhile is told too, and applying it twice is no harm."""
        assert self._peer is not None
        self.parents.clear()
        self.labels.clear()
        for node in await tree_of(self._peer, handle):
            self._upsert(node)

    def state(self) -> Json:
        """What every client has to agree about."""
        return {
            "epoch": self.epoch,
            "rev": self.rev,
            "leaf": self.leaf,
            "name": self.name,
            "parents": self.parents,
            "labels": self.labels,
        }


async def tree_of(peer: Peer, handle: str) -> list[Json]:
    """Every node; begun anew when the session changed between two pages."""
    while True:
        page = await peer.call("session/tree", {"session": handle, "count": 2_000})
        nodes: list[Json] = list(page["nodes"])
        rev = page["rev"]
        while (after := page.get("after")) is not None and page["rev"] == rev:
            asked = {"session": handle, "count": 2_000, "after": after}
            page = await peer.call("session/tree", asked)
            nodes += page["nodes"]
        if page["rev"] == rev:
            return nodes


async def fresh_state(socket: str, path: str) -> Json:
    """How a client that comes now sees the session."""
    async with peer(socket, "fresh") as newcomer:
        follower = Follower(path)
        follower.attach(newcomer)
        await follower.keep_up()
        await newcomer.call("session/sync", {"session": follower.handle})
        await follower.keep_up()
        return follower.state()
