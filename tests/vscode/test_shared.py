"""One session in several places: windows, scripts, a real pi, Neovim; and a daemon that dies."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

from pisessiond.client import blocking
from pisessiond.client.blocking_session import BlockingSession
from tests.daemon.homes import Home
from tests.nvim.conversations import login_fix, short_talk
from tests.nvim.editor import Editor, project
from tests.support.pi import Pi
from tests.vscode.timings import timed
from tests.vscode.window import Window
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.slow

T = TypeVar("T")

HIGH: Final = (1280, 1300)
"""Of a window that has room for all rows of the session."""


@pytest.fixture(scope="module")
def folder(home: Home) -> Path:
    return project(home, "shared")


@pytest.fixture(scope="module")
def path(home: Home, folder: Path) -> Path:
    """The one session of these tests, which goes on from test to test."""
    return login_fix(folder).write(home.agent)


@pytest.fixture(scope="module")
def one(workbench: Workbench, folder: Path, path: Path) -> Window:
    return workbench.window(folder, size=HIGH).opens()


@pytest.fixture(scope="module")
def two(workbench: Workbench, folder: Path, one: Window) -> Window:
    with timed("second window to its rows"):
        return workbench.window(folder, size=HIGH).opens()


@pytest.fixture(scope="module")
def script(home: Home, path: Path, one: Window) -> Iterator[BlockingSession]:
    """A program that acts on the session."""
    with blocking.connect(home.place.own_socket, name="script", reconnect=True) as client:
        yield client.open(path=str(path))


@pytest.fixture(autouse=True)
def clean(one: Window, two: Window) -> Iterator[None]:
    """Leaves no question and no pop-up for the next test."""
    yield
    for window in (one, two):
        window.key("Escape")
        if window.notifications():
            window.palette("Notifications: Clear All Notifications")


def said(text: str) -> dict[str, Any]:
    return {
        "type": "message",
        "message": {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1},
    }


def test_what_a_script_appends_is_in_both_windows(
    one: Window, two: Window, script: BlockingSession
) -> None:
    for number in range(5):
        with timed("append by a script to its row"):
            script.append(said(f"from a script {number}"))
            one.sees(f"^You: from a script {number}")
        two.sees(f"^You: from a script {number}")
    assert "new" in one.sees("^You: from a script 4").description
    assert "script went on" in one.until(one.message)
    # Who stood at the leaf goes along, and the mark goes after a while in sight.
    assert one.sees("^You are here").selected
    one.until(lambda: "new" not in one.sees("^You: from a script 4").description)


def test_a_move_in_one_window_is_seen_in_the_other_and_leaves_its_selection(
    one: Window, two: Window
) -> None:
    two.select("^Alternative: Patch")
    one.select("^Answer: Done: 4 files")
    one.key("Control+Enter")
    one.picks()
    with timed("move in one window to the other"):
        one.pick("^here")
        two.sees("Ahead of where you are")
    assert two.sees("^Alternative: Patch").selected
    assert "vscode moved the leaf" in two.until(two.message)
    one.row("^You are here").first.click()
    one.key("Control+z")
    two.loses("Ahead of where you are")


def test_what_a_real_pi_appends_is_shown(
    pi: Pi, one: Window, two: Window, home: Home, folder: Path
) -> None:
    talk = short_talk(folder, "by-pi")
    talk.add("session_info", name="by-pi")
    path = talk.write(home.agent)
    one.palette("Open Session…")
    one.pick("^by-pi")
    one.sees("^Answer: Mended")
    writing = threading.Thread(
        target=lambda: pi.append_many(path, 4, burst=2, pause_ms=300, seed=3, text="by pi ")
    )
    with timed("real pi started and appending to its row"):
        writing.start()
        one.sees("by pi")
    writing.join()
    one.until(lambda: "pi went on" in one.message())
    one.palette("Open Session…")
    one.pick("^login-fix")
    one.sees("^Answer: Done: 4 files")


class Threaded:
    """A Neovim that is driven in a thread of its own: the browser's loop runs in this one."""

    def __init__(self, home: Home, cwd: Path) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1)
        self.editor = self.do(lambda: Editor(home, cwd, setup={"width": 80}, columns=150, lines=40))

    def do(self, act: Callable[[], T]) -> T:
        return self._thread.submit(act).result(60)

    def close(self) -> None:
        self.do(self.editor.close)
        self._thread.shutdown()


@pytest.fixture
def nvim(home: Home, folder: Path, path: Path) -> Iterator[Threaded]:
    made = Threaded(home, folder)
    try:
        made.do(lambda: made.editor.command(f"Pisession open {path}"))
        made.do(lambda: made.editor.sees("you are here"))
        yield made
    finally:
        made.close()


