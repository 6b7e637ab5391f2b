"""The packed extension in the real workbench: it is installed, opened, and shows a session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.homes import Home
from tests.nvim.conversations import login_fix
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.slow


def test_the_newest_session_of_the_folder_is_shown_from_the_leaf(
    home: Home, cwd: Path, workbench: Workbench
) -> None:
    login_fix(cwd).write(home.agent)
    window = workbench.window(cwd).opens()
    window.sees("you are here.* 42$")
    rows = window.rows()
    assert rows[0].text == "126 entries summarised 13:29 · 166k 83"
    assert rows[-2].text == "Done: 4 files changed, all tests pass 14:33 42"
    assert rows[-1].name.startswith("You are here. Context 84 thousand tokens, 42 percent")
    assert window.header() == "Branch Tree login-fix · 42%"
    assert window.status() == "pi ▰▰▱▱▱ 42%"
    assert window.sees("login-fix", "Sessions").name.startswith("Open here.")
    assert window.notifications() == []
    assert window.tabs() == []
