"""A running pi in the sidebar: it is seen, moved, prompted, steered, stopped and taken along."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.nvim.editor import Editor
from tests.nvim.running_pi import Terminal, World, allow, begin, say_yes, world

pytestmark = pytest.mark.slow


@pytest.fixture
def room() -> Iterator[World]:
    with world() as made:
        yield made


@pytest.fixture
def shared(room: World) -> tuple[World, Terminal, Path, Editor]:
    """A pi with two turns, and an editor that shows its session."""
    pi, path = begin(room)
    editor = room.editor(path)
    editor.until(lambda: "pi: idle" in editor.below)
    return room, pi, path, editor


Shared = tuple[World, Terminal, Path, Editor]


def test_a_pi_follows_where_the_sidebar_goes(shared: Shared) -> None:
    _, pi, _, editor = shared
    assert "‹pi›" in editor.sees("you are here")
    editor.goes_to("An answer to: First question.")
    editor.types("<CR>", "Navigate to")
    editor.sees("pi follows in its terminal.")
    since = len(pi.seen)
    editor.keys("h")
    pi.shows("Navigated to selected point", since)
    pi.shows("moved by nvim", since)
    editor.sees("ahead: ")
    editor.sees("Moved to An answer to: First question.")
    assert "‹pi›" in editor.sees("you are here")
    # What is typed in pi goes on from there, and shows up here.
    pi.enters("Typed in pi.")
    editor.sees("» Typed in pi.")
    editor.sees("« An answer to: Typed in pi.")


def test_a_prompt_is_sent_after_the_users_yes_and_answered_in_the_tree(shared: Shared) -> None:
    room, pi, _, editor = shared
    editor.types("a", "Append a message, without an answer")
    editor.keys("1<CR>")
    editor.sees("Prompt: :w sends it to pi, :q! drops it")
    editor.keys("iFrom the editor.<Esc>:w<CR>")
    pi.shows("May nvim")
    editor.until(lambda: "pi asks there whether you may" in editor.screen())
    assert "From the editor." not in room.model.prompts
    say_yes(pi)
    editor.sees("« An answer to: From the editor.")
    editor.loses("Prompt:")
    assert room.model.prompts[-1] == "From the editor."
    # The yes counts for this editor from then on.
    editor.command("Pisession prompt And once more.")
    editor.sees("« An answer to: And once more.")
    pi.shows("An answer to: And once more.")


def test_a_prompt_is_taken_back_before_the_user_has_said_yes(shared: Shared) -> None:
    room, pi, _, editor = shared
    asked = len(room.model.prompts)
    editor.types("A", "Prompt: :w sends it to pi")
    editor.keys("iNever mind.<Esc>:w<CR>")
    pi.shows("May nvim")
    editor.until(lambda: "pi: waiting for you" in editor.below)
    editor.command("wincmd p")
    editor.keys("<C-c>")
    editor.sees("The request was cancelled; nothing was changed.")
    editor.until(lambda: "pi: idle" in editor.below)
    assert len(room.model.prompts) == asked
    # The draft is still there.
    assert editor.lua("return vim.fn.bufnr('pisession-prompt://')") != -1
    editor.sees("Never mind.")


def test_a_pi_at_work_is_steered_waited_for_and_stopped(shared: Shared) -> None:
    room, pi, _, editor = shared
    allow(editor, pi, "May I.")
    editor.sees("« An answer to: May I.")
    editor.until(lambda: "pi: idle" in editor.below)
    pi.enters("[tool:sleep 3] work")
    editor.until(lambda: "pi: at work" in editor.below)
    assert editor.lua("return require('pisession').status()").endswith(" at work")
    editor.types("gs", "Prompt: :w steers pi with it")
    editor.keys("iTo the left.<Esc>:w<CR>")
    editor.until(lambda: "pi has it for between its steps." in editor.screen())
    editor.command("Pisession")
    # Elsewhere: how to go there says that it waits.
    editor.goes_to("An answer to: First question.")
    editor.types("<CR>", "Navigate to")
    editor.sees("it goes there when it is idle.")
    editor.keys("w")
    editor.sees("It waits until pi is idle; <C-c> takes it back.")
    editor.sees("Moved to An answer to: First question.")
    assert room.model.prompts[-1] == "To the left."
    pi.enters("[slow:20000] long")
    editor.until(lambda: "pi: at work" in editor.below)
    editor.types("<C-c>", "Let it go on")
    editor.sees("Stop pi, which is at work")
    since = len(pi.seen)
    editor.keys("2<CR>")
    editor.sees("pi was told to stop.")
    editor.until(lambda: "pi: idle" in editor.below)
    pi.shows("Operation aborted", since)


def test_what_a_pi_at_work_refuses_can_wait_for_it(shared: Shared) -> None:
    _, pi, path, editor = shared
    pi.enters("[slow:2500] work")
    editor.until(lambda: "pi: at work" in editor.below)
    editor.goes_to("First question.")
    editor.types("x", "pi is at work; nothing was changed.")
    editor.keys("2<CR>")
    editor.sees("It waits until pi is idle")
    editor.sees("x puts it back")
    kinds = [json.loads(line)["type"] for line in path.read_text("utf-8").splitlines()]
    assert kinds.count("context_edit") == 1


def test_a_fork_takes_pi_along(shared: Shared) -> None:
    room, pi, path, editor = shared
    editor.goes_to("An answer to: First question.")
    editor.types("<CR>", "Navigate to")
    editor.sees("t  as a fork, and pi goes there")
    editor.keys("t")
    editor.until(lambda: room.session_of(editor)["path"] not in (None, str(path)), "the fork")
    editor.until(lambda: "pi: idle" in editor.below)
    assert "« An answer to: First question." in editor.screen()
    assert "Second question." not in editor.screen()
    pi.enters("In the fork.")
    editor.sees("« An answer to: In the fork.")
    # A fork of which pi is told nothing leaves it where it is.
    editor.goes_to("» In the fork.")
    editor.types("f", "Fork; pi stays where it is")
    editor.keys("1<CR>")
    editor.sees("Stay here")
    editor.keys("1<CR>")
    editor.until(lambda: "pi: idle" in editor.below)


def test_of_two_pi_it_is_asked_which(shared: Shared) -> None:
    room, pi, path, editor = shared
    other = room.pi("--session", str(path))
    editor.until(lambda: "2 pi" in editor.below)
    editor.goes_to("An answer to: First question.")
    editor.types("<CR>", "Navigate to")
    editor.sees("2 pi have it open; you are asked which one is to go.")
    editor.keys("h")
    editor.sees("Several pi have this session open. Which one?")
    line = editor.sees(f"pi {other.pid}, in a terminal: idle")
    since = len(other.seen)
    editor.keys(line.split(":")[0].strip() + "<CR>")
    other.shows("Navigated to selected point", since)
    editor.sees("you are here", f"‹pi {other.pid}›")
    editor.sees("ahead: ", f"‹pi {pi.pid}›")
    assert "Navigated to selected point" not in pi.seen
    other.end()
    editor.until(lambda: "pi: idle" in editor.below)


def test_a_second_pi_is_started_only_after_a_question(shared: Shared) -> None:
    _, _, _, editor = shared
    tabs = editor.lua("return vim.fn.tabpagenr('$')")
    editor.lua("require('pisession.config').get().pi = { 'true' }")
    editor.types("gx", "A running pi has this session open already.")
    editor.keys("1<CR>")
    editor.settles()
    assert editor.lua("return vim.fn.tabpagenr('$')") == tabs
    editor.types("gx", "Start a second pi in it")
    editor.keys("2<CR>")
    editor.until(lambda: editor.lua("return vim.fn.tabpagenr('$')") == tabs + 1)


def test_a_pi_that_ends_is_said_to_be_gone(shared: Shared) -> None:
    _, pi, _, editor = shared
    pi.end()
    editor.until(lambda: f"pi {pi.pid} has left this session." in editor.below)
    editor.until(lambda: "pi:" not in editor.below and "default" in editor.below)
    assert "‹pi›" not in editor.screen()
    editor.keys("A")
    editor.sees("No running pi has this session open; gx goes on with it in one.")
    editor.types("a", "Prompt: :w appends it")


def test_a_pi_that_is_only_watched_says_why(shared: Shared) -> None:
    room, pi, _, editor = shared
    pi.enters("/pisessiond watch")
    editor.until(lambda: not all(one["drives"] for one in room.session_of(editor)["pis"]))
    editor.keys("gl")
    editor.goes_to("you are here")
    editor.keys("K")
    editor.sees("only watched: this pi may only be watched")
    editor.keys("q")
    editor.goes_to("An answer to: First question.")
    editor.types("<CR>", "Navigate to")
    editor.sees("pi does not follow, and nothing else may move it")
    assert "h  here" not in editor.screen()
    editor.sees("> f  as a fork")
    editor.keys("q")
    editor.keys("A")
    editor.sees("pi is only watched: this pi may only be watched")


def test_pi_reads_what_it_missed(shared: Shared) -> None:
    _, pi, path, editor = shared
    leaf = json.loads(path.read_text("utf-8").splitlines()[-1])["id"]
    line = {"type": "custom_message", "customType": "x", "content": "From outside.",
            "display": True, "id": "f0000001", "parentId": leaf,
            "timestamp": "2026-01-01T00:00:00.000Z"}  # fmt: skip
    with path.open("ab") as file:
        file.write(json.dumps(line).encode() + b"\n")
    editor.until(lambda: "pi: idle, 1 unread" in editor.below)
    editor.keys("R")
    editor.sees("pi has read what it missed.")
    editor.until(lambda: "pi: idle" in editor.below and "unread" not in editor.below)
    editor.types("R", "pi has read all there is.")
    assert pi.pi.is_alive


def test_the_tree_in_a_terminal_says_it_too(shared: Shared) -> None:
    room, pi, path, _ = shared
    lines = room.home.run("tree", str(path), "--width", "90").stdout.splitlines()
    assert lines[1].endswith("1 window, pi: idle")
    assert "‹pi›" in lines[-1]
    listed = room.home.run("list", "--cwd", str(room.folder.project), "--width", "120").stdout
    assert "First question. · pi: idle" in listed
    pi.end()
    assert "pi:" not in room.home.run("tree", str(path)).stdout


def test_the_list_of_sessions_says_what_pi_does(shared: Shared) -> None:
    _, pi, _, editor = shared
    editor.types("-", "Sessions, this folder")
    editor.sees("First question.", "pi: idle")
    pi.enters("[slow:2500] work")
    editor.sees("First question.", "pi: at work")
    editor.sees("First question.", "pi: idle")


def test_installing_the_bridge_is_offered_once(room: World) -> None:
    pi, path = begin(room, bridge=False)
    editor = room.editor(path)
    pi.enters("A third question.")
    editor.until(lambda: "pisessiond pi install lets pi follow." in editor.below)
    editor.keys("gl")
    editor.until(lambda: "lets pi follow" not in editor.below)
    pi.enters("A fourth question.")
    editor.sees("« An answer to: A fourth question.")
    editor.settles()
    assert "lets pi follow" not in editor.screen()
    editor.command("checkhealth pisession")
    editor.sees("pi does not load the bridge")
    editor.sees("pisessiond pi install")
    editor.command("bwipeout")
    editor.command("Pisession install-bridge")
    editor.sees("pi loads the bridge; in one that runs, enter /reload.")
    settings = json.loads((room.folder.agent_dir / "settings.json").read_text())
    assert settings["packages"]
    pi.enters("/reload")
    editor.until(lambda: "pi: idle" in editor.below)
