"""One session in several places: two Neovims, scripts, a real pi; and a daemon that dies."""

from __future__ import annotations

import os
import random
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.homes import Home
from tests.nvim.conftest import Opens, Others
from tests.nvim.conversations import login_fix, short_talk
from tests.nvim.editor import Editor
from tests.support.pi import Pi
from tests.support.service import spell

pytestmark = pytest.mark.slow


def said(text: str) -> dict[str, object]:
    return {"type": "message", "message": {"role": "user", "content": text, "timestamp": 1}}


def gone_on(editor: Editor, words: str) -> str:
    return editor.sees(words, seconds=5)


def test_two_editors_see_each_others_acts(home: Home, cwd: Path, start: Opens) -> None:
    login_fix(cwd).write(home.agent)
    one = start(setup={"width": 80}, columns=150, lines=40).opens()
    two = start(setup={"width": 80}, columns=150, lines=40).opens()
    one.until(lambda: "2 windows" in one.below)
    one.command("Pisession append from the first")
    line = gone_on(two, "» from the first")
    assert " new " in line
    two.until(lambda: "nvim went on." in two.below)
    # Who stood at the leaf goes along.
    assert "you are here" in two.row()
    # The mark goes after a while in sight, and what was said with it.
    two.until(lambda: " new " not in two.screen())
    two.until(lambda: " default ·" in two.below)
    two.goes_to("[green]")
    one.goes_to("Use an injected clock")
    one.keys("<CR>")
    one.sees("Navigate to")
    one.keys("h")
    two.until(lambda: "nvim moved the leaf" in two.below)
    gone_on(two, "ahead: 8 entries")
    assert "[green]" in two.row()
    two.keys("gl")
    two.until(lambda: "you are here" in two.row())


def test_a_move_meanwhile_is_a_refusal_with_the_next_step(
    home: Home, cwd: Path, start: Opens, other: Others
) -> None:
    path = login_fix(cwd).write(home.agent)
    editor = start(setup={"width": 80}, columns=150, lines=40).opens()
    editor.goes_to("Use an injected clock")
    editor.types("<CR>", "Navigate to")
    script = other(path)
    script.append(said("in between"))
    editor.until(lambda: "in between" in editor.buffer_lines()[-2])
    editor.keys("h")
    editor.sees("The leaf has moved in the meantime; gl shows where, then try again.")
    assert script.leaf != "m187"
    editor.sees("» in between")


def test_an_append_is_seen_where_the_leaf_is_far_below_the_window(
    home: Home, cwd: Path, start: Opens, other: Others
) -> None:
    talk = short_talk(cwd)
    for number in range(60):
        talk.user(f"question {number}")
        talk.answer(f"answer {number}", 30_000)
    path = talk.write(home.agent)
    editor = start(setup={"width": 60}).opens()
    editor.keys("gg")
    editor.sees("Explain the parser")
    other(path).append(said("the newest"))
    editor.until(lambda: "the newest" in editor.buffer_lines()[-2])
    assert "Explain the parser" in editor.row()
    assert "Explain the parser" in editor.rows[0]
    editor.keys("gl")
    editor.sees("the newest")


@pytest.fixture
def real_pi() -> Iterator[Pi]:
    helper = Pi()
    helper.start()
    yield helper
    helper.stop()


def test_what_a_real_pi_appends_is_shown_live(
    real_pi: Pi, home: Home, cwd: Path, start: Opens
) -> None:
    path = short_talk(cwd).write(home.agent)
    editor = start(setup={"width": 80}, columns=150).opens()
    writing = threading.Thread(
        target=lambda: real_pi.append_many(path, 6, burst=2, pause_ms=300, seed=3, text="by pi ")
    )
    writing.start()
    try:
        editor.until(lambda: "pi went on." in editor.below)
        editor.until(lambda: " pi" in editor.below.split("·")[-1])
        editor.sees("» pi 5 by pi")
        assert "you are here" in editor.row()
    finally:
        writing.join()


ROWS = """
local rows = require('pisession.sidebar').current().session:rows()
return vim.tbl_map(function(row)
  return table.concat({ row.id, row.title, row.label or '', table.concat(row.flags, ' ') }, ' | ')
end, rows)
"""


@pytest.mark.parametrize("seed", range(4))
def test_rows_that_were_kept_up_are_those_that_are_read_anew(
    seed: int, home: Home, cwd: Path, start: Opens, other: Others
) -> None:
    talk = login_fix(cwd)
    path = talk.write(home.agent)
    editor = start(setup={"width": 80}, columns=150, lines=60).opens()
    editor.sees("Use an injected clock", "37%")
    editor.keys("zR")
    editor.sees("Passes, but hides the real fault")
    chance, script = random.Random(seed), other(path)
    ids = [entry["id"] for entry in talk.entries if entry["type"] == "message"]
    for number in range(30):
        pick = chance.randrange(6)
        if pick == 0:
            script.navigate(chance.choice(ids))
        elif pick == 1:
            script.label(chance.choice(ids), chance.choice(("good", "bad", None)))
        elif pick == 2:
            editor.goes_to("» ")
            editor.keys(chance.choice(("<Tab>", "zc", "zR", "j")))
        else:
            appended = script.append(said(f"{seed} said {number}"))
            ids += appended["ids"]
    editor.until(
        lambda: editor.lua(
            "return next(require('pisession.sidebar').current().session.asked) == nil"
        )
    )
    script.append(said("the last"))
    editor.until(lambda: any("» the last" in line for line in editor.buffer_lines()))
    editor.settles()
    kept = editor.lua(ROWS)
    editor.keys("<C-l>")
    editor.settles()
    editor.until(
        lambda: editor.lua("return not require('pisession.sidebar').current().session.is_gathering")
    )
    assert [row for row in kept if row not in editor.lua(ROWS)] == []
    assert kept == editor.lua(ROWS)


