"""A real pi writes to a session that two clients have open: what they hear, when, and where they
stand. Nobody asks the daemon for anything while pi writes."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, Final

import anyio.to_thread
import pytest

from tests.support.peers import Follower, Peer, peer
from tests.support.pi import Pi, op
from tests.support.real_daemon import RealDaemon, real_daemon

pytestmark = [pytest.mark.slow, pytest.mark.anyio]

SOON: Final = 0.3
"""Seconds within which what pi wrote is to be heard; measured are some 0.08."""

PATIENCE: Final = 10.0

NAMES: Final = count(1)


def said(text: str) -> dict[str, Any]:
    return op("appendMessage", {"role": "user", "content": text, "timestamp": 1})


def answered(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": [{"type": "text", "text": text}], "timestamp": 2}
    usage = {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2}
    return op("appendMessage", {**message, "provider": "p", "model": "m", "usage": usage})


class Terminal:
    """A pi in a terminal: it holds the session, and never looks at the file again."""

    def __init__(self, pi: Pi, folder: Path) -> None:
        self._pi = pi
        self._folder = folder
        self._name = f"live-{next(NAMES)}"
        self.path = ""

    async def does(self, *ops: dict[str, Any]) -> list[Any]:
        """What each operation gave."""
        answer = await anyio.to_thread.run_sync(
            lambda: self._pi.build(self._folder, "/srv/demo", ops, keep=self._name)
        )
        self.path = answer["path"]
        results: list[Any] = answer["results"]
        return results


class Editor(Follower):
    """A client that notes when it heard what."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.changes: list[tuple[float, dict[str, Any]]] = []
        self.news = asyncio.Event()

    def hear(self, method: str, params: dict[str, Any]) -> None:
        super().hear(method, params)
        now = time.monotonic()
        self.changes += [(now, change) for change in params.get("changes", ())]
        self.news.set()

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not is_so():
                self.news.clear()
                await self.news.wait()

    def kinds(self) -> list[tuple[str, Any]]:
        taken, self.changes = self.changes, []
        return [(change["kind"], change["origin"]) for _, change in taken]


class Room:
    """One session with a pi and two editors at it."""

    def __init__(self, terminal: Terminal, peers: list[Peer], editors: list[Editor]) -> None:
        self.terminal = terminal
        self.peers = peers
        self.editors = editors

    async def hear_within(self, seconds: float, *ops: dict[str, Any]) -> list[Any]:
        """What pi's acts gave, once both editors know all of it; in time."""
        start = time.time()
        ids = [one for one in await self.terminal.does(*ops) if isinstance(one, str)]
        for editor in self.editors:
            await editor.until(lambda editor=editor: set(ids) <= set(editor.parents))  # type: ignore[misc]
        written = max(start, Path(self.terminal.path).stat().st_mtime)
        heard = max(at for editor in self.editors for at, _ in editor.changes)
        assert heard - (time.monotonic() - (time.time() - written)) < seconds
        return ids

    async def acts(self, method: str, **params: Any) -> Any:
        """What the first editor asks for."""
        return await self.peers[0].call(method, {"session": self.editors[0].handle, **params})

    async def agree(self, leaf: str) -> None:
        """Both editors stand there."""
        for editor in self.editors:
            await editor.until(lambda editor=editor: editor.leaf == leaf)  # type: ignore[misc]
        assert self.editors[0].state() == self.editors[1].state()


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def daemon() -> Iterator[RealDaemon]:
    with real_daemon() as made:
        yield made


@pytest.fixture
async def room(
    pi: Pi, daemon: RealDaemon, tmp_path: Path, anyio_backend: str
) -> AsyncIterator[Room]:
    terminal = Terminal(pi, tmp_path)
    await terminal.does(op("create"), said("one"), answered("two"))
    async with peer(daemon.socket, "nvim") as first, peer(daemon.socket, "code") as second:
        editors = [Editor(terminal.path), Editor(terminal.path)]
        for editor, connection in zip(editors, (first, second), strict=True):
            editor.attach(connection)
            await editor.keep_up()
        # The folder is watched from here on; until then a look at each file stands for it.
        await asyncio.sleep(0.2)
        yield Room(terminal, [first, second], editors)


async def test_what_pi_writes_is_heard_unasked(room: Room) -> None:
    for text in ("three", "five", "seven"):
        ids = await room.hear_within(SOON, said(text), answered(f"after {text}"))
        await room.agree(ids[-1])
        for editor in room.editors:
            assert set(editor.kinds()) == {("append", "external")}
    status = await room.peers[0].call("daemon/status", {})
    assert status["watch"] == {"how": "inotify", "reason": None}


async def test_a_burst_of_pi_comes_whole_and_in_order(room: Room) -> None:
    ids = await room.hear_within(2.0, *[said(f"line {number}") for number in range(300)])
    await room.agree(ids[-1])
    for editor in room.editors:
        new = [
            node["id"]
            for _, change in editor.changes
            for node in change.get("nodes", ())
            if node["id"] in set(ids)
        ]
        assert new == ids
        assert (editor.snapshots, editor.resets) == (1, [])


