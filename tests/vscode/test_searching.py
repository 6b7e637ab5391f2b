"""Searching a session in the real workbench: hits are walked, and folds are left as they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.homes import Home
from tests.nvim.conversations import login_fix
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.slow


def test_hits_are_walked_in_the_rows_and_folds_close_behind(
    home: Home, cwd: Path, workbench: Workbench
) -> None:
    login_fix(cwd).write(home.agent)
    window = workbench.window(cwd).opens()
    before = [(row.label, row.expanded) for row in window.rows()]
    window.palette("Search in Session…")
    window.answer("time-machine")
    window.until(lambda: " 1 of " in window.header(), "the first hit")
    all_hits = int(window.header().rpartition(" ")[2])
    assert all_hits > 1
    selected = set()
    for at in range(1, all_hits + 1):
        window.until(lambda at=at: f"{at} of {all_hits}" in window.header(), f"hit {at}")  # type: ignore[misc]
        selected |= {row.name for row in window.rows() if row.selected}
        window.key("F3")
    assert len(selected) > 1
    window.until(lambda: f"1 of {all_hits}" in window.header(), "the first hit again")
    assert any(row.expanded for row in window.rows())
    window.key("Escape")
    window.until(lambda: " of " not in window.header(), "the end of the search")
    window.until(
        lambda: [(row.label, row.expanded) for row in window.rows()] == before, "the folds"
    )
    assert window.notifications() == []
    assert window.tabs() == []


def test_in_a_folder_without_sessions_the_view_says_what_to_do(
    cwd: Path, workbench: Workbench
) -> None:
    window = workbench.window(cwd).open_view()
    window.until(lambda: "No pi session in this folder yet." in window.welcome(), "the welcome")
    assert "New Session" in window.welcome()
    window.pane().get_by_role("button", name="New Session").click()
    window.sees("you are here, nothing yet")
    window.row_action("You are here", "Append Message…")
    window.until(window.tabs, "the prompt")
