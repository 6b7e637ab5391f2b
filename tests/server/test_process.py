"""A real process: standard input and output, signals, exit statuses."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pisessiond.server.framing import FrameDecoder, frame

pytestmark = pytest.mark.slow

PROGRAM = """
import sys
import anyio
from pathlib import Path
from typing import Any, cast
from pisessiond.server.daemon import Daemon
from tests.server.fake_service import FakeSessions
from tests.server.support import ABOUT

async def main() -> int:
    sessions = FakeSessions()
    sessions.add("s")
    daemon = Daemon(cast("Any", sessions), ABOUT)
    if sys.argv[1] == "--stdio":
        print("not a message")
        return await daemon.serve_stdio()
    await daemon.serve_socket(Path(sys.argv[1]), lambda: print("ready", flush=True))
    return 0

sys.exit(anyio.run(main))
"""

ROOT = Path(__file__).parents[2]


class Process:
    """A daemon of its own."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", PROGRAM, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
        )

    def end(self, limit: float = 10) -> tuple[int, bytes, bytes]:
        out, err = self.process.communicate(timeout=limit)
        return self.process.returncode, out, err


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Process, Path]]:
    path = tmp_path / "socket"
    process = Process(str(path))
    assert process.process.stdout is not None
    assert process.process.stdout.readline() == b"ready\n"
    yield process, path
    process.process.kill()
    process.process.communicate()


def request(**message: Any) -> bytes:
    return frame(json.dumps({"jsonrpc": "2.0", **message}).encode())


INITIALIZE = request(id=1, method="initialize", params={"capabilities": {}})


def bodies(data: bytes) -> list[dict[str, Any]]:
    decoder = FrameDecoder()
    decoder.feed(data)
    found = []
    while (body := decoder.next_body()) is not None:
        found.append(json.loads(body))
    decoder.finish()
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_daemon_in_order(
    served: tuple[Process, Path], number: signal.Signals
) -> None:
    process, path = served
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(INITIALIZE)
        assert client.recv(65536)
        began = time.monotonic()
        process.process.send_signal(number)
        status, _, err = process.end()
        assert time.monotonic() - began < 5
        assert (status, err) == (0, b"")
        (told,) = bodies(client.recv(65536))
        assert told["params"] == {"reason": "signal"}
    assert not path.exists()


def test_a_client_that_never_reads_does_not_hold_up_the_end(served: tuple[Process, Path]) -> None:
    process, path = served
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(INITIALIZE)
        entry = {"id": "big", "text": "x" * 1_000_000}
        client.sendall(
            request(id=2, method="session/append", params={"session": "s", "entry": entry})
        )
        for number in range(3, 20):
            client.sendall(request(id=number, method="session/entries", params={"session": "s"}))
        assert client.recv(1)
        began = time.monotonic()
        process.process.send_signal(signal.SIGTERM)
        assert process.end()[0] == 0
        assert time.monotonic() - began < 5


def test_a_lost_terminal_ends_nothing(served: tuple[Process, Path]) -> None:
    process, path = served
    process.process.send_signal(signal.SIGHUP)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(INITIALIZE)
        assert client.recv(65536)


def test_stdio_answers_all_that_was_piped_in_and_ends_with_it() -> None:
    process = Process("--stdio")
    piped = INITIALIZE + request(id=2, method="session/stats", params={"session": "s"})
    out, err = process.process.communicate(piped, timeout=10)
    assert [one["id"] for one in bodies(out.removeprefix(b"not a message\n"))] == [1, 2]
    assert (process.process.returncode, err) == (0, b"")


@pytest.mark.parametrize(
    ("ending", "status"),
    [
        (request(id=2, method="shutdown") + request(method="exit"), 0),
        (request(method="exit"), 1),
    ],
)
def test_stdio_exit_status_is_lsps(ending: bytes, status: int) -> None:
    process = Process("--stdio")
    out, err = process.process.communicate(INITIALIZE + ending, timeout=10)
    assert (process.process.returncode, err) == (status, b"")
    assert bodies(out.removeprefix(b"not a message\n"))[0]["id"] == 1


def test_stdio_ends_at_a_signal_while_its_input_is_open() -> None:
    process = Process("--stdio")
    assert process.process.stdin is not None
    assert process.process.stdout is not None
    process.process.stdin.write(INITIALIZE)
    process.process.stdin.flush()
    assert process.process.stdout.readline() == b"not a message\n"
    assert process.process.stdout.read(1)
    process.process.send_signal(signal.SIGINT)
    assert process.process.wait(timeout=5) == 0
    process.end()
