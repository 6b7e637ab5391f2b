"""What is open or on its way when another session is shown, a daemon is gone, or keys come fast."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.daemon.homes import Home
from tests.nvim.conftest import Opens
from tests.nvim.conversations import login_fix, short_talk
from tests.nvim.editor import Editor

pytestmark = pytest.mark.slow


@pytest.fixture
def path(home: Home, cwd: Path) -> Path:
    return login_fix(cwd).write(home.agent)


@pytest.fixture
def editor(path: Path, start: Opens) -> Editor:
    editor = start(setup={"width": 80}, columns=150, lines=40).opens()
    editor.sees("Use an injected clock", "37%")
    return editor


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
