"""Ends the daemon and waits until it is gone, so that the next command may start another one."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Final

from pisessiond.client.address import Place, check_place, find_place, socket_path
from pisessiond.client.blocking_connection import BlockingConnection
from pisessiond.client.errors import ConnectionLost, NoDaemon
from pisessiond.client.starting import is_locked, read_record, try_connect, try_lock

ANSWER_SECONDS: Final = 5.0
"""For a daemon that lives to be found and to answer. It makes a socket file that vanished again
within a second."""
END_SECONDS: Final = 8.0
"""For a daemon that answered to be gone; it has five seconds itself."""
_POLL: Final = 0.05


def stop_daemon(path: str | None = None) -> bool:
    """Ends the daemon at a socket, or the user's own when None. False: none was running.

    Raises:
        NoDaemon: One lives and does not answer.
    """
    place = None if path is not None else find_place()
    if place is not None:
        check_place(place)
    deadline = time.monotonic() + ANSWER_SECONDS
    while True:
        connection = try_connect(path or socket_path(place or find_place()))
        if connection is not None:
            break
        if place is None or not is_held(place):
            return False
        if time.monotonic() > deadline:
            raise NoDaemon(_silent(place))
        time.sleep(_POLL)
    before = read_record(place).get("pid") if place is not None else None
    asked = BlockingConnection(connection)
    try:
        with contextlib.suppress(ConnectionLost):
            # Gone before it could answer is gone too.
            asked.call("daemon/shutdown", timeout=ANSWER_SECONDS)
    except TimeoutError:
        raise NoDaemon(_silent(place)) from None
    finally:
        asked.close()
    if place is not None:
        _await_end(place, before)
    return True


def is_held(place: Place) -> bool:
    """Whether a daemon holds a place. Where a start is under way, that counts."""
    try:
        lock = os.open(place.start_lock, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not try_lock(lock) or is_locked(place.life_lock)
    finally:
        os.close(lock)


def _await_end(place: Place, pid: object) -> None:
    deadline = time.monotonic() + END_SECONDS
    # Someone else may have started the next one already.
    while is_held(place) and read_record(place).get("pid") == pid:
        if time.monotonic() > deadline:
            raise NoDaemon("the daemon was told to end and is still there; its log may say why")
        time.sleep(_POLL)


def _silent(place: Place | None) -> str:
    pid = read_record(place).get("pid") if place is not None else None
    if pid is None:
        return "the daemon does not answer"
    return (
        f"the daemon (process {pid}) does not answer; if it was stopped, continue it with: "
        f"kill -CONT {pid}; to end it whatever it does: kill -KILL {pid}"
    )
