"""A person at the real workbench: rows are clicked, keys are pressed, and the file is looked at."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from tests.daemon import homes
from tests.daemon.homes import Home
from tests.nvim.conversations import Talk, login_fix, short_talk
from tests.nvim.editor import project, write_pi_settings, write_settings
from tests.vscode.timings import timed
from tests.vscode.window import Window
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.slow

NAMES: Final = count(1)
SUMMARY: Final = "It was so. And so."


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    """A machine where a program writes the summaries."""
    with homes.home() as made:
        program = ["sh", "-c", f"cat > /dev/null; echo {SUMMARY}"]
        write_settings(
            made,
            f"[summarizer]\nuse = 'mine'\n[summarizers.mine]\nkind = 'command'\n{program=}\n",
        )
        write_pi_settings(made, compaction={"keepRecentTokens": 3000})
        yield made


@pytest.fixture(scope="module")
def desk(home: Home, workbench: Workbench) -> Window:
    """The one window of these tests, with the views open."""
    folder = project(home, "desk")
    short_talk(folder, "first").write(home.agent)
    return workbench.window(folder).opens()


class Session:
    """A session of its own for a test, shown in the window."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def entries(self, kind: str) -> list[dict[str, Any]]:
        """The entries of a kind, as they stand in the file."""
        lines = map(json.loads, self.path.read_text("utf-8").splitlines())
        return [entry for entry in lines if entry["type"] == kind]


def shown(window: Window, home: Home, talk: Talk, pattern: str) -> Session:
    """Writes a session, and opens it as a person does who knows its name."""
    name = f"{talk.header['id']}-{next(NAMES)}"
    talk.header["id"] = name
    talk.add("session_info", name=name)
    path = talk.write(home.agent)
    window.sees(name, "Sessions")
    with timed("click on a session to its rows"):
        window.row(name, "Sessions").first.click()
        window.until(lambda: name in window.header(), name)
        window.sees(pattern)
    return Session(path)


@pytest.fixture
def session(desk: Window, home: Home) -> Session:
    """The session of the pictures."""
    return shown(desk, home, login_fix(home.folder / "desk"), "Use an injected clock")


@pytest.fixture(autouse=True)
def clean(desk: Window) -> Iterator[None]:
    """Leaves no editor and no pop-up for the next test."""
    yield
    desk.key("Escape")
    desk.palette("Notifications: Clear All Notifications")
    desk.palette("View: Close All Editors")
    desk.until(lambda: not desk.tabs() or desk.page.locator(".monaco-dialog-box").count())
    if desk.tabs():
        desk.press_dialog("Don't Save")
        desk.until(lambda: not desk.tabs(), "the end of all editors")


def test_a_click_shows_the_entry_and_moves_nothing(desk: Window, session: Session) -> None:
    before = session.path.read_bytes()
    with timed("click on a row to its text"):
        desk.select("^Answer: Done: 4 files")
        desk.shows_text("Done: 4 files changed, all tests pass")
    # The rows keep the keyboard: Down goes on among them.
    desk.key("ArrowUp", "Enter")
    desk.sees("2 steps")
    assert desk.sees("[Yy]ou are here").description == "84k of 200k"
    assert session.path.read_bytes() == before


def test_navigating_says_how_first_and_brings_the_text_to_the_prompt(
    desk: Window, session: Session
) -> None:
    desk.select("^You: Use an injected clock")
    desk.key("Control+Enter")
    with timed("Ctrl+Enter to the ways to go"):
        picks = desk.picks()
    assert [pick.label for pick in picks][:1] == ["here"]
    assert "84k 42% → 74k 37%" in picks[0].description
    asked = desk.question()
    print(asked, picks)
    with timed("navigate to the row that says where one is"):
        desk.pick("^here")
        desk.sees("^ahead")
    assert desk.sees("[Yy]ou are here").description == "74k of 200k"
    assert desk.sees("[Yy]ou are here").selected
    desk.shows_text("^Use an injected clock instead$")
    desk.key("Control+End")
    desk.types(" and wind it")
    desk.key("Control+Enter")
    desk.sees("Use an injected clock instead and wind it")
    last = session.entries("message")[-1]["message"]
    assert last["content"][0]["text"] == "Use an injected clock instead and wind it"
    # It is sent; nobody is asked whether to save it.
    desk.until(lambda: not any("Untitled" in tab for tab in desk.tabs()))


def test_f2_labels_and_an_empty_label_clears(desk: Window, session: Session) -> None:
    desk.select("^Answer: Done: 4 files")
    desk.key("F2")
    desk.answer("goal")
    with timed("label to its row"):
        desk.sees(r"^\[goal\] Done: 4 files")
    desk.key("F2")
    assert desk.input().input_value() == "goal"
    desk.answer("")
    desk.loses("goal")
    told = [entry.get("label") for entry in session.entries("label")]
    assert told == ["green", "goal", None]


def test_undo_takes_a_label_back(desk: Window, session: Session) -> None:
    desk.select("^Answer: Done: 4 files")
    desk.key("F2")
    desk.answer("goal")
    desk.sees(r"^\[goal\] Done")
    desk.key("Control+z")
    desk.loses("goal")


def test_delete_takes_out_of_the_context_and_puts_back(desk: Window, session: Session) -> None:
    desk.select("^Work: 2 steps")
    desk.key("Delete")
    desk.sees("2 out of context")
    desk.key("Delete")
    desk.loses("out of context")
    menu = desk.row_menu("^Answer: Done: 4 files", "Take Out of the Context")
    print(menu)
    desk.sees("^Done: 4 files.* out of context")
    desk.row_menu("^Answer: Done: 4 files", "Put Back into the Context")
    desk.loses("out of context")


def test_a_dry_run_draws_the_cut_and_writes_nothing_until_told(
    desk: Window, session: Session
) -> None:
    desk.title_action("Compact")
    desk.shows_text("now .*84k 42%")
    print(desk.text())
    print(desk.question(), desk.picks())
    desk.screenshot(Path("/tmp/vb/hand/compact.png"))
    assert len(session.entries("compaction")) == 1
    desk.pick("^Compact")
    desk.sees("Compaction 84k")
    assert SUMMARY in session.entries("compaction")[-1]["summary"]
