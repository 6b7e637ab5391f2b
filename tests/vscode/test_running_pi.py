"""A real pi in a terminal beside the real workbench: seen, moved, prompted, steered, stopped."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from tests.daemon.homes import Home, wait_until
from tests.nvim.running_pi import Terminal, World, begin, say_yes, world
from tests.vscode.timings import timed
from tests.vscode.window import Window
from tests.vscode.workbench import Workbench

pytestmark = pytest.mark.slow

NUMBERS: Final = count(1)
CLIENT: Final = "vscode"


@pytest.fixture(scope="module")
def room() -> Iterator[World]:
    with world() as made:
        yield made


@pytest.fixture(scope="module")
def home(room: World) -> Home:
    """The home of the pi is that of the workbench."""
    return room.home


@pytest.fixture(scope="module")
def desk(room: World, workbench: Workbench) -> Window:
    """The one window of these tests, on the folder that pi works in."""
    return workbench.window(room.folder.project).open_view()


class Shared:
    """A pi with two turns, and the window that shows its session."""

    def __init__(self, room: World, window: Window, *, bridge: bool = True) -> None:
        self.room = room
        self.window = window
        self.name = f"talk {next(NUMBERS)}"
        self.first = f"First of {self.name}."
        self.second = f"Second of {self.name}."
        self.pi, self.path = begin(room, self.first, self.second, bridge=bridge)
        window.palette("Open Session…")
        window.input().fill(self.first)
        window.pick(f"^{self.first}")
        window.sees(f"^Answer: An answer to: {self.second}")
        if bridge:
            window.until(lambda: "pi idle" in window.header(), "an idle pi")

    def goes_to(self, pattern: str) -> None:
        """Asks how to go to a row."""
        self.window.select(pattern)
        self.window.key("Control+Enter")
        self.window.picks()

    def is_allowed(self, *, prompts: bool) -> None:
        """What pi's user has said to this editor before."""
        clients = {CLIENT: {"since": "2026-01-01T00:00:00.000Z"}} if prompts else {}
        kept = self.room.home.place.own_socket
        path = Path(kept).parent / "prompting.json"
        path.write_text(json.dumps({"clients": clients}), "utf-8")
        path.chmod(0o600)

    def prompts(self, text: str, command: str = "Prompt pi…") -> None:
        self.window.palette(command)
        self.window.answer(text)


@pytest.fixture
def shared(room: World, desk: Window) -> Iterator[Shared]:
    made = Shared(room, desk)
    made.is_allowed(prompts=True)
    yield made
    clear(desk, made.pi)


def clear(window: Window, *pis: Terminal) -> None:
    """Ends what a test began, so that the next one meets an empty desk."""
    window.key("Escape")
    for pi in pis:
        if pi.pi.is_alive:
            os.kill(pi.pid, signal.SIGTERM)
            wait_until(lambda one=pi: not one.pi.is_alive)  # type: ignore[misc]
    if window.notifications():
        window.palette("Notifications: Clear All Notifications")
    if window.tabs():
        window.palette("View: Revert and Close Editor")
        window.until(lambda: not window.tabs(), "the end of all editors")


def test_a_pi_goes_where_the_tree_is_clicked(shared: Shared) -> None:
    window, pi = shared.window, shared.pi
    assert "‹pi›" in window.sees("^You are here").description
    assert "pi, idle, stands here." in window.sees("^You are here").name
    shared.goes_to(f"^Answer: An answer to: {shared.first}")
    assert window.picks()[0].detail.startswith("pi follows.")
    since = len(pi.seen)
    with timed("choosing how to go to pi's screen"):
        window.pick("^here")
        pi.shows("Navigated to selected point", since)
    pi.shows("moved by vscode", since)
    window.sees("^Ahead of where you are|^Ahead: ")
    assert "‹pi›" in window.sees("^You are here").description
    # What is typed in pi goes on from there, and shows up here.
    pi.enters("Typed in pi.")
    window.sees("^Answer: An answer to: Typed in pi")


