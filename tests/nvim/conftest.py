"""Fixtures of the tests in the real Neovim: a home with a daemon, and editors in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any, Final, Protocol

import pytest

from pisessiond.client import blocking
from pisessiond.client.blocking_session import BlockingSession
from tests.daemon import homes
from tests.nvim.conversations import login_fix
from tests.nvim.editor import Editor, project, write_pi_settings, write_settings

NAMES: Final = count(1)
SUMMARY: Final = "It was so. And so."


class Opens(Protocol):
    """Starts a Neovim; it ends with the test, which fails if an error was shown in it."""

    def __call__(self, **options: Any) -> Editor: ...


class Others(Protocol):
    """Opens a session as another program does, by its path."""

    def __call__(self, path: Path) -> BlockingSession: ...


@pytest.fixture(scope="module")
def home() -> Iterator[homes.Home]:
    """A machine of its own for the tests of a file: an hour's talk is long enough to compact, and
    a program writes the summary once there is a file `go` in the home."""
    with homes.home() as made:
        script = f'cat > /dev/null; while [ ! -e "$0" ]; do sleep 0.02; done; echo {SUMMARY}'
        program = ["sh", "-c", script, str(made.folder / "go")]
        write_settings(
            made,
            f"[summarizer]\nuse = 'mine'\n[summarizers.mine]\nkind = 'command'\n{program=}\n",
        )
        (made.folder / "go").touch()
        write_pi_settings(made, compaction={"keepRecentTokens": 3000})
        yield made
        # A bridge that is about to start a daemon would outlive whoever ends them all.
        homes.wait_until(lambda: len(made.daemons()) == len(made._processes()))


@pytest.fixture
def cwd(home: homes.Home) -> Path:
    """A folder that no other test has, for the editors to stand in."""
    return project(home, f"p{next(NAMES)}")


@pytest.fixture
def start(home: homes.Home, cwd: Path) -> Iterator[Opens]:
    """Starts editors in the folder."""
    editors: list[Editor] = []

    def make(**options: Any) -> Editor:
        editors.append(Editor(options.pop("home", home), options.pop("cwd", cwd), **options))
        return editors[-1]

    try:
        yield make
        for editor in editors:
            wrong = [line for line in editor.messages().splitlines() if _is_error(line)]
            assert not wrong, editor.report()
    finally:
        for editor in editors:
            editor.close()


@pytest.fixture
def path(home: homes.Home, cwd: Path) -> Path:
    """The file of the session of the pictures."""
    return login_fix(cwd).write(home.agent)


@pytest.fixture
def editor(path: Path, start: Opens) -> Editor:
    """That session, with the cursor at the leaf."""
    editor = start(setup={"width": 80}, columns=150, lines=40).opens()
    editor.sees("Use an injected clock", "37%")
    return editor


def _is_error(line: str) -> bool:
    return line.startswith(("Error", "E5108", "stack traceback")) or "attempt to" in line


@pytest.fixture
def other(home: homes.Home) -> Iterator[Others]:
    """A script that acts on the same sessions; the daemon runs when it is first asked for."""
    with ExitStack() as stack:
        clients: list[blocking.BlockingClient] = []

        def connect(path: Path) -> BlockingSession:
            if not clients:
                socket = blocking.connect(home.place.own_socket, name="script")
                clients.append(stack.enter_context(socket))
            return clients[0].open(path=str(path))

        yield connect
