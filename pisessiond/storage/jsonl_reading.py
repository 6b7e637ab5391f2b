"""Reading the bytes of a session file: which file it is, and lines by their places.

Nothing here writes, keeps what it read, or knows what a line means.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pisessiond.storage.base import Locator
from pisessiond.storage.errors import NoSuchSession, Unreadable
from pisessiond.storage.files import Files

_SPAN = 1 << 20
"""Lines fetched by one read lie within so many bytes."""
_NEAR = 16 << 10
"""Lines closer together than this are fetched by one read."""


class Identity(NamedTuple):
    """What tells one file from another, and a changed one from itself."""

    device: int
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, stat: os.stat_result) -> Identity:
        return cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)


class Reader:
    """A descriptor that closes when the last reader lets go of it.

    A reload replaces the reader while other threads may still read through the old one; closing it
    by hand could hand its number to another file in the middle of a pread.
    """

    def __init__(self, files: Files, path: str) -> None:
        """Open the file.

        Raises:
            NoSuchSession: it is not there.
            Unreadable: the system does not let us.
        """
        self._files = files
        self._path = path
        try:
            # Without O_NONBLOCK a named pipe would be waited for until somebody writes to it.
            self._descriptor = files.open(path, os.O_RDONLY | os.O_NONBLOCK)
            if not stat.S_ISREG(files.fstat(self._descriptor).st_mode):
                raise Unreadable(path, "it is no regular file")
        except FileNotFoundError as error:
            raise NoSuchSession(path) from error
        except OSError as error:
            raise Unreadable(path, words(error)) from error

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            close_quietly(self._files, self._descriptor)

    def identity(self) -> Identity:
        """Which file it reads, as it is now."""
        try:
            return Identity.of(self._files.fstat(self._descriptor))
        except OSError as error:
            raise Unreadable(self._path, words(error)) from error

    def read_some(self, length: int, offset: int) -> bytes:
        """At most so many bytes; none at the end."""
        try:
            return self._files.pread(self._descriptor, length, offset)
        except OSError as error:
            raise Unreadable(self._path, words(error)) from error

    def read(self, length: int, offset: int) -> bytes:
        """So many bytes, fewer only where the file ends before."""
        data = b""
        while len(data) < length:
            more = self.read_some(length - len(data), offset + len(data))
            if not more:
                break
            data += more
        return data


def close_quietly(files: Files, descriptor: int) -> None:
    """Close it; whatever mattered was synced before, so that an error here says nothing new."""
    try:
        files.close(descriptor)
    except OSError:
        return


def near_groups(locators: Sequence[Locator]) -> Iterator[Sequence[Locator]]:
    """The same places in the same order, in groups that one read each can fetch."""
    if _is_one_stretch(locators):
        yield locators
        return
    group: list[Locator] = []
    for at, length in locators:
        if group:
            end = group[-1][0] + group[-1][1]
            if not end <= at <= end + _NEAR or end - group[0][0] > _SPAN:
                yield group
                group = []
        group.append((at, length))
    if group:
        yield group


def _is_one_stretch(locators: Sequence[Locator]) -> bool:
    """Whether one read gives them all; most reads of a whole file are such, so it is quick."""
    if not locators:
        return False
    starts = [at for at, _ in locators]
    span = starts[-1] + locators[-1][1] - starts[0]
    return (
        span <= _SPAN and span - sum(n for _, n in locators) <= _NEAR and starts == sorted(starts)
    )


def words(error: OSError) -> str:
    """What the system says of an error, without any path."""
    return os.strerror(error.errno or 0)
