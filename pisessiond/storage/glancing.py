"""Looking over folders of session files, and reading files from where one stopped.

Nothing here writes to a session file or keeps it open. A file that cannot be looked at, or is gone
by the time it is read, is no error of the whole: it is passed over, or raises for itself alone.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from hashlib import blake2b
from typing import Final

import msgspec

from pisessiond.storage.base import Mark, Run, SeenFile
from pisessiond.storage.errors import NoSuchSession, Unreadable
from pisessiond.storage.jsonl_reading import words

CHUNK: Final = 1 << 20
"""Bytes read at once. A line longer than that is held whole, as everywhere."""

_TAIL: Final = 256
"""Bytes before the place of stopping that tell whether a file still is what it was."""

_SIGNED: Final = (1 << 63) - 1
"""Device and inode as SQLite can hold them."""


class FolderGlances:
    """Session files as they lie in folders."""

    def __init__(self) -> None:
        self.bytes_read = 0
        """Of session files, since the start."""

    def folders(self, parent: str) -> list[str]:
        """The real paths of the folders in a folder, links to some followed, each once."""
        try:
            with os.scandir(parent) as entries:
                found = [entry.path for entry in entries if _is_folder(entry)]
        except OSError:
            return []
        return list(dict.fromkeys(os.path.realpath(path) for path in found))

    def files(self, folder: str) -> list[SeenFile]:
        """The session files of a folder, links to some followed; none where it cannot be read."""
        real = os.path.realpath(folder)
        seen = []
        try:
            with os.scandir(real) as entries:
                for entry in entries:
                    if entry.name.endswith(".jsonl"):
                        path = os.path.realpath(entry.path) if entry.is_symlink() else entry.path
                        if (one := self.file(path)) is not None:
                            seen.append(one)
        except OSError:
            return seen
        return seen

    def file(self, path: str) -> SeenFile | None:
        """A file as it is now; None when there is none, or none that can be read like one."""
        try:
            found = os.stat(path)
        except OSError:
            return None
        if not stat.S_ISREG(found.st_mode):
            return None
        device, inode = found.st_dev & _SIGNED, found.st_ino & _SIGNED
        return SeenFile(path, device, inode, found.st_size, found.st_mtime_ns)

    def mark(self, path: str) -> Mark:
        """What tells a file from a changed one; None when there is none."""
        seen = self.file(path)
        return None if seen is None else seen[1:]

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder."""
        return os.path.isdir(path)

    def lines(self, path: str, start: int = 0, stop: int | None = None) -> Iterator[Run]:
        """The lines from byte `start` on, to the end as it is now or to `stop`.

        A last line without a line feed is among them when it is whole: an object that ends.

        Raises:
            NoSuchSession: it is not there.
            Unreadable: the system does not let us.
        """
        descriptor = _open(path)
        try:
            yield from self._runs(path, descriptor, start, stop)
        finally:
            os.close(descriptor)

    def _runs(self, path: str, descriptor: int, start: int, stop: int | None) -> Iterator[Run]:
        held: list[bytes] = []
        offset = at = start
        while stop is None or at < stop:
            data = self._read(
                path, descriptor, CHUNK if stop is None else min(CHUNK, stop - at), at
            )
            if not data:
                break
            at += len(data)
            cut = data.rfind(b"\n")
            if cut < 0:
                held.append(data)
                continue
            whole = b"".join((*held, data[:cut]))
            held = [data[cut + 1 :]]
            yield Run(offset, whole.split(b"\n"))
            offset += len(whole) + 1
        last = b"".join(held)
        if last and _is_whole(last):
            yield Run(offset, [last])

    def tail(self, path: str, end: int) -> bytes:
        """A fingerprint of the bytes before `end`; empty when they are not there.

        Raises:
            NoSuchSession: it is not there.
            Unreadable: the system does not let us.
        """
        descriptor = _open(path)
        try:
            start = max(0, end - _TAIL)
            data = self._read(path, descriptor, end - start, start)
        finally:
            os.close(descriptor)
        return blake2b(data, digest_size=16).digest() if len(data) == end - start else b""

    def _read(self, path: str, descriptor: int, length: int, at: int) -> bytes:
        try:
            data = os.pread(descriptor, length, at)
        except OSError as error:
            raise Unreadable(path, words(error)) from error
        self.bytes_read += len(data)
        return data


def _open(path: str) -> int:
    try:
        # A pipe that took the place of a file would wait for its other end.
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    except FileNotFoundError as error:
        raise NoSuchSession(path) from error
    except OSError as error:
        raise Unreadable(path, words(error)) from error


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        # A link that leads to itself.
        return False


def _is_whole(line: bytes) -> bool:
    """Whether a line that nobody ended can be taken: more bytes cannot make it another one."""
    if not line.rstrip().endswith(b"}"):
        return False
    try:
        return isinstance(msgspec.json.decode(line, type=msgspec.Raw), msgspec.Raw)
    except (msgspec.MsgspecError, RecursionError):
        return False
