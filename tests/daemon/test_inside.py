"""Seeing inside: status while a file loads, the log, doctor; and the ways in beside the socket."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from glob import glob
from pathlib import Path
from typing import Any

import pytest

from pisessiond.client import blocking
from pisessiond.client.blocking_connection import BlockingConnection
from pisessiond.client.entries import user_message
from pisessiond.client.errors import ConnectionLost, RpcFailure
from tests.daemon.homes import ROOT, Home, report, wait_until
from tests.support.service import answer, user

pytestmark = pytest.mark.slow

MEGABYTES = 50


@pytest.fixture(autouse=True)
def at_home(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PISESSIOND_HOME", "PI_CODING_AGENT_DIR", "PYTHONPATH"):
        monkeypatch.setenv(name, home.environment[name])


def test_status_is_answered_while_a_large_file_loads(home: Home) -> None:
    entries = [user("Hello", "00000000")]
    text = "word " * 2000
    for number in range(1, MEGABYTES * 100):
        entries.append(answer(text, f"{number:08x}", f"{number - 1:08x}"))
    path = home.session("large", entries)
    assert path.stat().st_size > MEGABYTES * 1_000_000
    times: list[float] = []
    opened = threading.Event()

    def load() -> None:
        with blocking.connect(name="loader") as client:
            session = client.open(path=str(path))
            while session.size() is None:
                pass
        opened.set()

    with blocking.connect(name="looker") as client:
        loader = threading.Thread(target=load)
        loader.start()
        while not opened.is_set():
            began = time.monotonic()
            status = client.status()
            times.append(time.monotonic() - began)
            time.sleep(0.002)
        loader.join()
        status = client.status()
    print(f"\n{len(times)} answers while {MEGABYTES} MB were loaded and sized")
    report("slowest answer of daemon/status meanwhile", max(times) * 1000, 100, "ms")
    assert status["memory"]["rss"] > 0
    assert status["sessions"][0]["rev"] >= 1
    assert status["log"] == home.place.log
    assert {"name", "queued", "queuedBytes", "running"} <= status["clients"][0].keys()


def test_status_for_people_names_what_there_is(home: Home) -> None:
    home.session("small", [user("Hello", "00000000"), answer("Yes", "00000001", "00000000")])
    with blocking.connect(name="window") as client:
        session = client.open("small")
        said = home.run("status").stdout
    assert "window" in said
    assert "small" in said
    assert f"rev {session.opened['rev']}" in said
    assert home.place.log in said


def test_the_log_names_the_client_and_never_what_was_said(home: Home) -> None:
    secret = "kumquat-" + "x" * 40
    path = home.session("s", [user("Hello", "00000000"), answer("Yes", "00000001", "00000000")])
    with blocking.connect(name="window") as client:
        session = client.open(path=str(path))
        session.append(user_message(secret))
        with pytest.raises(RpcFailure):
            client.call("session/append", {"session": session.handle, "entry": {"id": secret}})
        with pytest.raises(RpcFailure):
            client.call(secret)
    home.run("stop")
    log = Path(home.place.log)
    written = log.read_text("utf-8")
    assert secret not in written
    assert "client 1: client 1 is 'window' over unix" in written
    assert log.stat().st_mode & 0o777 == 0o600


LOG = """
import logging, os, sys
from pisessiond.server.logs import set_up_log
os.umask(0)
set_up_log(sys.argv[1])
for number in range(3000):
    logging.getLogger("pisessiond.x").info("x" * 5000)
try:
    raise ValueError("what a user said")
except ValueError:
    logging.getLogger("asyncio").exception("quoting what a user said")
