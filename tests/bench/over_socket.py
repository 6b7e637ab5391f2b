"""What clients of a real daemon wait for: opening, and appends that are on disk when answered.

The client here does as little as it can: a frame out, the next frame with its id in.
"""

import os
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import msgspec

from tests.bench.generated import CACHE, user_message

ROOT = Path(__file__).resolve().parents[2]
CLIENTS = 8
START_SECONDS = 20.0
_SERVE = (sys.executable, "-m", "pisessiond", "serve")


class _Reply(msgspec.Struct):
    id: int | None = None
    error: Any = None
    result: msgspec.Raw = msgspec.Raw(b"null")


_decode = msgspec.json.Decoder(_Reply).decode


class RawClient:
    """One connection; notifications are read and thrown away."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.settimeout(60)
        self._buffer = b""
        self._number = 0
        options = {"protocolVersions": [1], "client": {"id": os.urandom(4).hex(), "name": "bench"}}
        self.call(
            "initialize",
            {"capabilities": {}, "initializationOptions": {"pisessiond": options}},
        )
        self.send("initialized", {}, is_request=False)

    def send(self, method: str, params: Mapping[str, Any], *, is_request: bool = True) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if is_request:
            self._number += 1
            message["id"] = self._number
        body = msgspec.json.encode(message)
        self.socket.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

    def call(self, method: str, params: Mapping[str, Any]) -> Any:
        self.send(method, params)
        while (reply := self.take()) is None:
            self.read()
        return msgspec.json.decode(reply.result)

    def read(self) -> None:
        data = self.socket.recv(1 << 20)
        assert data, "the daemon hung up"
        self._buffer += data

    def take(self) -> _Reply | None:
        """The reply to the last request, once it is here."""
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            start = end + 4
            length = int(self._buffer[:end].rsplit(b":", 1)[1])
            if len(self._buffer) < start + length:
                return None
            body = self._buffer[start : start + length]
            self._buffer = self._buffer[start + length :]
            reply = _decode(body)
            if reply.id == self._number:
                assert reply.error is None, reply.error
                return reply
        return None


@contextmanager
def daemon() -> Iterator[tuple[str, int]]:
    """The socket and the process id of a daemon that runs until the block ends."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pisessiond-bench-"))
        path = f"{folder}/socket"
        errors = stack.enter_context(Path(folder, "errors").open("w+"))
        process = subprocess.Popen(
            [*_SERVE, "--socket", path, "--agent-dir", f"{folder}/agent"],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stderr=errors,
        )
        try:
            deadline = time.monotonic() + START_SECONDS
            while not _accepts(path):
                assert process.poll() is None, Path(errors.name).read_text()
                assert time.monotonic() < deadline, "the daemon did not begin to listen"
                time.sleep(0.01)
            yield path, process.pid
        finally:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _accepts(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) == 0


@contextmanager
def scratch_copy(path: Path) -> Iterator[str]:
    """A copy to write to, on the disk that the cache is on."""
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        copy = f"{folder}/session.jsonl"
        shutil.copyfile(path, copy)
        yield copy


def measure_opening(path: str) -> dict[str, float]:
    """From the first request to the answers, in a fresh daemon."""
    with daemon() as (address, pid):
        client = RawClient(address)
        figures = {"rssImportMb": _resident_mb(pid)}
        started = time.perf_counter()
        opened = client.call("session/open", {"path": path})
        handle = opened["session"]
        page = client.call("session/tree", {"session": handle, "around": "leaf", "count": 200})
        figures["firstMs"] = (time.perf_counter() - started) * 1000
        assert len(page["nodes"]) == 200
        figures["rssFirstMb"] = _resident_mb(pid)
        client.call("session/contextSize", {"session": handle})
        figures["allMs"] = (time.perf_counter() - started) * 1000
        figures["rssMb"] = _resident_mb(pid)
        times = []
        for _ in range(9):
            started = time.perf_counter()
            client.call("session/tree", {"session": handle, "count": 200})
            times.append((time.perf_counter() - started) * 1000)
        figures["firstPageMs"] = median(times)
        client.socket.close()
    return figures


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)


def measure_appending(path: str, count: int) -> dict[str, float]:
    """Appends of 1.4 KB, one at a time and then from eight clients at once."""
    with daemon() as (address, _), ExitStack() as stack:
        clients = []
        for _ in range(CLIENTS):
            client = RawClient(address)
            stack.callback(client.socket.close)
            clients.append(client)
        first = clients[0]
        handle = first.call("session/open", {"path": path})["session"]
        first.call("session/contextSize", {"session": handle})
        times = []
        for number in range(count):
            params = _append_params(handle, number)
            started = time.perf_counter()
            first.call("session/append", params)
            times.append((time.perf_counter() - started) * 1000)
        for client in clients[1:]:
            client.call("session/open", {"path": path})
        started = time.perf_counter()
        _append_together(clients, handle, count)
        seconds = time.perf_counter() - started
    return {**_spread(times), "togetherPerSecond": count / seconds}


def _append_params(handle: str, number: int) -> dict[str, Any]:
    return {"session": handle, "entry": {"type": "message", "message": user_message(number)}}


def _append_together(clients: list[RawClient], handle: str, count: int) -> None:
    """Each client sends its next append as soon as its last one is answered."""
    with selectors.DefaultSelector() as selector:
        left = count
        waiting = 0
        for client in clients:
            selector.register(client.socket, selectors.EVENT_READ, client)
            client.send("session/append", _append_params(handle, left))
            left -= 1
            waiting += 1
        while waiting:
            for key, _ in selector.select(60):
                client = key.data
                client.read()
                if client.take() is None:
                    continue
                waiting -= 1
                if left > 0:
                    client.send("session/append", _append_params(handle, left))
                    left -= 1
                    waiting += 1


def measure_disk(count: int) -> dict[str, float]:
    """The floor: a loop of write and fdatasync on the same disk, with lines of the same size."""
    entry = {"type": "message", "id": "0" * 8, "parentId": "0" * 8, "message": user_message(0)}
    line = msgspec.json.encode(entry) + b"\n"
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        descriptor = os.open(f"{folder}/floor", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            times = []
            for _ in range(count):
                started = time.perf_counter()
                os.write(descriptor, line)
                os.fdatasync(descriptor)
                times.append((time.perf_counter() - started) * 1000)
        finally:
            os.close(descriptor)
    return _spread(times)


def _spread(times: list[float]) -> dict[str, float]:
    return {"medianMs": median(times), "p99Ms": quantiles(times, n=100)[98]}
