"""A session file of 20 MB in an editor: about as quick as opening it, and nobody waits for it."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from tests.bench.generated import session_file
from tests.daemon.homes import SLACK
from tests.server.lsp_support import MODERN
from tests.support.peers import Peer
from tests.support.real_daemon import real_daemon

pytestmark = [pytest.mark.slow, pytest.mark.timeout(280)]

ENTRIES: Final = 14_000
PROMISED: Final = 1.0
"""Seconds to the outline of a file that was just opened, while all of it is being sized."""
PAUSE: Final = 0.2
"""Seconds that another client waits for an answer at most."""


class Pauses:
    """How long another client waits for its answers meanwhile."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self.longest = 0.0

    async def run(self) -> None:
        while True:
            began = time.perf_counter()
            await self._peer.call("daemon/status", {})
            self.longest = max(self.longest, time.perf_counter() - began)
            await asyncio.sleep(0)


def count(symbols: list[dict[str, Any]]) -> int:
    return sum(1 + count(one.get("children") or []) for one in symbols)


async def look(socket: str, path: Path) -> None:
    editor, other = await Peer.connect(socket), await Peer.connect(socket)
    await other.initialize("other")
    capabilities = {"textDocument": MODERN["textDocument"]}
    await editor.call("initialize", {"capabilities": capabilities})
    told: list[str] = []
    editor.told = lambda method, params: told.append(method)
    document = {"textDocument": {"uri": path.as_uri()}}
    opened = {**document["textDocument"], "languageId": "jsonl", "version": 1, "text": ""}

    async def timed(method: str, **params: Any) -> tuple[Any, float]:
        began = time.perf_counter()
        found = await editor.call(f"textDocument/{method}", {**document, **params})
        return found, time.perf_counter() - began

    # What is loaded the first time, pygls itself among it, is no matter of the file's.
    nothing = {"textDocument": {"uri": "file:///none.jsonl"}}
    await editor.call("textDocument/documentSymbol", nothing)
    pauses = Pauses(other)
    watching = asyncio.create_task(pauses.run())
    began = time.perf_counter()
    editor.send({"method": "textDocument/didOpen", "params": {"textDocument": opened}})
    await until(lambda: bool(told))
    opening = time.perf_counter() - began
    symbols, outline = await timed("documentSymbol")
    _, folds = await timed("foldingRange")
    lenses, sized = await timed("codeLens")
    hover, hovered = await timed("hover", position={"line": ENTRIES // 2, "character": 0})
    assert not watching.done()
    watching.cancel()
    print(
        f"\n20 MB: opened {opening:.2f} s, {count(symbols):,} symbols {outline:.2f} s,"
        f" folds {folds:.2f} s, {len(lenses):,} lenses {sized:.2f} s, hover {hovered * 1e3:.0f} ms;"
        f" another client waited {pauses.longest * 1e3:.0f} ms at most"
    )
    assert 1_000 < count(symbols) <= 5_000
    assert hover is not None
    assert outline < PROMISED * SLACK
    assert pauses.longest < PAUSE * SLACK
    await editor.close()
    await other.drop()


async def until(is_so: Callable[[], bool]) -> None:
    ends = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < ends
        await asyncio.sleep(0.001)


@pytest.mark.figures
def test_a_large_file_has_its_outline_about_as_soon_as_it_is_open() -> None:
    with real_daemon() as daemon:
        path = Path(shutil.copy(session_file(ENTRIES), daemon.folder / "large.jsonl"))
        assert path.stat().st_size > 20e6
        asyncio.run(look(daemon.socket, path))