def test_a_prompt_needs_the_users_yes_in_pi_and_is_answered_in_the_tree(shared: Shared) -> None:
    window, pi, model = shared.window, shared.pi, shared.room.model
    shared.is_allowed(prompts=False)
    shared.prompts("From the editor.")
    pi.shows("May vscode")
    window.until(lambda: "pi waiting for you" in window.header(), "the question in pi")
    assert "pi waits for you in its terminal." in window.until(window.message)
    window.sees("pi waiting for you", "Sessions")
    assert "From the editor." not in model.prompts
    say_yes(pi)
    with timed("the user's yes in pi to the answer's row"):
        window.sees("^Answer: An answer to: From the editor")
    assert model.prompts[-1] == "From the editor."
    # The yes counts from then on. Nothing typed: it is written in an editor.
    shared.prompts("")
    window.until(lambda: any("Untitled" in tab for tab in window.tabs()), "the prompt")
    window.types("In two")
    window.key("Enter")
    window.types("lines.")
    window.key("Control+Enter")
    window.sees("^Answer: An answer to: In two")
    assert model.prompts[-1] == "In two\nlines."
    window.until(lambda: not window.tabs(), "the end of the prompt")


def test_a_prompt_that_the_user_forbids_keeps_its_words(shared: Shared) -> None:
    window, pi, model = shared.window, shared.pi, shared.room.model
    shared.is_allowed(prompts=False)
    asked = len(model.prompts)
    shared.prompts("Not without you.")
    pi.shows("May vscode")
    pi.types("j")
    pi.types("\r")
    assert "said no" in window.notified("said no").text
    window.shows_text("^Not without you.$")
    assert len(model.prompts) == asked


def test_a_pi_at_work_is_steered_waited_for_and_stopped(shared: Shared) -> None:
    window, pi, model = shared.window, shared.pi, shared.room.model
    pi.enters("[tool:sleep 4] work")
    window.until(lambda: "pi at work" in window.header(), "a pi at work")
    shared.prompts("To the left.", "Steer pi…")
    window.until(lambda: "between its steps" in window.status_bar(), "its word on steering")
    shared.goes_to(f"^Answer: An answer to: {shared.first}")
    assert window.picks()[0].label == "when pi is idle"
    assert "it goes there when it is idle" in window.picks()[0].detail
    since = len(pi.seen)
    window.pick("^when pi is idle")
    pi.shows("Navigated to selected point", since)
    window.sees("^Ahead of where you are|^Ahead: ")
    assert model.prompts[-1] == "To the left."
    pi.enters("[slow:20000] long")
    window.until(lambda: "pi at work" in window.header(), "a pi at work")
    window.title_action("Stop pi")
    text, buttons = window.dialog()
    assert "Stop pi, which is at work?" in text
    assert "Stop" in buttons
    since = len(pi.seen)
    window.press_dialog("Stop")
    pi.shows("Operation aborted", since)
    window.until(lambda: "pi idle" in window.header(), "a pi at rest")


def test_what_a_pi_at_work_refuses_can_wait_for_it(shared: Shared) -> None:
    window, pi = shared.window, shared.pi
    pi.enters("[slow:6000] work")
    # The view has gone along with the leaf; then somebody looks elsewhere.
    window.sees("^You: .slow:6000")
    window.until(lambda: window.sees("^You are here").selected, "a leaf that is followed")
    window.until(lambda: "pi at work" in window.header(), "a pi at work")
    window.select(f"^You: {shared.first}")
    window.key("Delete")
    told = window.notified("pi is at work")
    assert told.text == "pi is at work; nothing was changed."
    assert told.buttons == ["Wait", "Stop pi"]
    window.press("pi is at work", "Wait")
    window.sees(f"{shared.first}.* out of context")
    kinds = [json.loads(line)["type"] for line in shared.path.read_text("utf-8").splitlines()]
    assert kinds.count("context_edit") == 1


