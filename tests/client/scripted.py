"""A daemon of a few lines that says what a test tells it to, over a real socket."""

from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pisessiond.client.errors import ConnectionLost
from pisessiond.client.framing import FrameReader, encode_message

Message = dict[str, Any]
HANG_UP = b""
"""Said by a script that wants the connection ended."""

SIZE = {
    "tokens": 84_000,
    "source": "measured",
    "estimated": 80_000,
    "measured": 84_000,
    "measuredAt": "2026-11-12T14:33:00.000Z",
    "before": None,
    "window": 200_000,
    "percent": 42.0,
    "model": "demo/opus-5",
    "grade": "ok",
    "dueAt": None,
    "due": False,
}
OPENED = {
    "session": "s1",
    "path": "/srv/demo/s1.jsonl",
    "header": {"type": "session", "version": 3, "id": "s1", "cwd": "/srv/demo"},
    "epoch": "e1",
    "rev": 1,
    "leaf": "aaaaaaaa",
    "unsaved": False,
    "readOnly": None,
    "lastExternal": None,
    "name": "login-fix",
    "entryCount": 1,
    "mode": "snapshot",
    "contextSize": SIZE,
    "problems": [],
    "operation": None,
    "clients": [],
}


class Script:
    """What the daemon says: a table of methods whose values are results, errors or functions."""

    def __init__(self, **methods: Any) -> None:
        self.answers: dict[str, Any] = {
            "initialize": {
                "capabilities": {"experimental": {"pisessiond": {"protocolVersion": 1}}},
                "serverInfo": {},
            },
            "session/open": OPENED,
        }
        self.answers.update({name.replace("_", "/", 1): value for name, value in methods.items()})
        self.heard: list[Message] = []
        self.changed = threading.Condition()

    def params(self, method: str) -> list[Any]:
        """The parameters of every message of a method so far, in order."""
        return [message["params"] for message in self.heard if message.get("method") == method]

    def wait_for(self, method: str) -> Any:
        """The parameters of the first message of a method, once it has come."""
        with self.changed:
            assert self.changed.wait_for(lambda: self.params(method), timeout=5), self.heard
        return self.params(method)[0]

    def wait_until(self, is_so: Callable[[], bool]) -> bool:
        """Whether it became so in a few seconds, looked at after each message."""
        with self.changed:
            return self.changed.wait_for(is_so, timeout=5)

    def hear(self, message: Message) -> Iterator[Message | bytes]:
        with self.changed:
            self.heard.append(message)
            self.changed.notify_all()
        answer = self.answers.get(message.get("method", ""))
        if callable(answer):
            answer = answer(message)
        if isinstance(answer, list):
            yield from answer
        elif "id" in message and "method" in message and answer is not None:
            yield reply(message, answer)


def reply(message: Message, result: Any) -> Message:
    if isinstance(result, dict) and result.keys() == {"code", "message", "data"}:
        return {"jsonrpc": "2.0", "id": message["id"], "error": result}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def refuse(kind: str, message: str = "no", **data: Any) -> Message:
    return {"code": 1, "message": message, "data": {"kind": kind, **data}}


def changed(base: int, rev: int, *changes: Message, **members: Any) -> Message:
    """A `session/didChange` of the session in `OPENED`."""
    delta = {"session": "s1", "epoch": "e1", "base": base, "rev": rev, "changes": list(changes)}
    delta |= {"leaf": "aaaaaaaa", "contextSize": SIZE} | members
    return {"jsonrpc": "2.0", "method": "session/didChange", "params": delta}


@contextmanager
def scripted_daemon(script: Script) -> Iterator[str]:
    """The socket of a daemon that follows a script, until the block ends."""
    # The path of a socket is short; a test's own folder may be too long for it.
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "s")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        listener.listen()
        connections: list[socket.socket] = []
        threads = [threading.Thread(target=_accept, args=(listener, script, connections, []))]
        threads[0].start()
        try:
            yield path
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            threads[0].join(5)
            listener.close()
            assert not threads[0].is_alive()


def _accept(
    listener: socket.socket,
    script: Script,
    connections: list[socket.socket],
    threads: list[threading.Thread],
) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            break
        connections.append(connection)
        threads.append(threading.Thread(target=_serve, args=(connection, script)))
        threads[-1].start()
    for connection in connections:
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
    for thread in threads:
        thread.join(5)


def _serve(connection: socket.socket, script: Script) -> None:
    frames = FrameReader()
    with connection:
        try:
            while data := connection.recv(65536):
                for message in frames.feed(data):
                    said = list(script.hear(message))
                    if HANG_UP in said:
                        return
                    # One write, so that a test knows what comes in one read.
                    raw = [one if isinstance(one, bytes) else encode_message(one) for one in said]
                    connection.sendall(b"".join(raw))
        except (OSError, ConnectionLost):
            pass
