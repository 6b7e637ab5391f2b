"""Sessions of ten thousand entries: opened without a pause, and kept up as an empty one is."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Final

import pytest

from tests.bench.generated import session_file
from tests.daemon.homes import SLACK, Home
from tests.nvim.conftest import Opens, Others
from tests.nvim.conversations import Talk, today
from tests.nvim.editor import Editor

pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]

PAUSE_MS: Final = 100
"""So long a sidebar may keep its reader waiting in one piece while ten thousand rows come."""

SETTLED: Final = """
local session = require('pisession.sidebar').current().session
local main = session.levels['']
return main ~= nil and not main.before and not main.after and next(session.asked) == nil
"""
PAUSES: Final = """
_G.longest, _G.last = 0, vim.uv.hrtime()
_G.watch = vim.uv.new_timer()
_G.watch:start(1, 1, vim.schedule_wrap(function()
  local now = vim.uv.hrtime()
  _G.longest, _G.last = math.max(_G.longest, now - _G.last), now
end))
"""
SHOWN: Final = """
local words = ...
local began = vim.uv.hrtime()
vim.wait(20000, function()
  local sidebar = require('pisession.sidebar').current()
  if not sidebar or #sidebar.view.rows == 0 then
    return false
  end
  for at = #sidebar.view.rows, math.max(#sidebar.view.rows - 20, 1), -1 do
    if sidebar.view.rows[at].title:find(words, 1, true) then
      return true
    end
  end
end, 1)
return (vim.uv.hrtime() - began) / 1e6
"""


def first_paint(editor: Editor, path: Path) -> float:
    """Milliseconds from the command to the row of the leaf."""
    began = time.perf_counter()
    editor.command(f"Pisession open {path}")
    editor.lua(SHOWN, "you are here")
    return (time.perf_counter() - began) * 1000


def redraw(editor: Editor, others: Others, path: Path) -> float:
    """Milliseconds from an append by another program to its row, in the middle of five.

    The quickest would be one that was not joined with others, which is luck.
    """
    script = others(path)
    times = []
    for number in range(5):
        words = f"appended {number}"
        message = {"role": "user", "content": words, "timestamp": 1}
        began = time.perf_counter()
        script.append({"type": "message", "message": message})
        editor.lua(SHOWN, words)
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)


def flat_talk(cwd: Path) -> Talk:
    """Five thousand questions and answers, each of them a row."""
    talk = Talk(cwd, today(), "flat")
    for number in range(5_000):
        talk.user(f"question {number}")
        talk.answer(f"answer {number}", 30_000)
    return talk


def copied(path: Path, folder: Path) -> Path:
    copy = folder / path.name
    copy.write_bytes(path.read_bytes())
    return copy


@pytest.mark.figures
def test_ten_thousand_entries_open_without_a_pause(
    home: Home, cwd: Path, start: Opens, other: Others
) -> None:
    empty = Talk(cwd, today(), "empty")
    empty.user("first")
    empty.answer("first", 1_000)
    small, large = empty.write(home.agent), copied(session_file(10_000), cwd)
    figures: list[tuple[float, float]] = []
    for path in (small, large, flat_talk(cwd).write(home.agent / "flat")):
        editor = start(setup={"width": 60})
        editor.command("Pisession")  # The daemon runs, and the file is known.
        editor.sees("you are here")
        first_paint(editor, path)
        editor.keys(":q<CR>")
        editor.command("bwipeout! pisession")
        editor.settles()
        editor.lua(PAUSES)
        painted = first_paint(editor, path)
        editor.until(lambda editor=editor: editor.lua(SETTLED), "all pages")  # type: ignore[misc]
        longest = editor.lua("_G.watch:stop(); return _G.longest / 1e6")
        figures.append((painted, redraw(editor, other, path)))
        rows = editor.lua("return #require('pisession.sidebar').current().view.rows")
        print(
            f"\n{path.name[:12]}: {rows} rows, first paint {painted:.0f} ms, redraw after an"
            f" append {figures[-1][1]:.0f} ms, longest pause {longest:.0f} ms"
        )
        assert longest < PAUSE_MS * SLACK
    for painted, redrawn in figures[1:]:
        assert painted < 2_000
        assert redrawn < 3 * figures[0][1] + 150


@pytest.mark.figures
def test_a_hundred_times_the_entries_take_at_most_twice_the_time(
    home: Home, cwd: Path, start: Opens, other: Others
) -> None:
    # Of sessions that the daemon holds, as of one that another window shows: how long reading a
    # file takes the benchmarks say.
    painted: list[float] = []
    redrawn: list[float] = []
    for path in (copied(session_file(count), cwd) for count in (1_000, 100_000)):
        holder = other(path)
        holder.size()
        editor = start(setup={"width": 60})
        times = []
        for _ in range(4):
            times.append(first_paint(editor, path))
            editor.until(lambda editor=editor: editor.lua(SETTLED), "all pages")  # type: ignore[misc]
            editor.command("bwipeout! pisession")
            editor.settles()
        painted.append(min(times))
        first_paint(editor, path)
        redrawn.append(redraw(editor, other, path))
        print(
            f"\n{path.name.partition('-')[0]} entries: first paint {painted[-1]:.0f} ms"
            f" (the first {times[0]:.0f}), redraw after an append {redrawn[-1]:.0f} ms"
        )
    assert painted[1] <= 2 * painted[0]
    assert redrawn[1] <= 2 * redrawn[0]


def test_all_of_it_is_read_while_one_may_go_about(home: Home, cwd: Path, start: Opens) -> None:
    path = flat_talk(cwd).write(home.agent)
    editor = start(setup={"width": 60}, lines=40)
    editor.command(f"Pisession open {path}")
    editor.sees("you are here")
    editor.keys("[[")
    editor.until(lambda: "question 4999" in editor.row())
    row = editor.row()
    editor.until(lambda: editor.lua(SETTLED), "all pages", seconds=60)
    editor.settles()
    assert editor.row().startswith(row[:40])
    ids = editor.lua(
        "return vim.tbl_map(function(row) return row.id end,"
        " require('pisession.sidebar').current().view.rows)"
    )
    assert len(ids) == len(set(ids)) == 10_001
    total = editor.lua("return require('pisession.sidebar').current().session.levels[''].total")
    assert total == len(ids)
