"""The keys of the sidebar that look and go about, typed as a user types them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.homes import Home
from tests.nvim.conftest import Opens, Others
from tests.nvim.conversations import Talk, login_fix, today
from tests.nvim.editor import Editor

pytestmark = pytest.mark.slow


@pytest.fixture
def editor(home: Home, cwd: Path, start: Opens) -> Editor:
    """The session of the pictures, with the cursor at the leaf."""
    login_fix(cwd).write(home.agent)
    editor = start(setup={"width": 80}, columns=150, lines=40).opens()
    editor.sees("Fix the login test", "15%")
    return editor


def goes(editor: Editor, keys: str, words: str) -> None:
    editor.keys(keys)
    editor.until(lambda: words in editor.row(), f"the cursor on {words!r}")


REFUSE_ONE = """
local rpc = require('pisession.rpc')
local request, level = rpc.request, ...
vim.g.refused = 0
rpc.request = function(method, params, callback)
  if method ~= 'session/rows' or params.level ~= level then
    return request(method, params, callback)
  end
  vim.g.refused = vim.g.refused + 1
  vim.schedule(function()
    callback({ kind = 'EntryNotFound', message = 'There is no such row.', data = {} })
  end)
  return function() end
end
"""
LEVEL = """
local sidebar = require('pisession.sidebar').current()
return sidebar.view:row_at(vim.api.nvim_win_get_cursor(sidebar.window)[1]).id
"""


def test_a_fold_that_cannot_be_read_holds_no_other_up(editor: Editor) -> None:
    editor.goes_to("14 steps")
    editor.lua(REFUSE_ONE, editor.lua(LEVEL))
    # What was opened while the refusal was on its way is read behind it.
    editor.lua("require('pisession.sidebar').current().session.folds['b:m182'] = true")
    editor.keys("<Tab>")
    editor.sees("Passes, but hides the real fault")
    editor.settles()
    assert editor.nvim.vars["refused"] == 1
    assert "14 steps" in editor.row()


def test_going_from_turn_to_turn_branch_to_branch_and_back_to_the_leaf(editor: Editor) -> None:
    goes(editor, "[[", "Use an injected clock")
    goes(editor, "[[", "Fix the login test")
    goes(editor, "]]", "Use an injected clock")
    goes(editor, "[b", "Try freezing the clock")
    goes(editor, "[b", "[green] Patch time.time")
    goes(editor, "]b", "Try freezing the clock")
    goes(editor, "gp", "The fixture's clock is naive")
    goes(editor, "[c", "Compaction 186k")
    goes(editor, "gl", "you are here")
    goes(editor, "[l", "[green]")
    goes(editor, "gg", "126 entries summarised")
    goes(editor, "]l", "[green]")
    goes(editor, "gg]c", "Compaction 186k")
    goes(editor, "gl", "you are here")
    goes(editor, "gp", "The fixture's clock is naive")


def test_folds_open_and_close_and_the_cursor_stays_with_its_row(editor: Editor) -> None:
    editor.goes_to("2 steps")
    for key in ("<Tab>", "za", "zo"):
        editor.keys(key)
        editor.sees("edit src/clock.py")
        assert "2 steps" in editor.row()
        editor.keys("zc")
        editor.loses("edit src/clock.py")
    editor.keys("zo")
    editor.sees("edit src/clock.py")
    goes(editor, "j", "edit src/clock.py")
    goes(editor, "zc", "2 steps")
    editor.loses("edit src/clock.py")
    editor.keys("zR")
    editor.sees("edit src/clock.py")
    editor.sees("Passes, but hides the real fault")
    assert "2 steps" in editor.row()
    editor.keys("zM")
    editor.loses("edit src/clock.py")
    assert "2 steps" in editor.row()


def test_an_alternative_opens_one_level_deeper(editor: Editor) -> None:
    editor.goes_to("[green]")
    editor.keys("<Tab>")
    editor.sees("┃ │ » [green] Patch time.time in the test only")
    editor.sees("┃ │▸≡ 2 steps")
    goes(editor, "jj", "2 steps")
    goes(editor, "gp", "The fixture's clock is naive")
    # Enter on what has no entry, or stands for a stretch, opens it.
    goes(editor, "gg", "126 entries summarised")
    editor.keys("<CR>")
    editor.sees("Port the session store")


def test_the_size_column_goes_round(editor: Editor) -> None:
    editor.keys("s")
    line = editor.sees("Use an injected clock", "+8")
    assert "37%" not in line
    editor.keys("s")
    editor.until(lambda: "+8" not in editor.screen())
    assert not editor.rows[1].rstrip().endswith("%")
    editor.keys("s")
    editor.sees("Use an injected clock", "37%")


def test_filters_go_round_and_can_be_chosen(editor: Editor) -> None:
    editor.goes_to("Use an injected clock")
    for name, gone in (
        ("no tools", "steps"),
        ("user only", "« "),
        ("labelled", "Use an"),
        ("all", ""),
    ):
        editor.keys("F")
        editor.until(lambda name=name: f" {name} ·" in editor.below, name)  # type: ignore[misc]
        assert not gone or all(gone not in row for row in editor.rows), name
    editor.keys("F")
    editor.until(lambda: " default ·" in editor.below)
    editor.types("gF", "Rows to show")
    editor.keys("3<CR>")
    editor.until(lambda: " user only ·" in editor.below)
    editor.command("Pisession filter all")
    editor.until(lambda: " all ·" in editor.below)
    editor.sees("opus-5", "·")


def test_searching_goes_through_folded_rows_and_closes_them_after(editor: Editor) -> None:
    editor.types("g/", "Search in session:")
    editor.keys("freezegun<CR>")
    editor.until(lambda: "read tests/conftest.py" in editor.row())
    assert "1 of 1" in editor.below
    editor.types("g/", "Search in session:")
    editor.keys("login<CR>")
    editor.until(lambda: " of " in editor.below and "login" in editor.row(), "a hit")
    first, count = editor.row(), editor.below
    editor.keys("n")
    editor.until(lambda: editor.below != count and editor.row() != first)
    assert "login" in editor.row()
    editor.keys("N")
    editor.until(lambda: editor.below == count and editor.row() == first)
    editor.types("g/", "Search in session:")
    editor.keys("<CR>")
    editor.until(lambda: " default ·" in editor.below)
    editor.loses("read tests/conftest.py")
    editor.types("g/", "Search in session:")
    editor.keys("zebra<CR>")
    editor.sees("Nothing here says zebra.")


def test_a_search_that_finds_nothing_drawn_says_so_and_slash_is_neovims(editor: Editor) -> None:
    goes(editor, "gg/injected<CR>", "Use an injected clock")
    goes(editor, "gg", "126 entries")
    goes(editor, "n", "Use an injected clock")


def test_details_name_every_state_in_words(editor: Editor) -> None:
    editor.goes_to("14 steps")
    editor.keys("K")
    editor.sees("Work, ", "13:5")
    editor.sees("On the active branch, 1 failed · entry ", "28 entries, +")
    editor.sees("context 72k of 200k, 36%, measured")
    editor.keys("q")
    editor.goes_to("[green]")
    editor.keys("K")
    editor.sees("Alternative, ", "label: green")
    editor.sees("On another branch · entry")
    editor.keys("<Esc>")
    editor.loses("label: green")


def test_details_show_the_first_400_characters_cleaned(home: Home, cwd: Path, start: Opens) -> None:
    talk = login_fix(cwd)
    talk.user("Tell\x1b[2Jme\u202e this:\n" + "x" * 384 + "END and what no one sees")
    talk.write(home.agent)
    editor = start(setup={"width": 60}, columns=170, lines=40).opens()
    editor.goes_to("Tell")
    editor.keys("K")
    editor.sees("You, ", "14:33")
    editor.sees("Tellme this:")
    editor.sees("xxxEND…")
    line = editor.sees("On the active branch · entry ", "1 entry, +")
    assert "and what no one sees" not in line
    assert "and what no one sees" not in editor.screen()


def test_open_details_keep_up_with_their_row(
    home: Home, cwd: Path, start: Opens, other: Others
) -> None:
    talk = login_fix(cwd)
    before = talk.leaf
    told = talk.user("Tell me this")
    path = talk.write(home.agent)
    editor = start(setup={"width": 60}, columns=170, lines=40).opens()
    editor.goes_to("Tell")
    editor.keys("K")
    editor.sees("On the active branch · entry ", "1 entry, +")
    session = other(path)
    session.label(told, "by another window")
    editor.sees("You, ", "label: by another window")
    # Its row goes into the fold of what is ahead, and what was asked about stays to be read.
    session.navigate(before)
    editor.sees('entries, to "Tell me thi')
    editor.sees("You, ", "label: by another window")
    editor.keys("q")
    editor.loses("You, ")


def test_the_preview_folds_output_and_follows_the_cursor(editor: Editor) -> None:
    editor.goes_to("14 steps")
    editor.keys("<Tab>")
    editor.goes_to("read tests/conftest.py")
    editor.keys("p")
    editor.sees("**read** · 61 lines")
    assert "import freezegun" not in editor.screen()
    editor.keys("p")
    editor.loses("**read**")
    editor.keys("P")
    editor.sees("**read** · 61 lines")
    editor.keys("j")
    editor.sees("# Answer", "13:58")
    editor.keys("P")
    editor.loses("# Answer")
    editor.keys("k")
    editor.settles()
    assert "**read**" not in editor.screen()


def test_the_preview_goes_when_the_sidebar_is_left(editor: Editor) -> None:
    editor.goes_to("Use an injected clock")
    editor.types("p", "# You")
    editor.command("wincmd p")
    editor.loses("# You")


def test_a_double_click_previews_and_no_click_navigates(editor: Editor) -> None:
    editor.command("set mouse=a")
    place = editor.place()
    assert place is not None
    line = next(at for at, row in enumerate(editor.sidebar()) if "Use an injected" in row)
    for _ in range(2):
        editor.nvim.api.input_mouse("left", "press", "", 0, place[0] + line, place[1] + 8)
        editor.nvim.api.input_mouse("left", "release", "", 0, place[0] + line, place[1] + 8)
    editor.sees("# You", "14:31")
    assert "Navigate to" not in editor.screen()


def test_the_context_detail_adds_up_and_leads_to_rows(editor: Editor) -> None:
    editor.keys("i")
    editor.sees("demo/opus-5, window 200k")
    editor.sees("84k 42.0%", "measured 14:33", "automatic compaction at 184k")
    editor.sees("tool results", "23k  27%")
    editor.sees("not explained", "+50k  59%")
    editor.sees("10 largest", "x takes out")
    editor.sees("bash pytest -q --tb=long", "13:5")
    editor.sees("Totals, whole file:")
    editor.keys("/--tb=long<CR><CR>")
    editor.until(lambda: "bash pytest -q --tb=long" in editor.row())
    assert "Context at the leaf" not in editor.screen()


def test_yanking_takes_text_and_id(editor: Editor) -> None:
    editor.goes_to("Use an injected clock")
    editor.keys("y")
    editor.sees("Yanked 1 line.")
    assert editor.nvim.funcs.getreg('"') == "Use an injected clock instead"
    editor.keys('"aY')
    editor.sees("Yanked the id m188.")
    assert editor.nvim.funcs.getreg("a") == "m188"


def test_problems_go_to_the_quickfix_list(home: Home, cwd: Path, start: Opens) -> None:
    path = login_fix(cwd).write(home.agent)
    with path.open("ab") as file:
        file.write(b'{"type": "message", "id": "broken\n{"type":"x"}\n')
    editor = start(setup={"width": 70}, columns=150).opens()
    editor.until(lambda: "2 problems, !" in editor.below)
    editor.keys("!")
    editor.until(lambda: editor.lua("return #vim.fn.getqflist()") == 2)
    first = editor.lua("return vim.fn.getqflist()[1]")
    assert first["lnum"] == 196
    whole = login_fix(cwd)
    assert first["text"]
    assert whole.leaf
    assert editor.lua("return vim.fn.win_screenpos(vim.fn.getqflist({winid = 0}).winid)[2]") == 1


def test_no_problems_are_said_too(editor: Editor) -> None:
    editor.keys("!")
    editor.sees("No problems in the file.")


def test_the_help_float_is_made_of_the_keys_in_force(home: Home, cwd: Path, start: Opens) -> None:
    login_fix(cwd).write(home.agent)
    editor = start(
        setup={"width": 60, "keys": {"<Space>": "preview", "x": False}}, columns=150, lines=50
    ).opens()
    editor.types("g?", "Going")
    editor.sees("<Space> p", "preview")
    editor.sees("»", "you")
    assert "out of the context and back" not in editor.screen()
    editor.keys("q")
    editor.goes_to("Use an injected")
    editor.keys("<Space>")
    editor.sees("# You")


def test_a_row_is_said_as_one_sentence(editor: Editor) -> None:
    editor.goes_to("Use an injected clock")
    editor.command("Pisession where")
    assert (
        "You: Use an injected clock instead. On the active branch. Context 74 thousand tokens, "
        "37 percent, measured. 14:31." in editor.messages().replace("\n", "")
    )


def test_reading_anew_changes_nothing(editor: Editor) -> None:
    editor.goes_to("2 steps")
    editor.keys("<Tab>")
    editor.sees("edit src/clock.py")
    before = editor.rows
    editor.keys("<C-l>")
    editor.settles()
    assert editor.rows == before
    assert "2 steps" in editor.row()


def test_the_list_of_sessions_opens_another(home: Home, cwd: Path, editor: Editor) -> None:
    from tests.nvim.conversations import short_talk

    older = short_talk(cwd, "older")
    older.header["timestamp"] = "2026-01-01T00:00:00.000Z"
    older.write(home.agent)
    editor.types("-", "Sessions, this folder")
    line = editor.sees("● login-fix")
    assert "42%" in line
    editor.sees("○ Explain the parser")
    editor.keys("/Explain<CR><CR>")
    editor.sees("Now mend it")
    editor.types("-", "Sessions, this folder")
    editor.keys("a")
    editor.sees("Sessions, all folders")
    editor.keys("h")
    editor.sees("Sessions, this folder")
    editor.keys("n")
    editor.sees("you are here, nothing yet")


def test_marks_are_set_and_taken_away(editor: Editor) -> None:
    editor.goes_to("Done: 4 files")
    editor.keys("m")
    editor.sees("Done: 4 files", " A ")
    editor.keys("m")
    editor.until(lambda: " A " not in editor.row())


def test_the_line_below_names_the_thinking_level(home: Home, cwd: Path, start: Opens) -> None:
    talk = login_fix(cwd)
    talk.add("thinking_level_change", thinkingLevel="high")
    talk.write(home.agent)
    editor = start(setup={"width": 60}, columns=130).opens()
    editor.until(lambda: "opus-5 high" in editor.below)


@pytest.mark.parametrize("key", ["<CR>", "<Tab>"])
def test_a_group_opens_in_pages_of_50(home: Home, cwd: Path, start: Opens, key: str) -> None:
    talk = Talk(cwd, today(), "rewound")
    talk.user("Where to?")
    fork = talk.answer("Anywhere", 20_000)
    for number in range(121):
        talk.back_to(fork).user(f"try {number}.")
    talk.back_to(fork).user("Home")
    talk.write(home.agent)
    editor = start(setup={"width": 60}, columns=110, lines=40).opens()
    editor.goes_to("121 alternatives")
    editor.keys(key)
    editor.sees("try 120.")
    goes(editor, "G?more<CR>", "… 71 more")
    goes(editor, key, "try 70.")
    goes(editor, "/more<CR>", "… 21 more")
    # What was read stays read when all is read anew.
    editor.keys("<C-l>")
    editor.settles()
    assert "… 21 more" in editor.row()
    goes(editor, key, "try 20.")
    goes(editor, "G?try<CR>", "try 0.")
    assert all("more" not in row for row in editor.rows)


def test_closed_work_says_how_many_of_its_results_are_out(editor: Editor) -> None:
    editor.goes_to("2 steps")
    editor.keys("<Tab>")
    editor.sees("edit src/clock.py")
    editor.goes_to("edit src/clock.py")
    editor.keys("x")
    editor.sees("edit src/clock.py", "±")
    editor.sees("2 steps", " x1 ")
    editor.keys("zc")
    editor.loses("edit src/clock.py")
    editor.keys("K")
    editor.sees("On the active branch, 1 out of the context")
    editor.keys("q")
    goes(editor, "gl", "you are here")
    editor.goes_to("2 steps")
    editor.keys("x")
    editor.sees("2 steps", " x ")
