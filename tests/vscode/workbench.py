"""The real VS Code with the extension in it: its server, and the browser its windows are in.

The server is code-server, which carries VS Code's own workbench and extension host; the browser is
the system's. Nothing of either outlives `Workbench.close`.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from playwright.sync_api import BrowserContext, Page, Playwright, sync_playwright

from tests.daemon.homes import Home
from tests.support.pi import node_path
from tests.vscode.window import Window

ROOT: Final = Path(__file__).resolve().parents[2]
EXTENSION: Final = ROOT / "vscode-extension"
PICTURES: Final = ROOT / "build" / "vscode"
CHROMIUM: Final = Path("/usr/bin/chromium")
_SERVER: Final = ROOT / "tests/vscode/node_modules/code-server/out/node/entry.js"
_PATIENCE: Final = 30.0
_NUMBERS: Final = count(1)

_SETTINGS: Final[Mapping[str, Any]] = {
    # What would lie over the views, ask somebody outside, or move in pictures.
    "chat.disableAIFeatures": True,
    "extensions.autoCheckUpdates": False,
    "extensions.autoUpdate": False,
    "extensions.ignoreRecommendations": True,
    "telemetry.telemetryLevel": "off",
    "update.mode": "none",
    "workbench.enableExperiments": False,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
    "window.commandCenter": False,
    "workbench.colorTheme": "Default Dark Modern",
    "editor.cursorBlinking": "solid",
    "editor.minimap.enabled": False,
    "workbench.reduceMotion": "on",
}
_QUIET: Final = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class _Driver:
    """What drives browsers: one for all, for a thread cannot hold two."""

    def __init__(self) -> None:
        self._running: Playwright | None = None
        self._users = 0

    def take(self) -> Playwright:
        if self._running is None:
            self._running = sync_playwright().start()
        self._users += 1
        return self._running

    def give_back(self) -> None:
        self._users -= 1
        if self._users == 0 and self._running is not None:
            # While it runs, no other event loop does in this thread.
            self._running.stop()
            self._running = None


_driver = _Driver()


class Workbench:
    """One server and one browser in a home; each window is a page of the browser.

    Args:
        home: Whose daemon and sessions the extension finds; the caller closes it, and does so last,
            for an extension whose daemon dies starts it again.
        vsix: The extension, packed; `None` installs none.
        settings: Of the user, besides those that keep the pictures free of other things.
        program: What `pisessiond.path` names; `None` leaves the setting alone, so that no program
            is found.
        is_trusting: Whether every folder is trusted without a question.
        options: More words for the command line of the server.
    """

    def __init__(
        self,
        home: Home,
        vsix: Path | None,
        *,
        settings: Mapping[str, Any] | None = None,
        program: str | None = "",
        is_trusting: bool = True,
        options: Sequence[str] = (),
        size: tuple[int, int] = (1280, 800),
    ) -> None:
        self.home = home
        self.windows: list[Window] = []
        self._folder = home.folder / f"code{next(_NUMBERS)}"
        self._program = _program_of(home) if program == "" else program
        self._options = ["--disable-workspace-trust", *options] if is_trusting else list(options)
        self.browser: BrowserContext | None = None
        self._log = self._folder / "server.log"
        trust = {"security.workspace.trust.enabled": not is_trusting}
        self.write_settings({**trust, **(settings or {})})
        if vsix is not None:
            self.install(vsix)
        self.port = _free_port()
        self.server = self._serve()
        try:
            self._wait_for_server()
            self.browser = self._browse(size)
        except BaseException:
            self.close()
            raise

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def write_settings(self, settings: Mapping[str, Any]) -> None:
        """The user's settings, and those of the machine, where `pisessiond.path` belongs."""
        machine = {} if self._program is None else {"pisessiond.path": self._program}
        for scope, told in (("User", {**_SETTINGS, **settings}), ("Machine", machine)):
            path = self._folder / "user" / scope / "settings.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(told, indent=2), "utf-8")

    def window(
        self,
        folder: Path | None,
        *,
        prepare: Callable[[Page], object] = lambda _page: None,
        size: tuple[int, int] | None = None,
        **query: str,
    ) -> Window:
        """A new window, once its workbench is drawn; extensions may still be starting in it.

        Args:
            folder: What is open in it; `None`: no folder.
            prepare: Done with the page before it loads anything.
            size: Where it is to differ from that of the others, its width and height.
            query: More of its address.
        """
        assert self.browser is not None, "it is closed"
        page = self.browser.new_page()
        if size is not None:
            page.set_viewport_size({"width": size[0], "height": size[1]})
        prepare(page)
        asked = {"folder": str(folder)} if folder else {"ew": "true"}
        window = Window(page, f"{self.origin}/?{urlencode({**asked, **query})}")
        self.windows.append(window)
        window.load()
        return window

    def forget(self, window: Window) -> None:
        """Closes a window."""
        window.page.close()
        self.windows.remove(window)

    def server_log(self) -> str:
        """What the server said, for a report of what went wrong."""
        return self._log.read_text("utf-8", "replace") if self._log.exists() else ""

    def close(self) -> None:
        """Ends browser and server, in the order in which nothing starts anything again."""
        if self.browser is not None:
            self.browser.close()
            self.browser = None
            _driver.give_back()
        self.windows.clear()
        if self.server.poll() is None:
            self.server.terminate()
            try:
                self.server.wait(5)
            except subprocess.TimeoutExpired:
                pass
        # The extension hosts outlive the process at the top by seconds.
        try:
            os.killpg(self.server.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.server.wait()

    def _environment(self) -> dict[str, str]:
        kept = ("PISESSIOND_", "PI_CODING_", "PYTHONPATH", "LANG", "LC_")
        environment = {
            name: value for name, value in self.home.environment.items() if name.startswith(kept)
        }
        # No PATH of the developer's: there may be another pisessiond on it.
        return environment | {
            "PATH": f"{node_path().parent}:/usr/bin:/bin",
            "HOME": str(self.home.folder),
            "SHELL": "/bin/sh",
            "TZ": "UTC",
            "PISESSIOND_TEST_IDLE": "5",
            # For what runs in the extension host and wants to act as another client.
            "PISESSIOND_TEST_PROGRAM": self._program or "",
            "XDG_CONFIG_HOME": str(self._folder / "config"),
            "XDG_DATA_HOME": str(self._folder / "data"),
            "XDG_CACHE_HOME": str(self._folder / "cache"),
            # It would ask a gallery outside.
            "EXTENSIONS_GALLERY": "{}",
        }

    def _command(self, *words: str) -> list[str]:
        folders = [
            *("--user-data-dir", str(self._folder / "user")),
            *("--extensions-dir", str(self._folder / "extensions")),
        ]
        return [str(node_path()), str(_SERVER), *folders, *words]

    def install(self, vsix: Path) -> None:
        """Installs an extension; windows opened later have it."""
        subprocess.run(
            self._command("--install-extension", str(vsix)),
            check=True,
            capture_output=True,
            timeout=60,
            env=self._environment(),
        )

    def _serve(self) -> subprocess.Popen[bytes]:
        if not _SERVER.exists():
            raise FileNotFoundError(f"{_SERVER} is not installed: run make test")
        command = self._command(
            *("--bind-addr", f"127.0.0.1:{self.port}", "--auth", "none"),
            *("--disable-telemetry", "--disable-update-check", *self._options),
        )
        with self._log.open("wb") as log:
            return subprocess.Popen(
                command,
                env=self._environment(),
                cwd=self.home.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _browse(self, size: tuple[int, int]) -> BrowserContext:
        home = str(self.home.folder)
        try:
            browser = _driver.take().chromium.launch_persistent_context(
                self._folder / "chromium",
                executable_path=CHROMIUM,
                headless=True,
                viewport={"width": size[0], "height": size[1]},
                args=_QUIET,
                env={"HOME": home, "PATH": "/usr/bin:/bin", "TZ": "UTC"},
                timezone_id="UTC",
                locale="en-US",
            )
        except BaseException:
            _driver.give_back()
            raise
        browser.set_default_timeout(20_000)
        return browser

    def _wait_for_server(self) -> None:
        ends = time.monotonic() + _PATIENCE
        while True:
            try:
                with urllib.request.urlopen(f"{self.origin}/healthz", timeout=5):
                    return
            except OSError:
                gone = self.server.poll() is not None
                if gone or time.monotonic() > ends:
                    raise AssertionError(f"no server:\n{self.server_log()}") from None
                time.sleep(0.05)


def _program_of(home: Home) -> str:
    """A program `pisessiond` that runs this work tree's."""
    path = home.folder / "pisessiond"
    words = " ".join(home.command())
    path.write_text(f'#!/bin/sh\nexec {words} "$@"\n', "utf-8")
    path.chmod(0o755)
    return str(path)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
