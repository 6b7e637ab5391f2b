"""A daemon that is killed while a program writes leaves neither program nor folder behind."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from pisessiond.summarizers.watcher import Watcher

HOST = """
import os, sys
import anyio
from pisessiond.summarizers.process import Program, run_program
program = Program("mine", sys.argv[1:], dict(os.environ), 60.0, 1 << 20)
anyio.run(run_program, program, b"long " * 100_000, lambda piece: os.write(1, piece) < 0)
"""
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "60"], stdout=subprocess.DEVNULL)
open("left", "w").write("x")
os.write(1, f"{os.getpid()} {child.pid} {os.getcwd()}\\n".encode())
time.sleep(60)
"""


def wait_until(is_so: Callable[[], object]) -> None:
    until = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < until, "it did not come to pass"
        time.sleep(0.01)


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_what_a_killed_daemon_ran_goes_with_it(tmp_path: Path, how: signal.Signals) -> None:
    command = [sys.executable, "-c", HOST, sys.executable, "-S", "-c", STUBBORN]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as host:
        assert host.stdout is not None
        leader, child, folder = host.stdout.readline().decode().split()
        watchers = [one for one in psutil.Process(host.pid).children() if one.pid != int(leader)]
        assert [one.name() for one in watchers] == ["sh"]
        assert Path(folder, "left").exists()
        # SIGTERM ends this host, which takes no notice of it, just as abruptly.
        host.send_signal(how)
        wait_until(lambda: is_gone(int(leader)) and is_gone(int(child)))
        wait_until(lambda: list(tmp_path.iterdir()) == [])
        wait_until(lambda: is_gone(watchers[0].pid))


def test_a_daemon_killed_before_the_program_began_leaves_no_folder(tmp_path: Path) -> None:
    folder = tempfile.mkdtemp(dir=tmp_path)
    watcher = Watcher(folder)
    assert watcher._shell.stdin is not None
    watcher._shell.stdin.close()
    watcher._shell.wait(20)
    assert not Path(folder).exists()
    watcher.end()


def test_a_watcher_that_was_ended_leaves_all_as_it_is(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as program:
        watcher = Watcher(str(tmp_path))
        watcher.guard(program.pid)
        watcher.end()
        assert tmp_path.exists()
        assert program.poll() is None
        program.kill()


def test_a_watcher_that_somebody_killed_does_no_harm(tmp_path: Path) -> None:
    watcher = Watcher(str(tmp_path))
    watcher._shell.kill()
    watcher._shell.wait()
    watcher.guard(os.getpid())
    watcher.end()


def test_signals_to_the_daemons_group_do_not_reach_the_watcher(tmp_path: Path) -> None:
    """Nor to its terminal: it has a session of its own."""
    watcher = Watcher(str(tmp_path))
    assert os.getsid(watcher._shell.pid) == watcher._shell.pid
    watcher.end()
