"""Summaries from the command line, by programs of the user's own, against a real daemon."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.real_daemon import wait_for

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "clients" / "python" / "sample.jsonl"
NAME = "2026-11-12T13-51-40-000Z_019a7c10-5e1a-7000-8000-10ca1f1d0001.jsonl"
CONFIG = """
[summarizer]
use = "quick"

[summarizers.quick]
kind = "command"
program = ["sh", "-c", "cat > {folder}/prompt; echo '## Goal'; echo 'A clock.'"]

[summarizers.stuck]
kind = "command"
program = ["sh", "-c", "touch {folder}/began; exec sleep 600"]

[summarizers.broken]
kind = "command"
program = ["sh", "-c", "echo no luck >&2; exit 3"]
"""


@dataclass
class Daemon:
    folder: Path
    file: Path

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        environment = {
            **os.environ,
            "PISESSIOND_SOCKET": str(self.folder / "s"),
            "PYTHONPATH": str(ROOT),
        }
        return subprocess.Popen(
            [sys.executable, "-m", "pisessiond", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=environment,
        )

    def run(self, *arguments: str, code: int = 0) -> str:
        """What a command prints, once it has ended as it should."""
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=60)
        assert process.returncode == code, out + err
        assert "Traceback" not in err
        return out + err

    def wait_until_asked(self, command: subprocess.Popen[str]) -> None:
        """Wait until the stuck program was asked for a summary."""
        deadline = time.monotonic() + 20
        while not (self.folder / "began").exists():
            assert command.poll() is None, "the command ended at once"
            assert time.monotonic() < deadline, "the program was not started"
            time.sleep(0.01)

    def grow(self) -> None:
        """So much that there is something to compact."""
        for number in range(3):
            text = f"{number} " + "word " * 10_000
            self.run("append", str(self.file), "--text", text)


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    # Not `tmp_path`: the path of a socket is short.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        home = folder / "home"
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text(CONFIG.replace("{folder}", name))
        (home / "config.toml").chmod(0o600)
        file = folder / "agent" / "sessions" / "--srv-login--" / NAME
        file.parent.mkdir(parents=True)
        shutil.copy(SAMPLE, file)
        serve = ["serve", "--socket", f"{name}/s", "--agent-dir", f"{name}/agent"]
        command = [sys.executable, "-m", "pisessiond", *serve, "--log-file", f"{name}/log"]
        environment = {**os.environ, "PISESSIOND_HOME": str(home)}
        with subprocess.Popen(command, cwd=ROOT, env=environment) as process:
            try:
                wait_for(folder / "s", process)
                yield Daemon(folder, file)
            finally:
                process.terminate()
                process.wait(10)


def last(daemon: Daemon) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(daemon.file.read_text("utf-8").splitlines()[-1])
    return found


def test_a_program_of_the_users_writes_the_summary(daemon: Daemon) -> None:
    daemon.grow()
    file = str(daemon.file)
    assert "quick                 the default, ready" in daemon.run("summarizers", file)
    shown = daemon.run("compact", file, "--dry-run", "--width", "80")
    assert "by quick: " in shown
    assert not (daemon.folder / "prompt").exists()
    said = daemon.run("compact", file, "--instructions", "Keep the test names.")
    assert said.startswith("compacted · leaf ")
    assert " → ~" in said
    assert last(daemon)["summary"].startswith("## Goal\nA clock.")
    assert last(daemon)["fromHook"] is False
    assert "Keep the test names." in (daemon.folder / "prompt").read_text("utf-8")


def test_a_branch_that_is_left_is_summarised(daemon: Daemon) -> None:
    file = str(daemon.file)
    assert "summarised first by quick: " in daemon.run("navigate", file, "3b6fd081", "--dry-run")
    assert daemon.run("navigate", file, "3b6fd081", "--summarize", "--label", "left").startswith(
        "moved, with a summary · leaf "
    )
    assert (last(daemon)["type"], last(daemon)["label"]) == ("label", "left")
    assert "~ [left]" in daemon.run("tree", file)


def test_ctrl_c_ends_the_program_and_nothing_is_written(daemon: Daemon) -> None:
    daemon.grow()
    before = daemon.file.read_bytes()
    with daemon.start("compact", str(daemon.file), "--summarizer", "stuck") as command:
        daemon.wait_until_asked(command)
        command.send_signal(signal.SIGINT)
        out, err = command.communicate(timeout=20)
    assert (command.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "pisessiond: cancelled; nothing was written"
    assert daemon.file.read_bytes() == before
    assert "compacted" in daemon.run("compact", str(daemon.file))


def test_who_waits_is_told_by_whom_it_was_ended(daemon: Daemon) -> None:
    daemon.grow()
    file, before = str(daemon.file), daemon.file.read_bytes()
    with daemon.start("compact", file, "--summarizer", "stuck") as command:
        daemon.wait_until_asked(command)
        busy = daemon.run("compact", file, code=1)
        assert "pisessiond-cli" in busy.splitlines()[0]
        assert busy.splitlines()[1] == f"  to end it: pisessiond cancel {file}"
        assert daemon.run("cancel", file) == "cancelled: compaction of pisessiond-cli\n"
        _, err = command.communicate(timeout=20)
    assert command.returncode == 1
    assert "cancelled by pisessiond-cli" in err
    assert daemon.file.read_bytes() == before


def test_who_waits_is_told_that_the_daemon_was_stopped(daemon: Daemon) -> None:
    daemon.grow()
    before = daemon.file.read_bytes()
    with daemon.start("compact", str(daemon.file), "--summarizer", "stuck") as command:
        daemon.wait_until_asked(command)
        daemon.run("stop")
        _, err = command.communicate(timeout=20)
    assert command.returncode == 1
    assert err.splitlines()[-1] == "pisessiond: The daemon was stopped; nothing was written."
    assert daemon.file.read_bytes() == before


def test_whoever_only_looks_runs_no_key_command(daemon: Daemon) -> None:
    agent, asked = daemon.folder / "agent", daemon.folder / "asked"
    provider = {
        "baseUrl": "http://127.0.0.1:9",
        "api": "openai-completions",
        "apiKey": f"!touch {asked}; echo key",
        "models": [{"id": "m"}],
    }
    (agent / "models.json").write_text(json.dumps({"providers": {"keyed": provider}}))
    (agent / "settings.json").write_text('{"retry": {"enabled": false}}')
    daemon.grow()
    file, by = str(daemon.file), ("--summarizer", "keyed/m")
    first = json.loads(daemon.file.read_text("utf-8").splitlines()[1])["id"]
    assert "keyed/m" in daemon.run("summarizers", file)
    assert "by m: " in daemon.run("compact", file, "--dry-run", *by)
    shown = daemon.run("navigate", file, first, "--summarize", "--dry-run", *by)
    assert "first by m: " in shown
    assert not asked.exists()
    daemon.run("compact", file, *by, code=1)
    assert asked.exists()


def test_a_killed_daemon_takes_its_program_along(daemon: Daemon) -> None:
    daemon.grow()
    before = daemon.file.read_bytes()
    with daemon.start("compact", str(daemon.file), "--summarizer", "stuck") as command:
        daemon.wait_until_asked(command)
        pid = json.loads(daemon.run("status", "--json"))["pid"]
        programs = psutil.Process(pid).children(recursive=True)
        folders = {one.cwd() for one in programs} - {"/"}
        os.kill(pid, signal.SIGKILL)
        assert psutil.wait_procs(programs, 20)[1] == []
        assert command.wait(20) != 0
    assert len(folders) == 1
    assert not Path(folders.pop()).exists()
    assert daemon.file.read_bytes() == before


def test_a_program_that_fails_is_quoted(daemon: Daemon) -> None:
    daemon.grow()
    said = daemon.run("compact", str(daemon.file), "--summarizer", "broken", code=1)
    assert "no luck" in said
    said = daemon.run("compact", str(daemon.file), "--summarizer", "/bin/sh", code=1)
    assert "broken" in said
    error = json.loads(
        daemon.run("compact", str(daemon.file), "--summarizer", "broken", "--json", code=1)
    )["error"]
    assert (error["kind"], error["reason"]) == ("SummaryFailed", "program")
