"""What is open or on its way when another session is shown, a daemon is gone, or keys come fast."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.homes import Home
from tests.nvim.conftest import Opens, Others
from tests.nvim.conversations import short_talk
from tests.nvim.editor import Editor

pytestmark = pytest.mark.slow

ELSEWHERE = "Another session is shown by now; nothing was changed."


def begin_another(home: Home, cwd: Path, editor: Editor) -> Path:
    """As pi does in the same folder; the sidebar goes along."""
    later = short_talk(cwd, "second")
    later.header["timestamp"] = "2026-12-24T10:00:00.000Z"
    path = later.write(home.agent)
    size = "local size = require('pisession.sidebar').current().session.size return size and "
    editor.until(lambda: editor.lua(f"{size} size.tokens < 30000"), "the other session")
    return path


def test_a_name_that_is_asked_for_goes_to_no_session_begun_meanwhile(
    home: Home, cwd: Path, path: Path, editor: Editor
) -> None:
    editor.types("r", "Name (empty clears): login-fix")
    other = begin_another(home, cwd, editor)
    before = path.read_bytes(), other.read_bytes()
    editor.keys("<C-u>mine<CR>")
    editor.sees(ELSEWHERE)
    assert (path.read_bytes(), other.read_bytes()) == before


def test_a_dry_run_compacts_no_session_begun_meanwhile(
    home: Home, cwd: Path, editor: Editor
) -> None:
    editor.types("c", "w write")
    begin_another(home, cwd, editor)
    assert "── cut ──" not in "".join(editor.sidebar())
    editor.keys("w")
    editor.sees(ELSEWHERE)


def test_a_way_to_go_somewhere_is_none_in_a_session_begun_meanwhile(
    home: Home, cwd: Path, editor: Editor
) -> None:
    editor.goes_to("Use an injected clock")
    editor.types("<CR>", "Navigate to")
    begin_another(home, cwd, editor)
    editor.keys("f")
    editor.sees(ELSEWHERE)


def test_a_draft_is_taken_to_another_session_only_when_that_is_asked_for(
    home: Home, cwd: Path, path: Path, editor: Editor
) -> None:
    editor.types("a", "Prompt: :w appends it")
    editor.keys("ione two<Esc>")
    other = begin_another(home, cwd, editor)
    editor.keys(":w<CR>")
    editor.sees("Another session is shown by now; a in the sidebar takes this draft along.")
    editor.sees("one two")
    editor.command("wincmd p")
    editor.keys("a")
    editor.until(lambda: editor.lua("return vim.fn.getline('.')") == "one two")
    editor.keys(":w<CR>")
    editor.sees("» one two")
    assert b"one two" in other.read_bytes()
    assert b"one two" not in path.read_bytes()


def test_the_same_session_opened_again_is_no_other(path: Path, editor: Editor) -> None:
    editor.types("a", "Prompt: :w appends it")
    editor.keys("ione two<Esc>")
    editor.command(f"Pisession open {path}")
    editor.until(lambda: editor.lua("return require('pisession.sidebar').current():is_read()"))
    editor.command("wincmd p")
    editor.keys(":w<CR>")
    editor.sees("» one two")


def test_a_draft_stays_when_its_sidebar_is_gone(path: Path, editor: Editor) -> None:
    editor.types("a", "Prompt: :w appends it")
    editor.keys("ione two<Esc>")
    editor.lua("vim.api.nvim_buf_delete(require('pisession.sidebar').current().buffer, {})")
    editor.keys(":w<CR>")
    editor.sees("The sidebar is closed by now; nothing was changed.")
    editor.sees("one two")
    assert b"one two" not in path.read_bytes()


LATE_ANSWERS = """
local rpc = require('pisession.rpc')
local ask = rpc.request
function rpc.request(method, params, callback)
  return ask(method, params, function(...)
    local answer = { ... }
    vim.defer_fn(function() callback(unpack(answer)) end, 500)
  end)
