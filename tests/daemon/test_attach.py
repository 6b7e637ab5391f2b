"""`pisessiond attach`: bytes in and out, through plain pipes, as ssh and docker exec give them."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO, Any, cast

import pytest

from tests.daemon.homes import ROOT, Home, report, wait_until
from tests.server.test_process import bodies, request

pytestmark = pytest.mark.slow

STATUS = request(id=1, method="daemon/status")
INITIALIZE = request(id=1, method="initialize", params={"capabilities": {}})
SHUTDOWN = request(id=2, method="shutdown") + request(method="exit")


def pipes(**named: Any) -> dict[str, Any]:
    return {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **named}


def test_a_remote_shell_gives_it_a_plain_pipe_and_that_is_enough(home: Home) -> None:
    # What `ssh host pisessiond attach` runs on the other side: a shell, no terminal, two pipes.
    command = " ".join(home.command("attach"))
    done = subprocess.run(
        ["sh", "-c", command],
        input=INITIALIZE + SHUTDOWN,
        capture_output=True,
        env=home.environment,
        cwd="/",
        check=False,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert [one["id"] for one in bodies(done.stdout)] == [1, 2]
    assert len(home.daemons()) == 1


def test_what_was_asked_before_the_input_ended_is_answered(home: Home) -> None:
    with home.popen("attach", **pipes()) as process:
        out, err = process.communicate(INITIALIZE + request(id=7, method="session/list"), 30)
    assert (process.returncode, err) == (0, b"")
    assert [one["id"] for one in bodies(out)] == [1, 7]


def test_bytes_pass_untouched_in_both_directions(home: Home) -> None:
    """An echo instead of a daemon: 8 MB of noise come back as they went."""
    noise = random.Random(3).randbytes(8 << 20)
    path = str(home.folder / "echo")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()

        def echo() -> None:
            connection, _ = listening.accept()
            with connection:
                while data := connection.recv(65536):
                    connection.sendall(data)

        thread = threading.Thread(target=echo)
        thread.start()
        with home.popen("attach", "--socket", path, **pipes()) as process:
            out, err = process.communicate(noise, 60)
        thread.join(10)
    assert (process.returncode, err) == (0, b"")
    assert out == noise


def test_it_ends_with_the_daemon_while_its_input_is_open(home: Home) -> None:
    home.status()
    with home.popen("attach", **pipes()) as process:
        stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        stdin.write(INITIALIZE)
        stdin.flush()
        assert stdout.read(1)
        home.run("stop")
        assert process.wait(10) == 0


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_when_the_daemon_is_ended_by_a_signal(home: Home, number: signal.Signals) -> None:
    pid = home.status()["pid"]
    with home.popen("attach", **pipes()) as process:
        stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        stdin.write(INITIALIZE)
        stdin.flush()
        assert stdout.read(1)
        os.kill(pid, number)
        assert process.wait(10) == 0


def test_ctrl_c_ends_it_with_130(home: Home) -> None:
    home.status()
    with home.popen("attach", **pipes()) as process:
        stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        stdin.write(INITIALIZE)
        stdin.flush()
        assert stdout.read(1)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
        assert cast("IO[bytes]", process.stderr).read() == b""


def test_an_editor_that_closes_both_ends_leaves_nothing_behind(home: Home) -> None:
    home.status()
    with home.popen("attach", **pipes()) as process:
        stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        stdin.write(INITIALIZE)
        stdin.flush()
        assert stdout.read(1)
        stdout.close()
        stdin.close()
        assert process.wait(10) == 0
    wait_until(lambda: len(home.status()["clients"]) == 1, 5)


def test_without_a_daemon_it_says_why_and_exits_with_2(home: Home) -> None:
    home.state.touch()
    done = home.run("attach", code=2)
    assert done.stdout == ""
    assert done.stderr.startswith("pisessiond: the state folder")
    done = home.run("attach", "--socket", "/nonexistent/socket", code=2)
    assert "no daemon listens on" in done.stderr
    assert "does not take --nonsense" in home.run("attach", "--nonsense", code=2).stderr
    assert "Usage" in home.run("attach", "--help").stdout
    assert "attach" in home.run("--help").stdout


def test_it_starts_in_a_moment_and_imports_next_to_nothing(home: Home) -> None:
    home.status()

    def once(*arguments: str) -> float:
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, *arguments],
            input=STATUS,
            capture_output=True,
            env=home.environment,
            cwd=ROOT,
            check=True,
            timeout=30,
        )
        assert not done.stderr
        return time.monotonic() - began

    nothing = statistics.median(once("-c", "pass") for _ in range(9))
    whole = statistics.median(once("-m", "pisessiond", "attach") for _ in range(9))
    report("attach, from start to its end with one answer", whole * 1000, 80, "ms")
    report("of that beyond a Python that does nothing", (whole - nothing) * 1000, 80, "ms")

    code = (
        "import sys; from pisessiond.cli.attach import attach; attach(['--socket', sys.argv[1]]);"
        "print(sorted({name.split('.')[0] for name in sys.modules}), file=sys.stderr);"
        "print([n for n in sys.modules if n.startswith('pisessiond.server')], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, home.place.own_socket],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=home.environment,
        check=True,
    )
    loaded, server = done.stderr.splitlines()
    for slow in ("click", "pydantic", "anyio", "asyncio", "msgspec", "subprocess", "pygls"):
        assert f"'{slow}'" not in loaded
    assert server == "[]"


def test_two_bridges_share_one_daemon(home: Home) -> None:
    with home.popen("attach", **pipes()) as one, home.popen("attach", **pipes()) as other:
        for process in (one, other):
            stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
            stdin.write(INITIALIZE)
            stdin.flush()
            assert stdout.read(1)
        assert len(home.status()["clients"]) == 3
    assert json.loads(Path(home.place.record).read_text("utf-8"))["build"]
