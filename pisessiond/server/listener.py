"""Where clients come in: the Unix socket, private and never taken from a daemon that lives; TCP.

Given a path, asyncio unlinks a socket that someone is serving; so the path is looked at first
and the socket bound here. Connections are taken here too: who comes in is known before a byte is
read, and at the end whoever is still in the system's queue is not lost.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeAlias

from pisessiond.server.streams import peer_uid

log = logging.getLogger(__name__)

_BACKLOG: Final = 512
"""Connections that may wait to be taken. Where the queue is full, an asyncio client is told that
it is connected and finds out at its first write that it is not (CPython 3.11 to 3.13)."""
_MAX_PATH_BYTES: Final = 103
"""104 with its end on macOS, 108 on Linux; the smaller one, so that a path works on both."""

_NO_SOCKETS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)
_FIRST_INHERITED: Final = 3
"""The number of the first file that a service manager hands over (sd_listen_fds)."""
_TAKEN_A_TURN: Final = 64
_PAUSE_SECONDS: Final = 1.0
_OUT_OF_MEANS: Final = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)

Accept: TypeAlias = Callable[[socket.socket], None]


_NO_LINKS: Final = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
"""What a file system says that does not link sockets."""


class ListenError(Exception):
    """The socket cannot be served; the sentence says why and what to do."""


class AlreadyServed(ListenError):
    """A living process answers at that path."""


class NoSocketsHere(ListenError):
    """The file system cannot hold a socket, as some shared and mounted ones cannot."""


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
        _bind_and_listen(listening, path)
    except OSError as error:
        listening.close()
        if error.errno in (errno.EADDRINUSE, errno.EEXIST):
            raise AlreadyServed("Another daemon has just begun to serve this socket.") from error
        if error.errno in _NO_SOCKETS:
            raise NoSocketsHere(
                f"The file system takes no sockets here ({error.strerror}); choose another folder."
            ) from error
        raise ListenError(f"The socket cannot be made: {error.strerror}.") from error
    finally:
        os.umask(mask)
    listening.setblocking(False)
    return listening


def _bind_and_listen(listening: socket.socket, path: Path) -> None:
    """Let the socket appear at its path only once it listens.

    Between bind and listen a client is refused, and whoever looks for dead sockets takes it for
    one. So it is bound under another name first; linking fails where the path is taken. Where
    that name is too long, or the file system does not link sockets, it is bound in place.
    """
    before = path.with_name(f".{os.getpid()}")
    if len(os.fsencode(before)) <= _MAX_PATH_BYTES:
        listening.bind(os.fspath(before))
        try:
            listening.listen(_BACKLOG)
            os.link(before, path, follow_symlinks=False)
            return
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            os.rename(before, path)
            return
        finally:
            before.unlink(missing_ok=True)
    listening.bind(os.fspath(path))
    listening.listen(_BACKLOG)


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


def elsewhere(address_file: Path) -> str:
    """A new private place for a socket, named in a file for clients to find.

    Raises:
        ListenError: It cannot be made.
    """
    try:
        # Not by TMPDIR: clients and daemons of other environments look there too.
        path = f"{tempfile.mkdtemp(prefix='pisessiond-', dir='/tmp')}/socket"
        fresh = address_file.with_name(f"address.{os.getpid()}")
        fresh.write_text(path + "\n", encoding="utf-8")
        fresh.replace(address_file)
    except OSError as error:
        raise ListenError(f"No place for a socket can be made: {error.strerror}.") from error
    return path


def adopt_inherited() -> socket.socket | None:
    """The listening socket that a service manager handed over (LISTEN_FDS), if it did.

    Raises:
        ListenError: What it handed over is not one Unix stream socket.
    """
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        return None
    # Not for whatever this process may start.
    given = os.environ.pop("LISTEN_FDS", "")
    for name in ("LISTEN_PID", "LISTEN_FDNAMES"):
        os.environ.pop(name, None)
    if given != "1":
        raise ListenError(f"The service manager handed over {given or 'no'} sockets; name one.")
    try:
        listening = socket.socket(fileno=_FIRST_INHERITED)
    except OSError as error:
        raise ListenError(f"What was handed over is no socket: {error.strerror}.") from error
    listening.set_inheritable(False)
    if listening.family != socket.AF_UNIX or listening.type != socket.SOCK_STREAM:
        raise ListenError("The socket that was handed over is no Unix stream socket.")
    listening.setblocking(False)
    return listening


def bind_loopback(port: int) -> socket.socket:
    """A listening socket on 127.0.0.1; port 0 takes any that is free.

    Raises:
        ListenError: The port cannot be had.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        # A port whose last connections linger may be had again; one that is served may not.
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            why = "another program has it; choose another one"
        else:
            why = error.strerror or str(error)
        raise ListenError(f"TCP port {port} cannot be served: {why}.") from error
    listening.setblocking(False)
    return listening


