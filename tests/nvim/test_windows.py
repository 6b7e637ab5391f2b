"""Windows, buffers and tab pages: closing, hiding, wiping out, and painting nothing in vain."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.homes import Home
from tests.nvim.conftest import Opens, Others
from tests.nvim.conversations import short_talk
from tests.nvim.editor import Editor

pytestmark = pytest.mark.slow

COUNT = """
_G.set = 0
local real = vim.api.nvim_buf_set_lines
vim.api.nvim_buf_set_lines = function(buffer, first, last, strict, lines)
  if vim.bo[buffer].filetype == 'pisession' then
    _G.set = _G.set + math.max(#lines, 1)
  end
  return real(buffer, first, last, strict, lines)
end
"""


def said(text: str) -> dict[str, object]:
    return {"type": "message", "message": {"role": "user", "content": text, "timestamp": 1}}


def test_q_closes_and_the_command_comes_back_to_where_one_was(
    home: Home, cwd: Path, start: Opens
) -> None:
    short_talk(cwd).write(home.agent)
    editor = start().opens()
    editor.goes_to("steps")
    editor.keys("<Tab>")
    editor.sees("edit src/parser.py")
    editor.keys("q")
    editor.loses("you are here")
    editor.opens("edit src/parser.py")
    assert "2 steps" in editor.row()


def test_a_command_brings_a_closed_sidebar_back(home: Home, cwd: Path, start: Opens) -> None:
    short_talk(cwd).write(home.agent)
    editor = start().opens()
    editor.goes_to("Mended")
    editor.keys("q")
    editor.loses("Mended")
    editor.command("Pisession previous-turn")
    editor.until(lambda: "Now mend it" in editor.row())
    editor.keys("q")
    editor.loses("Mended")
    editor.command("Pisession label good")
    editor.until(lambda: "[good]" in editor.row())


def test_rows_fill_the_window_before_it_scrolls(
    home: Home, cwd: Path, start: Opens, other: Others
) -> None:
    talk = short_talk(cwd)
    path = talk.write(home.agent)
    editor = start(lines=20).opens()
    script = other(path)
    for number in range(10):
        script.append(said(f"more {number}"))
    editor.sees("more 9")
    # Fifteen rows and the leaf: what is above is in sight as long as there is room.
    assert "Explain the parser" in editor.rows[0]
    for number in range(10, 20):
        script.append(said(f"more {number}"))
    editor.sees("more 19")
    editor.until(lambda: "you are here" in editor.row())
    assert len(editor.rows) == len(editor.sidebar()) - 2
    # Who comes to a long session sees what led to the leaf, not an empty half.
    again = start(lines=20).opens("more 19")
    again.until(lambda: "you are here" in again.row())
    assert len(again.rows) == len(again.sidebar()) - 2


def test_the_last_window_is_not_taken_along(home: Home, cwd: Path, start: Opens) -> None:
    short_talk(cwd).write(home.agent)
    editor = start().opens()
    editor.command("only")
    editor.keys("q")
    editor.loses("you are here")
    assert editor.lua("return #vim.api.nvim_list_wins()") == 1


def test_nothing_is_set_when_nothing_changed_and_only_what_did(
    home: Home, cwd: Path, start: Opens, other: Others
) -> None:
    path = short_talk(cwd).write(home.agent)
    editor = start().opens()
    script = other(path)
    editor.sees("24k")
    editor.settles()
    editor.lua(COUNT)
    editor.lua("require('pisession.sidebar').current():redraw()")
    assert editor.lua("return _G.set") == 0
    script.append(said("one more"))
    editor.sees("one more")
    editor.settles()
    # The new row, and `here`, whose size has changed.
    assert editor.lua("return _G.set") <= 4


def test_nothing_is_painted_while_hidden_and_all_of_it_after(
    home: Home, cwd: Path, start: Opens, other: Others
) -> None:
    path = short_talk(cwd).write(home.agent)
    editor = start().opens()
    script = other(path)
    editor.sees("24k")
    editor.keys("q")
    editor.loses("you are here")
    editor.settles()
    editor.lua(COUNT)
    script.append(said("said while hidden"))
    editor.until(
        lambda: (
            editor.lua("return require('pisession.sidebar').current().session.info.entryCount") == 9
        )
    )
    editor.settles()
    assert editor.lua("return _G.set") == 0
    editor.opens("said while hidden")


def test_each_tab_page_has_its_own_sidebar_of_the_same_session(
    home: Home, cwd: Path, start: Opens, other: Others
) -> None:
    path = short_talk(cwd).write(home.agent)
    editor = start().opens()
    script = other(path)
    editor.command("tabnew")
    editor.opens()
    editor.keys("F")
    editor.sees("no tools")
    editor.lua(COUNT)
    script.append(said("seen in both"))
    editor.sees("seen in both")
    editor.command("tabprevious")
    editor.sees("seen in both")
    editor.sees("default ·")
    editor.command("tabclose 2")
    script.append(said("seen in the one left"))
    editor.sees("seen in the one left")


WIPE = "exe 'bwipeout! ' .. bufnr('pisession://')"


def wipe_at_once(editor: Editor) -> None:
    editor.command("Pisession")


def wipe_when_shown(editor: Editor) -> None:
    editor.opens()


def wipe_while_reading(editor: Editor) -> None:
    editor.opens()
    editor.goes_to("steps")
    editor.keys("<Tab><C-l>")


def wipe_under_a_float(editor: Editor) -> None:
    editor.opens()
    editor.types("g?", "navigate (where, then how)")


def wipe_beside_a_prompt(editor: Editor) -> None:
    editor.opens()
    editor.types("a", "Prompt:")


def wipe_with_a_preview(editor: Editor) -> None:
    editor.opens()
    editor.goes_to("Mended")
    editor.types("P", "# Answer")


@pytest.mark.parametrize(
    "moment",
    [
        wipe_at_once,
        wipe_when_shown,
        wipe_while_reading,
        wipe_under_a_float,
        wipe_beside_a_prompt,
        wipe_with_a_preview,
    ],
)
@pytest.mark.parametrize("how", ["bwipeout", "bdelete"])
def test_it_may_be_wiped_out_at_any_moment(
    moment: object, how: str, home: Home, cwd: Path, start: Opens
) -> None:
    short_talk(cwd).write(home.agent)
    editor = start()
    assert callable(moment)
    moment(editor)
    buffer = editor.lua("return require('pisession.sidebar').current().buffer")
    editor.command(f"{how}! {buffer}")
    editor.settles()
    assert editor.lua("return vim.api.nvim_buf_is_valid(...)", buffer) is False
    assert editor.lua("return require('pisession.sidebar').current()") is None
    editor.opens()


def test_typing_elsewhere_is_not_disturbed(
    home: Home, cwd: Path, start: Opens, other: Others
) -> None:
    path = short_talk(cwd).write(home.agent)
    editor = start().opens()
    script = other(path)
    editor.command("wincmd p")
    for number in range(30):
        editor.keys(f"A{number} ")
        script.append(said(f"said {number}"))
        editor.keys("<Esc>")
    editor.sees("said 29")
    typed = editor.lua("return vim.api.nvim_buf_get_lines(0, 0, -1, false)")
    assert len(typed) == 1
    assert sorted(typed[0].split(), key=int) == [str(number) for number in range(30)]
    assert editor.lua("return vim.api.nvim_get_mode().mode") == "n"
