"""One connection to a daemon for scripts that do one thing after another: no loop, no thread.

It reads the socket only while something is asked of it; meanwhile what the daemon sends waits in
the socket, and the daemon bounds that by itself.
"""

from __future__ import annotations

import itertools
import socket
import time
from collections import deque
from contextlib import suppress
from typing import Any

from pisessiond.client import framing
from pisessiond.client.answering import BlockingHandlers, answer_of, refusal_of
from pisessiond.client.errors import ConnectionLost, Interrupted, RpcFailure, no_daemon
from pisessiond.client.inbox import Inboxes, Notification
from pisessiond.client.progress import CANCEL, PROGRESS, OnProgress, token_of
from pisessiond.client.starting import reach_daemon

_READ_SIZE = 256 * 1024

CANCEL_PATIENCE = 2.0
"""Seconds that Ctrl-C waits for what becomes of the request it cancels; half a one is promised."""


class BlockingConnection:
    """Requests one after another, and an inbox for each session's notifications.

    It belongs to one thread at a time. What the daemon asks is answered, and progress is told,
    while something is waited for here; whoever answers may make requests himself.
    """

    def __init__(self, sock: socket.socket, handlers: BlockingHandlers | None = None) -> None:
        self._socket = sock
        self._frames = framing.FrameReader()
        self._numbers = itertools.count(1)
        self._replies: dict[int, dict[str, Any] | None] = {}
        """By request: its reply, None until that has come. One waits inside another only where
        what answers or hears of progress asks something."""
        self._watched: dict[Any, OnProgress] = {}
        self._told: deque[tuple[OnProgress, Any]] = deque()
        """Progress that came and was not passed on yet."""
        self._handlers = handlers or {}
        self._asked: dict[Any, dict[str, Any]] = {}
        """Requests of the daemon that are to be answered, in order."""
        self._inboxes = Inboxes()
        self._lost: ConnectionLost | None = None

    @classmethod
    def open(
        cls,
        path: str | None,
        timeout: float | None = None,
        *,
        start: bool = True,
        handlers: BlockingHandlers | None = None,
    ) -> BlockingConnection:
        """A connection to a socket, or to the daemon at the one address, started if need be.

        `handlers` answer what the daemon asks of this client.

        Raises:
            NoDaemon: There is no socket, nobody listens, or it may not be used; or no daemon could
                be started.
        """
        if path is None:
            return cls(reach_daemon(start=start), handlers)
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(timeout)
        try:
            sock.connect(path)
        except OSError as error:
            sock.close()
            raise no_daemon(path, error) from error
        return cls(sock, handlers)

    def call(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        timeout: float | None = None,
        *,
        progress: OnProgress | None = None,
    ) -> Any:
        """The result of one request. Ctrl-C, or its timeout, cancels it at the daemon too.

        `progress` is told how far the request is; what it raises cancels the request and is raised.

        Raises:
            RpcFailure: The daemon refused it.
            ConnectionLost: The connection ended before the reply.
            TimeoutError: No reply came in time.
            Interrupted: Ctrl-C, with what became of the request.
        """
        number = next(self._numbers)
        token = token_of(number)
        if progress is not None:
            params = {**(params or {}), "workDoneToken": token}
        frame = framing.request(number, method, params)
        if progress is not None:
            self._watched[token] = progress
        self._replies[number] = None
        try:
            deadline = _deadline(timeout)
            try:
                self._send(frame)
                reply = self._reply(number, deadline)
            except KeyboardInterrupt:
                raise self._interrupted(number) from None
            except BaseException:
                # A reply that still comes has a number nobody waits for and is dropped.
                self._cancel(number)
                raise
        finally:
            del self._replies[number]
            self._watched.pop(token, None)
        return _result_of(reply)

    def _reply(self, number: int, deadline: float | None) -> dict[str, Any]:
        while (reply := self._replies[number]) is None:
            self._read(deadline)
        return reply

    def _interrupted(self, number: int) -> Interrupted:
        """What became of a request that Ctrl-C came for. Once more ends the waiting."""
        self._watched.pop(token_of(number), None)
        self._cancel(number)
        try:
            result = _result_of(self._reply(number, time.monotonic() + CANCEL_PATIENCE))
        except RpcFailure as failure:
            return Interrupted("cancelled", failure=failure)
        except (ConnectionLost, TimeoutError):
            return Interrupted("unknown")
        return Interrupted("done", result)

    def _cancel(self, number: int) -> None:
        with suppress(ConnectionLost):
            self._send(framing.notification(CANCEL, {"id": number}))

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self._send(framing.notification(method, params))

    def receive(self, topic: str, timeout: float | None = None) -> Notification:
        """The next notification of a topic: a session's handle, or `EVERYTHING_ELSE`.

        Raises:
            ConnectionLost: None waits and none can come any more.
            TimeoutError: None came in time.
        """
        inbox = self._inboxes.of(topic)
        deadline = _deadline(timeout)
        while (waiting := inbox.take()) is None:
            self._read(deadline)
        return waiting

    def put(self, notification: Notification) -> None:
        """Files a notification as if it had come from the daemon."""
        self._inboxes.put(notification)

    def keep(self, kept: object) -> None:
        """Nothing: this connection does not come back. See `BlockingLastingConnection`."""

    def drop(self, kept: object) -> None:
        """Nothing, as `keep`."""

    @staticmethod
    def pause(seconds: float) -> None:
        time.sleep(seconds)

    def forget(self, topic: str) -> None:
        """Drops what waits for a topic, after its session was closed."""
        self._inboxes.forget(topic)

    def close(self) -> None:
        self._socket.close()

    def _send(self, frame: bytes) -> None:
        # No timeout here: half a frame would leave the stream without a place to go on from.
        self._socket.settimeout(None)
        is_sent = False
        try:
            self._socket.sendall(frame)
            is_sent = True
        except OSError as error:
            raise ConnectionLost("the daemon closed the connection") from error
        finally:
            if not is_sent:
                self._break()

    def _break(self) -> None:
        """Ends a connection on which a message was begun: Ctrl-C does not say how far it came.

        The daemon then cancels what was asked on it.
        """
        self._lost = ConnectionLost("the connection was closed in the middle of a message")
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def _read(self, deadline: float | None) -> None:
        """Takes in what comes next, waiting for it. An interrupted frame is completed later."""
        if not self._told and not self._asked:
            self._receive(deadline)
        # Only now: what they raise must leave no message behind that was received already.
        while self._told:
            progress, value = self._told.popleft()
            progress(value)
        while self._asked:
            self._answer(self._asked.pop(next(iter(self._asked))))

    def _receive(self, deadline: float | None) -> None:
        if self._lost is not None:
            raise ConnectionLost(*self._lost.args)
        # Zero would make it a socket that never waits.
        left = None if deadline is None else max(deadline - time.monotonic(), 1e-6)
        self._socket.settimeout(left)
        try:
            data = self._socket.recv(_READ_SIZE)
        except TimeoutError:
            raise
        except OSError as error:
            raise ConnectionLost("the daemon closed the connection") from error
        if not data:
            raise ConnectionLost("the daemon closed the connection")
        try:
            for message in self._frames.feed(data):
                self._take(message)
        except ConnectionLost as error:
            # What came whole before it still counts; whoever waits for more is told.
            self._lost = error

    def _take(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        if method is None:
            if number is None and "error" in message:
                # It is about what the daemon could not read, so about one of these.
                self._replies = dict.fromkeys(self._replies, message)
            elif isinstance(number, int) and number in self._replies:
                self._replies[number] = message
        elif "id" not in message:
            self._hear(Notification.of(message))
        elif method in self._handlers and isinstance(number, str | int):
            self._asked[number] = message
        else:
            self._send(framing.unknown_method(number, method))

    def _hear(self, notification: Notification) -> None:
        method, params = notification
        token = params.get("token")
        if method == CANCEL:
            number = params.get("id")
            if isinstance(number, str | int) and self._asked.pop(number, None) is not None:
                self._send(framing.refusal(number, framing.CANCELLED, "cancelled"))
        elif method == PROGRESS and isinstance(token, str) and token in self._watched:
            self._told.append((self._watched[token], params["value"]))
        else:
            self.put(notification)

    def _answer(self, message: dict[str, Any]) -> None:
        number, method = message["id"], message["method"]
        try:
            frame = answer_of(number, self._handlers[method](message.get("params") or {}))
        except Exception as error:  # noqa: BLE001
            frame = refusal_of(number, method, error)
        except BaseException as error:
            self._send(refusal_of(number, method, error))
            raise
        self._send(frame)


def _result_of(reply: dict[str, Any]) -> Any:
    if "error" in reply:
        raise framing.failure_of(reply["error"])
    return reply.get("result")


def _deadline(timeout: float | None) -> float | None:
    return None if timeout is None else time.monotonic() + timeout
