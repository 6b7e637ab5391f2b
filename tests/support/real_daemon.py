"""A real daemon process on a socket of its own, and what the system says of it."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil

from tests.support.service import START_MS, Entry, spell

ROOT: Final = Path(__file__).resolve().parents[2]
START_SECONDS: Final = 20.0


class RealDaemon:
    """A daemon that runs until its block ends, and a folder for the files it may open."""

    def __init__(self, folder: Path, process: subprocess.Popen[bytes]) -> None:
        self.folder = folder
        self.socket = str(folder / "s")
        self._process = process
        self._seen = psutil.Process(process.pid)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def resident_mb(self) -> float:
        return float(self._seen.memory_info().rss) / (1 << 20)

    def descriptors(self) -> int:
        """Open files and sockets."""
        return int(self._seen.num_fds())

    def session_file(self, name: str, *entries: Entry | bytes) -> Path:
        """A session file that another program wrote."""
        path = self.folder / f"{name}.jsonl"
        path.write_bytes(header(name) + b"".join(spell(entry) for entry in entries))
        return path


def header(name: str) -> bytes:
    """The first line of a session file."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(START_MS / 1000))
    return spell({"type": "session", "version": 3, "id": name, "timestamp": stamp, "cwd": "/srv"})


@contextmanager
def real_daemon(*options: str) -> Iterator[RealDaemon]:
    """A daemon, asked to end at the end of the block and made to if it does not."""
    # Not `tmp_path`: the path of a socket is short.
    with tempfile.TemporaryDirectory(prefix="pis-") as name:
        folder = Path(name)
        where = ["--socket", f"{name}/s", "--agent-dir", f"{name}/agent"]
        command = [sys.executable, "-m", "pisessiond", "serve", *where, *options]
        with subprocess.Popen(
            [*command, "--log-file", f"{name}/log"],
            cwd=ROOT,
            env={**os.environ, "PISESSIOND_HOME": f"{name}/state"},
            stdin=subprocess.DEVNULL,
        ) as process:
            try:
                wait_for(folder / "s", process)
                yield RealDaemon(folder, process)
            finally:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    raise


def wait_for(socket: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until a daemon that was started listens."""
    deadline = time.monotonic() + START_SECONDS
    # The socket is bound and listens before its path can be seen.
    while not socket.exists():
        assert process.poll() is None, "the daemon ended at once"
        assert time.monotonic() < deadline, "the daemon did not begin to listen"
        time.sleep(0.01)