def test_an_outside_write_on_another_branch_is_told_until_somebody_moves(
    home: Home, cwd: Path, start: Opens
) -> None:
    path = login_fix(cwd).write(home.agent)
    editor = start(setup={"width": 80}, columns=150, lines=40).opens()
    editor.goes_to("Fix the login test")
    editor.types("<CR>", "Navigate to")
    editor.keys("h")
    editor.sees("Moved to Fix the login test")
    talk = login_fix(cwd)
    talk.add("session_info", name="login-fix")
    before = len(talk.entries)
    talk.user("Asked in a terminal")
    with path.open("ab") as file:
        file.write(b"".join(spell(one) for one in talk.entries[before - 1 :]))
    editor.until(lambda: "pi went on elsewhere; gb finds its branch" in editor.below)
    editor.command("wincmd p")
    editor.command("Pisession")
    editor.keys("gb")
    line = editor.sees("Asked in a terminal", "(", " entries, ")
    editor.keys(line.strip().split(":")[0] + "<CR>")
    editor.until(lambda: "» Asked in a terminal" in editor.row())
    editor.types("<CR>", "Navigate to")
    editor.sees("pi wrote here just now: a pi in a terminal will not follow; f is safer.")
    editor.types("h", "There is a draft in the prompt.")
    editor.keys("1<CR>")
    editor.until(lambda: "elsewhere" not in editor.below)


def test_a_session_that_pi_begins_is_followed(home: Home, cwd: Path, start: Opens) -> None:
    editor = start(setup={"width": 60}).opens("No pi session in this folder yet.")
    short_talk(cwd, "first").write(home.agent)
    editor.sees("Explain the parser")
    later = short_talk(cwd, "second")
    later.header["timestamp"] = later.header["timestamp"].replace("T09", "T10")
    later.user("A second session")
    later.write(home.agent)
    editor.sees("A second session")
    # Who has chosen one stays with it.
    editor.types("-", "Sessions, this folder")
    editor.keys("2G<CR>")
    editor.loses("A second session")
    third = short_talk(cwd, "third")
    third.header["timestamp"] = third.header["timestamp"].replace("T09", "T11")
    third.user("A third session")
    third.write(home.agent)
    editor.types("-", "Sessions, this folder")
    editor.settles()
    assert "» A third session" not in editor.screen()


def test_a_file_written_anew_is_read_anew_in_silence(home: Home, cwd: Path, start: Opens) -> None:
    path = login_fix(cwd).write(home.agent)
    editor = start(setup={"width": 80}, columns=150, lines=40).opens()
    editor.goes_to("2 steps")
    editor.keys("<Tab>")
    editor.sees("edit src/clock.py")
    text = path.read_text("utf-8").replace("Use an injected clock", "Use a wound clock")
    path.write_text(text, "utf-8")
    editor.sees("» Use a wound clock instead")
    editor.until(lambda: "Read anew: the file was rewritten." in editor.below)
    editor.sees("edit src/clock.py")
    assert "2 steps" in editor.row()


def kill_daemon(home: Home) -> None:
    for one in home.daemons():
        os.kill(one.pid, signal.SIGKILL)
        one.wait(5)


def test_a_killed_daemon_comes_back_with_folds_and_cursor_as_before(
    home: Home, cwd: Path, start: Opens
) -> None:
    login_fix(cwd).write(home.agent)
    editor = start(setup={"width": 80}, columns=150, lines=40).opens()
    editor.goes_to("[green]")
    editor.keys("<Tab>")
    editor.sees("Passes, but hides")
    editor.goes_to("14 steps")
    editor.keys("<Tab>")
    editor.sees("read tests/conftest.py", "36%")
    editor.goes_to("Passes, but hides")
    editor.until(lambda: "offline" not in editor.header)
    before, row = editor.rows, editor.row()
    place = editor.place()
    epoch = editor.lua(EPOCH)
    kill_daemon(home)
    editor.until(lambda: editor.lua(EPOCH) != epoch, "another epoch")
    editor.until(lambda: editor.rows == before, "the same rows")
    assert editor.row() == row
    assert editor.place() == place
    editor.keys("gl")
    editor.command("Pisession append as if nothing had been")
    editor.sees("» as if nothing had been")


