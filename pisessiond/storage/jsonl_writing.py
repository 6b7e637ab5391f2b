"""Writing the bytes of a session file: what is on disk when a call returns, and what after a fault.

An append is one write call with O_APPEND. The system puts such a write in one piece behind all
others, so that lines of two programs never mix; several records in one call share it and the sync
that follows.

A write that was cut short leaves a fragment. It is made a line of its own *in place*: its last
byte becomes a line feed, and whole lines of the same call that stand before it become blank, since
nobody was told of them. Three other ways were weighed by what they can do to pi, which keeps no
lock, never looks at the file again and appends whenever it likes:

- cutting the fragment off is two calls (look at the size, truncate); what pi appends between them
  is lost. That is done only where the fragment cannot be ended, and never when the file has grown;
- appending a line feed wants room that a full disk does not have, and comes too late when pi has
  written meanwhile: its line is glued to the fragment already. In place, its line is freed again;
- blanking the fragment too would hide from people that a write was cut short. pi passes over a
  line that is no JSON as it passes over a blank one, and `check` names it.
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pisessiond.storage.errors import Degraded, NotWritable, StoreError
from pisessiond.storage.files import Files, SystemFiles
from pisessiond.storage.jsonl_reading import Identity, close_quietly, words
from pisessiond.storage.unsynced import UnsyncedLines

Sync = Literal["always", "relaxed"]
"""What an acknowledged write survives. `always`: power cuts too, by fdatasync before each answer
and fsync of the folder of a new file. `relaxed`: the end of the daemon, but not of the system,
which writes out on its own within about half a minute."""

_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}


@dataclass(frozen=True)
class World:
    """What the logs of one store need besides their paths."""

    files: Files = field(default_factory=SystemFiles)
    sync: Sync = "always"
    unsynced: UnsyncedLines | None = None
    """Where lines are kept that may not have reached the disk; None keeps none."""
    sleep: Callable[[float], None] = time.sleep


class CutShort(Exception):
    """A write took nothing or only a part."""

    def __init__(self, reason: str, fragment: bytes) -> None:
        super().__init__(reason)
        self.reason = reason
        self.fragment = fragment
        """What of ours is in the file now."""


class SyncFailed(Exception):
    """The system could not say that what was written is on disk.

    Asking again would be answered with success although it may still not be: Linux forgets the
    failed pages. So nothing is tried again on that descriptor.
    """

    def __init__(self, error: OSError) -> None:
        super().__init__(words(error))
        self.reason = words(error)


def refused(error: OSError) -> StoreError:
    """A failed system call as one of the store's errors."""
    reason = words(error)
    return NotWritable(reason) if error.errno in _DENIED else Degraded(reason)


def write_once(files: Files, descriptor: int, data: bytes) -> None:
    """Write all of `data` in one call.

    Raises:
        CutShort: not all of it was taken.
    """
    written = 0
    try:
        written = files.write(descriptor, data)
    except OSError as error:
        raise CutShort(words(error), b"") from error
    if written != len(data):
        raise CutShort("the disk took only a part of it", data[:written])


def sync_data(files: Files, descriptor: int, sync: Sync) -> None:
    """Wait until what was written is on disk.

    Raises:
        SyncFailed: the system could not say so.
    """
    if sync == "relaxed":
        return
    try:
        files.sync_data(descriptor)
    except OSError as error:
        raise SyncFailed(error) from error


def sync_folder(files: Files, folder: str) -> None:
    """Wait until the names in a folder are on disk."""
    descriptor = files.open(folder, os.O_RDONLY)
    try:
        files.sync(descriptor)
    finally:
        close_quietly(files, descriptor)


def ended(fragment: bytes) -> bytes:
    """What stands in the place of a fragment: as many bytes, and no entry among them."""
    whole, feed, rest = fragment.rpartition(b"\n")
    blank = re.sub(rb"[^\n]", b" ", whole)
    # The rest lost its last byte, so that it is no whole JSON whatever it was.
    return blank + feed + (rest[:-1] + b"\n" if rest else b"")


def end_fragment(files: Files, path: str, descriptor: int, fragment: bytes, sync: Sync) -> int:
    """Make a fragment that was just written a line of its own, in place; where it begins.

    Raises:
        SyncFailed: it is done, but perhaps not on disk.
        OSError: it could not be done.
    """
    start = files.position(descriptor) - len(fragment)
    instead = ended(fragment)
    same = next((at for at in range(len(fragment)) if fragment[at] != instead[at]), len(fragment))
    overwrite(files, path, descriptor, start + same, instead[same:], sync)
    return start


def overwrite(
    files: Files, path: str, descriptor: int, start: int, data: bytes, sync: Sync
) -> None:
    """Put bytes in the place of others, in the file that `descriptor` is of.

    Raises:
        SyncFailed: it is done, but perhaps not on disk.
        OSError: it could not be done, or another file is at the path by now.
    """
    # With O_APPEND Linux appends whatever offset pwrite is given, so that it takes another one.
    other = files.open(path, os.O_WRONLY)
    try:
        if Identity.of(files.fstat(other))[:2] != Identity.of(files.fstat(descriptor))[:2]:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        while data:
            count = files.pwrite(other, data, start)
            data, start = data[count:], start + count
        sync_data(files, other, sync)
    finally:
        close_quietly(files, other)


def cut_off(files: Files, descriptor: int, before: int, fragment: bytes) -> Identity | None:
    """Take a fragment off the end; the file as it is then, None where that was not to be done."""
    try:
        if files.fstat(descriptor).st_size != before + len(fragment):
            return None
        files.truncate(descriptor, before)
        now = Identity.of(files.fstat(descriptor))
    except OSError:
        return None
    return now if now.size == before else None


def write_beside(files: Files, path: str, temporary: str, lines: Sequence[bytes]) -> None:
    """A new file with these lines, on disk, with the owner and mode of the one at `path`."""
    stat = files.stat(path)
    data = memoryview(b"".join(line + b"\n" for line in lines))
    descriptor = files.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        # The owner first: changing it takes set-id bits off the mode.
        if (stat.st_uid, stat.st_gid) != (os.getuid(), os.getgid()):
            files.chown(descriptor, stat.st_uid, stat.st_gid)
        files.chmod(descriptor, stat.st_mode & 0o7777)
        while data:
            data = data[files.write(descriptor, bytes(data)) :]
        files.sync(descriptor)
    finally:
        close_quietly(files, descriptor)


def unlink_quietly(files: Files, path: str) -> bool:
    """Take a name away; whether it is gone."""
    try:
        files.unlink(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
