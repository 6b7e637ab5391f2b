"""One connection to a daemon, for programs on asyncio: requests, replies, notifications.

It knows JSON-RPC and nothing of sessions.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

from pisessiond.client import framing
from pisessiond.client.answer_tasks import AnswerTasks
from pisessiond.client.answering import Handlers
from pisessiond.client.errors import ConnectionLost, no_daemon
from pisessiond.client.inbox import Inboxes, Notification
from pisessiond.client.progress import CANCEL, PROGRESS, OnProgress, token_of
from pisessiond.client.starting import reach_daemon

_READ_SIZE = 256 * 1024


class Connection:
    """Requests in flight side by side, and an inbox for each session's notifications."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        handlers: Handlers | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count(1)
        self._pending: dict[int, asyncio.Future[Any]] = {}
        self._watched: dict[Any, tuple[int, OnProgress]] = {}
        """By token: the request and who wants to hear how far it is."""
        self._answering = AnswerTasks(handlers or {}, self._send)
        self._inboxes = Inboxes()
        self._arrivals: dict[str, asyncio.Event] = {}
        self._lost: ConnectionLost | None = None
        self._reading = asyncio.create_task(self._read(), name="pisessiond client reader")

    @classmethod
    async def open(
        cls,
        path: str | None,
        timeout: float | None = None,  # noqa: ASYNC109
        *,
        start: bool = True,
        handlers: Handlers | None = None,
    ) -> Connection:
        """A connection to a socket, or to the daemon at the one address, started if need be.

        `handlers` answer what the daemon asks of this client.

        Raises:
            NoDaemon: There is no socket, nobody listens, or it may not be used; or no daemon could
                be started.
        """
        try:
            async with asyncio.timeout(timeout if path is not None else None):
                if path is None:
                    # It waits for locks and for a process; the loop goes on meanwhile.
                    found = await asyncio.to_thread(reach_daemon, start=start)
                    reader, writer = await asyncio.open_unix_connection(sock=found)
                else:
                    reader, writer = await asyncio.open_unix_connection(path)
        except OSError as error:
            raise no_daemon(path or "of the daemon", error) from error
        return cls(reader, writer, handlers)

    async def call(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
        *,
        progress: OnProgress | None = None,
    ) -> Any:
        """The result of one request. Cancelling it, or its timeout, cancels it at the daemon too.

        `progress` is told how far the request is; what it raises cancels the request and is raised.

        Raises:
            RpcFailure: The daemon refused it.
            ConnectionLost: The connection ended before the reply.
            TimeoutError: No reply came in time.
        """
        if self._lost is not None:
            raise ConnectionLost(*self._lost.args)
        number = next(self._numbers)
        if progress is not None:
            params = {**(params or {}), "workDoneToken": token_of(number)}
        frame = framing.request(number, method, params)
        reply = self._pending[number] = asyncio.get_running_loop().create_future()
        if progress is not None:
            self._watched[token_of(number)] = number, progress
        self._writer.write(frame)
        try:
            async with asyncio.timeout(timeout):
                await self._drain()
                return await reply
        except (asyncio.CancelledError, TimeoutError):
            # A reply that still comes finds nobody waiting and is dropped.
            self._cancel(number)
            raise
        finally:
            del self._pending[number]
            self._watched.pop(token_of(number), None)
            if not reply.cancel() and not reply.cancelled():
                # Looked at, so that asyncio does not complain of a failure that nobody asked for.
                reply.exception()

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        self._writer.write(framing.notification(method, params))
        await self._drain()

    async def receive(self, topic: str, timeout: float | None = None) -> Notification:  # noqa: ASYNC109
        """The next notification of a topic: a session's handle, or `EVERYTHING_ELSE`.

        Raises:
            ConnectionLost: None waits and none can come any more.
            TimeoutError: None came in time.
        """
        inbox = self._inboxes.of(topic)
        arrival = self._arrivals.setdefault(topic, asyncio.Event())
        async with asyncio.timeout(timeout):
            while (waiting := inbox.take()) is None:
                if self._lost is not None:
                    raise ConnectionLost(*self._lost.args)
                arrival.clear()
                await arrival.wait()
        return waiting

    def put(self, notification: Notification) -> None:
        """Files a notification as if it had come from the daemon."""
        topic = self._inboxes.put(notification)
        if topic in self._arrivals:
            self._arrivals[topic].set()

    def keep(self, kept: object) -> None:
        """Nothing: this connection does not come back. See `LastingConnection`."""

    def drop(self, kept: object) -> None:
        """Nothing, as `keep`."""

    @staticmethod
    async def pause(seconds: float) -> None:
        await asyncio.sleep(seconds)

    def forget(self, topic: str) -> None:
        """Drops what waits for a topic, after its session was closed."""
        self._inboxes.forget(topic)
        self._arrivals.pop(topic, None)

    async def aclose(self) -> None:
        """Ends the connection; what still waits for a reply gets `ConnectionLost`."""
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)
        await self._answering.aclose()
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            pass

    def _send(self, frame: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(frame)

    def _cancel(self, number: int) -> None:
        self._send(framing.notification(CANCEL, {"id": number}))

    async def _drain(self) -> None:
        try:
            await self._writer.drain()
        except OSError as error:
            raise ConnectionLost("the daemon closed the connection") from error

    async def _read(self) -> None:
        lost = ConnectionLost("the connection was closed")
        frames = framing.FrameReader()
        try:
            while data := await self._reader.read(_READ_SIZE):
                for message in frames.feed(data):
                    self._take(message)
            lost = ConnectionLost("the daemon closed the connection")
        except ConnectionLost as error:
            lost = error
        except OSError:
            lost = ConnectionLost("the daemon closed the connection")
        finally:
            self._lost = lost
            self._writer.close()
            for reply in self._pending.values():
                if not reply.done():
                    reply.set_exception(ConnectionLost(*lost.args))
            for arrival in self._arrivals.values():
                arrival.set()
            self._answering.cancel_all()

    def _fail_all(self, error: Any) -> None:
        """Nobody knows which request the daemon could not read: none may wait for ever."""
        for reply in self._pending.values():
            if not reply.done():
                reply.set_exception(framing.failure_of(error))

    def _take(self, message: dict[str, Any]) -> None:
        method = message.get("method")
        if method is None:
            number = message.get("id")
            if number is None and "error" in message:
                self._fail_all(message["error"])
            reply = self._pending.get(number) if isinstance(number, int) else None
            if reply is None or reply.done():
                return
            if "error" in message:
                reply.set_exception(framing.failure_of(message["error"]))
            else:
                reply.set_result(message.get("result"))
        elif "id" in message:
            self._answering.take(message)
        else:
            self._hear(Notification.of(message))

    def _hear(self, notification: Notification) -> None:
        if notification.method == CANCEL:
            self._answering.cancel(notification.params.get("id"))
        elif notification.method == PROGRESS and self._watches(notification.params.get("token")):
            self._tell(*self._watched[notification.params["token"]], notification.params)
        else:
            self.put(notification)

    def _watches(self, token: Any) -> bool:
        return isinstance(token, str) and token in self._watched

    def _tell(self, number: int, progress: OnProgress, params: dict[str, Any]) -> None:
        reply = self._pending[number]
        if reply.done():
            return
        try:
            progress(params["value"])
        except Exception as error:  # noqa: BLE001
            # It belongs to whoever waits for the reply, not to the reader.
            self._cancel(number)
            reply.set_exception(error)
