"""Fixtures of the tests in the real VS Code: the packed extension, a home, windows in it."""

from __future__ import annotations

import fcntl
import re
import shutil
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final, Protocol

import pytest

from tests.daemon import homes
from tests.nvim.editor import project, write_pi_settings, write_settings
from tests.vscode import timings
from tests.vscode.window import Window
from tests.vscode.workbench import EXTENSION, PICTURES, ROOT, Workbench

NAMES: Final = count(1)
_GATE: Final = 'cat > /dev/null; while [ ! -e "$0" ]; do sleep 0.02; done; echo It was so. And so.'
WORKBENCHES: Final = pytest.StashKey[list[Workbench]]()


class Opens(Protocol):
    """Starts a workbench; it ends with the test."""

    def __call__(self, **options: Any) -> Workbench: ...


@contextmanager
def building() -> Iterator[None]:
    """Two runs of tests build into one folder; the second waits for the first, and for a setup."""
    with Path(ROOT, ".setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def vsix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The extension as it would be given to somebody."""
    copy = tmp_path_factory.mktemp("vsix") / "pisession.vsix"
    with building():
        done = subprocess.run(
            [EXTENSION / "scripts" / "vsix.sh"], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        shutil.copy(EXTENSION / "dist" / "pisession.vsix", copy)
    return copy


@pytest.fixture(scope="package")
def shared_home() -> Iterator[homes.Home]:
    """A machine for the tests of most files: the model of its sessions has a window, and a program
    writes the summaries while there is a file `go` in the home."""
    with homes.home() as made:
        program = ["sh", "-c", _GATE, str(made.folder / "go")]
        write_settings(
            made,
            f"[summarizer]\nuse = 'mine'\n[summarizers.mine]\nkind = 'command'\n{program=}\n",
        )
        (made.folder / "go").touch()
        write_pi_settings(made, compaction={"keepRecentTokens": 3000})
        yield made


@pytest.fixture(scope="package")
def shared_workbench(shared_home: homes.Home, vsix: Path) -> Iterator[Workbench]:
    """One server and one browser for them; nothing takes as long in these tests as starting both.

    While a browser is driven, no other event loop runs in this thread: no test here has one.
    """
    made = Workbench(shared_home, vsix)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(scope="module")
def home(shared_home: homes.Home) -> homes.Home:
    """The machine of a file's tests; a file may have its own instead."""
    return shared_home


@pytest.fixture(scope="module")
def workbench(
    request: pytest.FixtureRequest, home: homes.Home, shared_home: homes.Home, vsix: Path
) -> Iterator[Workbench]:
    """The workbench of the machine; windows that the tests of a file leave open are closed."""
    if home is shared_home:
        made: Workbench = request.getfixturevalue("shared_workbench")
        yield made
        for window in list(made.windows):
            made.forget(window)
        return
    own = Workbench(home, vsix)
    try:
        yield own
    finally:
        own.close()


@pytest.fixture
def start(request: pytest.FixtureRequest, vsix: Path) -> Iterator[Opens]:
    """Starts workbenches that differ from the shared one, in any home (`home=…`)."""
    made: list[Workbench] = []

    def make(**options: Any) -> Workbench:
        made.append(Workbench(options.pop("home"), options.pop("vsix", vsix), **options))
        request.node.stash.setdefault(WORKBENCHES, []).append(made[-1])
        return made[-1]

    try:
        yield make
    finally:
        for one in made:
            one.close()


@pytest.fixture
def cwd(home: homes.Home) -> Path:
    """A folder that no other test has, for windows to be opened on."""
    return project(home, f"p{next(NAMES)}")


@pytest.fixture
def window(workbench: Workbench, cwd: Path) -> Iterator[Window]:
    """A window on the test's folder; sessions should be written before it is asked for anything."""
    opened = workbench.window(cwd)
    yield opened
    workbench.forget(opened)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keeps pictures of what was in sight when a test failed."""
    report = yield
    if report.failed:
        name = re.sub(r"\W+", "-", item.name)
        for number, window in enumerate(_windows_of(item)):
            path = PICTURES / f"failed-{name}-{number}.png"
            try:
                report.sections.append(("picture", str(window.screenshot(path))))
            except Exception as error:  # noqa: BLE001  # the first failure is the one to tell
                report.sections.append(("no picture", str(error)))
    return report


def _windows_of(item: pytest.Item) -> Iterator[Window]:
    given = getattr(item, "funcargs", {}).values()
    shared = [one for one in given if isinstance(one, Workbench)]
    for bench in [*item.stash.get(WORKBENCHES, []), *shared]:
        yield from bench.windows


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How long a person would have waited, for what."""
    lines = timings.table()
    if lines:
        terminalreporter.section("times in VS Code")
        for line in lines:
            terminalreporter.write_line(line)
