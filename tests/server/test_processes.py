"""Whether a process still lives, told by its number and when it began."""

import os
import subprocess
import sys

import pytest

from pisessiond.protocol.pi_models import PiProcess
from pisessiond.server.pi_conversion import process
from pisessiond.server.processes import began_at, is_running


def began(pid: int) -> float:
    found = began_at(pid)
    assert found is not None
    return found


def test_this_process_lives() -> None:
    assert is_running(os.getpid(), began(os.getpid()))


def test_a_later_process_of_the_same_number_is_another_one() -> None:
    assert not is_running(os.getpid(), began(os.getpid()) - 100.0)


def test_one_that_has_ended_and_was_not_noticed_does_not_live() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        started = began(child.pid)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert not is_running(child.pid, started)
    assert not is_running(child.pid, started)


@pytest.mark.parametrize("pid", [0, -1, 10**9, 10**40])
def test_numbers_that_no_process_has(pid: int) -> None:
    assert not is_running(pid, 0.0)


def test_when_a_pi_began_is_not_told_by_a_clock_that_may_be_set() -> None:
    pid = os.getpid()
    said = [
        PiProcess(pid=pid, started=at, mode="tui", has_ui=True, version="1.6.0", drive=True)
        for at in (1_000, 1_796_000_000.5)
    ]
    assert [process(one, pid).started for one in said] == [began(pid)] * 2
