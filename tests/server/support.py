"""A daemon over the fake service on a real Unix socket, and a client that can misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import anyio

from pisessiond.server.connection import Connection
from pisessiond.server.daemon import Daemon
from pisessiond.server.framing import FrameDecoder, frame
from pisessiond.server.state import About
from tests.server.fake_service import FakeSession, FakeSessions

ABOUT = About(version="9.9", agent_dir="/agent", address="/there", log=None)
PATIENCE = 20.0


class Client:
    """A raw client. At the end it must have been sent nothing it did not look at."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.unread: list[dict[str, Any]] = []
        self._decoder = FrameDecoder()
        self._ids = iter(range(1, 1_000_000))

    def send_raw(self, data: bytes) -> None:
        self.writer.write(data)

    def send_body(self, body: bytes) -> None:
        self.send_raw(frame(body))

    def send(self, **message: Any) -> None:
        self.send_body(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def receive_body(self) -> bytes | None:
        with anyio.fail_after(PATIENCE):
            while (body := self._decoder.next_body()) is None:
                data = await self.reader.read(65536)
                if not data:
                    return None
                self._decoder.feed(data)
            return body

    async def receive(self) -> dict[str, Any]:
        """The next message, whatever it is."""
        if self.unread:
            return self.unread.pop(0)
        body = await self.receive_body()
        assert body is not None, "the daemon closed the connection"
        return cast("dict[str, Any]", json.loads(body))

    async def answer(self, request_id: object) -> dict[str, Any]:
        """The answer to a request; what comes before it is kept for `receive`."""
        kept: list[dict[str, Any]] = []
        while True:
            message = await self.receive()
            if message.get("id") == request_id and "method" not in message:
                self.unread = kept + self.unread
                return message
            kept.append(message)

    async def ask(self, method: str, params: object = None) -> dict[str, Any]:
        request_id = next(self._ids)
        message: dict[str, Any] = {"id": request_id, "method": method}
        if params is not None:
            message["params"] = params
        self.send(**message)
        return await self.answer(request_id)

    async def call(self, method: str, params: object = None) -> Any:
        answer = await self.ask(method, params)
        assert "result" in answer, answer
        return answer["result"]

    async def refused(self, method: str, params: object = None) -> dict[str, Any]:
        answer = await self.ask(method, params)
        assert "error" in answer, answer
        return cast("dict[str, Any]", answer["error"])

    async def initialize(self, name: str = "test", **options: Any) -> Any:
        ours = {"protocolVersions": [1], "client": {"id": f"{name}-id", "name": name}, **options}
        given = {"capabilities": {}, "initializationOptions": {"pisessiond": ours}}
        return await self.call("initialize", given)

    async def closed(self) -> None:
        """Waits until the daemon has closed the connection, and has sent nothing more."""
        assert await self.receive_body() is None

    async def aclose(self) -> None:
        self.writer.close()
        with contextlib.suppress(OSError):
            await self.writer.wait_closed()


class Running:
    """A daemon at work."""

    def __init__(self, daemon: Daemon, sessions: FakeSessions, path: Path) -> None:
        self.daemon = daemon
        self.sessions = sessions
        self.path = path
        self.ended = anyio.Event()

    @property
    def connections(self) -> list[Connection]:
        return sorted(self.daemon.state.connections, key=lambda one: one.number)

    def session(self, handle: str = "s") -> FakeSession:
        return self.sessions.by_handle[handle]

    @contextlib.asynccontextmanager
    async def fresh(self) -> AsyncIterator[Client]:
        """A connection before `initialize`."""
        reader, writer = await asyncio.open_unix_connection(str(self.path))
        client = Client(reader, writer)
        try:
            yield client
            assert client.unread == [], client.unread
        finally:
            await client.aclose()

    @contextlib.asynccontextmanager
    async def client(self, name: str = "test", **options: Any) -> AsyncIterator[Client]:
        async with self.fresh() as client:
            await client.initialize(name, **options)
            yield client


@contextlib.asynccontextmanager
async def running_daemon(folder: Path, real: object = None) -> AsyncIterator[Running]:
    """A daemon with one open session, `s`, or over a real service."""
    sessions = FakeSessions()
    sessions.add("s", str(folder / "s.jsonl"))
    daemon = Daemon(cast("Any", real or sessions), ABOUT)
    running = Running(daemon, sessions, folder / "socket")
    ready = anyio.Event()

    async def serve() -> None:
        await daemon.serve_socket(running.path, ready.set)
        running.ended.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve)
        with anyio.fail_after(PATIENCE):
            await ready.wait()
        try:
            yield running
        finally:
            daemon.state.stop("test")
            with anyio.fail_after(10, shield=True):
                await running.ended.wait()