class Door:
    """Takes connections on a listening socket. They are handed on before a byte is read."""

    def __init__(self, listening: socket.socket, accept: Accept) -> None:
        self._socket = listening
        self._accept = accept
        self._retry: asyncio.TimerHandle | None = None

    @property
    def socket_name(self) -> Any:
        """Where it listens."""
        return self._socket.getsockname()

    def start(self) -> None:
        """Begins to take connections."""
        self._retry = None
        asyncio.get_running_loop().add_reader(self._socket, self.take_waiting)

    def take_waiting(self) -> int:
        """Takes those that wait, at most some at a time; says how many."""
        for taken in range(_TAKEN_A_TURN):
            try:
                connection, _ = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return taken
            except OSError as error:
                if error.errno in _OUT_OF_MEANS:
                    # The one that waits stays readable, and asking for it at once would be a loop
                    # without end.
                    log.error("no connection can be taken for now: %s", error.strerror)
                    self._pause()
                return taken
            connection.setblocking(False)
            self._admit(connection)
        return _TAKEN_A_TURN

    def _admit(self, connection: socket.socket) -> None:
        self._accept(connection)

    def _pause(self) -> None:
        loop = asyncio.get_running_loop()
        loop.remove_reader(self._socket)
        self._retry = loop.call_later(_PAUSE_SECONDS, self.start)

    def close(self) -> None:
        """Takes no more connections."""
        if self._retry is not None:
            self._retry.cancel()
        if self._socket.fileno() >= 0:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()


class Listener(Door):
    """The Unix socket: for this user alone, made again when its file vanishes."""

    def __init__(
        self, listening: socket.socket, path: Path, accept: Accept, *, inherited: bool = False
    ) -> None:
        """Takes over a listening socket.

        Args:
            listening: The socket.
            path: Its file.
            accept: Is given each connection of this user.
            inherited: A service manager owns socket and file, and listens when we do not.
        """
        super().__init__(listening, accept)
        self._path = path
        self._inherited = inherited
        self._inode = self._look()

    def _look(self) -> tuple[int, int] | None:
        try:
            found = self._path.lstat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _admit(self, connection: socket.socket) -> None:
        uid = peer_uid(connection)
        if uid is not None and uid != os.getuid():
            log.warning("a connection of user %d was closed", uid)
            connection.close()
            return
        self._accept(connection)

    @property
    def is_missing(self) -> bool:
        """Whether the socket's file is gone, so that nobody can connect any more."""
        return not self._inherited and not os.path.lexists(self._path)

    def make_again(self) -> None:
        """Listens anew at the same path; those who had connected to the old socket are served.

        Raises:
            ListenError: It cannot be.
        """
        fresh = bind_private(self._path)
        while self.take_waiting():
            pass
        super().close()
        self._socket = fresh
        self._inode = self._look()
        self.start()

    def last_call(self) -> bool:
        """Closes, unless someone has come meanwhile: then it listens on, and the answer is False.

        Nobody who connects is lost: from the first line on the system refuses new connections,
        those who came before it are in the queue, and the queue is looked at after it.
        """
        if not self._inherited:
            try:
                self._socket.shutdown(socket.SHUT_RD)
            except OSError:
                pass  # Not on macOS; there the missing file has to do.
            self._unlink()
            if self.take_waiting():
                self.make_again()
                return False
        self.close()
        return True

    def close(self) -> None:
        """Takes no more connections and removes the socket, if the one there is still ours."""
        super().close()
        if not self._inherited:
            self._unlink()

    def _unlink(self) -> None:
        try:
            if self._inode is not None and self._look() == self._inode:
                self._path.unlink()
        except OSError:
            pass
