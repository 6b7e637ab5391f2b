"""Fixtures that every test may ask for."""

import logging
import os
import signal
import tempfile
from collections.abc import Iterator

import pytest

from tests.support.pi import Pi, PiMissing


def pytest_configure() -> None:
    # A run in the background of a script starts with Ctrl-C ignored, and so would all programs
    # that it starts; a handler of ours becomes their default.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Whoever asks the real pi starts a real program, whether or not its author thought of it.
    for item in items:
        if "pi" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    # Figures that were promised to be printed are seen by whoever runs the tests.
    passed = terminalreporter.getreports("passed")
    told = [one.capstdout for one in passed if "figures" in one.keywords and one.capstdout]
    if told:
        terminalreporter.section("figures")
        terminalreporter.write("\n".join(text.strip("\n") for text in told) + "\n")


@pytest.fixture(scope="session", autouse=True)
def state_of_its_own() -> Iterator[None]:
    """No test finds, starts or stops the daemon of whoever runs it."""
    with tempfile.TemporaryDirectory(prefix="pd-") as folder:
        os.environ["PISESSIOND_HOME"] = folder
        yield
        del os.environ["PISESSIOND_HOME"]


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


@pytest.fixture(autouse=True)
def outlived() -> Iterator[list[str]]:
    """What the service logged of faults that a task outlived; a test that wants some clears it.

    Else a subscriber of a test that insists on something would insist in vain.
    """
    log, kept = logging.getLogger("pisessiond.service.faults"), _Kept()
    log.addHandler(kept)
    yield kept.said
    log.removeHandler(kept)
    assert kept.said == []


@pytest.fixture(scope="session")
def pi() -> Iterator[Pi]:
    """The real pi 1.6.0 (and agent-core 0.80.2), one process for the whole run."""
    helper = Pi()
    try:
        helper.start()
    except PiMissing as error:
        pytest.fail(str(error), pytrace=False)
    try:
        yield helper
    finally:
        helper.stop()
