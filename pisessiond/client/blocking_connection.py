"""One connection to a daemon for scripts that do one thing after another: no loop, no thread.

It reads the socket only while something is asked of it; meanwhile what the daemon sends waits in
the socket, and the daemon bounds that by itself.
"""

from __future__ import annotations

import itertools
import socket
import time
from contextlib import suppress
from typing import Any

from pisessiond.client import framing
from pisessiond.client.errors import ConnectionLost, no_daemon
from pisessiond.client.inbox import Inboxes, Notification
from pisessiond.client.starting import reach_daemon

_READ_SIZE = 256 * 1024


class BlockingConnection:
    """One request at a time, and an inbox for each session's notifications.

    It belongs to one thread at a time.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._frames = framing.FrameReader()
        self._numbers = itertools.count(1)
        self._asked: int | None = None
        self._replies: list[dict[str, Any]] = []
        self._inboxes = Inboxes()
        self._lost: ConnectionLost | None = None

    @classmethod
    def open(
        cls, path: str | None, timeout: float | None = None, *, start: bool = True
    ) -> BlockingConnection:
        """A connection to a socket, or to the daemon at the one address, started if need be.

        Raises:
            NoDaemon: There is no socket, nobody listens, or it may not be used; or no daemon could
                be started.
        """
        if path is None:
            return cls(reach_daemon(start=start))
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(timeout)
        try:
            sock.connect(path)
        except OSError as error:
            sock.close()
            raise no_daemon(path, error) from error
        return cls(sock)

    def call(
        self, method: str, params: dict[str, Any] | None = None, timeout: float | None = None
    ) -> Any:
        """The result of one request. Ctrl-C, or its timeout, cancels it at the daemon too.

        Raises:
            RpcFailure: The daemon refused it.
            ConnectionLost: The connection ended before the reply.
            TimeoutError: No reply came in time.
        """
        number = self._asked = next(self._numbers)
        deadline = _deadline(timeout)
        self._send(framing.request(number, method, params))
        try:
            while not self._replies:
                self._read(deadline)
            reply = self._replies[0]
        except (KeyboardInterrupt, TimeoutError):
            # A reply that still comes has a number nobody waits for and is dropped.
            with suppress(ConnectionLost):
                self._send(framing.notification("$/cancelRequest", {"id": number}))
            raise
        finally:
            self._asked = None
            self._replies.clear()
        if "error" in reply:
            raise framing.failure_of(reply["error"])
        return reply.get("result")

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
        try:
            self._socket.sendall(frame)
        except OSError as error:
            raise ConnectionLost("the daemon closed the connection") from error

    def _read(self, deadline: float | None) -> None:
        """Takes in what comes next, waiting for it. An interrupted frame is completed later."""
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
        method = message.get("method")
        if method is None:
            # An error without an id is about what the daemon could not read, so about this.
            is_ours = message.get("id") == self._asked
            is_ours = is_ours or (message.get("id") is None and "error" in message)
            if self._asked is not None and is_ours:
                self._replies.append(message)
        elif "id" in message:
            self._send(framing.refusal(message["id"], method))
        else:
            self.put(Notification.of(message))


def _deadline(timeout: float | None) -> float | None:
    return None if timeout is None else time.monotonic() + timeout
