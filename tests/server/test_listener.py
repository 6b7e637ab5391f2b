"""The socket: private, never taken from a living daemon, and gone at the end."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

import pytest

from pisessiond.server import listener, streams
from pisessiond.server.listener import AlreadyServed, ListenError, bind_private
from tests.server.support import Running, running_daemon

pytestmark = pytest.mark.anyio


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o777])
async def test_socket_and_folder_are_private_under_any_umask(tmp_path: Path, mask: int) -> None:
    path = tmp_path / "state" / "socket"
    (tmp_path / "state").mkdir(mode=0o700)
    before = os.umask(mask)
    try:
        with bind_private(path):
            assert mode(path) == 0o600
            assert mode(path.parent) == 0o700
            assert os.umask(mask) == mask
    finally:
        os.umask(before)


async def test_a_missing_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    with bind_private(tmp_path / "a" / "b" / "socket"):
        assert mode(tmp_path / "a" / "b") == 0o700


async def test_a_folder_that_others_may_write_into_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(ListenError, match="private"):
        bind_private(folder / "socket")


async def test_a_dead_socket_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with bind_private(path), socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))


async def test_a_living_socket_is_left_alone(daemon: Running) -> None:
    inode = daemon.path.stat().st_ino
    with pytest.raises(AlreadyServed):
        bind_private(daemon.path)
    assert daemon.path.stat().st_ino == inode
    async with daemon.client() as client:
        await client.call("session/stats", {"session": "s"})


async def test_a_living_socket_with_a_full_queue_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as busy, socket.socket(socket.AF_UNIX) as waiting:
        busy.bind(str(path))
        busy.listen(0)
        waiting.connect(str(path))
        with pytest.raises(AlreadyServed):
            bind_private(path)
    assert path.exists()


@pytest.mark.parametrize("what", ["file", "folder", "link"])
async def test_what_is_no_socket_is_left_alone(tmp_path: Path, what: str) -> None:
    path = tmp_path / "socket"
    if what == "file":
        path.write_text("mine")
    elif what == "folder":
        path.mkdir()
    else:
        path.symlink_to("elsewhere")
    with pytest.raises(ListenError, match="no socket"):
        bind_private(path)
    assert path.lstat()


async def test_a_path_too_long_is_refused_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ListenError, match="shorter"):
        bind_private(tmp_path / ("x" * 110))


async def test_the_socket_is_removed_at_the_end_if_it_is_still_ours(tmp_path: Path) -> None:
    async with running_daemon(tmp_path) as running:
        running.path.unlink()
        with socket.socket(socket.AF_UNIX) as other:
            other.bind(str(running.path))
    assert running.path.exists()


async def test_another_user_is_closed_at_once(
    daemon: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with daemon.client() as before:
        monkeypatch.setattr(listener, "peer_uid", lambda connection: os.getuid() + 1)
        async with daemon.fresh() as client:
            client.send(id=1, method="daemon/status")
            try:
                await client.closed()
            except ConnectionError:
                pass
        assert len((await before.call("daemon/status"))["clients"]) == 1


async def test_the_user_at_the_other_end_is_known() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert streams.peer_uid(ours) == os.getuid()
