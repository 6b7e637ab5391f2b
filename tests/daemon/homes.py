"""A user's machine in small: a state folder, an agent dir, programs, and an end to them all."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import psutil

from pisessiond.client.address import Place
from tests.support.service import Entry, spell

ROOT: Final = Path(__file__).resolve().parents[2]
PATIENCE: Final = 30.0
SLACK: Final = 5
"""Limits are asserted at so many times of what is promised: machines that test are busy."""


class Home:
    """Where everything of one test lives. Processes are known by their PISESSIOND_HOME."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.agent = folder / "agent"
        self.sessions = self.agent / "sessions" / "--srv--"
        self.sessions.mkdir(parents=True)
        kept = ("PISESSIOND_", "PI_CODING_", "LISTEN_", "XDG_")
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(kept)
        }
        self.environment |= {
            "PISESSIOND_HOME": str(self.state),
            "PI_CODING_AGENT_DIR": str(self.agent),
            "PYTHONPATH": str(ROOT),
        }

    @property
    def place(self) -> Place:
        """Its state folder, as the clients compute it."""
        told = json.loads(self.run("socket-path", "--json").stdout)
        return Place(told["folder"], told["agentDir"])

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "pisessiond", *arguments]

    def run(
        self, *arguments: str, code: int | None = 0, timeout: float = PATIENCE, **named: Any
    ) -> subprocess.CompletedProcess[str]:
        named.setdefault("env", self.environment)
        done = subprocess.run(
            self.command(*arguments),
            capture_output=True,
            encoding="utf-8",
            cwd=ROOT,
            timeout=timeout,
            check=False,
            **named,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert code is None or done.returncode == code, done.stdout + done.stderr
        return done

    @contextmanager
    def popen(self, *arguments: str, **named: Any) -> Iterator[subprocess.Popen[bytes]]:
        named.setdefault("env", self.environment)
        with subprocess.Popen(self.command(*arguments), cwd=ROOT, **named) as process:
            try:
                yield process
            finally:
                process.kill()

    def status(self, *arguments: str) -> dict[str, Any]:
        """What the daemon says of itself; one is started if there is none."""
        status: dict[str, Any] = json.loads(self.run("status", "--json", *arguments).stdout)
        return status

    def daemons(self) -> list[psutil.Process]:
        """The daemons that live here, apart from those that are only about to detach."""
        found = []
        for one in self._processes():
            # One may end between two looks.
            with suppress(psutil.Error):
                if "serve" in one.cmdline():
                    found.append(one)
        return found

    def _processes(self) -> list[psutil.Process]:
        found = []
        for one in psutil.process_iter():
            try:
                here = one.environ().get("PISESSIOND_HOME") == str(self.state)
                if here and one.pid != os.getpid() and one.status() != psutil.STATUS_ZOMBIE:
                    found.append(one)
            except (psutil.Error, OSError):
                continue
        return found

    def session(self, name: str, entries: list[Entry]) -> Path:
        """A session file as pi wrote it."""
        path = self.sessions / f"2026-11-12T13-51-40-000Z_{name}.jsonl"
        header = {
            "type": "session",
            "version": 3,
            "id": name,
            "timestamp": "2026-11-12T13:51:40.000Z",
            "cwd": "/srv",
        }
        path.write_bytes(b"".join(spell(one) for one in [header, *entries]))
        return path

    def close(self) -> None:
        for one in self._processes():
            try:
                one.send_signal(signal.SIGKILL)
                one.wait(5)
            except psutil.Error:
                pass
        assert self._processes() == []


@contextmanager
def home() -> Iterator[Home]:
    # Not `tmp_path`: the path of a socket is short.
    folder = Path(tempfile.mkdtemp(prefix="pd-"))
    made = Home(folder)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)


def wait_until(is_so: Callable[[], object], seconds: float = PATIENCE) -> float:
    """Waits for something another process does; says how long it took."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() - began < seconds, "it did not come to pass"
        time.sleep(0.01)
    return time.monotonic() - began


def report(what: str, measured: float, limit: float, unit: str = "s") -> None:
    """Prints a figure beside what is promised, and holds it to five times that."""
    print(f"\n{what}: {measured:.3g} {unit} (promised {limit:g} {unit})")
    assert measured < limit * SLACK, f"{what}: {measured} {unit}, promised {limit} {unit}"
