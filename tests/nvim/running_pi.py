"""Real pi in terminals beside a real Neovim: one home, one model, one daemon for all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal

from pisessiond.client import blocking
from tests.bridge.home import PiHome, pi_home
from tests.bridge.model import MarkedModel
from tests.bridge.running import PiTui, pi_tui
from tests.daemon.homes import Home, wait_until
from tests.nvim.editor import Editor, write_settings
from tests.support.model_server import model_server_in_thread


class Terminal:
    """A pi in a terminal, for tests that block."""

    def __init__(self, portal: BlockingPortal, pi: PiTui) -> None:
        self._portal = portal
        self.pi = pi

    @property
    def pid(self) -> int:
        return self.pi.pid

    @property
    def seen(self) -> str:
        """All that it ever drew."""
        return self.pi.seen

    def enters(self, text: str) -> None:
        self._portal.call(self.pi.enters, text)

    def types(self, text: str) -> None:
        self._portal.call(self.pi.types, text)

    def shows(self, text: str, since: int = 0) -> None:
        self._portal.call(self.pi.shows, text, since)

    def end(self) -> None:
        """As its user ends it; it is gone afterwards."""
        self._portal.call(self.pi.enters, "/quit")
        self._portal.call(self.pi.ended)


class World:
    """A home in which pi and Neovim run."""

    def __init__(self, folder: PiHome, model: MarkedModel, portal: BlockingPortal) -> None:
        self.folder = folder
        self.model = model
        self.home = Home(folder.folder)
        self._portal = portal
        self._stack = ExitStack()

    def pi(self, *options: str, bridge: bool = True, **variables: str) -> Terminal:
        """Starts one; it ends with the test."""
        running = pi_tui(self.folder, *options, bridge=bridge, **variables)
        made = self._stack.enter_context(self._portal.wrap_async_context_manager(running))
        # The last line of its footer; before that, what is typed is lost.
        self._portal.call(made.shows, "/128k")
        if bridge:
            wait_until(lambda: made.pid in self.connected())
        return Terminal(self._portal, made)

    def connected(self) -> list[int]:
        """The pi that the daemon knows with a session, by process."""
        with blocking.connect(self.home.place.own_socket, name="script") as client:
            pis = client.status().get("pis", [])
        return [one["pid"] for one in pis if one["session"]]

    def editor(self, path: Path, **options: Any) -> Editor:
        """A Neovim that shows a session; it ends with the test."""
        options = {"setup": {"width": 80}, "columns": 160, "lines": 40, **options}
        made = Editor(self.home, self.folder.project, **options)
        self._stack.callback(made.close)
        made.command(f"Pisession open {path}")
        made.sees("you are here")
        return made

    def sessions(self) -> list[Path]:
        return sorted(self.folder.sessions.glob("*.jsonl"))

    def session_of(self, editor: Editor) -> dict[str, Any]:
        """What the daemon says of the session an editor shows."""
        opened: dict[str, Any] = editor.lua(
            "local info = require('pisession.sidebar').current().session.info\n"
            "return { pis = info.pis or {}, path = info.path or vim.NIL }"
        )
        return opened

    def close(self) -> None:
        self._stack.close()
        self.home.close()


@contextmanager
def world() -> Iterator[World]:
    model = MarkedModel()
    with (
        model_server_in_thread(model) as server,
        pi_home(server.openai_url) as folder,
        start_blocking_portal() as portal,
    ):
        settings = folder.agent_dir / "settings.json"
        given = json.loads(settings.read_text()) | {"sessionDir": str(folder.sessions)}
        settings.write_text(json.dumps(given))
        made = World(folder, model, portal)
        write_settings(made.home)
        # pi finds a daemon that runs; it never starts one.
        made.home.status()
        try:
            yield made
        finally:
            made.close()


def begin(world: World, *texts: str, **options: Any) -> tuple[Terminal, Path]:
    """A pi whose user has had some turns, and the file of its session."""
    before = world.sessions()
    pi = world.pi(**options)
    for text in texts or ("First question.", "Second question."):
        pi.enters(text)
        pi.shows(f"An answer to: {text}")
    (path,) = [one for one in world.sessions() if one not in before]
    return pi, path


def allow(editor: Editor, pi: Terminal, text: str) -> None:
    """Prompts from an editor for the first time: the user of pi says yes there."""
    editor.command(f"Pisession prompt {text}")
    pi.shows("send prompts to this pi?")
    say_yes(pi)


def say_yes(pi: Terminal) -> None:
    """The last choice; the first is "not now"."""
    for key in ("j", "j", "\r"):
        pi.types(key)
