"""A model server on loopback that speaks the true wire formats and does what a script says.

It is written on plain streams, so that an answer may come byte by byte, stop, break in the middle
of a character, or never end; and it notes what was asked, byte for byte, and when a client left.

    async with model_server(says("## Goal\\n...")) as server:
        ... server.url, server.requests ...

`model_replies` has `says`, `fails` and whatever else a server may answer.

What is said comes in the format of the path that was asked: `/v1/messages` for Anthropic,
`/chat/completions` for OpenAI. For programs that block there is `model_server_in_thread`.
"""

import asyncio
import contextlib
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.support.model_replies import Cut, Pause, Reply, Stall, json_reply

Json = dict[str, Any]

CERTIFICATE: Final = Path(__file__).with_name("loopback.pem")
"""Its own issuer, good for 127.0.0.1 until 2126, and its key; made with openssl for tests alone."""

PATIENCE: Final = 20.0
"""Seconds after which what a test waits for counts as missing."""


@dataclass
class Request:
    """One request as it came."""

    method: str
    target: str
    """As it stands in the request line; absolute when the server is used as a proxy."""
    headers: dict[str, str]
    """By name in lower case."""
    body: bytes
    number: int
    """Counted from 0 over all connections."""
    gone: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    """Set when the client has closed the connection before all was answered."""
    gone_at: float | None = None
    """When, as `time.monotonic` says."""
    answered: asyncio.Event = field(default_factory=asyncio.Event, repr=False)
    """Set when the last byte of the answer was sent."""

    @property
    def json(self) -> Json:
        """The body."""
        read: Json = json.loads(self.body)
        return read

    async def until_gone(self) -> float:
        """Wait until the client has left; when that was."""
        async with asyncio.timeout(PATIENCE):
            await self.gone.wait()
        assert self.gone_at is not None
        return self.gone_at


Script = Callable[[Request], Reply] | Sequence[Reply] | Reply
"""What is answered: by a function, one after another (the last again and again), always."""


class ModelServer:
    """A running server."""

    def __init__(self, script: Script, *, tls: bool = False) -> None:
        self.script = script
        """May be exchanged while it runs."""
        self.requests: list[Request] = []
        self.connections = 0
        """How many were made so far, also those that asked nothing."""
        self.port = 0
        self.tls = tls
        self._news = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        """The base URL of Anthropic's format; OpenAI's is `openai_url`."""
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    async def until(self, requests: int) -> Request:
        """Wait until so many requests have come; the last of them."""
        async with asyncio.timeout(PATIENCE):
            while len(self.requests) < requests:
                self._news.clear()
                await self._news.wait()
        return self.requests[requests - 1]

    def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take a connection."""
        self.connections += 1
        self._news.set()
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = b""
        try:
            while (request := await self._read(reader, writer, head)) is not None:
                head = await self._answer(request, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, _CutShort):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def stop(self) -> None:
        """End what still answers."""
        for task in (tasks := list(self._tasks)):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes
    ) -> Request | None:
        head = head or await reader.read(1)
        if not head.isalpha():
            # The end, or TLS, which is answered in plain words as real servers do.
            if head:
                writer.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
            return None
        head += await reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")[:-2]
        method, target, _ = first.split(" ", 2)
        pairs = (line.split(":", 1) for line in lines)
        headers = {name.lower(): value.strip() for name, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        request = Request(method, target, headers, body, len(self.requests))
        self.requests.append(request)
        self._news.set()
        return request

    async def _answer(
        self, request: Request, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes:
        """Send the reply; what of the next request was read meanwhile."""
        # Reading is the only way to hear that the client has left.
        peek = asyncio.create_task(reader.read(1))
        speak = asyncio.create_task(_speak(self._reply_to(request), writer))
        try:
            await asyncio.wait((peek, speak), return_when=asyncio.FIRST_COMPLETED)
            if not speak.done() and _is_end(peek):
                request.gone_at = time.monotonic()
                request.gone.set()
                raise _CutShort
            await speak
            request.answered.set()
            return await peek
        finally:
            for task in (peek, speak):
                task.cancel()
            await asyncio.gather(peek, speak, return_exceptions=True)

    def _reply_to(self, request: Request) -> Reply:
        if request.method == "GET" and request.target.endswith("/models"):
            return json_reply({"object": "list", "data": [{"id": "m", "object": "model"}]})
        script = self.script
        if isinstance(script, Reply):
            reply = script
        elif callable(script):
            reply = script(request)
        else:
            posts = sum(one.method == "POST" for one in self.requests[: request.number])
            reply = script[min(posts, len(script) - 1)]
        return reply.for_path(request.target)


class _CutShort(Exception):
    """The connection is over before the answer is."""


def _is_end(peek: "asyncio.Task[bytes]") -> bool:
    """Whether the client closed its side or the connection broke."""
    return peek.done() and (peek.exception() is not None or peek.result() == b"")


async def _speak(reply: Reply, writer: asyncio.StreamWriter) -> None:
    for step in reply.raw_steps():
        if isinstance(step, bytes):
            writer.write(step)
            await writer.drain()
        elif isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
        elif isinstance(step, Stall):
            await asyncio.Event().wait()
        elif isinstance(step, Cut):
            if step.resets:
                link = writer.get_extra_info("socket")
                link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                writer.transport.abort()
            raise _CutShort
    if reply.closes:
        raise _CutShort


@contextlib.asynccontextmanager
async def model_server(script: Script, *, tls: bool = False) -> AsyncIterator[ModelServer]:
    """A server on a free port of loopback, in the running loop.

    Args:
        script: what it answers.
        tls: whether it speaks TLS, with the certificate at `CERTIFICATE`.
    """
    server = ModelServer(script, tls=tls)
    context = None
    if tls:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(CERTIFICATE)
    listening = await asyncio.start_server(
        server.connected, "127.0.0.1", 0, limit=1 << 24, ssl=context
    )
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        await server.stop()
        await listening.wait_closed()


@contextlib.contextmanager
def model_server_in_thread(script: Script) -> Iterator[ModelServer]:
    """The same for a test that has no loop: look at `requests` only, wait for nothing."""
    started: list[ModelServer] = []
    ready = threading.Event()
    leave: list[Callable[[], object]] = []

    async def run() -> None:
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        async with model_server(script) as server:
            started.append(server)
            leave.append(lambda: loop.call_soon_threadsafe(ended.set))
            ready.set()
            await ended.wait()

    thread = threading.Thread(target=asyncio.run, args=(run(),), name="model-server", daemon=True)
    thread.start()
    assert ready.wait(PATIENCE), "the model server did not start"
    try:
        yield started[0]
    finally:
        leave[0]()
        thread.join(PATIENCE)


def free_port() -> int:
    """A port of loopback where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
