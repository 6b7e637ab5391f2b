"""pi's own store: one JSONL file a session (SESSION-RULES section 1).

Grammar of a file: lines separated by the byte 0x0A alone, the last one perhaps without it. What
stands between is the codec's business; here lines are bytes.

Reading never writes. One write call carries all lines of an append, with O_APPEND, so that lines
of two programs never mix, and fdatasync comes before the answer. Files are read with pread and
never mapped: a file that another program truncates must not kill the daemon.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pisessiond.storage.base import AppendOutcome, Locator, Run, StoredLine
from pisessiond.storage.errors import (
    Degraded,
    FileChanged,
    NoSuchSession,
    NotWritable,
    SessionFileExists,
    StoreError,
    Unreadable,
)
from pisessiond.storage.files import Files, SystemFiles

_CHUNK = 256 << 10
_SPAN = 1 << 20
"""Lines fetched by one read lie within so many bytes."""
_DENIED = {errno.EACCES, errno.EPERM, errno.EROFS}
_NEAR = 16 << 10
"""Lines closer together than this are fetched by one read."""


class _Identity(NamedTuple):
    """What tells one file from another, and a changed one from itself."""

    device: int
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, stat: os.stat_result) -> _Identity:
        return cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)


class _Reader:
    """A descriptor that closes when the last reader lets go of it.

    A reload replaces the reader while other threads may still read through the old one; closing it
    by hand could hand its number to another file in the middle of a pread.
    """

    def __init__(self, files: Files, path: str) -> None:
        self.descriptor = files.open(path, os.O_RDONLY)
        self._close = files.close

    def __del__(self) -> None:
        if hasattr(self, "descriptor"):
            self._close(self.descriptor)


class JsonlLog:
    """One file.

    The session's queue uses it from one worker at a time, except `read`, which may run beside
    anything.
    """

    def __init__(self, path: str, files: Files, *, exists: bool) -> None:
        self._path = path
        self._files = files
        self._known: _Identity | None = None
        self._end = 0
        """Where the next unread byte is: behind the last whole line that was taken in."""
        self._open_tail = b""
        """The last line when it has no line feed yet but was understood as a line."""
        self._held: list[bytes] = []
        self._held_size = 0
        self._held_at: dict[int, bytes] = {}
        self._flushed = exists
        self._replaces_empty = False
        self._reader: _Reader | None = None

    @property
    def path(self) -> str:
        return self._path

    @property
    def is_flushed(self) -> bool:
        return self._flushed

    # Reading -----------------------------------------------------------------------------------

    def scan(self) -> Iterator[Run]:
        if not self._flushed:
            yield from self._scan_held()
            return
        self.close()
        reader = self._open_reader()
        self._known = self._identity_of(reader)
        if self._known.size == 0:
            self._flushed = False
            self._replaces_empty = True
            return
        self._end = 0
        yield from self._runs(reader, 0, self._known.size)

    def _identity_of(self, reader: _Reader) -> _Identity:
        try:
            return _Identity.of(self._files.fstat(reader.descriptor))
        except OSError as error:
            raise Unreadable(self._path, _words(error)) from error

    def _scan_held(self) -> Iterator[Run]:
        offset = 0
        for line in self._held:
            yield Run(offset, [line])
            offset += len(line) + 1

    def _runs(self, reader: _Reader, start: int, end: int) -> Iterator[Run]:
        """Whole lines between two offsets; a last line without line feed comes by itself."""
        pending = b""
        position = start
        while position < end:
            try:
                chunk = self._files.pread(reader.descriptor, min(_CHUNK, end - position), position)
            except OSError as error:
                raise Unreadable(self._path, _words(error)) from error
            if not chunk:
                break
            position += len(chunk)
            lines = chunk.split(b"\n")
            if len(lines) == 1:
                pending += chunk
                continue
            lines[0] = pending + lines[0]
            pending = lines.pop()
            offset = self._end
            self._end = position - len(pending)
            yield Run(offset, lines)
        self._open_tail = pending
        if pending:
            yield Run(self._end, [pending])

    def _open_reader(self) -> _Reader:
        if self._reader is None:
            try:
                self._reader = _Reader(self._files, self._path)
            except FileNotFoundError as error:
                raise NoSuchSession(self._path) from error
            except OSError as error:
                raise Unreadable(self._path, _words(error)) from error
        return self._reader

    def read(self, locators: Sequence[Locator]) -> list[bytes]:
        if self._held_at:
            return [self._held_at.get(position, b"") for position, _ in locators]
        reader = self._open_reader()
        lines: list[bytes] = []
        for group in _near_groups(locators):
            start = group[0][0]
            end = group[-1][0] + group[-1][1]
            data = self._pread_all(reader, end - start, start)
            lines += [data[at - start : at - start + length] for at, length in group]
        return lines

    def _pread_all(self, reader: _Reader, length: int, offset: int) -> bytes:
        data = b""
        try:
            while len(data) < length:
                at = offset + len(data)
                more = self._files.pread(reader.descriptor, length - len(data), at)
                if not more:
                    break
                data += more
        except OSError as error:
            raise Unreadable(self._path, _words(error)) from error
        return data

    # Writing -----------------------------------------------------------------------------------

    def hold(self, lines: Sequence[bytes]) -> list[Locator]:
        assert not self._flushed
        places = []
        for line in lines:
            places.append((self._held_size, len(line)))
            self._held_at[self._held_size] = line
            self._held.append(line)
            self._held_size += len(line) + 1
        return places

    def look(self) -> list[StoredLine]:
        if not self._flushed:
            return []
        now = self._identity_now()
        if now == self._known:
            return []
        self._require_same(now)
        lines = self._read_tail(now)
        self._known = now
        return lines

    def _identity_now(self) -> _Identity:
        try:
            return _Identity.of(self._files.stat(self._path))
        except FileNotFoundError as error:
            raise FileChanged("it was deleted") from error
        except OSError as error:
            raise Unreadable(self._path, _words(error)) from error

    def _require_same(self, now: _Identity) -> None:
        known = self._known
        if known is None:
            raise FileChanged("it was never read")
        if (now.device, now.inode) != (known.device, known.inode):
            raise FileChanged("it was replaced by another file")
        if now.size < known.size:
            raise FileChanged("it was truncated")
        if now.size == known.size:
            raise FileChanged("it was rewritten in place")

    def _read_tail(self, now: _Identity) -> list[StoredLine]:
        """Whole lines that came behind what was read; a torn last line waits for its end."""
        before = self._end, self._open_tail
        try:
            return self._read_whole_lines(now)
        except StoreError:
            # What was read of them is given with the rest, once all can be read.
            self._end, self._open_tail = before
            raise

    def _read_whole_lines(self, now: _Identity) -> list[StoredLine]:
        reader = self._open_reader()
        start = self._end
        if self._open_tail:
            tail = self._pread_all(reader, len(self._open_tail) + 1, start)
            if not tail.startswith(self._open_tail) or tail[len(self._open_tail) :] != b"\n":
                raise FileChanged("its last line was changed")
            self._end = start = start + len(tail)
            self._open_tail = b""
        stored = []
        for run in self._runs(reader, start, now.size):
            offset = run.offset
            for line in run.lines:
                if offset < self._end:
                    stored.append(StoredLine(line, (offset, len(line)), is_ours=False))
                offset += len(line) + 1
        self._open_tail = b""
        return stored

    def append(self, lines: Sequence[bytes], *, keep_time: bool = False) -> AppendOutcome:
        if not self._flushed:
            self._create(lines)
            return AppendOutcome(True, self._own_lines(lines, self._held_size))
        if foreign := self.look() or self._take_torn_line():
            return AppendOutcome(False, foreign)
        assert self._known is not None
        if not lines:
            return AppendOutcome(True)
        before, time = self._known.size, self._known.mtime_ns
        prefix = b"\n" if self._open_tail else b""
        data = prefix + b"\n".join(lines) + b"\n"
        start = self._write(data, before)
        stored = self._settle(lines, start, data, len(prefix))
        if keep_time and all(item.is_ours for item in stored):
            self._put_time_back(time)
        return AppendOutcome(True, stored)

    def _put_time_back(self, mtime_ns: int) -> None:
        """Let the file look as old as it was; where the system refuses, it looks new."""
        try:
            self._files.set_times(self._path, self._files.stat(self._path).st_atime_ns, mtime_ns)
            self._known = self._identity_now()
        except OSError:
            return

    def _take_torn_line(self) -> list[StoredLine]:
        """A last line that another writer did not end, since ours would end it.

        It may be whole (an entry like any other), or go on later; then the file counts as changed.
        """
        assert self._known is not None
        length = self._known.size - self._end
        if self._open_tail or not length:
            return []
        self._open_tail = self._pread_all(self._open_reader(), length, self._end)
        return [StoredLine(self._open_tail, (self._end, len(self._open_tail)), is_ours=False)]

    def _own_lines(self, lines: Sequence[bytes], offset: int) -> list[StoredLine]:
        stored = []
        for line in lines:
            stored.append(StoredLine(line, (offset, len(line)), is_ours=True))
            offset += len(line) + 1
        return stored

    def _settle(
        self, lines: Sequence[bytes], start: int, data: bytes, prefix: int
    ) -> list[StoredLine]:
        """What stands behind what was read: our lines, and any of a writer that came between."""
        assert self._known is not None
        before = self._known.size
        now = self._identity_now()
        self._require_same(now)
        if now.size == before + len(data):
            self._known = now
            self._end = now.size
            self._open_tail = b""
            return self._own_lines(lines, before + prefix)
        first, stop = start + prefix, start + len(data)
        stored = [
            StoredLine(item.line, item.locator, is_ours=first <= item.locator[0] < stop)
            for item in self._read_tail(now)
        ]
        self._known = now
        if [item.line for item in stored if item.is_ours] != list(lines):
            raise FileChanged("the lines just written are not in it")
        return stored

    def _write(self, data: bytes, before: int) -> int:
        """One write and one sync; where the data stands then.

        A failed one leaves the file saying what it said before.
        """
        try:
            descriptor = self._files.open(self._path, os.O_WRONLY | os.O_APPEND)
        except OSError as error:
            raise _refused(error) from error
        try:
            return self._write_all(descriptor, data, before)
        finally:
            self._files.close(descriptor)

    def _write_all(self, descriptor: int, data: bytes, before: int) -> int:
        written = 0
        try:
            written = self._files.write(descriptor, data)
            if written == len(data):
                self._files.sync_data(descriptor)
                return self._files.position(descriptor) - written
            reason = "the disk took only a part of it"
        except OSError as error:
            reason = _words(error)
        self._take_back(descriptor, before, data[:written])
        raise Degraded(reason)

    def _take_back(self, descriptor: int, before: int, fragment: bytes) -> None:
        """Cut off what a failed write left, or blank it where another writer wrote behind it."""
        if not fragment:
            return
        try:
            if self._files.fstat(descriptor).st_size != before + len(fragment):
                self._blank(self._files.position(descriptor) - len(fragment), fragment)
                return
            self._files.truncate(descriptor, before)
            now = _Identity.of(self._files.fstat(descriptor))
        except OSError:
            # The fragment stays; the next look finds a file of another size and reads it.
            return
        if now.size == before:
            self._known = now

    def _blank(self, start: int, fragment: bytes) -> None:
        """Leave blank lines where the fragment stands; the other writer's bytes stay in place."""
        blank = re.sub(rb"[^\n]", b" ", fragment[:-1]) + b"\n"
        descriptor = self._files.open(self._path, os.O_WRONLY)
        try:
            self._files.pwrite(descriptor, blank, start)
            self._files.sync_data(descriptor)
        finally:
            self._files.close(descriptor)

    def _create(self, lines: Sequence[bytes]) -> None:
        data = b"".join(line + b"\n" for line in [*self._held, *lines])
        folder = os.path.dirname(self._path)
        try:
            self._files.make_folders(folder)
            descriptor = self._open_new()
        except FileExistsError as error:
            raise SessionFileExists(self._path) from error
        except OSError as error:
            raise _refused(error) from error
        try:
            self._require_empty(descriptor)
            self._write_all(descriptor, data, 0)
            known = _Identity.of(self._files.fstat(descriptor))
            if not self._replaces_empty:
                self._sync_folder(folder)
        except OSError as error:
            self._take_back(descriptor, 0, data)
            self._remove_new()
            raise _refused(error) from error
        except Degraded:
            self._remove_new()
            raise
        finally:
            self._files.close(descriptor)
        self._known = known
        self._end = len(data)
        self._open_tail = b""
        self._held_size = sum(len(line) + 1 for line in self._held)
        self._let_go_of_held()

    def _let_go_of_held(self) -> None:
        self._flushed = True
        self._replaces_empty = False
        self._held, self._held_at = [], {}

    def _open_new(self) -> int:
        if self._replaces_empty:
            try:
                return self._files.open(self._path, os.O_WRONLY | os.O_APPEND)
            except FileNotFoundError:
                self._replaces_empty = False
        return self._files.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL)

    def _require_empty(self, descriptor: int) -> None:
        if self._files.fstat(descriptor).st_size:
            # The session is theirs now; what was held for the empty file has no place in it.
            self._let_go_of_held()
            raise FileChanged("another program wrote to the empty file first")

    def _remove_new(self) -> None:
        if not self._replaces_empty:
            self._unlink_quietly(self._path)

    def _sync_folder(self, folder: str) -> None:
        descriptor = self._files.open(folder, os.O_RDONLY)
        try:
            self._files.sync(descriptor)
        finally:
            self._files.close(descriptor)

    def rewrite(self, lines: Sequence[bytes]) -> None:
        foreign = self.look()
        if foreign:
            raise FileChanged("another program wrote to it")
        temporary = f"{self._path}.{os.getpid()}.migrating"
        self._unlink_quietly(temporary)
        try:
            self._write_whole(temporary, lines)
            self._files.replace(temporary, self._path)
            self._sync_folder(os.path.dirname(self._path))
        except OSError as error:
            self._unlink_quietly(temporary)
            raise _refused(error) from error
        self.close()

    def _write_whole(self, path: str, lines: Sequence[bytes]) -> None:
        """A new file with the owner and mode of the old one."""
        stat = self._files.stat(self._path)
        data = memoryview(b"".join(line + b"\n" for line in lines))
        descriptor = self._files.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        try:
            self._files.chmod(descriptor, stat.st_mode & 0o7777)
            if (stat.st_uid, stat.st_gid) != (os.getuid(), os.getgid()):
                self._files.chown(descriptor, stat.st_uid, stat.st_gid)
            while data:
                data = data[self._files.write(descriptor, bytes(data)) :]
            self._files.sync(descriptor)
        finally:
            self._files.close(descriptor)

    def _unlink_quietly(self, path: str) -> None:
        try:
            self._files.unlink(path)
        except OSError:
            return

    def close(self) -> None:
        self._reader = None