async def test_pi_goes_on_where_clients_are_not_and_both_places_are_named(room: Room) -> None:
    first, second = list(room.editors[0].parents)[:2]
    await room.acts("session/navigate", target=first, exact=True)
    await room.agree(first)
    for editor in room.editors:
        editor.changes.clear()
    (theirs,) = await room.hear_within(SOON, said("pi goes on at its own place"))
    assert room.editors[0].parents[theirs] == second
    await room.agree(first)
    conflict = {"kind": "leafConflict", "origin": "external", "ours": first, "theirs": theirs}
    for editor in room.editors:
        assert conflict in [change for _, change in editor.changes]
    opened = await room.peers[1].call("session/open", {"session": room.editors[1].handle})
    assert opened["leafConflict"] == {"ours": first, "theirs": theirs}

    # Someone goes to where pi is: from then on pi is followed again.
    await room.acts("session/navigate", target=theirs, exact=True)
    await room.agree(theirs)
    opened = await room.peers[1].call("session/open", {"session": room.editors[1].handle})
    assert opened.get("leafConflict") is None
    (after,) = await room.hear_within(SOON, answered("followed again"))
    await room.agree(after)


async def test_a_rename_and_a_label_of_pi_are_seen_and_leave_the_conversation(room: Room) -> None:
    first, second = list(room.editors[0].parents)[:2]
    ids = await room.hear_within(
        SOON, op("appendLabelChange", first, "start"), op("appendSessionInfo", "named by pi")
    )
    await room.agree(ids[-1])
    # Our own next entry goes on from there, and pi's from its own: one branch still.
    await room.acts("session/append", entry={"type": "custom", "customType": "note"})
    (more,) = await room.hear_within(SOON, said("goes on"))
    chain = room.editors[0].parents
    assert chain[more] == ids[-1]
    assert chain[ids[0]] == second
    opened = await room.peers[0].call("session/open", {"session": room.editors[0].handle})
    assert opened["name"] == "named by pi"


# What happens to the file itself


async def reset(room: Room, act: Callable[[Path], None]) -> None:
    act(Path(room.terminal.path))
    for editor in room.editors:
        await editor.until(lambda editor=editor: bool(editor.resets))  # type: ignore[misc]


async def test_pi_migrating_an_old_file_is_a_rewrite(
    pi: Pi, daemon: RealDaemon, tmp_path: Path, anyio_backend: str
) -> None:
    old = tmp_path / "old.jsonl"
    header = {"type": "session", "version": 2, "id": "old", "timestamp": "", "cwd": "/srv"}
    lines = [json.dumps(header)]
    for number in range(2_000):
        parent = f"e{number - 1}" if number else None
        message = {"role": "user", "content": f"text {number}" * 20}
        entry = {"type": "message", "id": f"e{number}", "parentId": parent, "message": message}
        lines.append(json.dumps({**entry, "timestamp": "2026-11-30T00:00:00.000Z"}))
    old.write_text("\n".join(lines) + "\n")
    async with peer(daemon.socket, "nvim") as connection:
        editor = Editor(str(old))
        editor.attach(connection)
        await editor.keep_up()
        await asyncio.sleep(0.2)
        terminal = Terminal(pi, tmp_path)
        (_, new) = await terminal.does(op("open", str(old)), said("pi migrated it"))
        await editor.until(lambda: bool(editor.resets))
        async with asyncio.timeout(PATIENCE):
            while new not in editor.parents:
                await editor.keep_up()
                await asyncio.sleep(0.02)
        assert set(editor.resets) == {"rewritten"}
        assert (len(editor.parents), editor.leaf) == (2_001, new)


async def test_a_truncated_file_is_read_anew(room: Room) -> None:
    await reset(room, lambda path: os.truncate(path, path.stat().st_size - 10))
    assert {reason for editor in room.editors for reason in editor.resets} == {"rewritten"}
    await room.editors[0].keep_up()
    assert len(room.editors[0].parents) == 1


async def test_a_file_replaced_by_rename_is_read_anew_and_nothing_goes_to_the_old_one(
    room: Room,
) -> None:
    path = Path(room.terminal.path)
    kept = path.with_name("kept")
    os.link(path, kept)
    before = kept.read_bytes()

    def replace(path: Path) -> None:
        other = path.with_name("other")
        other.write_bytes(before.replace(b'"one"', b'"another one"'))
        other.replace(path)

    await reset(room, replace)
    for editor in room.editors:
        await editor.keep_up()
    await room.acts("session/append", entry={"type": "custom", "customType": "note"})
    assert kept.read_bytes() == before
    assert b"another one" in path.read_bytes()
    assert path.read_bytes().endswith(b"\n")
    assert b'"note"' in path.read_bytes()


async def test_a_deleted_file_is_gone_and_found_again_when_it_is_back(room: Room) -> None:
    path = Path(room.terminal.path)
    before = path.read_bytes()
    await reset(room, Path.unlink)
    assert {reason for editor in room.editors for reason in editor.resets} == {"gone"}
    path.write_bytes(before)
    for editor in room.editors:
        await editor.keep_up()
    await asyncio.sleep(0.2)
    ids = await room.hear_within(SOON, said("still there"))
    await room.agree(ids[-1])


async def test_a_file_deleted_and_made_again_at_once_is_read_anew(room: Room) -> None:
    def again(path: Path) -> None:
        before = path.read_bytes()
        path.unlink()
        time.sleep(0.05)
        path.write_bytes(before)

    await reset(room, again)
    assert {reason for editor in room.editors for reason in editor.resets} == {"rewritten"}
    for editor in room.editors:
        await editor.keep_up()
    assert room.editors[0].state() == room.editors[1].state()