def test_neovim_and_vs_code_share_a_session(one: Window, nvim: Threaded) -> None:
    editor = nvim.editor
    with timed("append in Neovim to its row"):
        nvim.do(lambda: editor.command("Pisession append from Neovim"))
        one.sees("^You: from Neovim")
    one.palette("Append Message…")
    one.until(lambda: any("Untitled" in tab for tab in one.tabs()), "the prompt")
    one.types("from VS Code")
    with timed("append to its row in Neovim"):
        one.key("Control+Enter")
        nvim.do(lambda: editor.sees("» from VS Code"))
    nvim.do(lambda: editor.goes_to("from Neovim"))
    nvim.do(lambda: editor.types("<CR>", "Navigate to"))
    nvim.do(lambda: editor.keys("h"))
    one.sees("Ahead of where you are")
    assert "nvim moved the leaf" in one.until(one.message)
    one.select("^Answer: Done: 4 files")
    one.key("Control+Enter")
    one.pick("^here")
    nvim.do(lambda: editor.until(lambda: "vscode moved the leaf" in editor.below))


def test_a_move_meanwhile_is_a_refusal_with_the_next_step(
    one: Window, script: BlockingSession
) -> None:
    one.select("^Answer: Labels now survive")
    one.key("Control+Enter")
    one.picks()
    script.append(said("in between"))
    one.pick("^here")
    told = one.notified("moved the leaf")
    assert told.text == "script moved the leaf to “in between”; nothing was changed."
    assert told.buttons == ["Go On from There", "Show"]
    one.sees("^You: in between")
    one.press("moved", "Show")
    one.until(lambda: one.sees("^You are here").selected)


def test_what_is_busy_is_a_refusal_with_the_next_step(one: Window, two: Window, home: Home) -> None:
    (home.folder / "go").unlink()
    try:
        one.title_action("Compact")
        one.picks()
        one.pick("^Compactby mine")
        for window in (one, two):
            window.until(lambda w=window: "compacting" in w.status())  # type: ignore[misc]
            window.sees("compacting")
        two.select("^Answer: Labels now survive")
        two.key("Control+Enter")
        two.picks()
        two.pick("^here")
        told = two.notified("is compacting")
        assert told.text == "vscode is compacting; nothing was changed."
        assert told.buttons == ["Wait", "Cancel It"]
        two.press("is compacting", "Cancel It")
        for window in (one, two):
            window.until(lambda w=window: "compacting" not in w.status())  # type: ignore[misc]
    finally:
        (home.folder / "go").touch()


def test_both_windows_are_whole_again_after_the_daemon_was_killed(
    one: Window, two: Window, home: Home, script: BlockingSession
) -> None:
    for window in (one, two):
        window.fold("^Alternative: Patch")
        window.sees("^Answer: Passes, but hides")
        window.select("^Answer: Passes, but hides")
    (daemon,) = home.daemons()
    with timed("daemon killed to both windows whole again"):
        os.kill(daemon.pid, signal.SIGKILL)
        daemon.wait(5)
        script.append(said("as if nothing had been"))
        for window in (one, two):
            window.sees("^You: as if nothing had been")
    for window in (one, two):
        assert window.sees("^Alternative: Patch").expanded
        # While VS Code reads a level anew, it knows nothing of what is selected in it.
        window.until(
            lambda window=window: window.sees("^Answer: Passes, but hides").selected,  # type: ignore[misc]
            "the selection",
        )
        assert "Offline" not in window.message()
        assert window.notifications() == []
    (new,) = home.daemons()
    assert new.pid != daemon.pid


def test_nothing_changes_where_the_next_daemon_names_the_session_otherwise(
    workbench: Workbench, home: Home
) -> None:
    """Of two files with one session id the first to be opened is named by it."""
    folders = [project(home, name) for name in ("twins", "twins-elsewhere")]
    ours, other = (login_fix(folder) for folder in folders)
    ours.header["id"] = other.header["id"] = "twin"
    ours.write(home.agent)
    with blocking.connect(home.place.own_socket, name="script", reconnect=True) as client:
        first = client.open(path=str(other.write(home.agent)))
        assert first.handle == "twin"
        window = workbench.window(folders[0], size=HIGH).opens()
        first.close()
        window.fold("^Alternative: Patch")
        window.sees("^Alternative: Patch.* Open\\. .* Context 79")
        window.sees("^Answer: Passes, but hides.* Context 79")
        window.select("^Answer: Passes, but hides")
        before = _standing(window)
        (daemon,) = home.daemons()
        os.kill(daemon.pid, signal.SIGKILL)
        daemon.wait(5)
        window.until(lambda: not window.message(), "the daemon")
        session = client.open(latest=str(folders[0]))
        assert session.handle == "twin"
        session.append(said("named otherwise"))
        window.sees("^You: named otherwise")
    window.until(lambda: _standing(window) == before, "what was open and selected before")


def _standing(window: Window) -> list[tuple[str, bool | None, bool]]:
    """The rows that an append does not touch, which of them are open and which are selected."""
    rows = [row for row in window.rows() if not re.search("^You: named|^You are here", row.name)]
    return [(row.name, row.expanded, row.selected) for row in rows]