def _near_groups(locators: Sequence[Locator]) -> Iterator[Sequence[Locator]]:
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


def _words(error: OSError) -> str:
    return os.strerror(error.errno or 0)


def _is_one_stretch(locators: Sequence[Locator]) -> bool:
    """Whether one read gives them all; most reads of a whole file are such, so it is quick."""
    if not locators:
        return False
    starts = [at for at, _ in locators]
    span = starts[-1] + locators[-1][1] - starts[0]
    return (
        span <= _SPAN and span - sum(n for _, n in locators) <= _NEAR and starts == sorted(starts)
    )


def _refused(error: OSError) -> StoreError:
    reason = _words(error)
    return NotWritable(reason) if error.errno in _DENIED else Degraded(reason)


class JsonlStore:
    """Session files of one machine."""

    def __init__(self, files: Files | None = None) -> None:
        self._files = files or SystemFiles()

    def open(self, path: str) -> JsonlLog:
        try:
            self._files.stat(path)
        except FileNotFoundError as error:
            raise NoSuchSession(path) from error
        except OSError as error:
            raise Unreadable(path, _words(error)) from error
        return JsonlLog(path, self._files, exists=True)

    def new(self, path: str | None) -> JsonlLog:
        assert path is not None
        return JsonlLog(path, self._files, exists=False)

    def list_paths(self, folder: str) -> list[str]:
        try:
            entries = list(self._files.scan_folder(folder))
        except OSError:
            return []
        return [entry.path for entry in entries if entry.name.endswith(".jsonl")]
