"""Fixtures of the tests in the real Neovim: a home with a daemon, and editors in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.daemon import homes
from tests.nvim.editor import Editor, project, write_settings


class Opens(Protocol):
    """Starts a Neovim; it ends with the test, which fails if an error was shown in it."""

    def __call__(self, **options: Any) -> Editor: ...


@pytest.fixture
def home() -> Iterator[homes.Home]:
    """A machine of its own, with no daemon yet."""
    with homes.home() as made:
        write_settings(made)
        yield made


@pytest.fixture
def cwd(home: homes.Home) -> Path:
    """The folder the editors stand in."""
    return project(home)


@pytest.fixture
def start(home: homes.Home, cwd: Path) -> Iterator[Opens]:
    """Starts editors in the folder."""
    editors: list[Editor] = []

    def make(**options: Any) -> Editor:
        editors.append(Editor(home, options.pop("cwd", cwd), **options))
        return editors[-1]

    try:
        yield make
        for editor in editors:
            wrong = [line for line in editor.messages().splitlines() if _is_error(line)]
            assert not wrong, editor.report()
    finally:
        for editor in editors:
            editor.close()


def _is_error(line: str) -> bool:
    return line.startswith(("Error", "E5108", "stack traceback")) or "attempt to" in line
