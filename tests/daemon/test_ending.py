"""Ending: by itself when idle, by a signal, by force; and nobody who comes meanwhile is lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pisessiond.client import blocking
from pisessiond.client.address import Place
from pisessiond.client.blocking_connection import BlockingConnection
from pisessiond.client.entries import user_message
from pisessiond.client.errors import ConnectionLost, RpcFailure
from pisessiond.client.starting import reach_daemon
from tests.daemon.homes import Home, report, wait_until
from tests.support.service import answer, user

pytestmark = pytest.mark.slow

ARRIVALS = 200


@pytest.fixture
def at_home(home: Home, monkeypatch: pytest.MonkeyPatch) -> Place:
    """The test itself is a client there."""
    for name in ("PISESSIOND_HOME", "PI_CODING_AGENT_DIR", "PYTHONPATH"):
        monkeypatch.setenv(name, home.environment[name])
    return home.place


def test_an_idle_daemon_ends_and_removes_its_socket(home: Home) -> None:
    with home.popen("serve", "--idle", "0.3") as process:
        assert process.wait(20) == 0
    place = home.place
    assert not os.path.exists(place.own_socket)
    assert "stopping: idle" in Path(place.log).read_text("utf-8")


def test_a_client_or_an_entry_on_no_disk_keeps_it_alive(home: Home, at_home: Place) -> None:
    with home.popen("serve", "--idle", "0.3") as process:
        wait_until(lambda: os.path.exists(at_home.own_socket))
        with blocking.connect() as client:
            time.sleep(1)
            session = client.create("/srv", store="memory")
            session.append(user_message("Only here"))
        time.sleep(1)
        assert process.poll() is None


@pytest.mark.timeout(300)
def test_two_hundred_arrivals_around_the_idle_deadline_get_their_answers(
    home: Home, at_home: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each client comes about when the daemon is leaving: it is served, or finds the next one."""
    idle = 0.1
    monkeypatch.setenv("PISESSIOND_TEST_IDLE", str(idle))

    def arrive(delay: float) -> int:
        time.sleep(delay)
        with blocking.connect(name="arrival") as client:
            return int(client.status()["pid"])

    served: list[int] = []
    with ThreadPoolExecutor(max_workers=4) as clients:
        for number in range(ARRIVALS // 4):
            # From a little before the deadline to a little after it; it is looked at every quarter.
            delays = [idle * (0.9 + 0.5 * ((number * 4 + one) % 20) / 20) for one in range(4)]
            served += clients.map(arrive, delays)
    assert len(served) == ARRIVALS
    print(f"\n{ARRIVALS} arrivals, {len(set(served))} daemons")
    assert len(set(served)) > 1


def test_a_signal_under_load_ends_it_with_answers_for_all(home: Home, at_home: Place) -> None:
    pid = home.status()["pid"]
    path = home.session("load", [user("Hello", "00000000"), answer("Yes?", "00000001", "00000000")])
    outcomes: list[str] = []

    def load(number: int) -> None:
        with blocking.connect(name=f"load {number}") as client:
            session = client.open(path=str(path))
            for count in range(100_000):
                try:
                    session.append(user_message(f"{number} {count}"))
                except (RpcFailure, ConnectionLost) as error:
                    outcomes.append(type(error).__name__)
                    return

    threads = [threading.Thread(target=load, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    before = path.stat().st_size
    wait_until(lambda: path.stat().st_size > before + 10_000)
    began = time.monotonic()
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not home.daemons())
    report("end after SIGTERM under load", time.monotonic() - began, 5.0 / 5)
    for one in threads:
        one.join(20)
    assert len(outcomes) == 4
    assert not os.path.exists(at_home.own_socket)
    lines = path.read_bytes().splitlines()
    assert all(json.loads(line) for line in lines)


def test_it_removes_only_its_own_socket(home: Home, at_home: Place) -> None:
    pid = home.status()["pid"]
    os.unlink(at_home.own_socket)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(at_home.own_socket)
        os.kill(pid, signal.SIGTERM)
        wait_until(lambda: not home.daemons())
        assert os.path.exists(at_home.own_socket)


def test_a_daemon_whose_folder_was_removed_leaves_when_its_clients_have(
    home: Home, at_home: Place
) -> None:
    with blocking.connect(name="old") as old:
        pid = old.status()["pid"]
        shutil.rmtree(home.state)
        time.sleep(1.5)
        assert old.status()["pid"] == pid
        assert home.status()["pid"] != pid
    wait_until(lambda: pid not in [one.pid for one in home.daemons()], 10)


def test_after_a_kill_the_next_call_works(home: Home) -> None:
    longest = 0.0
    for _ in range(5):
        os.kill(home.status()["pid"], signal.SIGKILL)
        began = time.monotonic()
        home.status()
        longest = max(longest, time.monotonic() - began)
    report("the next call after SIGKILL", longest, 3.0)


def test_a_client_that_comes_while_the_old_one_ends_waits_for_the_next(
    home: Home, at_home: Place
) -> None:
    pid = home.status()["pid"]
    # One that takes its time: a client that never reads holds it up for a while.
    with reach_daemon(at_home) as stuck:
        ask = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}'
        stuck.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(ask), ask))
        os.kill(pid, signal.SIGTERM)
        assert home.status()["pid"] != pid


def test_too_many_clients_are_told(home: Home, at_home: Place) -> None:
    home.status()
    clients = [BlockingConnection(reach_daemon(at_home)) for _ in range(257)]
    initialize: dict[str, Any] = {"capabilities": {}}

    def is_let_in() -> bool:
        try:
            with blocking.connect(at_home.own_socket):
                return True
        except RpcFailure:
            return False

    try:
        for one in clients[:256]:
            one.call("initialize", initialize)
        with pytest.raises(RpcFailure, match="256 clients") as refused:
            clients[256].call("initialize", initialize)
        assert refused.value.kind == "Overloaded"
        clients[0].close()
        wait_until(is_let_in)
    finally:
        for one in clients:
            one.close()
