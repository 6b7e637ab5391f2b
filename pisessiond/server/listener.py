"""The Unix socket: bound by ourselves, private, and never taken from a daemon that lives.

Given a path, asyncio unlinks a socket that someone is serving; so the path is looked at first,
the socket bound here, and asyncio is given the socket.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from pisessiond.server.streams import STREAM_LIMIT, MessageStream, peer_uid

log = logging.getLogger(__name__)

_BACKLOG: Final = 512
"""Connections that may wait to be taken. Where the queue is full, an asyncio client is told that
it is connected and finds out at its first write that it is not (CPython 3.11 to 3.13)."""
_MAX_PATH_BYTES: Final = 103
"""104 with its end on macOS, 108 on Linux; the smaller one, so that a path works on both."""


class ListenError(Exception):
    """The socket cannot be served; the sentence says why and what to do."""


class AlreadyServed(ListenError):
    """A living process answers at that path."""


def bind_private(path: Path) -> socket.socket:
    """A listening socket at a path, for its owner alone. A dead socket there is replaced.

    Raises:
        AlreadyServed: Someone serves it.
        ListenError: The path or its folder will not do.
    """
    if len(os.fsencode(path)) > _MAX_PATH_BYTES:
        raise ListenError(
            f"The socket's path is over {_MAX_PATH_BYTES} bytes long; choose a shorter one."
        )
    _prepare_folder(path.parent)
    _clear_dead(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # The mode must be right from the first moment on, and there is no other way to say it.
    mask = os.umask(0o177)
    try:
        listening.bind(os.fspath(path))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise AlreadyServed("Another daemon has just begun to serve this socket.") from error
        raise ListenError(f"The socket cannot be made: {error.strerror}.") from error
    finally:
        os.umask(mask)
    listening.setblocking(False)
    return listening


def _prepare_folder(folder: Path) -> None:
    try:
        # Parents get the usual mode; the folder itself is for its owner alone.
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.stat()
    except OSError as error:
        raise ListenError(f"The socket's folder cannot be made: {error.strerror}.") from error
    open_to_others = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if open_to_others and not found.st_mode & stat.S_ISVTX:
        raise ListenError(
            "Others may write into the socket's folder; make it private (chmod 700) or "
            "choose another one."
        )


def _clear_dead(path: Path) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise ListenError("Something that is no socket is at the socket's path; choose another.")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        result = probe.connect_ex(os.fspath(path))
    if result == errno.ECONNREFUSED:
        path.unlink(missing_ok=True)
    elif result != errno.ENOENT:
        # EAGAIN too: its queue is full, so someone has it, stopped or busy.
        raise AlreadyServed("Another daemon serves this socket.")


class Listener:
    """Takes connections on a bound socket until it is closed."""

    def __init__(
        self, listening: socket.socket, path: Path, accept: Callable[[MessageStream], None]
    ) -> None:
        self._socket = listening
        self._path = path
        self._accept = accept
        self._server: asyncio.Server | None = None
        found = path.lstat()
        self._inode = (found.st_dev, found.st_ino)

    async def start(self) -> None:
        """Begins to take connections."""
        self._server = await asyncio.start_unix_server(
            self._connected, sock=self._socket, limit=STREAM_LIMIT, backlog=_BACKLOG
        )

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        uid = peer_uid(writer.get_extra_info("socket"))
        if uid is not None and uid != os.getuid():
            log.warning("a connection of user %d was closed", uid)
            writer.transport.abort()
            return
        self._accept(MessageStream(reader, writer, "unix"))

    def close(self) -> None:
        """Takes no more connections and removes the socket, if the one there is still ours."""
        if self._server is not None:
            self._server.close()
        self._socket.close()
        try:
            found = self._path.lstat()
            if (found.st_dev, found.st_ino) == self._inode:
                self._path.unlink()
        except OSError:
            pass
