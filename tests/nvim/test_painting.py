"""What is drawn, cell by cell: hostile text, narrow windows, other signs; and the row files."""

from __future__ import annotations

import os
import subprocess
import unicodedata
from pathlib import Path

import pytest

from tests.daemon.homes import Home
from tests.nvim.conftest import Opens
from tests.nvim.conversations import Talk, login_fix, short_talk, today
from tests.nvim.editor import PLUGIN, Editor, nvim_binary

pytestmark = pytest.mark.slow

HOSTILE = {
    "escape codes": "\x1b[31mred\x1b[2J\x1b[H gone \x1b]0;title\x07 and "
    "\x1b]52;c;aGk=\x07 clipboard",
    "controls": "a\tb\rc\x08\x08d\x00e\x7ff\x9b31mg",
    "right to left": "safe \u202eevil\u202c \u2066and\u2069 \u200fmarks\u200e "
    "\u05e9\u05dc\u05d5\u05dd",
    "wide": "\u6f22\u5b57\u304b\u306a\u4ea4\u3058\u308a\u6587 " * 3,
    "combining": "e\u0301a\u0308o\u0302 " + "z\u0351\u036b\u0343\u036a" * 12,
    "zero width": "a\u200bb\u200dc\ufeffd\u00ade\u2060f",
    "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467 family \U0001f1e9\U0001f1ea flag "
    "\u2764\ufe0f heart",
    "surrogates": "lone \ud800 and \udc00 halves",
    "tags": "a\U000e0068\U000e0069b hidden",
    "vim": "%#Error#text%= %{execute('q')} {{{ }}} modeline vim: set ft=c :",
    "separators": "one\u2028two\u2029three\u0085four",
    "long": "word " * 400,
}
FORBIDDEN = {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"}


def hostile_talk(cwd: Path) -> Talk:
    """Labels, names, messages, tools and errors, all of them hostile."""
    talk = Talk(cwd, today(), "hostile")
    labelled = []
    for text in HOSTILE.values():
        labelled.append(talk.user(text))
        talk.step("bash", text, text, 20_000)
        talk.step(text[:30], text, text, 20_000)
        talk.answer(text, 21_000)
    for entry, text in zip(labelled, HOSTILE.values(), strict=True):
        talk.add("label", targetId=entry, label=text)
    talk.add("session_info", name=HOSTILE["escape codes"] + HOSTILE["vim"] + HOSTILE["wide"])
    return talk


def check_screen(editor: Editor) -> None:
    """Nothing on the screen acts, and the columns of the right stand under each other."""
    for row in editor.cells():
        for cell in row:
            assert all(unicodedata.category(sign) not in FORBIDDEN for sign in cell), row
    for row in editor.sidebar_cells()[1:-1]:
        line = "".join(row)
        if line.strip() and "%" in line:
            assert row[-1] == "%", line


@pytest.mark.parametrize("width", [80, 44, 30])
def test_hostile_text_does_nothing_and_columns_stay_aligned(
    width: int, home: Home, cwd: Path, start: Opens
) -> None:
    hostile_talk(cwd).write(home.agent)
    editor = start(setup={"width": width}, columns=150, lines=70).opens()
    editor.sees("10%")
    check_screen(editor)
    editor.keys("zR")
    editor.until(lambda: len(editor.buffer_lines()) > 60)
    check_screen(editor)
    assert width < 80 or "%#Error#text%" in editor.header
    assert len(editor.rows) > 30


def test_hostile_text_does_nothing_in_floats_and_messages(
    home: Home, cwd: Path, start: Opens
) -> None:
    hostile_talk(cwd).write(home.agent)
    editor = start(setup={"width": 60}, columns=150, lines=70).opens()
    editor.sees("10%")
    editor.goes_to("red gone")
    for keys, sign in (("p", "# You"), ("K", "label:"), ("<CR>", "Navigate to"), ("i", "largest")):
        editor.types(keys, sign)
        check_screen(editor)
        editor.keys("q" if keys != "p" else "p")
    editor.types("-", "Sessions, this folder")
    check_screen(editor)
    editor.keys("q")
    editor.command("Pisession label " + "ok")
    editor.command("Pisession where")
    editor.settles()
    check_screen(editor)
    assert editor.lua("return #vim.api.nvim_list_wins()") == 2


def test_a_window_of_24_cells_has_the_percent_and_one_of_11_the_glyph(
    home: Home, cwd: Path, start: Opens
) -> None:
    login_fix(cwd).write(home.agent)
    editor = start(setup={"width": 24}).opens("you are")
    editor.sees("┃ » Fix the log", "15%")
    assert "42%" in editor.header
    editor.command("vertical resize 20")
    editor.sees("┃ » Fix the login t")
    assert editor.header == " 42%"
    editor.command("vertical resize 11")
    editor.until(lambda: any(line.startswith("┃ »") and "37%" in line for line in editor.rows))
    assert all(len(line) <= 11 for line in editor.sidebar())
    editor.keys("p")
    editor.keys("p")
    editor.command("vertical resize 2")
    editor.settles()
    editor.command("vertical resize 80")
    editor.sees("Use an injected clock instead", "14:31")


def test_ascii_is_a_choice_and_what_a_double_wide_screen_gets(
    home: Home, cwd: Path, start: Opens
) -> None:
    login_fix(cwd).write(home.agent)
    editor = start(setup={"width": 60, "icons": "ascii"}, columns=150).opens()
    editor.sees("| > Fix the login test")
    editor.sees("@ you are here")
    assert "####.....| 42%" in editor.header
    for keys in ("c", "g?", "i", "-"):
        editor.keys(keys)
        editor.settles()
        editor.keys("q")
    body = "\n".join(editor.rows)
    assert body.isascii(), body
    wide = start(setup={"width": 60}, columns=150, before="set ambiwidth=double").opens()
    wide.sees("| > Fix the login test")
    later = start(setup={"width": 60}, columns=150).opens()
    later.sees("┃ » Fix the login test")
    later.command("set ambiwidth=double")
    later.sees("| > Fix the login test")


def test_the_right_to_left_and_wide_signs_of_a_label_take_their_cells(
    home: Home, cwd: Path, start: Opens
) -> None:
    talk = short_talk(cwd)
    talk.add("label", targetId="m1", label="漢字")
    talk.write(home.agent)
    editor = start(setup={"width": 44}, columns=110).opens()
    editor.sees("[漢字] Explain the")
    editor.sees("12%")
    check_screen(editor)


def test_colours_are_links_and_a_colour_scheme_may_change(
    home: Home, cwd: Path, start: Opens
) -> None:
    short_talk(cwd).write(home.agent)
    editor = start(before="highlight PisessionUser guifg=#123456").opens()
    groups = editor.lua("return vim.fn.getcompletion('Pisession', 'highlight')")
    assert len(groups) > 10
    for group in groups:
        made = editor.lua("return vim.api.nvim_get_hl(0, {name = ...})", group)
        assert ("link" in made) != (group == "PisessionUser"), group
    editor.command("colorscheme habamax")
    assert editor.lua("return vim.api.nvim_get_hl(0, {name = 'PisessionLeaf'})").get("link")


@pytest.mark.parametrize(
    ("script", "passed"), [("rows", "0 lines differ"), ("transport", "0 of 5 failed")]
)
def test_what_needs_no_screen_passes_too(script: str, passed: str) -> None:
    """The row files, painted and spoken as everywhere; messages in pieces of every size."""
    plain = ("--headless", "-u", "NONE", "-i", "NONE", "-n", "-l")
    done = subprocess.run(
        [str(nvim_binary()), *plain, str(PLUGIN / "tests" / f"{script}.lua")],
        env={**os.environ, "TZ": "UTC"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert passed in done.stdout + done.stderr
