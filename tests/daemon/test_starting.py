"""Finding and starting: one daemon, whoever comes, whenever, from whatever environment."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import pytest

from pisessiond.client import address
from pisessiond.client.starting import reach_daemon, try_connect
from tests.daemon.homes import ROOT, Home, report, wait_until

pytestmark = pytest.mark.slow

CLIENTS = 16
ROUNDS = 50

CLIENT = """
import json, os, sys
from pisessiond.client.blocking_connection import BlockingConnection
from pisessiond.client.starting import reach_daemon

for line in sys.stdin:
    os.environ["PISESSIOND_HOME"] = line.strip()
    print("here", flush=True)
    sys.stdin.readline()
    client = BlockingConnection(reach_daemon())
    print(json.dumps(client.call("daemon/status")["pid"]), flush=True)
    sys.stdin.readline()
    client.close()
"""


class Crowd:
    """Clients that wait for one word and then all come at once."""

    def __init__(self, home: Home) -> None:
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-c", CLIENT],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=home.environment,
                cwd=ROOT,
                text=True,
            )
            for _ in range(CLIENTS)
        ]

    def say(self, word: str) -> None:
        for one in self._processes:
            stdin = cast("IO[str]", one.stdin)
            stdin.write(word + "\n")
            stdin.flush()

    def hear(self) -> list[str]:
        return [cast("IO[str]", one.stdout).readline().strip() for one in self._processes]

    def close(self) -> None:
        for one in self._processes:
            one.kill()
            one.communicate()


@pytest.mark.timeout(300)
def test_sixteen_clients_at_once_meet_one_daemon(home: Home) -> None:
    crowd = Crowd(home)
    began = time.monotonic()
    longest = 0.0
    try:
        for number in range(ROUNDS):
            state = home.folder / f"r{number}"
            if number % 2:
                leave_dead_socket(home, state)
            crowd.say(str(state))
            assert set(crowd.hear()) == {"here"}
            start = time.monotonic()
            crowd.say("go")
            pids = set(crowd.hear())
            longest = max(longest, time.monotonic() - start)
            assert len(pids) == 1
            (log,) = state.glob("*/log")
            # Nobody else ever listened, and nobody else was even started.
            assert log.read_text("utf-8").count("listening") == 1
            os.kill(int(pids.pop()), signal.SIGKILL)
            crowd.say("next")
            shutil.rmtree(state)
    finally:
        crowd.close()
    print(f"\n{ROUNDS} rounds of {CLIENTS} clients: {time.monotonic() - began:.1f} s")
    report("slowest round", longest, 2.0)


def leave_dead_socket(home: Home, state: Path) -> None:
    environment = home.environment | {"PISESSIOND_HOME": str(state)}
    code = (
        "import socket; from pisessiond.client.address import *;"
        "place = find_place(); make_place(place);"
        "socket.socket(socket.AF_UNIX).bind(place.own_socket)"
    )
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=ROOT, check=True)
    (dead,) = state.glob("*/socket")
    assert dead.is_socket()


def test_a_daemon_outlives_who_started_it_and_has_nothing_of_theirs(home: Home) -> None:
    status = home.status()
    (daemon,) = home.daemons()
    assert daemon.pid == status["pid"]
    assert daemon.cwd() == "/"
    assert os.getsid(daemon.pid) != os.getsid(0)
    files = {os.readlink(f"/proc/{daemon.pid}/fd/{number}") for number in range(3)}
    assert files == {"/dev/null"}
    assert os.stat(status["log"]).st_mode & 0o777 == 0o600
    assert os.stat(status["address"]).st_mode & 0o777 == 0o600
    assert os.stat(home.place.folder).st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mask", [0o000, 0o777])
def test_the_state_folder_is_private_under_any_umask(home: Home, mask: int) -> None:
    home.run("status", umask=mask)
    for path in (home.state, Path(home.place.folder)):
        assert path.stat().st_mode & 0o777 == 0o700
    for path in Path(home.place.folder).iterdir():
        assert path.stat().st_mode & 0o777 == 0o600, path
    home.run("stop")


def test_a_second_serve_says_that_one_is_running(home: Home) -> None:
    pid = home.status()["pid"]
    assert home.run("serve").stdout == "pisessiond: already running\n"
    assert home.status()["pid"] == pid


def test_a_second_serve_while_the_first_is_stopped_or_its_socket_is_gone(home: Home) -> None:
    status = home.status()
    pid = status["pid"]
    with stopped(pid):
        assert "already running" in home.run("serve").stdout
        os.unlink(status["address"])
        began = time.monotonic()
        assert "already running" in home.run("serve").stdout
        report("already running, stopped and without a socket", time.monotonic() - began, 2.0)
        said = home.run("stop", code=2).stderr
        assert f"kill -CONT {pid}" in said
        found = home.run("doctor", code=1).stdout
        assert f"TROUBLE daemon: process {pid} lives and does not listen" in found
    assert [one.pid for one in home.daemons()] == [pid]
    # It makes the socket again, and clients that come meanwhile wait for that.
    assert home.status()["pid"] == pid
    os.unlink(status["address"])
    assert home.run("stop").stdout == "the daemon is stopped\n"
    wait_until(lambda: not home.daemons(), 2)
    assert home.run("stop").stdout == "no daemon is running\n"


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def test_clients_of_the_old_socket_stay_when_it_is_made_again(home: Home) -> None:
    status = home.status()
    with socket.socket(socket.AF_UNIX) as early:
        early.connect(status["address"])
        os.unlink(status["address"])
        wait_until(lambda: os.path.exists(status["address"]))
        ask = b'{"jsonrpc":"2.0","id":1,"method":"daemon/status"}'
        early.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(ask), ask))
        assert early.recv(16) == b"Content-Length: "
    assert home.status()["pid"] == status["pid"]


def test_a_stale_or_foreign_record_stands_in_nobodys_way(home: Home) -> None:
    pid = home.status()["pid"]
    os.kill(pid, signal.SIGKILL)
    place = home.place
    for record in (
        json.dumps({"pid": os.getpid(), "host": os.uname().nodename}),
        json.dumps({"pid": 1, "host": "elsewhere", "bootId": "x"}),
        "nonsense",
    ):
        Path(place.record).write_text(record, "utf-8")
        Path(place.life_lock).write_text("stopping\n", "utf-8")
        os.kill(home.status()["pid"], signal.SIGKILL)


def test_clients_of_other_environments_meet_the_same_daemon(home: Home) -> None:
    pid = home.status()["pid"]
    for change in (
        {"HOME": str(home.folder)},
        {"TMPDIR": str(home.folder), "XDG_RUNTIME_DIR": str(home.folder)},
        {"XDG_STATE_HOME": "/nonexistent", "XDG_DATA_HOME": "/nonexistent"},
        {"PI_CODING_AGENT_DIR": f"{home.agent}/../agent/"},
    ):
        told = home.run("status", "--json", env=home.environment | change).stdout
        assert json.loads(told)["pid"] == pid
    elsewhere = home.environment | {"PI_CODING_AGENT_DIR": str(home.folder / "other")}
    told = home.run("status", "--json", env=elsewhere).stdout
    assert json.loads(told)["pid"] != pid


def test_without_any_variable_the_address_comes_from_the_password_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("PISESSIOND_HOME", "PI_CODING_AGENT_DIR"):
        monkeypatch.delenv(name, raising=False)
    before = address.find_place()
    for name in ("HOME", "TMPDIR", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, "/nonexistent")
    assert address.find_place() == before
    assert before.folder.startswith(f"{address.home_folder()}/.local/state/pisessiond/")


def no_folder(home: Home) -> None:
    home.state.touch()


def link(home: Home) -> None:
    (home.folder / "real").mkdir(mode=0o700)
    home.state.symlink_to(home.folder / "real")


def open_to_all(home: Home) -> None:
    home.state.mkdir()
    home.state.chmod(0o777)


def foreign(home: Home) -> None:
    if os.getuid() != 0:
        pytest.skip("only root can make a folder someone else's")
    home.state.mkdir()
    os.chown(home.state, 12345, 12345)


def too_long(home: Home) -> None:
    home.environment["PISESSIOND_HOME"] = str(home.folder / ("x" * 100))


def no_socket(home: Home) -> None:
    place = home.place
    address.make_place(place)
    Path(place.own_socket).mkdir()


def bad_address(home: Home) -> None:
    place = home.place
    address.make_place(place)
    Path(place.address_file).write_text("relative/path", "utf-8")


def broken_program(home: Home) -> None:
    # Whatever keeps the daemon's own imports from working, such as half an upgrade.
    broken = home.folder / "broken"
    (broken / "anyio").mkdir(parents=True)
    (broken / "anyio" / "__init__.py").write_text("raise ImportError('half an upgrade')", "utf-8")
    home.environment["PYTHONPATH"] = f"{broken}:{ROOT}"


@pytest.mark.parametrize(
    ("breaks", "cause"),
    [
        (no_folder, "no folder"),
        (link, "is a symbolic link"),
        (open_to_all, "others may write into"),
        (foreign, "belongs to user 12345"),
        (too_long, "over 103 bytes long"),
        (no_socket, "no socket"),
        (bad_address, "does not name a socket by its full path"),
        (broken_program, "half an upgrade"),
    ],
)
def test_a_broken_set_up_names_its_cause(home: Home, breaks: object, cause: str) -> None:
    breaks(home)  # type: ignore[operator]
    began = time.monotonic()
    done = home.run("status", code=2)
    report("the cause was named after", time.monotonic() - began, 2.0)
    assert cause in done.stderr
    assert len(done.stderr.splitlines()) == 1
    if breaks is not broken_program:
        assert home.run("doctor", code=1).stdout.count("TROUBLE") == 1
    assert home.daemons() == []


def test_a_state_folder_of_ours_that_may_not_be_written_is_named(home: Home) -> None:
    home.state.mkdir(mode=0o500)
    home.state.chmod(0o500)
    home.agent.parent.chmod(0o777)
    command = home.command("status")
    if os.getuid() == 0:
        os.chown(home.state, 12345, 12345)
        command = ["setpriv", "--reuid=12345", "--clear-groups", *command]
        if not can_run_as_other_user(home):
            pytest.skip("the program cannot be read by another user here")
    done = subprocess.run(
        command, env=home.environment, capture_output=True, text=True, check=False, timeout=30
    )
    assert done.returncode == 2
    assert "you may not write there" in done.stderr


def can_run_as_other_user(home: Home) -> bool:
    done = subprocess.run(
        ["setpriv", "--reuid=12345", "--clear-groups", *home.command("--version")],
        env=home.environment,
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


def test_a_checkout_that_is_run_where_it_lies_starts_itself(home: Home) -> None:
    del home.environment["PYTHONPATH"]
    for extra in ({}, {"PYTHONPATH": "."}):
        home.run("status", env=home.environment | extra)
        (daemon,) = home.daemons()
        paths = daemon.environ()["PYTHONPATH"].split(os.pathsep)
        assert str(ROOT) in paths
        assert all(os.path.isabs(path) for path in paths)
        home.run("stop")


def test_a_taken_port_is_named(home: Home) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = home.run("serve", "--tcp", str(port), code=1)
    assert f"TCP port {port} cannot be served: another program has it" in done.stderr


ANOTHER_USER = """
import os, socket, sys
os.setuid(12345)
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
try:
    ask = b'{"jsonrpc":"2.0","id":1,"method":"daemon/status"}'
    client.sendall(b"Content-Length: %d\\r\\n\\r\\n%b" % (len(ask), ask))
    print("heard", client.recv(100))
except ConnectionError:
    print("heard", b"")
"""


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_another_user_is_closed_at_once(home: Home) -> None:
    status = home.status()
    # As if someone had opened the way by hand; the daemon itself still looks who comes.
    for path in (home.folder, home.state, Path(home.place.folder)):
        path.chmod(0o755)
    os.chmod(status["address"], 0o777)
    done = subprocess.run(
        [sys.executable, "-c", ANOTHER_USER, status["address"]],
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert done.stdout == "heard b''\n"
    assert "a connection of user 12345 was closed" in Path(status["log"]).read_text("utf-8")


def test_an_address_file_names_another_place_for_the_socket(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PISESSIOND_HOME", "PI_CODING_AGENT_DIR", "PYTHONPATH"):
        monkeypatch.setenv(name, home.environment[name])
    place = home.place
    address.make_place(place)
    other = home.folder / "elsewhere"
    other.mkdir(mode=0o700)
    Path(place.address_file).write_text(f"{other}/s\n", "utf-8")
    with reach_daemon(place):
        pass
    assert (other / "s").is_socket()
    connection = try_connect(str(other / "s"))
    assert connection is not None
    connection.close()
