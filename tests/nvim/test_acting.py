"""Acting from the sidebar: where then how, labels, prompts, forks, and out of the context."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.homes import Home
from tests.nvim.conftest import Opens, Others
from tests.nvim.conversations import short_talk
from tests.nvim.editor import Editor, sessions_of

pytestmark = pytest.mark.slow


def ask_how(editor: Editor, words: str) -> None:
    editor.goes_to(words)
    editor.types("<CR>", "Navigate to")


def leaf(editor: Editor) -> str | None:
    found: str | None = editor.lua(
        "return require('pisession.sidebar').current().session.info.leaf"
    )
    return found


def test_a_prompt_is_gone_to_with_its_text_and_back_by_undo(editor: Editor) -> None:
    before = leaf(editor)
    ask_how(editor, "Use an injected clock")
    editor.sees("Navigate to  » Use an injected clock instead  14:31")
    editor.sees("Its text goes to the prompt, to be changed and sent again.")
    editor.sees("7 entries (1 turn) are left; they stay in the tree. Files are not undone.")
    editor.sees("> h  here", "context 84k 42% → 74k 37%")
    editor.sees("s  with summary", "the 7 entries are summarised first")
    editor.sees("f  as a fork", "new session before this message")
    editor.keys("h")
    editor.sees("Moved to Use an injected clock instead, u undoes.")
    assert editor.sees("Use an injected clock instead")
    assert editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)") == [
        "Use an injected clock instead"
    ]
    editor.sees("Prompt: :w appends it, :q! drops it")
    editor.sees("ahead: 7 entries")
    editor.command("wincmd p")
    editor.until(lambda: "you are here" in editor.row())
    editor.keys("u")
    editor.sees("Back where you were.")
    editor.until(lambda: leaf(editor) == before)
    editor.loses("ahead: 7 entries")
    editor.keys("u")
    editor.sees("There is nothing of mine to undo.")


def test_an_answer_is_gone_on_after_and_an_alternative_at_its_end(editor: Editor) -> None:
    ask_how(editor, "Labels now survive")
    editor.sees("You go on after this answer.")
    editor.sees("f  as a fork", "new session up to here")
    editor.keys("<Esc>")
    editor.loses("Navigate to")
    ask_how(editor, "Try freezing")
    editor.sees("You go on at its end.")
    editor.keys("<CR>")
    editor.sees("time-machine breaks xdist; stopped")
    editor.sees("┠─▸ Use an injected clock instead")
    editor.until(lambda: "you are here" in editor.row())
    editor.goes_to("time-machine breaks xdist")
    editor.keys("<CR>")
    editor.sees("You are here already.")


def test_a_move_with_a_summary_writes_it_first(editor: Editor) -> None:
    ask_how(editor, "[green]")
    editor.keys("s")
    editor.sees("~ Summary of the branch left:")
    ask_how(editor, "Try freezing")
    editor.types("o", "What the summary is to look at:")
    editor.keys("the clock<CR>")
    editor.until(lambda: editor.screen().count("Summary of the branch left") >= 1)
    editor.sees("time-machine breaks xdist; stopped")


def test_a_move_can_be_compared_or_made_a_fork_of_instead(
    home: Home, cwd: Path, editor: Editor
) -> None:
    ask_how(editor, "Try freezing")
    editor.keys("d")
    editor.sees("context", "84k 42%  (+10k)", "88k 44%  (+14k)")
    editor.sees("since  The fixture's clock is naive")
    editor.sees("A  active branch", "B  Try freezing")
    assert editor.lua("return vim.fn.tabpagenr('$')") == 2
    editor.keys("q")
    editor.until(lambda: editor.lua("return vim.fn.tabpagenr('$')") == 1)
    ask_how(editor, "Use an injected clock")
    editor.types("f", "The fork is made.")
    editor.keys("2<CR>")
    editor.sees("Prompt: :w appends it")
    editor.loses("Done: 4 files")
    assert len(sessions_of(home, cwd)) == 2


def test_forks_show_on_the_row_and_in_the_list(home: Home, cwd: Path, editor: Editor) -> None:
    editor.goes_to("Labels now survive")
    editor.types("f", "The fork is made.")
    editor.keys("1<CR>")
    editor.sees("The fork is made; - lists it under this session.")
    editor.sees("Labels now survive", "⑂1")
    editor.types("C", "The fork is made.")
    editor.keys("2<CR>")
    editor.sees("you are here")
    editor.types("-", "Sessions, this folder")
    editor.sees("├ ⑂")
    editor.sees("└ ⑂")
    assert len(sessions_of(home, cwd)) == 3


def test_labels_are_given_cleared_and_undone(editor: Editor) -> None:
    editor.goes_to("Done: 4 files")
    editor.types("l", "Label (empty clears):")
    editor.keys("done<CR>")
    editor.sees("« [done] Done: 4 files changed")
    editor.keys("l<C-u><CR>")
    editor.loses("[done]")
    editor.sees("Cleared, u undoes.")
    editor.keys("u")
    editor.sees("« [done] Done: 4 files changed")
    editor.keys("u")
    editor.loses("[done]")
    editor.command("Pisession label by words")
    editor.sees("[by words] Done")


def test_a_name_is_given_and_undone(editor: Editor) -> None:
    editor.types("r", "Name (empty clears): login-fix")
    editor.keys("<C-u>another name<CR>")
    editor.until(lambda: "another name" in editor.header)
    editor.keys("u")
    editor.until(lambda: "login-fix" in editor.header)


def test_undo_is_refused_when_others_came_between(
    editor: Editor, path: Path, other: Others
) -> None:
    editor.goes_to("Done: 4 files")
    editor.types("l", "Label (empty clears):")
    editor.keys("done<CR>")
    editor.sees("[done]")
    other(path).append({"type": "message", "message": {"role": "user", "content": "hi"}})
    editor.sees("» hi")
    editor.keys("u")
    editor.sees("Others came between; undo would touch what they did.")
    editor.sees("[done]")


def test_what_goes_out_of_the_context_comes_back(editor: Editor) -> None:
    editor.goes_to("Use an injected clock")
    editor.keys("x")
    editor.sees("x puts it back")
    editor.sees("Use an injected clock", " x ")
    editor.keys("x")
    editor.sees("x takes it out")
    editor.until(lambda: " x " not in editor.row())
    editor.goes_to("14 steps")
    editor.keys("<Tab>")
    editor.goes_to("read tests/conftest.py")
    editor.keys("x")
    editor.sees("read tests/conftest.py", "±")
    editor.keys("u")
    editor.sees("It is as before.")
    editor.until(lambda: "±" not in editor.row())


def test_of_work_all_results_go_and_come_back_as_one(editor: Editor) -> None:
    editor.goes_to("2 steps")
    editor.keys("<Tab>x")
    editor.sees("edit src/clock.py", "±")
    editor.sees("bash pytest -q --tb=long", "±")
    editor.keys("x")
    editor.until(lambda: "±" not in editor.screen())
    editor.sees("x takes it out")
    editor.keys("u")
    editor.sees("edit src/clock.py", "±")
    editor.sees("bash pytest -q --tb=long", "±")


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("126 entries summarised", "It is summarised and no longer in the context."),
        ("[green]", "Only what is on the active branch is in the context; navigate there"),
        ("▬ Compaction", "This row cannot be taken out of the context."),
        ("you are here", "This row cannot be taken out of the context."),
    ],
)
def test_what_cannot_be_taken_out_says_why(row: str, sentence: str, editor: Editor) -> None:
    editor.goes_to(row)
    editor.keys("x")
    editor.sees(sentence)


def test_the_largest_entry_is_taken_out_from_the_context_detail(editor: Editor) -> None:
    editor.types("i", "Context at the leaf")
    editor.keys("/conftest<CR>x")
    editor.sees("x puts it back")
    editor.sees("read tests/conftest.py", "±")


def test_a_message_is_written_in_a_buffer_and_appended(editor: Editor) -> None:
    editor.types("a", "Prompt: :w appends it")
    editor.keys("ione<CR>two<Esc>:w<CR>")
    editor.sees("» one")
    editor.loses("Prompt:")
    editor.command("Pisession append said at once")
    editor.sees("» said at once")


def test_an_empty_message_is_not_appended(editor: Editor) -> None:
    editor.types("a", "Prompt: :w appends it")
    editor.keys(":w<CR>")
    editor.sees("An empty message is not appended.")


def test_a_draft_is_replaced_only_after_a_question(editor: Editor) -> None:
    editor.types("a", "Prompt: :w appends it")
    editor.keys("imy draft<Esc>")
    editor.command("wincmd p")
    ask_how(editor, "Use an injected clock")
    editor.types("h", "There is a draft in the prompt.")
    editor.keys("1<CR>")
    editor.until(lambda: editor.lua("return vim.fn.getline(1)") == "my draft")
    editor.command("wincmd p")
    ask_how(editor, "Fix the login test")
    editor.types("h", "There is a draft in the prompt.")
    editor.keys("2<CR>")
    editor.until(
        lambda: editor.lua("return vim.fn.getline(1)") == "Fix the login test that fails on CI"
    )
    editor.keys(":q!<CR>")
    editor.loses("Prompt:")
    editor.types("a", "Prompt:")
    assert editor.lua("return vim.fn.getline(1)") == ""


def test_marked_rows_are_compared_with_each_other(editor: Editor) -> None:
    editor.goes_to("Try freezing")
    editor.keys("m")
    editor.sees("Try freezing", " A ")
    editor.goes_to("[green]")
    editor.keys("d")
    editor.sees("A  Try freezing", "B  green")
    editor.sees("10, 1 turn", "6, 1 turn")
    editor.sees("files, one only", "tests/conf0.py", "tests/test_login.py")
    editor.until(lambda: editor.lua("return vim.fn.search('Passes, but hides', 'w')"))
    editor.command("wincmd h")
    editor.until(lambda: editor.lua("return vim.fn.search('time-machine breaks xdist', 'w')"))
    assert editor.lua("return vim.wo.diff")


def test_a_branch_is_found_by_its_words(editor: Editor) -> None:
    editor.types("gb", "Find branch")
    line = editor.sees("Try freezing the clock", "time-machine breaks")
    number = line.strip().split(":")[0]
    editor.keys(f"{number}<CR>")
    editor.until(lambda: "time-machine breaks xdist" in editor.row())


def test_going_on_in_pi_opens_a_terminal_in_the_sessions_folder(
    path: Path, cwd: Path, start: Opens
) -> None:
    script = cwd / "pi"
    script.write_text('#!/bin/sh\necho "pi $@ in $PWD"; sleep 100\n')
    script.chmod(0o755)
    editor = start(setup={"pi": [str(script)], "width": 60}, columns=200).opens()
    editor.keys("gx")
    editor.sees(f"pi --session {path} in {cwd}")
    editor.command("bwipeout!")
    bad = start(setup={"pi": ["pi-nowhere"], "width": 80}).opens()
    bad.keys("gx")
    bad.sees("pi-nowhere is not installed, or the option pi names another.")


def test_a_new_session_is_not_gone_on_with_in_pi_before_it_is_on_disk(start: Opens) -> None:
    editor = start(setup={"width": 80}).opens("No pi session in this folder yet.")
    editor.keys("n")
    editor.sees("nothing yet")
    editor.keys("gx")
    editor.sees("The session is not on disk yet; pi can go on with it after the first answer")


def test_a_branch_is_exported_beside_the_code(home: Home, cwd: Path, start: Opens) -> None:
    short_talk(cwd).write(home.agent)
    editor = start(setup={"width": 60}).opens()
    editor.command("Pisession export markdown out.md")
    editor.sees("Exported to out.md.")
    assert "Explain the parser" in (cwd / "out.md").read_text("utf-8")
    editor.command("Pisession export nonsense")
    editor.sees("The forms are html, markdown and jsonl.")


def test_a_command_opens_the_sidebar_it_needs(home: Home, cwd: Path, start: Opens) -> None:
    short_talk(cwd).write(home.agent)
    editor = start(setup={"width": 60})
    editor.command("Pisession rename from nowhere")
    editor.until(lambda: "from nowhere" in editor.header)


def test_the_event_comes_only_with_a_change(
    home: Home, cwd: Path, start: Opens, other: Others
) -> None:
    path = short_talk(cwd).write(home.agent)
    editor = start(setup={"width": 60})
    editor.lua(
        "_G.told = 0; vim.api.nvim_create_autocmd('User', {pattern = 'PisessionChanged',"
        " callback = function() _G.told = _G.told + 1 end})"
    )
    editor.opens()
    editor.sees("12%")
    editor.settles()
    assert editor.lua("return require('pisession').status()") == "pi ▰▱▱▱▱ 12%"
    told = editor.lua("return _G.told")
    assert told >= 1
    editor.lua("require('pisession.sidebar').current():changed('header', {})")
    editor.settles()
    assert editor.lua("return _G.told") == told
    other(path).append({"type": "message", "message": {"role": "user", "content": "hi"}})
    editor.sees("» hi")
    editor.settles()
    assert editor.lua("return _G.told") > told
    assert editor.lua("return require('pisession').status()").startswith("pi ▰▱▱▱▱ 12%")
