"""What the workbench shows of the extension where it can do less: a folder that is not trusted, and
a machine without the program."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.daemon import homes
from tests.daemon.homes import Home
from tests.nvim.conversations import login_fix
from tests.nvim.editor import project, write_settings
from tests.vscode.conftest import Opens

pytestmark = pytest.mark.slow


@pytest.fixture
def own_home() -> Iterator[Home]:
    with homes.home() as made:
        write_settings(made)
        yield made


def test_in_a_folder_that_is_not_trusted_sessions_are_read_only(
    own_home: Home, start: Opens
) -> None:
    folder = project(own_home, "stranger")
    path = login_fix(folder).write(own_home.agent)
    window = start(home=own_home, is_trusting=False).window(folder)
    window.opens()
    before = path.read_bytes()
    window.select("^You: Use an injected clock")
    window.shows_text("Use an injected clock instead")
    for key in ("Control+Enter", "F2", "Delete"):
        window.key(key)
        window.notified("This folder is not trusted, so that sessions can only be read")
        assert not window.is_asked()
        window.palette("Notifications: Clear All Notifications")
        window.select("^You: Use an injected clock")
    offered = window.commands("Branch")
    assert "pi Sessions: Find Branch…" in offered
    assert "pi Sessions: Clone the Active Branch" not in offered
    assert path.read_bytes() == before


def test_without_the_program_the_view_leads_to_the_walkthrough(
    own_home: Home, start: Opens
) -> None:
    folder = project(own_home, "bare")
    window = start(home=own_home, program=None).window(folder).open_view()
    said = window.until(lambda: window.welcome("Branch Tree"))
    assert said.startswith("pisessiond is not installed.")
    assert "Look Again" in said
    assert window.notifications() == []
    assert window.status() == ""
    window.pane("Branch Tree").locator(".welcome-view .monaco-button").first.click()
    window.page.locator("h2", has_text="See pi's sessions").wait_for()
    # Nobody is bothered by what was not asked for.
    assert [line for line in window.console if "pisessiond.pisession" in line] == []
    assert window.notifications() == []
    assert not own_home.daemons()
