"""Makes the pictures of the plugin's pages: `python -m tests.nvim.pictures`.

Each is what a terminal shows of the real Neovim with the real daemon, in tmux.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from tests.daemon import homes
from tests.nvim.conversations import login_fix, short_talk
from tests.nvim.editor import (
    PLUGIN,
    command_line,
    project,
    write_pi_settings,
    write_settings,
)
from tests.nvim.term_png import to_png

PICTURES: Final = PLUGIN / "doc" / "images"
PATIENCE: Final = 20.0
_SUMMARIZER: Final = (
    '[summarizer]\nuse = "haiku"\n[summarizers.haiku]\nkind = "command"\n'
    'program = ["sh", "-c", "cat > /dev/null; echo It was so."]\n'
)


class Terminal:
    """Neovim in tmux: keys go in, and the screen comes out."""

    def __init__(self, home: homes.Home, cwd: Path, width: int, columns: int, lines: int) -> None:
        self._columns, self._lines = columns, lines
        self._socket = ["tmux", "-L", f"pictures{os.getpid()}", "-f", "/dev/null"]
        options = {"cmd": home.command("attach"), "width": width}
        words = ", ".join(f"{name} = {_lua(value)}" for name, value in options.items())
        argv = command_line(
            home,
            *("--cmd", f"set rtp^={PLUGIN} termguicolors noruler noshowcmd shortmess+=I"),
            *("--cmd", f"lua vim.g.pisession = {{ {words} }}"),
            *("-c", f"cd {cwd}", "-c", "silent! edit src/clock.py", "-c", "Pisession"),
            term="xterm-256color",
        )
        size = ("-x", str(columns), "-y", str(lines))
        self.tmux(
            "-u", "new-session", "-d", "-s", "t", *size, f"COLORTERM=truecolor {shlex.join(argv)}"
        )

    def tmux(self, *words: str) -> str:
        done = subprocess.run(
            [*self._socket, *words],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "TERM": "xterm-256color", "LANG": "C.UTF-8"},
        )
        return done.stdout

    def types(self, *keys: str, shows: str) -> None:
        if keys:
            self.tmux("send-keys", "-t", "t", *keys)
        ends = time.monotonic() + PATIENCE
        while shows not in self.screen():
            assert time.monotonic() < ends, self.screen()
            time.sleep(0.05)

    def screen(self) -> str:
        return self.tmux("capture-pane", "-p", "-t", "t")

    def picture(self, name: str) -> None:
        time.sleep(0.3)  # The last of what was drawn has come.
        captured = self.tmux("capture-pane", "-e", "-p", "-t", "t")
        to_png(captured, PICTURES / f"{name}.png", self._columns, self._lines)

    def close(self) -> None:
        # The server alone would leave Neovim behind.
        with contextlib.suppress(subprocess.CalledProcessError):
            self.tmux("send-keys", "-t", "t", "Escape", ":qa!", "Enter")
            time.sleep(0.3)
            self.tmux("kill-server")


def _lua(value: Any) -> str:
    if isinstance(value, list):
        return "{ " + ", ".join(map(_lua, value)) + " }"
    return f"'{value}'" if isinstance(value, str) else str(value)


CODE: Final = '''"""The clock that everything asks."""

from datetime import UTC, datetime


class Clock:
    """The time, and a way to stop it."""

    def __init__(self, now=lambda: datetime.now(UTC)):
        self._now = now

    def now(self):
        return self._now()
'''


@contextlib.contextmanager
def terminal(width: int, columns: int, lines: int = 30) -> Iterator[Terminal]:
    """The session of the pictures beside a file."""
    with homes.home() as home:
        write_settings(home, _SUMMARIZER)
        write_pi_settings(home, compaction={"keepRecentTokens": 3000})
        cwd = project(home, "calendar")
        (cwd / "src").mkdir()
        (cwd / "src" / "clock.py").write_text(CODE, "utf-8")
        older = short_talk(cwd, "parser")
        older.header["timestamp"] = "2026-01-01T00:00:00.000Z"
        older.write(home.agent)
        login_fix(cwd).write(home.agent)
        shown = Terminal(home, cwd, width, columns, lines)
        try:
            shown.types(shows="Done: 4 files" if width > 60 else "Done: 4")
            shown.types(shows="42%")
            yield shown
        finally:
            shown.close()


def tree() -> None:
    with terminal(80, 132) as shown:
        shown.types("5k", "Tab", shows="Passes, but hides")
        shown.types("G", "2k", "Tab", shows="edit src/clock.py")
        shown.types("gl", shows="you are here")
        shown.picture("tree")


def narrow() -> None:
    with terminal(44, 100, 24) as shown:
        shown.picture("narrow")


def how() -> None:
    with terminal(80, 132) as shown:
        shown.types("3k", "Enter", shows="Navigate to")
        shown.picture("navigate")


def compaction() -> None:
    with terminal(80, 150) as shown:
        shown.types("c", shows="a dry run")
        shown.picture("compact")


def compare() -> None:
    with terminal(80, 132) as shown:
        shown.types("4k", "d", shows="files, one only")
        shown.picture("compare")


def context() -> None:
    with terminal(80, 132) as shown:
        shown.types("i", shows="Totals, whole file")
        shown.picture("context")


def sessions() -> None:
    with terminal(80, 132) as shown:
        shown.types("3k", "f", shows="The fork is made")
        shown.types("1", "Enter", shows="you are here")
        shown.types("-", shows="Explain the parser")
        shown.picture("sessions")


ALL: Final[dict[str, Callable[[], None]]] = {
    "tree": tree,
    "narrow": narrow,
    "navigate": how,
    "compact": compaction,
    "compare": compare,
    "context": context,
    "sessions": sessions,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or ALL:
        ALL[name]()
        print(PICTURES / f"{name}.png")
