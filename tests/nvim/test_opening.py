"""Opening the sidebar: the first picture, and the states in which there is none."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.homes import Home
from tests.nvim.conftest import Opens
from tests.nvim.conversations import login_fix, short_talk
from tests.nvim.editor import PLUGIN, Editor, command_line

pytestmark = pytest.mark.slow


def test_the_newest_session_of_the_folder_is_shown_from_the_leaf(
    home: Home, cwd: Path, start: Opens
) -> None:
    login_fix(cwd).write(home.agent)
    editor = start(setup={"width": 80}, columns=140).opens()
    editor.sees("you are here", "42%")
    assert editor.header.startswith(" login-fix")
    assert editor.header.endswith("84k of 200k  ▰▰▰▰▱▱▱▱▱│ 42% measured")
    assert editor.below.startswith(" default · 14 rows of 194 entries")
    assert editor.below.endswith("opus-5")
    assert editor.row().startswith("● you are here")
    rows = editor.rows
    assert rows[0].startswith("┃▸▬ 126 entries summarised")
    assert rows[-2].split() == [
        "┃",
        "«",
        *"Done: 4 files changed, all tests pass".split(),
        "14:33",
        "84k",
        "42%",
    ]


def test_nothing_is_loaded_before_the_first_use_and_setup_is_not_needed(start: Opens) -> None:
    editor = start(setup={"width": 60})
    loaded = "return vim.tbl_filter(function(name) return name:find('^pisession') end, "
    assert editor.lua(loaded + "vim.tbl_keys(package.loaded))") == []
    assert "plugin/pisession.lua" in editor.nvim.command_output("verbose command Pisession")
    assert editor.lua("return require('pisession').status()") == ""
    assert editor.lua(loaded + "vim.tbl_keys(package.loaded))") == ["pisession"]


def test_only_the_sidebars_window_has_its_options(home: Home, cwd: Path, start: Opens) -> None:
    short_talk(cwd).write(home.agent)
    editor = start(before="set number list colorcolumn=80").opens()
    assert editor.lua("return {vim.wo.number, vim.wo.list, vim.wo.winfixwidth}") == [
        False,
        False,
        True,
    ]
    editor.command("wincmd p")
    assert editor.lua("return {vim.wo.number, vim.wo.list, vim.wo.winfixwidth}") == [
        True,
        True,
        False,
    ]
    editor.command("vsplit | enew")
    assert editor.lua("return {vim.wo.number, vim.wo.winbar, vim.wo.colorcolumn}") == [
        True,
        "",
        "80",
    ]


def test_a_file_edited_in_the_sidebars_window_has_none_of_its_options(
    home: Home, cwd: Path, start: Opens
) -> None:
    short_talk(cwd).write(home.agent)
    editor = start(before="set number").opens()
    editor.command("edit some.txt")
    editor.settles()
    assert editor.lua("return {vim.wo.number, vim.wo.winbar, vim.wo.winfixwidth}") == [
        True,
        "",
        False,
    ]
    editor.command("Pisession")
    editor.sees("you are here")
    assert editor.lua("return #vim.api.nvim_list_wins()") == 3


def test_a_folder_without_sessions_says_so_and_begins_one(start: Opens) -> None:
    editor = start(setup={"width": 60})
    editor.opens("No pi session in this folder yet.")
    editor.sees("n  new", "-  all sessions")
    editor.keys("n")
    editor.sees("you are here, nothing yet")
    editor.sees("[+]")


def test_a_session_that_is_not_there_is_not_said_to_be_missing_in_the_folder(
    home: Home, cwd: Path, start: Opens
) -> None:
    short_talk(cwd).write(home.agent)
    editor = start()
    editor.command("Pisession open nowhere.jsonl")
    # Whole, in the width there is.
    editor.until(
        lambda: "No such session is open or on disk" in " ".join(map(str.strip, editor.rows))
    )
    assert "-  other sessions" in editor.rows
    assert "No pi session in this folder yet." not in editor.screen()


def test_a_missing_program_is_one_sentence(start: Opens) -> None:
    editor = start(setup={"cmd": ["pisessiond-nowhere", "attach"], "width": 70})
    editor.opens("pisessiond-nowhere is no program; look at the option cmd.")
    editor.sees("offline since")
    editor.keys("u")
    assert editor.messages().count("\n") <= 1
    bare = start(setup={"cmd": ["pisessiond", "attach"], "width": 80})
    bare.opens("pisessiond is not installed; :checkhealth pisession says how to get it.")


def test_a_refused_socket_is_one_sentence(home: Home, start: Opens) -> None:
    socket = home.folder / "nobody"
    editor = start(setup={"socket": str(socket), "width": 80}, columns=120)
    editor.opens("No daemon listens at ~/nobody; start it with pisessiond serve --socket.")
    editor.sees("offline since", "next try in")


def test_a_program_that_ends_at_once_is_one_sentence(start: Opens) -> None:
    editor = start(setup={"cmd": ["false"], "width": 80}, columns=120)
    editor.opens("pisessiond could not be reached; :checkhealth pisession tells more.")


def test_a_program_that_is_no_daemon_is_one_sentence(start: Opens) -> None:
    editor = start(setup={"cmd": ["echo", "hello"], "width": 80}, columns=120)
    editor.opens("pisessiond could not be reached; :checkhealth pisession tells more.")


def test_an_option_that_means_nothing_names_itself(start: Opens) -> None:
    editor = start()
    said = editor.lua(
        "return {pcall(require('pisession').setup, {widht = 3}),"
        " pcall(require('pisession').setup, {width = 'wide'})}"
    )
    assert "no option" in str(said) or said[0] is False
    refused = editor.lua("return select(2, pcall(require('pisession').setup, {widht = 3}))")
    assert refused == 'pisession: no option "widht"; :help pisession-config lists them'
    refused = editor.lua("return select(2, pcall(require('pisession').setup, {width = 'wide'}))")
    assert refused == "pisession: option width must be a number"


def test_the_command_completes_and_explains_itself(start: Opens) -> None:
    editor = start()
    complete = editor.nvim.funcs.getcompletion
    assert complete("Pisession comp", "cmdline") == ["compact", "compare"]
    assert complete("Pisession filter ", "cmdline") == [
        "default",
        "no-tools",
        "user-only",
        "labeled-only",
        "all",
    ]
    assert "next-turn" in complete("Pisession ", "cmdline")
    assert complete("Pisession export m", "cmdline") == ["markdown"]
    editor.keys(":Pisession nonsense<CR>")
    editor.until(lambda: "No :Pisession nonsense; there are append, " in editor.messages())


def test_every_act_has_a_key_a_plug_mapping_and_a_line_in_the_help(start: Opens) -> None:
    editor = start()
    keys: list[dict[str, Any]] = editor.lua("return require('pisession.keys').table")
    manual = (PLUGIN / "doc" / "pisession.txt").read_text("utf-8")
    for key in keys:
        plug = f"<Plug>(pisession-{key['act'].replace('_', '-')})"
        assert editor.nvim.funcs.maparg(plug, "n", False, True), plug
        assert plug in manual, plug
        for one in key["keys"]:
            assert f"`{one}`" in manual, one
    acts = set(editor.lua("return vim.tbl_keys(require('pisession.acts').table)"))
    assert {key["act"] for key in keys} <= acts
    config = editor.lua("return require('pisession.config').defaults")
    for option in [*config, "socket", "thresholds"]:
        assert f"*pisession-config-{option}*" in manual, option


def test_the_help_has_tags(home: Home, tmp_path: Path) -> None:
    copy = tmp_path / "plug"
    shutil.copytree(PLUGIN, copy)
    editor = Editor(home, tmp_path, before=f"set rtp^={copy} | helptags {copy}/doc")
    try:
        editor.command("help pisession")
        assert editor.lua("return vim.fn.expand('%:t')") == "pisession.txt"
        for tag in ("pisession-keys", "pisession-config", ":Pisession", "PisessionChanged"):
            editor.command(f"help {tag}")
        tags = (copy / "doc" / "tags").read_text("utf-8").splitlines()
        assert len(tags) >= 30
    finally:
        editor.close()


def test_checkhealth_says_what_is_there_and_what_is_missing(start: Opens) -> None:
    good = start()
    good.command("checkhealth pisession")
    assert good.sees("The daemon answers: build")
    bad = start(setup={"cmd": ["pisessiond-nowhere", "attach"]})
    bad.command("checkhealth pisession")
    bad.sees("pisessiond-nowhere is not installed, or not in PATH.")
    bad.sees("pipx install pisessiond")


@pytest.mark.parametrize("way", ["runtimepath", "packpath"])
def test_it_is_installed_from_its_folder_in_the_repository(
    way: str, home: Home, tmp_path: Path
) -> None:
    if way == "runtimepath":
        before = f"set rtp^={PLUGIN}"
    else:
        start = tmp_path / "pack" / "pi" / "start"
        start.mkdir(parents=True)
        (start / "pisession").symlink_to(PLUGIN)
        before = f"set packpath^={tmp_path}"
    argv = command_line(home, "--headless", "--cmd", before)
    argv += ["-c", "verbose command Pisession", "-c", "qa!"]
    import subprocess

    said = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=True)
    assert "plugin/pisession.lua" in said.stderr