end
"""


def test_what_is_typed_while_a_message_is_on_its_way_stays(path: Path, editor: Editor) -> None:
    editor.lua(LATE_ANSWERS)
    editor.types("a", "Prompt: :w appends it")
    editor.keys("ione<Esc>:w<CR>otwo<Esc>")
    editor.sees("It was taken as it was; the prompt has changed since and stays.")
    assert editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)") == ["one", "two"]


@pytest.mark.parametrize("key", ["c", "K", "i", "<CR>", "-"])
def test_a_dialog_takes_no_keys_of_who_went_on_elsewhere(key: str, editor: Editor) -> None:
    editor.goes_to("Use an injected clock")
    editor.lua(LATE_ANSWERS)
    editor.keys(f"{key}<C-w>p")
    editor.keys("iwhat is typed here<Esc>")
    editor.sees("You went on elsewhere; ask again to see it.")
    assert editor.lua("return vim.fn.getline(1)") == "what is typed here"
    assert editor.lua("return vim.api.nvim_win_get_config(0).relative") == ""


def test_keys_come_twice_and_one_dialog_is_shown(editor: Editor) -> None:
    editor.goes_to("Use an injected clock")
    editor.lua(LATE_ANSWERS)
    editor.types("KK", "On the active branch")
    editor.lua("vim.wait(800, function() return false end)")
    assert editor.lua("return #vim.api.nvim_list_wins()") == 3
    assert "elsewhere" not in editor.screen()


def test_a_review_waits_for_who_went_on_elsewhere(home: Home, path: Path, editor: Editor) -> None:
    (home.folder / "go").unlink()
    try:
        editor.types("c", "r review first")
        editor.keys("r")
        editor.until(lambda: "compacting" in editor.header)
        editor.keys("<C-w>hiwhat is")
    finally:
        (home.folder / "go").touch()
    editor.sees("The summary is written; it opens once you are in the sidebar.")
    editor.keys(" typed here<Esc>")
    editor.until(lambda: editor.lua("return vim.fn.getline(1)") == "what is typed here")
    editor.keys("<C-w>l")
    editor.sees("Summary: :w compacts with it, :q! leaves everything as it is")
    editor.keys("ggOAs I say.<Esc>:w<CR>")
    editor.sees("▬ Compaction 84k →")
    assert b"As I say." in path.read_bytes()


def test_a_message_is_appended_once_however_often_it_is_written(path: Path, editor: Editor) -> None:
    editor.lua(LATE_ANSWERS)
    editor.types("a", "Prompt: :w appends it")
    editor.keys("ijust once<Esc>:w<CR>")
    editor.types(":w<CR>", "It is on its way already.")
    editor.loses("Prompt:")
    assert path.read_bytes().count(b"just once") == 1


def test_two_keys_undo_two_acts_however_fast(editor: Editor) -> None:
    editor.command("Pisession rename other")
    editor.until(lambda: "other" in editor.header)
    editor.goes_to("Done: 4 files")
    editor.command("Pisession label mine")
    editor.sees("[mine]")
    editor.keys("uu")
    editor.loses("[mine]")
    editor.until(lambda: "login-fix" in editor.header)
    editor.sees("It is as before.")
    editor.types("u", "There is nothing of mine to undo.")


def test_an_undo_that_is_refused_can_be_asked_for_again(editor: Editor) -> None:
    editor.goes_to("Done: 4 files")
    editor.command("Pisession label mine")
    editor.sees("[mine]")
    editor.lua(
        "local session = require('pisession.sidebar').current().session\n"
        "function session.request(self, _, _, callback)\n"
        "  session.request = nil\n"
        "  callback({ kind = 'Degraded', message = 'No room.', data = {} })\n"
        "end"
    )
    editor.types("u", "No room.")
    editor.keys("u")
    editor.loses("[mine]")


def test_every_act_that_waits_for_the_rows_is_done(path: Path, start: Opens) -> None:
    editor = start(setup={"width": 80}, columns=150, lines=40)
    editor.lua("vim.cmd('Pisession append one') vim.cmd('Pisession append two')")
    editor.sees("» two")
    editor.sees("» one")


OPENS_LATE = """
local rpc = require('pisession.rpc')
local request = rpc.request
function rpc.request(method, ...)
  local rest = { ... }
  if method ~= 'session/open' then
    return request(method, ...)
  end
  vim.g.is_opening = true
  vim.defer_fn(function() request(method, unpack(rest)) end, 500)
  return function() end
