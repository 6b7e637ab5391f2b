"""Compaction from the sidebar: the dry run, writing, review, cancelling, and who is in the way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.daemon import homes
from tests.daemon.homes import Home
from tests.nvim.conftest import SUMMARY, Opens
from tests.nvim.conversations import login_fix, short_talk
from tests.nvim.editor import Editor, project, write_pi_settings, write_settings

pytestmark = pytest.mark.slow


def compactions(path: Path) -> list[dict[str, Any]]:
    lines = map(json.loads, path.read_text("utf-8").splitlines())
    return [entry for entry in lines if entry["type"] == "compaction"]


def test_the_dry_run_says_what_would_be_and_draws_the_cut(editor: Editor, path: Path) -> None:
    editor.types("c", "Compact login-fix: a dry run, nothing is changed")
    editor.sees("now    ▰▰▰▰▱▱▱▱▱│ 84k 42%", "automatic compaction at 184k")
    editor.sees("after  ▰▱▱▱▱▱▱▱▱│ ~24k ~12% and the summary, at most")
    editor.sees("summarised, 27 entries, 13:30–13:52", "~23k")
    editor.sees("» Make labels survive a fork", "~20k")
    editor.sees("── cut, inside a turn: its beginning is summarised apart")
    editor.sees("kept, 24 entries, 13:58–14:33", "~3.0k")
    editor.sees("the earlier summary is brought up to date")
    editor.sees("files in the summary: 1 read, 1 modified · by mine")
    editor.sees("w write   r review first   o own instructions   v view input   q quit")
    assert any(line.startswith("── cut ──") for line in editor.sidebar())
    editor.keys("q")
    editor.loses("── cut ──")
    assert len(compactions(path)) == 1


def test_writing_makes_the_compaction_and_other_folds_stay(editor: Editor, path: Path) -> None:
    editor.goes_to("[green]")
    editor.keys("<Tab>")
    editor.sees("Passes, but hides")
    editor.types("c", "w write")
    editor.keys("w")
    editor.sees("Compacted, 42% → ~")
    editor.sees("▬ Compaction 84k →")
    editor.sees("Passes, but hides")
    assert "(was 42%)" in editor.header
    assert SUMMARY in compactions(path)[-1]["summary"]


def test_a_reviewed_summary_is_stored_as_it_was_changed(editor: Editor, path: Path) -> None:
    editor.types("c", "r review first")
    editor.keys("r")
    editor.sees("Summary: :w compacts with it, :q! leaves everything as it is")
    assert len(compactions(path)) == 1
    editor.keys("ggOAs I say.<Esc>:w<CR>")
    editor.sees("▬ Compaction 84k →")
    assert compactions(path)[-1]["summary"].startswith("As I say.")
    assert SUMMARY in compactions(path)[-1]["summary"]


def test_a_review_that_outlives_its_daemon_keeps_its_text(
    home: Home, editor: Editor, path: Path
) -> None:
    editor.types("c", "r review first")
    editor.keys("r")
    editor.sees("Summary: :w compacts with it")
    epoch = "return require('pisession.sidebar').all()[1].session.info.epoch"
    before = editor.lua(epoch)
    for one in home.daemons():
        one.kill()
    editor.until(lambda: editor.lua(epoch) != before, "another epoch")
    editor.keys("ggOAs I say.<Esc>:w<CR>")
    editor.sees("The daemon no longer holds this draft; c, then r, makes another.")
    editor.sees("As I say.")
    assert len(compactions(path)) == 1


def test_a_review_that_is_left_changes_nothing(editor: Editor, path: Path) -> None:
    before = path.read_bytes()
    editor.types("c", "r review first")
    editor.keys("r")
    editor.sees("Summary: :w compacts with it")
    editor.keys("ggdG:q!<CR>")
    editor.loses("Summary:")
    editor.settles()
    assert path.read_bytes() == before


def test_own_instructions_and_the_input(editor: Editor, path: Path) -> None:
    editor.types("c", "v view input")
    editor.keys("v")
    editor.sees("What the summarizer would read; q closes")
    editor.sees("# history")
    editor.keys("q")
    editor.types("c", "o own instructions")
    editor.types("o", "Instructions for the summary:")
    editor.keys("be short<CR>")
    editor.sees("Compacted, 42% → ~")
    assert len(compactions(path)) == 2


def test_nothing_to_compact_says_so_instead_of_the_keys(
    home: Home, cwd: Path, start: Opens
) -> None:
    short_talk(cwd).write(home.agent)
    editor = start(setup={"width": 60}, columns=150).opens()
    editor.types("c", "There is nothing to compact")
    assert "w write" not in editor.screen()


def test_what_runs_is_shown_to_all_and_cancelled_by_anyone(
    home: Home, cwd: Path, path: Path, editor: Editor, start: Opens
) -> None:
    two = start(setup={"width": 80}, columns=150, lines=40).opens()
    (home.folder / "go").unlink()
    try:
        editor.types("c", "w write")
        editor.keys("w")
        for one in (editor, two):
            one.until(lambda one=one: "compacting" in one.header)  # type: ignore[misc]
            one.sees("● compacting…")
        assert editor.lua("return require('pisession').status()").startswith("pi compacting")
        two.goes_to("Use an injected clock")
        two.types("<CR>", "Navigate to")
        two.keys("h")
        two.sees("nvim is compacting; wait, or <C-c> cancels it.")
        two.types("c", "compacting…; <C-c> cancels it.")
        two.keys("<C-c>")
        for one in (editor, two):
            one.until(lambda one=one: "compacting" not in one.header)  # type: ignore[misc]
        two.until(lambda: "cancel" in two.below.lower())
        assert len(compactions(path)) == 1
        two.keys("<C-c>")
        two.sees("Nothing runs here.")
    finally:
        (home.folder / "go").touch()
    editor.types("c", "w write")
    editor.keys("w")
    editor.sees("▬ Compaction 84k →")


def test_a_sidebar_wiped_out_while_its_compaction_runs_leaves_it_running(
    home: Home, path: Path, editor: Editor
) -> None:
    (home.folder / "go").unlink()
    try:
        editor.types("c", "w write")
        editor.keys("w")
        editor.until(lambda: "compacting" in editor.header)
        editor.command("bwipeout!")
    finally:
        (home.folder / "go").touch()
    editor.until(lambda: len(compactions(path)) == 2)
    editor.opens()
    editor.sees("▬ Compaction 84k →")


def test_without_a_summarizer_an_extract_is_offered() -> None:
    with homes.home() as bare:
        write_settings(bare)
        write_pi_settings(bare, compaction={"keepRecentTokens": 3000})
        cwd = project(bare)
        path = login_fix(cwd).write(bare.agent)
        editor = Editor(bare, cwd, setup={"width": 80}, columns=150, lines=40)
        try:
            editor.opens()
            editor.goes_to("[green]")
            editor.types("<CR>", "e  with an extract")
            editor.keys("<Esc>")
            editor.loses("Navigate to")
            editor.types("c", "e extract, without a model")
            assert "w write" not in editor.screen()
            editor.keys("q")
            editor.command(
                "lua require('pisession.compacting').write("
                "require('pisession.sidebar').current(), {})"
            )
            editor.until(lambda: "Nobody is set up to write summaries" in editor.below)
            editor.types("c", "e extract, without a model")
            editor.keys("e")
            editor.sees("▬ Compaction 84k →")
            assert len(compactions(path)) == 2
        finally:
            editor.close()


def test_a_session_that_another_daemon_writes_to_is_read_only_here(
    home: Home, cwd: Path, path: Path, editor: Editor
) -> None:
    elsewhere = dict(home.environment, PI_CODING_AGENT_DIR=str(home.folder / "agent2"))
    home.run("append", str(path), "--text", "from another daemon", env=elsewhere)
    editor.sees("» from another daemon")
    editor.goes_to("Done: 4 files")
    editor.command("Pisession label mine")
    editor.until(lambda: "writ" in editor.below or "another" in editor.below)
    assert "[mine]" not in editor.screen()
