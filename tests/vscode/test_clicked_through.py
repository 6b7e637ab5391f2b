"""A person at the real workbench: rows are clicked, keys are pressed, and the file is looked at."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from tests.daemon.homes import Home
from tests.nvim.conversations import Talk, login_fix, short_talk
from tests.nvim.editor import project, write_settings
from tests.vscode.timings import timed
from tests.vscode.window import Window
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.slow

NAMES: Final = count(1)
SUMMARY: Final = "It was so. And so."
"""What the program says that writes summaries."""


@pytest.fixture(scope="module")
def desk(home: Home, workbench: Workbench) -> Window:
    """The one window of these tests, with the views open."""
    folder = project(home, "clicks")
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


def shown(window: Window, home: Home, talk: Talk) -> Session:
    """Writes a session, and opens it as a person does who knows its name."""
    name = f"{talk.header['id']}-{next(NAMES):02}"
    talk.header["id"] = name
    talk.add("session_info", name=name)
    # A label that tells its rows from those of the session before it.
    marked = [one["id"] for one in talk.entries if one["type"] == "compaction"]
    talk.add("label", targetId=marked[0], label=name)
    path = talk.write(home.agent)
    window.palette("Open Session…")
    window.input().fill(name)
    window.until(lambda: [pick.label for pick in window.picks()] == [name], name)
    with timed("choosing a session to its rows"):
        window.pick(f"^{name}")
        window.sees(rf"^\[{name}\] Compaction")
    window.until(lambda: window.sees("^You are here").selected, "a selected leaf")
    return Session(path)


@pytest.fixture
def session(desk: Window, home: Home) -> Session:
    """The session of the pictures."""
    return shown(desk, home, login_fix(home.folder / "clicks"))


@pytest.fixture(autouse=True)
def clean(desk: Window) -> Iterator[None]:
    """Leaves no editor and no pop-up for the next test."""
    yield
    desk.key("Escape")
    if desk.notifications():
        desk.palette("Notifications: Clear All Notifications")
    if desk.tabs():
        desk.key("Control+k", "Control+w")
        desk.until(lambda: has_no_editors(desk), "the end of all editors")


def has_no_editors(window: Window) -> bool:
    """Whether all are closed; a draft that is asked about is thrown away."""
    discard = window.page.locator(".monaco-dialog-box .monaco-button", has_text="Don't Save")
    if discard.count():
        discard.click()
    return not window.tabs()


def test_a_click_shows_the_entry_and_moves_nothing(desk: Window, session: Session) -> None:
    before = session.path.read_bytes()
    with timed("click on a row to its text"):
        desk.select("^Answer: Done: 4 files")
        desk.shows_text("Done: 4 files changed, all tests pass")
    # The rows keep the keyboard: Down goes on among them.
    desk.key("ArrowUp", "Enter")
    desk.sees("2 steps")
    assert desk.sees("^You are here").description == "84k of 200k"
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
    with timed("navigate to the row that says where one is"):
        desk.pick("^here")
        desk.sees("Ahead of where you are")
    assert desk.sees("^You are here").description == "74k of 200k"
    assert desk.sees("^You are here").selected
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
    assert told[-2:] == ["goal", None]


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
    desk.sees("2 steps.* out of context")
    desk.key("Delete")
    desk.loses("out of context")
    desk.row_menu("^Answer: Done: 4 files", "Take Out of the Context")
    desk.sees("^Done: 4 files.* out of context")
    desk.row_menu("^Answer: Done: 4 files", "Put Back into the Context")
    desk.loses("out of context")


def test_undo_takes_back_a_move(desk: Window, session: Session) -> None:
    desk.select("^Answer: Labels now survive")
    desk.key("Control+Enter")
    desk.pick("^here")
    desk.sees("Ahead of where you are")
    desk.row("^You are here").first.click()
    desk.key("Control+z")
    desk.loses("Ahead of where you are")
    assert desk.sees("^You are here").description == "84k of 200k"


def test_a_dry_run_writes_nothing_until_it_is_told_to(desk: Window, session: Session) -> None:
    before = session.path.read_bytes()
    with timed("compact to its dry run"):
        desk.title_action("Compact")
        text = desk.shows_text("now .*84k 42%")
    assert "after  ▰▱▱▱▱▱▱▱▱│ ~24k ~12% and the summary, at most" in text
    assert "summarised, 27 entries, 13:30–13:52" in text
    assert "── cut, inside a turn: its beginning is summarised apart ──" in text
    assert "Compact login-fix" in desk.question()
    desk.sees("── cut ──")
    labels = [row.label for row in desk.rows()]
    cut = labels.index("── cut ──")
    assert labels[cut - 1].startswith("14 steps")
    assert labels[cut + 1].startswith("The fixture's clock")
    # The list that asks does not cover the figures.
    asked = desk.page.locator(".quick-input-widget").bounding_box()
    figures = desk.page.locator(".view-line", has_text="now").first.bounding_box()
    assert asked is not None
    assert figures is not None
    assert asked["y"] + asked["height"] <= figures["y"] + 1
    desk.key("Escape")
    desk.until(lambda: not desk.is_asked())
    desk.loses("── cut ──")
    assert session.path.read_bytes() == before
    desk.title_action("Compact")
    desk.picks()
    with timed("compact with a program to the row of the compaction"):
        desk.pick("^Compactby mine")
        desk.sees("^Compaction 84k")
    assert SUMMARY in session.entries("compaction")[-1]["summary"]
    assert "(was 42%)" in desk.until(desk.status)


def test_a_reviewed_summary_is_stored_as_it_was_changed(desk: Window, session: Session) -> None:
    desk.title_action("Compact")
    desk.picks()
    desk.pick("^Review")
    desk.shows_text("It was so")
    assert len(session.entries("compaction")) == 1
    desk.key("Control+Home")
    desk.types("As I say. ")
    desk.key("Control+Enter")
    desk.sees("^Compaction 84k")
    assert session.entries("compaction")[-1]["summary"].startswith("As I say. It was so.")


def test_a_review_that_is_left_changes_nothing(desk: Window, session: Session) -> None:
    before = session.path.read_bytes()
    desk.title_action("Compact")
    desk.picks()
    desk.pick("^Review")
    desk.shows_text("It was so")
    desk.types("Not this. ")
    desk.palette("View: Close Editor")
    desk.until(lambda: desk.tabs() == ["Compaction, dry run"], "the end of the review")
    assert session.path.read_bytes() == before


def test_a_summary_is_made_without_a_model_where_nobody_is_set_up(
    desk: Window, session: Session, home: Home
) -> None:
    told = (home.state / "config.toml").read_text("utf-8")
    write_settings(home)
    try:
        desk.title_action("Compact")
        desk.picks()
        desk.pick("^Compact with an extract")
        desk.sees("^Compaction 84k")
    finally:
        (home.state / "config.toml").write_text(told, "utf-8")
    summary = session.entries("compaction")[-1]["summary"]
    assert "Fix the login test that fails on CI" in summary


def test_a_fork_is_made_here_and_listed_under_its_session(
    desk: Window, session: Session, home: Home
) -> None:
    desk.row_menu("^You: Use an injected clock", "Fork from Here")
    desk.press("The new session is made", "Open Here")
    desk.loses("^You: Use an injected clock")
    assert desk.sees("^You are here").description == "74k of 200k"
    desk.shows_text("^Use an injected clock instead$")
    # It is listed before it is known what it was forked from.
    desk.until(lambda: desk.sees("^Open here", "Sessions").level == 2, "its place")
    fork = desk.sees("^Open here", "Sessions")
    assert 'at "The fixture' in fork.description
    desk.palette("Open Session…")
    desk.input().fill(session.path.stem.split("_")[1])
    desk.pick("^login-fix")
    desk.sees("1 fork made here")


def test_a_branch_is_compared_with_the_leaf_in_the_diff_editor(
    desk: Window, session: Session
) -> None:
    desk.row_menu("^Alternative: Patch time.time", "Compare with the Leaf")
    with timed("compare to the diff editor"):
        desk.until(lambda: "active branch ↔ green" in desk.tabs(), "the diff")
        desk.shows_text("Use an injected clock instead", 0)
        desk.shows_text("Patch time.time in the test only", 1)
    desk.page.locator(".tabs-container .tab", has_text="Compared").click()
    text = desk.shows_text("(?m)^entries")
    assert "A  active branch               B  green" in text
    assert "files, one only   src/clock.py                   tests/test_login.py" in text


def test_two_selected_rows_are_compared(desk: Window, session: Session) -> None:
    desk.select("^Alternative: Try freezing")
    desk.row("^Alternative: Patch").first.click(modifiers=["Control"])
    desk.row_menu("^Alternative: Patch", "Compare")
    diff = "Try freezing the clock with time-machin… ↔ green"
    desk.until(lambda: diff in desk.tabs(), "the diff")


def test_several_rows_go_out_of_the_context_and_back_at_once(
    desk: Window, session: Session
) -> None:
    desk.select("^You: Use an injected clock")
    desk.row("^Answer: Done: 4 files").first.click(modifiers=["Control"])
    desk.key("Delete")
    desk.sees("^Done: 4 files.* out of context")
    desk.sees("^Use an injected.* out of context")
    desk.key("Control+z")
    desk.loses("out of context")


def test_every_row_says_its_sentences(desk: Window, session: Session) -> None:
    tree = desk.page.context.new_cdp_session(desk.page).send("Accessibility.getFullAXTree")
    names = [
        node["name"]["value"]
        for node in tree["nodes"]
        if node.get("role", {}).get("value") == "treeitem"
    ]
    assert (
        "You: Use an injected clock instead. On the active branch. "
        "Context 74 thousand tokens, 37 percent, measured. 14:31." in names
    )
    assert "You are here. Context 84 thousand tokens, 42 percent, measured." in names
    assert (
        "Alternative: Patch time.time in the test only · 6. Label green. Closed. "
        "On another branch. Context 79 thousand tokens, 40 percent, measured. 14:25." in names
    )
    assert desk.status_spoken() == "pi context 42 percent used, measured"
