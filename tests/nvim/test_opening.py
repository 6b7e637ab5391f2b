"""Opening the sidebar: the first picture, and the states in which there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.homes import Home
from tests.nvim.conftest import Opens
from tests.nvim.conversations import login_fix, short_talk

pytestmark = pytest.mark.slow


def test_the_newest_session_of_the_folder_is_shown_from_the_leaf(
    home: Home, cwd: Path, start: Opens
) -> None:
    login_fix(cwd).write(home.agent)
    editor = start(setup={"width": 80}, columns=140).opens()
    print(editor.screen())
    assert 0
