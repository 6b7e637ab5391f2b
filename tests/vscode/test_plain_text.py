"""Text of sessions stays text: whatever a message or a label says, nothing of it is drawn as an
icon, made a link, or turned around."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from tests.daemon.homes import Home
from tests.nvim.conversations import Talk, today
from tests.nvim.editor import project
from tests.vscode.window import Window
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.slow

HTML: Final = "<img src=x onerror=alert(1)><b>bold</b> <script>alert(2)</script>"
ICON: Final = "$(bug) $(sync~spin) is spun"
LINK: Final = "[open me](command:workbench.action.quit) ![](https://example.com/x.png)"
BIDI: Final = "safe \u202eevil\u202c \u2066and\u2069 more"
LONG: Final = "long " * 2000
TEXTS: Final = (HTML, ICON, LINK, BIDI, LONG)


@pytest.fixture(scope="module")
def folder(home: Home) -> Path:
    return project(home, "hostile")


@pytest.fixture(scope="module")
def window(home: Home, workbench: Workbench, folder: Path) -> Iterator[Window]:
    """A session that says all of it, in messages, labels, tools, its name and its folder."""
    talk = Talk(folder, today(), "hostile")
    for text in TEXTS:
        talk.user(text)
        said = talk.answer(text, 20_000)
        talk.add("label", targetId=said, label=text[:60])
    fork = talk.leaf
    talk.step(ICON, LINK, HTML, 30_000)
    talk.answer(ICON, 40_000)
    talk.back_to(fork).user(ICON)
    talk.answer("It ends here", 30_000)
    talk.add("session_info", name=f"{ICON} {HTML}")
    talk.write(home.agent)
    dialogs: list[str] = []
    made = workbench.window(folder)
    made.page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    yield made.opens()
    assert dialogs == []


def is_clean(window: Window, selector: str) -> None:
    """Nothing of the session's own became an element: no picture, link, script or icon."""
    for found in ("img", "script", "b", "a[href^='command:']", "a[data-href^='command:']"):
        assert window.page.locator(f"{selector} {found}").count() == 0, found
    for icon in ("codicon-bug", "codicon-sync"):
        assert window.page.locator(f"{selector} .{icon}").count() == 0, icon


def test_rows_show_what_was_written(window: Window) -> None:
    told = [row.label for row in window.rows()]
    assert any(label.startswith("<img src=x onerror=alert(1)><b>bold</b>") for label in told)
    assert any(label.startswith("[$(bug) $(sync~spin) is spun] $(bug)") for label in told)
    assert any("[open me](command:workbench.action.quit)" in label for label in told)
    assert any(label.endswith("safe evil and more") for label in told)
    assert all(len(label) < 300 for label in told)
    is_clean(window, ".pane")
    assert not any(ord(sign) in range(0x202A, 0x202F) for sign in "".join(told))


def test_names_in_the_list_and_the_header_are_text(window: Window) -> None:
    named = window.sees("is spun", "Sessions")
    assert named.label.startswith("$(bug) $(sync~spin) is spun <img")
    assert "$(bug)" in window.header()
    is_clean(window, ".pane-header")


def hovers(window: Window) -> str:
    """All that is said of what the mouse rests on."""
    return "\n".join(window.page.locator(".monaco-hover").all_inner_texts())


def rests(window: Window, pattern: str, words: str) -> bool:
    """Whether a tooltip says that. VS Code drops one whose row is drawn anew meanwhile."""
    window.tooltip(pattern)
    try:
        return window.until(lambda: words in hovers(window), seconds=4)
    except AssertionError:
        return False


def test_tooltips_are_text(window: Window) -> None:
    for pattern, words in (("^You: <img", "<script>"), ("^You: \\$\\(bug", "$(bug)")):
        window.until(partial(rests, window, pattern, words), f"a tooltip {words!r}")
        is_clean(window, ".monaco-hover")


def test_the_status_bar_says_nothing_of_the_session(window: Window) -> None:
    assert window.until(window.status).startswith("pi ")
    window.select("^Answer: \\$\\(bug")
    window.key("Control+c")
    assert "spun" not in window.until(window.status_bar)


def test_questions_are_text(window: Window) -> None:
    window.select("^You: \\$\\(bug")
    window.key("Control+Enter")
    window.picks()
    assert "(bug)" in window.question()
    is_clean(window, ".quick-input-widget")
    window.key("Escape")
    for command in ("Find Branch…", "Open Session…"):
        window.palette(command)
        assert any("(bug)" in pick.label for pick in window.picks()), command
        is_clean(window, ".quick-input-widget")
        window.key("Escape")


def test_documents_are_text(window: Window) -> None:
    window.select("^You: <img")
    assert HTML in window.shows_text("<script>alert")
    window.select("^You: \\[open me")
    text = window.shows_text("open me")
    assert "command:workbench.action.quit" in text
    assert window.tabs()[0].startswith("[open me]")
    is_clean(window, ".tabs-container")
    window.row_menu("^Alternative", "Compare with the Leaf")
    window.until(lambda: any("↔" in tab for tab in window.tabs()), "the diff")
    is_clean(window, ".editor-group-container .title")