def test_a_fork_takes_pi_along(shared: Shared) -> None:
    window, pi = shared.window, shared.pi
    window.row_menu(f"^Answer: An answer to: {shared.first}", "Fork from Here, and pi Goes There")
    window.loses(f"You: {shared.second}")
    window.until(lambda: "pi idle" in window.header(), "pi in the fork")
    pi.enters("In the fork.")
    window.sees("^Answer: An answer to: In the fork")
    assert "In the fork." not in shared.path.read_text("utf-8")
    # A fork of which pi is told nothing leaves it where it is.
    shared.goes_to(f"^Answer: An answer to: {shared.first}")
    assert any(pick.label == "as a fork, and pi goes there" for pick in window.picks())
    window.pick("^as a forknew session")
    window.notified("The new session is made")
    window.until(lambda: "pi idle" in window.header(), "pi where it was")


def test_of_two_pi_it_is_asked_which(shared: Shared) -> None:
    window, pi = shared.window, shared.pi
    other = shared.room.pi("--session", str(shared.path))
    try:
        window.until(lambda: "2 pi" in window.header(), "two pi")
        assert "2 pi have it open" in window.until(window.message)
        shared.goes_to(f"^Answer: An answer to: {shared.first}")
        assert window.picks()[0].detail.startswith("2 pi have it open; you are asked which")
        window.pick("^here")
        window.until(lambda: "Several pi have this session open" in window.question(), "which")
        since = len(other.seen)
        window.pick(f"^pi {other.pid}")
        other.shows("Navigated to selected point", since)
        window.until(
            lambda: f"‹pi {other.pid}›" in window.sees("^You are here").description, "its mark"
        )
        window.sees(f"‹pi {pi.pid}›")
        assert "Navigated to selected point" not in pi.seen
        other.end()
        window.until(lambda: "pi idle" in window.header(), "one pi")
    finally:
        clear(window, other)


def test_a_pi_that_quits_is_gone(shared: Shared) -> None:
    window, pi = shared.window, shared.pi
    pi.end()
    window.until(lambda: "pi idle" not in window.header(), "the end of pi")
    window.loses("‹pi›")
    # The session is the daemon's again.
    window.select(f"^You: {shared.first}")
    window.key("F2")
    window.answer("goal")
    window.sees(rf"^\[goal\] {shared.first}")
    assert "Prompt pi" not in " ".join(
        window.page.locator(".pane-header .action-label").evaluate_all(
            "(all) => all.map((one) => one.getAttribute('aria-label') ?? '')"
        )
    )


def test_a_pi_that_is_only_watched_says_why(shared: Shared) -> None:
    window, pi = shared.window, shared.pi
    pi.enters("/pisessiond watch")
    window.until(lambda: "may only be watched" in window.message(), "why")
    assert "[RO]" in window.header()
    pi.enters("/pisessiond drive")
    window.until(lambda: "[RO]" not in window.header(), "a pi that may be moved")


def test_pi_reads_what_it_missed(shared: Shared) -> None:
    window, pi, path = shared.window, shared.pi, shared.path
    leaf = json.loads(path.read_text("utf-8").splitlines()[-1])["id"]
    line = {"type": "custom_message", "customType": "x", "content": "From outside.",
            "display": True, "id": "f0000001", "parentId": leaf,
            "timestamp": "2026-01-01T00:00:00.000Z"}  # fmt: skip
    with path.open("ab") as file:
        file.write(json.dumps(line).encode() + b"\n")
    window.until(lambda: "pi idle, 1 unread" in window.header(), "what is unread")
    assert "pi has not read 1 entry of others" in window.until(window.message)
    window.title_action("Let pi Read Them")
    window.until(lambda: "unread" not in window.header(), "that it is read")
    assert pi.pi.is_alive


def test_installing_the_bridge_is_offered_once(room: World, desk: Window) -> None:
    made = Shared(room, desk, bridge=False)
    try:
        made.pi.enters("A third question.")
        desk.until(lambda: "Install the Bridge into pi" in desk.message(), "the offer")
        desk.title_action("Install the Bridge into pi")
        desk.notified("pi loads the bridge now; in a pi that runs, enter /reload.")
        settings = json.loads((room.folder.agent_dir / "settings.json").read_text())
        assert settings["packages"]
        desk.until(lambda: "Install the Bridge" not in desk.message(), "the end of the offer")
        made.pi.enters("/reload")
        desk.until(lambda: "pi idle" in desk.header(), "a pi that is seen")
    finally:
        clear(desk, made.pi)
