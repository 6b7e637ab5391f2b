"""Prompts of sessions without a file, through SIGKILL and SIGTERM of a real daemon."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from pisessiond.client import blocking
from pisessiond.client.entries import user_message
from tests.support.service import answer

pytestmark = pytest.mark.slow

ROOT: Final = Path(__file__).resolve().parents[2]
CWD: Final = "/srv/project"


class Home:
    """A daemon that can be killed and started again over the same folders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = str(folder / "s")
        self.environment = {
            **os.environ,
            "PISESSIOND_HOME": str(folder / "state"),
            "PI_CODING_AGENT_DIR": str(folder / "agent"),
        }
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *options: str) -> None:
        Path(self.socket).unlink(missing_ok=True)
        serve = ["serve", "--socket", self.socket, "--log-file", str(self.folder / "log")]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "pisessiond", *serve, *options], cwd=ROOT, env=self.environment
        )
        deadline = time.monotonic() + 20
        while not self._listens():
            assert self._process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as knock:
            return knock.connect_ex(self.socket) == 0

    def end(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(10)
            self._process = None

    def wait_for_its_end(self) -> int:
        assert self._process is not None
        return self._process.wait(20)

    def restart(self, number: signal.Signals) -> None:
        self.end(number)
        self.start()

    def recover(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        command = [sys.executable, "-m", "pisessiond", "recover", *arguments]
        return subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False
        )

    def recoveries(self) -> list[Any]:
        found: list[Any] = json.loads(self.recover("--json").stdout)["sessions"]
        return found

    def session_files(self) -> list[Path]:
        return [path for path in (self.folder / "agent").rglob("*") if path.is_file()]


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    made = Home(tmp_path_factory.mktemp("h"))
    made.start()
    yield made
    made.end(signal.SIGTERM)


def texts(opened: Any) -> list[str]:
    entries = opened.entries(order="file")["entries"]
    return [
        content if isinstance(content, str) else content[0]["text"]
        for content in (entry["message"]["content"] for entry in entries)
    ]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=lambda n: n.name)
def test_prompts_without_an_answer_outlive_the_daemon(home: Home, number: signal.Signals) -> None:
    with blocking.connect(home.socket) as client:
        made = client.create(CWD)
        handle, path = made.handle, str(made.opened["path"])
        made.append(user_message("first"))
        leaf = made.append(user_message("second"))["leaf"]
    home.restart(number)
    assert home.session_files() == []
    with blocking.connect(home.socket) as client:
        (listed,) = client.sessions(cwd=CWD)["sessions"]
        assert (listed["session"], listed["path"], listed["unsaved"]) == (handle, path, True)
        assert listed["firstMessage"] == "first"
        opened = client.open(path=path)
        assert (opened.handle, opened.leaf, opened.opened["unsaved"]) == (handle, leaf, True)
        assert texts(opened) == ["first", "second"]
        opened.append(user_message("third"))
    home.restart(number)
    assert home.session_files() == []
    with blocking.connect(home.socket) as client:
        opened = client.open(handle)
        opened.append(answer("at last"))
        assert texts(opened) == ["first", "second", "third", "at last"]
    assert home.recoveries() == []
    home.restart(number)
    assert [str(one) for one in home.session_files()] == [path]
    with blocking.connect(home.socket) as client:
        opened = client.open(handle)
        assert (opened.opened["unsaved"], opened.opened["problems"]) == (False, [])
        assert texts(opened) == ["first", "second", "third", "at last"]


def test_an_idle_daemon_ends_with_a_prompt_in_hand_and_the_next_one_has_it(home: Home) -> None:
    home.end(signal.SIGTERM)
    home.start("--idle", "0.4")
    with blocking.connect(home.socket) as client:
        made = client.create(CWD)
        made.append(user_message("unanswered"))
    assert home.wait_for_its_end() == 0
    home.start()
    with blocking.connect(home.socket) as client:
        assert texts(client.open(made.handle)) == ["unanswered"]


def test_one_daemon_of_two_brings_a_session_back_and_the_other_after_it(home: Home) -> None:
    with blocking.connect(home.socket) as client:
        made = client.create(CWD)
        made.append(user_message("mine"))
    second = Home(home.folder)
    second.socket = str(home.folder / "t")
    second.start()
    try:
        with blocking.connect(second.socket) as client:
            assert client.sessions()["sessions"] == []
            home.end(signal.SIGKILL)
            # Whoever lists or asks next has it, without a restart.
            assert texts(client.open(made.handle)) == ["mine"]
            assert [one["session"] for one in client.sessions()["sessions"]] == [made.handle]
    finally:
        second.end(signal.SIGTERM)


def test_a_fork_without_an_answer_comes_back_too(home: Home) -> None:
    with blocking.connect(home.socket) as client:
        made = client.create(CWD)
        kept = made.append(user_message("kept"))["ids"][0]
        forked = made.fork(kept, position="at")
    home.restart(signal.SIGKILL)
    with blocking.connect(home.socket) as client:
        assert texts(client.open(forked["session"])) == ["kept"]
        assert len(client.sessions()["sessions"]) == 2


def test_what_is_kept_is_listed_exported_and_discarded(home: Home, tmp_path: Path) -> None:
    assert home.recover().stdout == "nothing is kept\n"
    with blocking.connect(home.socket) as client:
        made = client.create(CWD)
        made.append(user_message("my prompt"))
        handle, path = made.handle, made.opened["path"]
    assert [one["state"] for one in home.recoveries()] == ["held"]
    refused = home.recover("--discard", handle[:20])
    assert (refused.returncode, "a running daemon holds" in refused.stderr) == (1, True)
    home.end(signal.SIGKILL)

    (kept,) = home.recoveries()
    assert (kept["session"], kept["path"], kept["entries"]) == (handle, path, 1)
    assert (kept["firstMessage"], kept["state"]) == ("my prompt", "waiting")
    table = home.recover().stdout
    assert table.startswith("waiting ")
    assert table.rstrip().endswith(f"1  {handle}  my prompt")

    out = tmp_path / "out.jsonl"
    assert home.recover("--export", str(out), handle).stdout == f"written: {out}\n"
    header, prompt = (json.loads(line) for line in out.read_bytes().splitlines())
    assert (header["id"], prompt["message"]["role"]) == (handle, "user")
    assert prompt["message"]["content"][0]["text"] == "my prompt"
    again = home.recover("--export", str(out), handle)
    assert (again.returncode, "already" in again.stderr) == (2, True)

    assert home.recover("--discard", handle).stdout == "discarded\n"
    assert home.recoveries() == []
    missing = home.recover("--discard", handle)
    assert (missing.returncode, missing.stdout) == (1, "")
    assert home.recover(handle).returncode == 2