end
"""


@pytest.fixture
def reopening(home: Home, editor: Editor) -> Editor:
    """Its daemon was begun anew and reads the file: that takes a while where it is large."""
    editor.lua(OPENS_LATE)
    for one in home.daemons():
        one.kill()
        one.wait(5)
    editor.until(lambda: editor.nvim.vars.get("is_opening"), "the next daemon")
    return editor


def test_a_fold_opened_while_the_next_daemon_reads_the_file_is_open(reopening: Editor) -> None:
    reopening.goes_to("[green]")
    reopening.keys("<Tab>")
    reopening.sees("Passes, but hides")
    reopening.settles()
    reopening.sees("Passes, but hides")


def test_work_is_taken_out_once_the_next_daemon_has_read_the_file(reopening: Editor) -> None:
    reopening.goes_to("2 steps")
    reopening.keys("x")
    reopening.sees("x puts it back")
    reopening.keys("<Tab>")
    reopening.sees("edit src/clock.py", "±")


def test_a_sidebar_closed_while_another_opens_its_session_takes_nothing_from_that(
    editor: Editor, path: Path, other: Others
) -> None:
    editor.lua(
        "local rpc = require('pisession.rpc')\n"
        "local request = rpc.request\n"
        "function rpc.request(method, ...)\n"
        "  vim.g.is_closing = vim.g.is_closing or method == 'session/close'\n"
        "  return request(method, ...)\n"
        "end\n"
        "local first = require('pisession.sidebar').current()\n"
        "vim.cmd('tabnew | Pisession')\n"
        "vim.api.nvim_buf_delete(first.buffer, { force = true })"
    )
    editor.sees("Use an injected clock", "37%")
    # Which of the two the daemon would have done first is chance.
    assert not editor.nvim.vars.get("is_closing")
    other(path).append({"type": "message", "message": {"role": "user", "content": "by a script"}})
    editor.sees("» by a script")


OPEN = """
local found
require('pisession.rpc').request('session/list', { cwd = vim.fn.getcwd() }, function(_, answer)
  found = {}
  for _, one in ipairs(answer.sessions) do
    table.insert(found, one.open)
  end
end)
vim.wait(5000, function() return found end, 5)
table.sort(found)
return found
"""


def test_a_session_left_before_it_was_read_is_not_kept_open(
    home: Home, cwd: Path, path: Path, editor: Editor
) -> None:
    short_talk(cwd, "second").write(home.agent)
    third = short_talk(cwd, "third").write(home.agent)
    editor.lua("vim.cmd('Pisession open ' .. ...)", str(third))
    editor.lua(
        "local one, other = ...\n"
        "vim.cmd('Pisession open ' .. one)\n"
        "vim.cmd('Pisession open ' .. other)",
        str(path),
        str(third),
    )
    editor.sees("Now mend it")
    editor.until(lambda: editor.lua(OPEN) == [0, 0, 1], "one open session")


HOLDS_ROWS = """
local rpc = require('pisession.rpc')
local request = rpc.request
held = {}
function rpc.request(method, params, callback)
  return request(method, params, function(...)
    local answer = { ... }
    if method ~= 'session/rows' or params.filter ~= 'default' then
      return callback(...)
    end
    table.insert(held, function() callback(unpack(answer)) end)
  end)
end
"""
GOES_ON = "local go_on = table.remove(held, 1) if go_on then go_on() end return #held"
TITLES = "return vim.tbl_map(function(row) return row.title end, first:rows())"


def test_a_change_is_shown_that_came_while_rows_of_another_filter_were_read(
    editor: Editor, path: Path, other: Others
) -> None:
    """The daemon tells of the rows of one filter; who shows others asks for them."""
    editor.goes_to("[green]")
    editor.types("<Tab>", "Passes, but hides")
    editor.lua("first = require('pisession.sidebar').current().session")
    editor.command("tabnew")
    editor.opens()
    told_by = "return vim.tbl_values(require('pisession.hearing').told_by)[1]"
    editor.command("Pisession filter all")
    editor.until(lambda: editor.lua(told_by) == "all")
    script = other(path)
    editor.lua(HOLDS_ROWS)
    editor.lua("first:fetch()")
    editor.until(lambda: editor.lua("return first.is_gathering and #held == 1"))
    editor.lua("require('pisession.sidebar').current().session:fetch()")
    editor.until(lambda: editor.lua(told_by) == "all")
    script.append({"type": "message", "message": {"role": "user", "content": "meanwhile"}})
    editor.sees("» meanwhile")

    def is_shown() -> bool:
        editor.lua(GOES_ON)
        editor.settles()
        return "meanwhile" in editor.lua(TITLES)

    editor.until(is_shown, "the change", 5)
