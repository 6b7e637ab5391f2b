"""pi's own store: one JSONL file a session (SESSION-RULES section 1).

Grammar of a file: lines separated by the byte 0x0A alone, the last one perhaps without it. What
stands between is the codec's business; here lines are bytes. One thing is asked of it: whether a
last line without line feed is whole JSON.

Reading never writes. One write call carries all lines of an append, with O_APPEND, so that lines
of two programs never mix, and fdatasync comes before the answer. Files are read with pread and
never mapped: a file that another program truncates must not kill the daemon.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence

from pisessiond.core.lines import OddLine, read_line
from pisessiond.storage.base import AppendOutcome, Locator, Run, SessionLog, StoredLine
from pisessiond.storage.errors import (
    Degraded,
    FileChanged,
    NoSuchSession,
    NotSynced,
    StoreError,
    Unreadable,
)
from pisessiond.storage.files import Files, SystemFiles
from pisessiond.storage.jsonl_making import Making
from pisessiond.storage.jsonl_reading import Identity, Reader, close_quietly, near_groups, words
from pisessiond.storage.jsonl_sums import Sum
from pisessiond.storage.jsonl_writing import (
    CutShort,
    Sync,
    SyncFailed,
    World,
    cut_off,
    end_fragment,
    overwrite,
    refused,
    sync_data,
    sync_folder,
    unlink_quietly,
    write_beside,
    write_once,
)
from pisessiond.storage.unsynced import UnsyncedLines

_CHUNK = 256 << 10
_REMEMBERED_AT_ONCE = 8 << 20

TORN_SECONDS = 0.25
"""How long another writer is given to end its last line before we write behind it."""
_LOOK_SECONDS = 0.01
"""How often it is looked meanwhile."""


class JsonlLog:
    """One file.

    The session's queue uses it from one worker at a time, except `read`, which may run beside
    anything.
    """

    def __init__(self, path: str, world: World, *, exists: bool) -> None:
        self._path = path
        self._world = world
        self._files = world.files
        self._known: Identity | None = None
        self._end = 0
        """Where the next unread byte is: behind the last whole line that was taken in."""
        self._open_tail = b""
        """The last line when it has no line feed yet but was understood as a line."""
        self._waited_for: tuple[int, int] | None = None
        """The last line (its place and length) that has had its time to go on."""
        self._left: list[tuple[int, int]] = []
        """Places where failed writes of ours left something that has not been read yet."""
        self._held: list[bytes] = []
        self._held_size = 0
        self._held_at: dict[int, bytes] = {}
        self._flushed = exists
        self._making = Making(path, world)
        self._reader: Reader | None = None
        self._sum = Sum()
        self._refusal: NotSynced | None = None
        self._unsynced: tuple[int, bytes] | None = None
        """What may not be on disk, and where it is in the file."""

    @property
    def path(self) -> str:
        return self._path

    @property
    def is_flushed(self) -> bool:
        return self._flushed

    @property
    def is_safe(self) -> bool:
        return self._flushed

    @property
    def refusal(self) -> str | None:
        return None if self._refusal is None else str(self._refusal)

    # Reading -----------------------------------------------------------------------------------

    def scan(self) -> Iterator[Run]:
        if not self._flushed:
            yield from self._scan_held()
            return
        self.close()
        reader = self._open_reader()
        self._known = reader.identity()
        self._sum = Sum()
        self._refusal = None
        self._left.clear()
        if self._known.size == 0:
            self._flushed = False
            self._making.replaces_empty = True
            return
        self._end = 0
        yield from self._runs(reader, 0, self._known.size)

    def _scan_held(self) -> Iterator[Run]:
        offset = 0
        for line in self._held:
            yield Run(offset, [line])
            offset += len(line) + 1

    def _runs(self, reader: Reader, start: int, end: int) -> Iterator[Run]:
        """Whole lines between two offsets; a last line without line feed comes by itself."""
        pending = b""
        position = start
        while position < end:
            chunk = reader.read_some(min(_CHUNK, end - position), position)
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

    def _open_reader(self) -> Reader:
        if self._reader is None:
            self._reader = Reader(self._files, self._path)
        return self._reader

    def read(self, locators: Sequence[Locator]) -> list[bytes]:
        if self._held_at:
            return [self._held_at.get(position, b"") for position, _ in locators]
        reader = self._open_reader()
        lines: list[bytes] = []
        for group in near_groups(locators):
            start = group[0][0]
            end = group[-1][0] + group[-1][1]
            data = reader.read(end - start, start)
            lines += [data[at - start : at - start + length] for at, length in group]
        return lines

    # Other writers -----------------------------------------------------------------------------

    def look(self) -> list[StoredLine]:
        # After a failed sync the session stands where it stood until all of it is read anew.
        if not self._flushed or self._refusal is not None:
            return []
        now = self._identity_now()
        if now == self._known or self._is_only_touched(now):
            return []
        self._require_same(now)
        lines = self._read_tail(now)
        self._known = now
        return lines

    def _identity_now(self) -> Identity:
        try:
            return Identity.of(self._files.stat(self._path))
        except FileNotFoundError as error:
            raise FileChanged("it was deleted") from error
        except OSError as error:
            raise Unreadable(self._path, words(error)) from error

    def _require_same(self, now: Identity) -> None:
        known = self._known
        if known is None:
            raise FileChanged("it was never read")
        if (now.device, now.inode) != (known.device, known.inode):
            raise FileChanged("it was replaced by another file")
        if now.size < known.size:
            raise FileChanged("it was truncated")
        if now.size == known.size:
            raise FileChanged("it was rewritten in place")

    def _read_tail(self, now: Identity) -> list[StoredLine]:
        """Whole lines that came behind what was read; a torn last line waits for its end."""
        before = self._end, self._open_tail
        try:
            return self._read_whole_lines(now)
        except StoreError:
            # What was read of them is given with the rest, once all can be read.
            self._end, self._open_tail = before
            raise

    def _read_whole_lines(self, now: Identity) -> list[StoredLine]:
        reader = self._open_reader()
        start = self._end
        if self._open_tail:
            tail = reader.read(len(self._open_tail) + 1, start)
            if not tail.startswith(self._open_tail) or tail[len(self._open_tail) :] != b"\n":
                raise FileChanged("its last line was changed")
            self._end = start = start + len(tail)
            self._open_tail = b""
        stored = []
        for run in self._runs(reader, start, now.size):
            offset = run.offset
            for line in run.lines:
                if offset < self._end:
                    stored.append(self._foreign_line(line, offset))
                offset += len(line) + 1
        self._open_tail = b""
        self._left = [place for place in self._left if place[1] > self._end]
        return stored

    def _foreign_line(self, line: bytes, offset: int) -> StoredLine:
        is_left = any(start <= offset < stop for start, stop in self._left)
        return StoredLine(line, (offset, len(line)), is_ours=False, is_left=is_left)

    def _news(self) -> list[StoredLine]:
        """What has to be taken in before anything is written: foreign lines, a last one included.

        Our write ends a last line that has no line feed. It may be whole, and an entry like any
        other. Or it is torn; then whoever writes it gets a moment to go on.
        """
        if foreign := self.look():
            return foreign
        tail = self._last_line()
        waited = TORN_SECONDS if self._waited_for == (self._end, len(tail)) else 0.0
        while waited < TORN_SECONDS and is_torn(tail):
            self._world.sleep(_LOOK_SECONDS)
            waited += _LOOK_SECONDS
            if foreign := self.look():
                return foreign
            tail = self._last_line()
        self._waited_for = self._end, len(tail)
        if self._open_tail or not tail:
            return []
        self._open_tail = tail
        return [self._foreign_line(tail, self._end)]

    def _last_line(self) -> bytes:
        """What stands behind the last line feed."""
        assert self._known is not None
        length = self._known.size - self._end
        if self._open_tail or not length:
            return self._open_tail
        return self._open_reader().read(length, self._end)

    # Appending ---------------------------------------------------------------------------------

    def hold(self, lines: Sequence[bytes]) -> list[Locator]:
        assert not self._flushed
        places = []
        for line in lines:
            places.append((self._held_size, len(line)))
            self._held_at[self._held_size] = line
            self._held.append(line)
            self._held_size += len(line) + 1
        return places

    def append(self, lines: Sequence[bytes], *, keep_time: bool = False) -> AppendOutcome:
        if self._refusal is not None:
            raise self._refusal
        if not self._flushed:
            self._create(lines)
            return AppendOutcome(True, self._own_lines(lines, self._held_size))
        if foreign := self._news():
            return AppendOutcome(False, foreign)
        if not lines:
            return AppendOutcome(True)
        assert self._known is not None
        known, tail, tail_at = self._known, self._open_tail, self._end
        prefix = b"\n" if tail else b""
        data = prefix + b"\n".join(lines) + b"\n"
        try:
            descriptor = self._files.open(self._path, os.O_WRONLY | os.O_APPEND)
        except OSError as error:
            raise refused(error) from error
        try:
            self._write(descriptor, data, lines)
            stored = self._settle(descriptor, lines, data, len(prefix))
        finally:
            close_quietly(self._files, descriptor)
        if keep_time and all(item.is_ours for item in stored):
            self._put_time_back(known.mtime_ns)
        return AppendOutcome(True, stored, ended=tail_at if tail and is_torn(tail) else None)

    def _write(self, descriptor: int, data: bytes, lines: Sequence[bytes]) -> None:
        """One write and one sync; a write cut short leaves no entry."""
        assert self._known is not None
        before = self._known.size
        try:
            self._sync_again(descriptor)
            write_once(self._files, descriptor, data)
            sync_data(self._files, descriptor, self._world.sync)
        except CutShort as error:
            if error.fragment:
                self._take_back(descriptor, before, error.fragment)
            else:
                self._keep_known(descriptor)
            raise Degraded(error.reason) from error
        except SyncFailed as error:
            self._unsynced = self._unsynced or (before, data)
            raise self._refuse(error, lines) from error

    def _refuse(self, error: SyncFailed, lines: Sequence[bytes]) -> NotSynced:
        unsynced = self._world.unsynced
        kept = unsynced.keep(self._path, lines) if unsynced is not None and lines else None
        self._refusal = NotSynced(error.reason, kept)
        return self._refusal

    def _sync_again(self, descriptor: int) -> None:
        """Write once more, over itself, what a failed sync may have left in memory alone.

        The system may hold it for written, so that only bytes written anew are synced again.
        """
        if self._unsynced is None:
            return
        start, data = self._unsynced
        if self._open_reader().read(len(data), start) == data:
            try:
                overwrite(self._files, self._path, descriptor, start, data, self._world.sync)
            except OSError as error:
                raise refused(error) from error
        self._unsynced = None
        if self._world.unsynced is not None:
            self._world.unsynced.drop(self._path)
        # The bytes are as they were, the time is not.
        self._known = self._identity_now()

    def _keep_known(self, descriptor: int) -> None:
        """Know the file again: Linux gives it a new time for a write that took nothing too."""
        try:
            now = Identity.of(self._files.fstat(descriptor))
        except OSError:
            return
        if self._known is not None and now[:3] == self._known[:3]:
            self._known = now

    def _take_back(self, descriptor: int, before: int, fragment: bytes) -> None:
        """See to it that what a write left is no entry, and no beginning of another writer's line.

        Where even that fails, the fragment stays as a torn last line, which the next write ends.
        """
        self._left.append((before, before + len(fragment)))
        try:
            start = end_fragment(self._files, self._path, descriptor, fragment, self._world.sync)
            self._left[-1] = start, start + len(fragment)
        except SyncFailed as error:
            raise self._refuse(error, []) from error
        except OSError:
            now = cut_off(self._files, descriptor, before, fragment)
            if now is not None:
                self._left.pop()
                self._known = now

    def _own_lines(self, lines: Sequence[bytes], offset: int) -> list[StoredLine]:
        stored = []
        for line in lines:
            stored.append(StoredLine(line, (offset, len(line)), is_ours=True))
            offset += len(line) + 1
        return stored

    def _settle(
        self, descriptor: int, lines: Sequence[bytes], data: bytes, prefix: int
    ) -> list[StoredLine]:
        """What stands behind what was read: our lines, and any of a writer that came between."""
        assert self._known is not None
        before = self._known.size
        now = self._identity_after(descriptor)
        self._require_same(now)
        if now.size == before + len(data):
            self._known = now
            self._end = now.size
            self._open_tail = b""
            return self._own_lines(lines, before + prefix)
        start = self._start_of(descriptor, data)
        if prefix == 0 and start > before and self._open_reader().read(1, start - 1) != b"\n":
            self._come_off(descriptor, start, data)
        first, stop = start + prefix, start + len(data)
        stored = [
            StoredLine(item.line, item.locator, first <= item.locator[0] < stop, item.is_left)
            for item in self._read_tail(now)
        ]
        self._known = now
        if [item.line for item in stored if item.is_ours] != list(lines):
            raise FileChanged("the lines just written are not in it")
        return stored

    def _identity_after(self, descriptor: int) -> Identity:
        """The file as it is now. What is on disk already must not fail for want of a look."""
        try:
            return self._identity_now()
        except Unreadable:
            try:
                return Identity.of(self._files.fstat(descriptor))
            except OSError as error:
                raise Unreadable(self._path, words(error)) from error

    def _start_of(self, descriptor: int, data: bytes) -> int:
        try:
            return self._files.position(descriptor) - len(data)
        except OSError as error:
            raise Unreadable(self._path, words(error)) from error

    def _come_off(self, descriptor: int, start: int, data: bytes) -> None:
        """Take our lines off the end of a torn line that came just before them; they come again.

        Raises:
            FileChanged: always, so that the file is read anew.
        """
        instead = b"\n" + b" " * (len(data) - 2) + b"\n"
        try:
            overwrite(self._files, self._path, descriptor, start, instead, self._world.sync)
        except SyncFailed as error:
            raise self._refuse(error, []) from error
        except OSError as error:
            raise refused(error) from error
        raise FileChanged("another program left half a line in it")

    def _put_time_back(self, mtime_ns: int) -> None:
        """Let the file look as old as it was; where the system refuses, it looks new."""
        try:
            self._files.set_times(self._path, self._files.stat(self._path).st_atime_ns, mtime_ns)
            now = self._identity_now()
        except (OSError, StoreError):
            return
        # A larger file holds another writer's lines, which are still to be read.
        if self._known is not None and now[:3] == self._known[:3]:
            self._known = now

    # Making and rewriting ----------------------------------------------------------------------

    def _create(self, lines: Sequence[bytes]) -> None:
        data = b"".join(line + b"\n" for line in [*self._held, *lines])
        try:
            self._known = self._making.make(data)
        except FileChanged:
            # The session is theirs now; what was held for the empty file has no place in it.
            self._let_go_of_held()
            raise
        self._end = len(data)
        self._open_tail = b""
        self._held_size = sum(len(line) + 1 for line in self._held)
        self._let_go_of_held()

    def _let_go_of_held(self) -> None:
        self._flushed = True
        self._making.replaces_empty = False
        self._held, self._held_at = [], {}

    def rewrite(self, lines: Sequence[bytes]) -> None:
        if self._refusal is not None:
            raise self._refusal
        if self.look():
            raise FileChanged("another program wrote to it")
        temporary = f"{self._path}.{os.getpid()}.migrating"
        unlink_quietly(self._files, temporary)
        try:
            write_beside(self._files, self._path, temporary, lines)
            self._files.replace(temporary, self._path)
            # Not to be relaxed: what was there before is gone with its name.
            sync_folder(self._files, os.path.dirname(self._path))
        except OSError as error:
            unlink_quietly(self._files, temporary)
            raise refused(error) from error
        self.close()

    def close(self) -> None:
        self._reader = None

    @property
    def is_remembered(self) -> bool:
        return self._known is None or self._sum.size == self._known.size

    def remember(self) -> bool:
        known = self._known
        if known is None or not self._flushed:
            return False
        reader = self._open_reader()
        self._sum.extend(reader, min(known.size, self._sum.size + _REMEMBERED_AT_ONCE))
        if self._identity_now() != known:
            # Whether these bytes are those that were read, nobody knows.
            self._sum = Sum()
            return False
        return not self.is_remembered

    def _is_only_touched(self, now: Identity) -> bool:
        """Whether nothing but the time of a file that was read is another; known is the new one."""
        known = self._known
        if known is None or now[:3] != known[:3] or not self.is_remembered:
            return False
        if not self._sum.fits(self._open_reader()) or self._identity_now() != now:
            return False
        self._known = now
        return True

    def begin_anew(self) -> None:
        if self._held:
            return
        # A file that was emptied is not a new session as long as it was read as one before.
        self._flushed, self._making.replaces_empty = True, False
        self._known = None


def is_torn(line: bytes) -> bool:
    """Whether a line is the beginning of one: neither blank nor whole JSON."""
    understood = read_line(line)
    return isinstance(understood, OddLine) and understood.kind == "badLine"


class JsonlStore:
    """Session files of one machine."""

    def __init__(
        self,
        files: Files | None = None,
        *,
        sync: Sync = "always",
        unsynced: UnsyncedLines | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """A store.

        Args:
            files: the file system; None takes the real one.
            sync: what an acknowledged write survives.
            unsynced: where lines are kept that may not have reached the disk.
            sleep: waits so many seconds.
        """
        self._files = files or SystemFiles()
        self._world = World(self._files, sync, unsynced, sleep)

    def open(self, path: str) -> JsonlLog:
        try:
            self._files.stat(path)
        except FileNotFoundError as error:
            raise NoSuchSession(path) from error
        except OSError as error:
            raise Unreadable(path, words(error)) from error
        return JsonlLog(path, self._world, exists=True)

    def new(self, path: str | None) -> JsonlLog:
        assert path is not None
        return JsonlLog(path, self._world, exists=False)

    def list_paths(self, folder: str) -> list[str]:
        try:
            entries = list(self._files.scan_folder(folder))
        except OSError:
            return []
        return [entry.path for entry in entries if entry.name.endswith(".jsonl")]

    def bring_back(self) -> list[SessionLog]:
        return []
