"""The right to be the one daemon of a state folder: two locks, and a record for people.

The start lock is held by whoever starts or ends a daemon, the life lock by the daemon until its
process is gone. Both are flocks on files that are never unlinked, so they end with their holder
however that ends; nothing that a file says can stand in the way of a start. The record (pid, host,
boot) only labels.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

START_SECONDS: Final = 15.0
"""How long another start may take until this one gives up."""

END_SECONDS: Final = 8.0
"""How long a daemon that ends may hold up the next one; it has five seconds."""

_POLL: Final = 0.02
_STOPPING: Final = b"stopping\n"
"""Stands in the life lock's file while its holder is on its way out."""


class AlreadyRunning(Exception):
    """A daemon holds the state folder, whether or not it answers."""


class Claim:
    """One process's hold on a state folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._start: int | None = None
        self._life: int | None = None

    def take(self, start_lock: int | None = None) -> None:
        """Takes both locks; `begun` lets the start lock go again.

        Args:
            start_lock: An open file on which a client already holds the start lock for us.

        Raises:
            AlreadyRunning: Another process has the folder.
            OSError: A lock cannot be made.
        """
        if start_lock is None:
            start_lock = self._open("start.lock")
            if not _wait_lock(start_lock, START_SECONDS):
                os.close(start_lock)
                raise AlreadyRunning
        else:
            os.set_inheritable(start_lock, False)
        self._start = start_lock
        life = self._open("life.lock")
        # Only who has the start lock asks for the life lock, so one that is held is a daemon's.
        while not _try_lock(life):
            leaving = os.pread(life, 64, 0) == _STOPPING
            if not leaving or not _wait_lock(life, END_SECONDS):
                os.close(life)
                raise AlreadyRunning
        os.ftruncate(life, 0)
        self._life = life

    def begun(self, about: dict[str, object]) -> None:
        """Says that clients can connect from now on, and leaves a record."""
        self._write_record(about)
        self._let_start_go()

    @property
    def is_lost(self) -> bool:
        """Whether the life lock's file was taken out of the folder, so that it keeps no one out."""
        if self._life is None:
            return False
        held = os.fstat(self._life)
        try:
            there = os.stat(self.folder / "life.lock")
        except OSError:
            return True
        return (held.st_dev, held.st_ino) != (there.st_dev, there.st_ino)

    def stopping(self) -> None:
        """Says that this daemon is on its way out: the next one waits instead of giving up."""
        if self._life is not None:
            os.pwrite(self._life, _STOPPING, 0)

    @contextmanager
    def holding_start(self) -> Iterator[bool]:
        """The start lock for a moment; False where someone else has it, or it cannot be had."""
        try:
            lock = self._open("start.lock")
        except OSError:
            # Such as no file left to open; it is tried again later.
            yield False
            return
        try:
            yield _try_lock(lock)
        finally:
            os.close(lock)

    def _let_start_go(self) -> None:
        if self._start is not None:
            # Unlocked, not only closed: the client that handed it on has the file open too.
            fcntl.flock(self._start, fcntl.LOCK_UN)
            os.close(self._start)
            self._start = None

    def _open(self, name: str) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.open(self.folder / name, flags, 0o600)
        # A umask may have taken bits that the next one to open it needs.
        os.fchmod(file, 0o600)
        return file

    def _write_record(self, about: dict[str, object]) -> None:
        record = {"pid": os.getpid(), "host": os.uname().nodename, "bootId": boot_id(), **about}
        made = self.folder / f"daemon.json.{os.getpid()}"
        try:
            file = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(file, "w", encoding="utf-8") as out:
                os.fchmod(file, 0o600)
                json.dump(record, out)
            made.replace(self.folder / "daemon.json")
        except OSError:
            # A label that is missing is no reason not to serve.
            made.unlink(missing_ok=True)


def boot_id() -> str | None:
    """Names this boot of the machine; None where the system does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None


def _try_lock(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _wait_lock(file: int, seconds: float) -> bool:
    # Polled: flock itself knows no time limit, and a signal for it would be the whole process's.
    deadline = time.monotonic() + seconds
    while not _try_lock(file):
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL)
    return True