"""


def test_the_log_is_rotated_private_and_says_nothing_of_what_libraries_quote(home: Home) -> None:
    path = home.folder / "log"
    subprocess.run([sys.executable, "-c", LOG, str(path)], check=True, cwd=ROOT)
    files = sorted(home.folder.glob("log*"))
    assert len(files) == 4
    assert all(one.stat().st_mode & 0o777 == 0o600 for one in files)
    assert all(one.stat().st_size <= 5 << 20 for one in files)
    written = path.read_text("utf-8")
    assert "what a user said" not in written
    assert written.rstrip().endswith("ValueError")


def test_doctor_finds_all_well_and_changes_nothing(home: Home) -> None:
    found = json.loads(home.run("doctor", "--json").stdout)
    assert found["troubles"] == 0
    assert not home.state.exists()
    pid = home.status()["pid"]
    findings = json.loads(home.run("doctor", "--json").stdout)["findings"]
    topics = {one["topic"]: one for one in findings}
    assert str(pid) in topics["daemon"]["message"]
    assert {"program", "agent folder", "state folder", "address", "locks", "log"} <= set(topics)
    assert home.run("doctor").stdout.endswith("all is well\n")
    os.chmod(home.place.log, 0o644)
    said = home.run("doctor").stdout
    assert f"-> chmod 600 {home.place.log}" in said


def tcp(home: Home) -> tuple[str, int]:
    status = home.status()
    host, port = status["tcp"].split(":")
    return host, int(port)


def over_tcp(home: Home, where: tuple[str, int]) -> BlockingConnection:
    return BlockingConnection(socket.create_connection(where, timeout=10))


def hello(token: str | None) -> dict[str, Any]:
    ours: dict[str, Any] = {"protocolVersions": [1], "client": {"id": "c", "name": "bridge"}}
    if token is not None:
        ours["token"] = token
    return {"capabilities": {}, "initializationOptions": {"pisessiond": ours}}


def test_tcp_lets_in_who_shows_the_token_and_nobody_else(home: Home) -> None:
    with home.popen("serve", "--tcp", "0"):
        place = home.place
        wait_until(lambda: os.path.exists(place.own_socket))
        where = tcp(home)
        assert where[0] == "127.0.0.1"
        token = Path(place.token).read_text("ascii").strip()
        assert len(bytes.fromhex(token)) == 32
        assert os.stat(place.token).st_mode & 0o777 == 0o600

        good = over_tcp(home, where)
        assert good.call("initialize", hello(token))
        assert good.call("session/list", {"limit": 5})["sessions"] == []
        (one,) = [c for c in good.call("daemon/status")["clients"] if c["name"] == "bridge"]
        assert one["transport"] == "tcp"
        good.close()

        for method, params in (
            ("initialize", hello(None)),
            ("initialize", hello("0" * 64)),
            ("initialize", hello("é")),
            ("initialize", {"capabilities": {}}),
            ("daemon/status", {}),
            ("daemon/shutdown", {}),
        ):
            bad = over_tcp(home, where)
            with pytest.raises(RpcFailure) as refused:
                bad.call(method, params)
            assert refused.value.kind == "Unauthorized"
            with pytest.raises(ConnectionLost):
                bad.call("daemon/status")
            bad.close()

        for raw in (
            b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
            b"GET / HTTP/1.1\r\n\r\n",
            b"Content-Length: 2000000\r\n\r\n",
            b"Content-Length: 3\r\n\r\nno!",
        ):
            with socket.create_connection(where, timeout=10) as web:
                web.sendall(raw)
                heard = b""
                while data := web.recv(65536):
                    heard += data
            assert b'"error"' in heard
        assert home.status()["version"]


def test_a_token_that_others_can_read_is_refused(home: Home) -> None:
    place = home.place
    home.status()
    home.run("stop")
    Path(place.token).write_text("0" * 64, "ascii")
    os.chmod(place.token, 0o644)
    assert "Others can read" in home.run("serve", "--tcp", "0", code=1).stderr


ACTIVATE = """
import os, socket, sys
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[1])
listening.listen()
os.dup2(listening.fileno(), 3)
os.set_inheritable(3, True)
os.environ["LISTEN_FDS"] = "1"
os.environ["LISTEN_PID"] = str(os.getpid())
print("listening", flush=True)
program = [sys.executable, "-m", "pisessiond", "serve", "--foreground"]
os.execv(sys.executable, program + sys.argv[2:])
"""


def test_a_service_manager_may_make_the_socket(home: Home) -> None:
    place = home.place
    os.makedirs(place.folder, mode=0o700)
    command = [sys.executable, "-c", ACTIVATE, place.own_socket, "--idle", "1"]
    with subprocess.Popen(
        command,
        env=home.environment,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "listening\n"
            # Connected before the daemon is up: it waits in the manager's queue.
            assert home.status()["pid"] == process.pid
            _, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert process.returncode == 0
    assert "stopping: idle" in err
    # It is the manager's: left where it is.
    assert os.path.exists(place.own_socket)


def test_a_socket_unit_that_clients_would_not_find_is_named(home: Home) -> None:
    other = str(home.folder / "other")
    done = subprocess.run(
        [sys.executable, "-c", ACTIVATE, other],
        env=home.environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert done.returncode == 1
    assert f"but clients look at {home.place.own_socket}" in done.stderr


def test_six_hundred_comings_and_goings_leave_nothing_behind(home: Home) -> None:
    pid = home.status()["pid"]
    path = home.place.own_socket

    def come_and_go(times: int) -> None:
        for _ in range(times):
            with blocking.connect(path) as client:
                client.sessions(limit=1)

    def open_files() -> int:
        return len(os.listdir(f"/proc/{pid}/fd"))

    # The folders of sessions are watched a moment after the start.
    wait_until(lambda: "anon_inode:inotify" in map(os.readlink, glob(f"/proc/{pid}/fd/*")))
    come_and_go(100)
    wait_until(lambda: len(home.status()["clients"]) == 1)
    files, memory = open_files(), home.status()["memory"]["rss"]
    come_and_go(600)
    wait_until(lambda: len(home.status()["clients"]) == 1)
    wait_until(lambda: open_files() <= files, 5)
    grown = (home.status()["memory"]["rss"] - memory) / (1 << 20)
    report("grown by 600 clients", grown, 1, "MB")


def test_foreground_logs_to_standard_error(home: Home) -> None:
    with home.popen("serve", "--foreground", stderr=subprocess.PIPE) as process:
        wait_until(lambda: os.path.exists(home.place.own_socket))
        assert home.status()["log"] is None
        process.terminate()
        _, err = process.communicate(timeout=20)
    assert b"stopping: signal" in err
    assert process.returncode == 0
