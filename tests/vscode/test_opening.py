"""The packed extension in the real workbench: what is there before anybody acts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

import pytest

from tests.daemon import homes
from tests.nvim.conversations import login_fix
from tests.nvim.editor import project
from tests.vscode.window import Window
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.slow

_COLOUR: Final = """
(name) => {
  const probe = document.createElement('span');
  probe.style.color = `var(--vscode-${name.replaceAll('.', '-')})`;
  document.querySelector('.monaco-workbench').append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}
"""


@pytest.fixture(scope="module")
def desk(home: homes.Home, workbench: Workbench) -> Iterator[Window]:
    """A window with the telling session in it, for tests that only look."""
    cwd = project(home, "opening")
    login_fix(cwd).write(home.agent)
    window = workbench.window(cwd).opens()
    # The sizes of the rows come a little behind them.
    window.sees("you are here.* 42$")
    yield window
    workbench.forget(window)


def test_the_newest_session_of_the_folder_is_shown_from_the_leaf(desk: Window) -> None:
    rows = desk.rows()
    assert rows[0].text == "126 entries summarised 13:29 · 166k 83"
    assert rows[-2].text == "Done: 4 files changed, all tests pass 14:33 42"
    assert rows[-1].name.startswith("You are here. Context 84 thousand tokens, 42 percent")
    assert desk.header() == "Branch Tree login-fix · 42%"
    assert desk.status() == "pi ▰▰▱▱▱ 42%"
    assert desk.sees("login-fix", "Sessions").name.startswith("Open here.")
    assert desk.notifications() == []
    assert desk.tabs() == []


def test_a_badge_says_the_percent_in_a_colour_of_the_theme(desk: Window) -> None:
    def colour(name: str) -> str:
        found: str = desk.ask(_COLOUR, name)
        return found

    colours = {
        "126 entries summarised": ("83", "list.warningForeground"),
        "Labels now survive": ("93", "list.errorForeground"),
        "Try freezing the clock": ("44", "sideBar.foreground"),
        "Done: 4 files changed": ("42", "sideBar.foreground"),
    }
    for title, (badge, theme) in colours.items():
        row = desk.sees(title)
        assert (row.badge, row.colour) == (badge, colour(theme)), title
    assert len({colour(theme) for _, theme in colours.values()}) == 3


def test_commands_are_offered_where_they_apply(desk: Window) -> None:
    header = desk.pane().locator(".pane-header .action-label")
    buttons = [one.get_attribute("aria-label") or "" for one in header.all()]
    assert any(button.startswith("Compact…") for button in buttons)
    # Nothing runs that could be cancelled.
    assert not any(button.startswith("Cancel") for button in buttons)
    assert "pi Sessions: Compact…" in desk.commands("Compact")
    # Nothing was done that could be undone; VS Code's own command of this name is there.
    assert "pi Sessions: Undo Last Act" not in desk.commands("Undo")
    # What is for keys and clicks alone.
    offered = desk.commands("Out of the Context")
    assert "pi Sessions: Take Out of the Context" in offered
    assert "pi Sessions: Out of the Context and Back" not in offered
    offered = desk.commands("pi Sessions: Reveal")
    assert "pi Sessions: Reveal Where You Are" in offered
    assert "pi Sessions: Reveal in Branch Tree" not in offered
    answer = desk.row_menu("Done: 4 files")
    assert "Take Out of the Context" in answer
    assert "Navigate Here…" in answer
    assert "Put Back into the Context" not in answer
    # What only says where one is can be shown and compared, but is no entry to act on.
    assert desk.row_menu("126 entries") != answer


def test_settings_count_at_once(desk: Window, home: homes.Home) -> None:
    path = home.folder / "opening" / ".vscode" / "settings.json"
    path.parent.mkdir()
    own = {"pisessiond.thresholds": [10, 20], "explorer.decorations.badges": False}
    path.write_text(json.dumps(own), "utf-8")
    desk.until(lambda: desk.status().endswith("42% compact?"), "the user's own thresholds")
    row = desk.sees("Done: 4 files changed.* 42%")
    assert row.badge == ""
    path.write_text("{}", "utf-8")
    desk.until(lambda: desk.status() == "pi ▰▰▱▱▱ 42%", "those of all clients")
    assert desk.sees("Done: 4 files changed.* 42$").badge == "42"


def test_folds_outlive_a_reload_of_the_window(desk: Window) -> None:
    desk.fold("^Alternative: Try freezing")
    desk.sees("^You: Try freezing")
    desk.reload()
    desk.opens()
    desk.sees("^You: Try freezing")
    assert desk.sees("^Alternative: Try freezing").expanded is True