ASK_MEANWHILE = """
local session = require('pisession.sidebar').current().session
local rpc = require('pisession.rpc')
local listener = { notification = function() end }
function listener.state()
  if rpc.connection.state == 'connecting' then
    rpc.unlisten(listener)
    local params = { target = session.info.leaf, label = 'meanwhile' }
    session:request('session/label', params, function(err)
      vim.g.labelled = err and err.message or 'done'
    end)
  end
end
rpc.listen(listener)
"""


def test_an_act_goes_to_its_session_where_the_next_daemon_names_it_otherwise(
    home: Home, cwd: Path, start: Opens, other: Others
) -> None:
    """Of two files with one session id the first to be opened is named by it."""
    path = short_talk(cwd).write(home.agent)
    twin = home.folder / "twin.jsonl"
    twin.write_bytes(path.read_bytes())
    handle = "return require('pisession.sidebar').current().session.handle"
    editor = start(setup={"width": 80}, columns=150, lines=40)
    editor.lua("require('pisession.rpc').acquire()")
    editor.until(lambda: editor.lua("return require('pisession.rpc').connection.state") == "ready")
    session = other(twin)
    editor.opens()
    assert editor.lua(handle) == str(path)
    session.close()
    editor.lua(ASK_MEANWHILE)
    kill_daemon(home)
    assert editor.until(lambda: editor.nvim.vars.get("labelled"), "an answer") == "done"
    assert editor.lua(handle) == session.handle
    assert b"meanwhile" in path.read_bytes()
    assert b"meanwhile" not in twin.read_bytes()


def test_a_session_that_is_gone_when_the_daemon_returns_is_asked_nothing(
    home: Home, cwd: Path, start: Opens
) -> None:
    path = short_talk(cwd).write(home.agent)
    editor = start(setup={"width": 80}, columns=150, lines=40).opens()
    editor.lua(ASK_MEANWHILE)
    path.unlink()
    kill_daemon(home)
    answer = editor.until(lambda: editor.nvim.vars.get("labelled"), "an answer")
    assert answer.startswith("No such session is open or on disk")
    editor.command("Pisession label late")
    editor.sees("No session is open here; - lists those there are.")


EPOCH = "return require('pisession.sidebar').current().session.info.epoch"


def test_rows_stay_while_there_is_no_daemon_and_acts_refuse(
    home: Home, cwd: Path, start: Opens
) -> None:
    login_fix(cwd).write(home.agent)
    script = cwd / "bridge"
    command = " ".join(home.command("attach"))
    script.write_text(f'#!/bin/sh\n[ -e "{cwd}/down" ] && exit 1\nexec {command}\n')
    script.chmod(0o755)
    editor = start(setup={"width": 80, "cmd": [str(script)]}, columns=150, lines=40).opens()
    editor.sees("Use an injected clock", "37%")
    before = editor.rows
    (cwd / "down").touch()
    kill_daemon(home)
    editor.until(lambda: "offline since" in editor.header and "next try in" in editor.header)
    assert editor.rows == before
    editor.goes_to("Done: 4 files")
    editor.command("Pisession label later")
    editor.sees("could not be reached; :checkhealth pisession tells more")
    assert editor.lua("return require('pisession').status()") == "pi (42%)"
    (cwd / "down").unlink()
    editor.keys("<C-l>")
    editor.until(lambda: "42% measured" in editor.header)
    assert editor.rows == before


def test_an_open_list_of_sessions_goes_along(
    home: Home, cwd: Path, start: Opens, other: Others
) -> None:
    shown = login_fix(cwd).write(home.agent)
    older = short_talk(cwd, "older")
    older.header["timestamp"] = "2026-01-01T00:00:00.000Z"
    path = older.write(home.agent)
    editor = start(setup={"width": 70}, columns=150, lines=40).opens()
    editor.types("-", "Sessions, this folder")
    editor.sees("○ Explain the parser")
    editor.keys("/Explain<CR>")
    other(path).rename("parsing")
    editor.sees("○ parsing")
    third = short_talk(cwd, "third")
    third.header["timestamp"] = "2026-01-02T00:00:00.000Z"
    third.add("session_info", name="another")
    third.write(home.agent)
    editor.sees("○ another")
    # What comes takes no row away from under the cursor.
    editor.keys("<CR>")
    editor.sees("parsing", "24k of 200k")
    editor.types("-", "Sessions, this folder")
    shown.unlink()
    editor.loses("login-fix")


def test_the_row_another_program_wrote_last_is_marked(home: Home, cwd: Path, start: Opens) -> None:
    talk = short_talk(cwd)
    path = talk.write(home.agent)
    editor = start(setup={"width": 70}, columns=150, lines=40).opens()
    editor.sees("Mended")
    for words in ("went on outside", "and once more"):
        talk.user(words)
        with path.open("ab") as file:
            file.write(spell(talk.entries[-1]))
        editor.sees(words, "‹pi›")
        assert editor.screen().count("‹pi›") == 1
    editor.command("Pisession append mine")
    editor.sees("» mine")
    assert "‹pi›" in editor.sees("and once more")
