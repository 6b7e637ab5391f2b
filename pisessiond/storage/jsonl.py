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
import stat
import time
from collections.abc import Callable, Iterator, Sequence

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
from pisessiond.storage.jsonl_following import FollowedFile, is_torn
from pisessiond.storage.jsonl_making import Making
from pisessiond.storage.jsonl_reading import Identity, close_quietly, near_groups, words
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


class JsonlLog(FollowedFile):
    """One file.

    The session's queue uses it from one worker at a time, except `read`, which may run beside
    anything.
    """

    def __init__(self, path: str, world: World, *, exists: bool) -> None:
        super().__init__(path, world)
        self._held: list[bytes] = []
        self._held_size = 0
        self._held_at: dict[int, bytes] = {}
        self._flushed = exists
        self._making = Making(path, world)
        self._refusal: NotSynced | None = None
        self._may_write = True
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
    def may_write(self) -> bool:
        return self._may_write

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
        self._may_write = self._files.may_write(self._path)
        self._left.clear()
        if self._known.size == 0:
            self._flushed = False
            self._making.replaces_empty = True
            return
        self._begin()
        yield from self._runs(reader, 0, self._known.size)

    def _scan_held(self) -> Iterator[Run]:
        offset = 0
        for line in self._held:
            yield Run(offset, [line])
            offset += len(line) + 1

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

    def look(self) -> list[StoredLine]:
        if not self._flushed:
            self._look_at_empty()
            return []
        # After a failed sync the session stands where it stood until all of it is read anew.
        if self._refusal is not None:
            return []
        self._may_write = self._files.may_write(self._path)
        return super().look()

    def _look_at_empty(self) -> None:
        """See whether another program filled an empty file for which only a header is held."""
        if not self._making.replaces_empty or len(self._held) > 1:
            return
        try:
            is_empty = self._identity_now().size == 0
        except FileChanged:
            return
        if not is_empty:
            self._let_go_of_held()
            raise FileChanged("another program wrote to the empty file first")

    def remember(self) -> bool:
        return self._flushed and super().remember()

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
            self._advance(len(self._open_tail) + len(data), self._open_tail + data)
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
        self._begin()
        self._advance(len(data), data)
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

    def discard(self) -> None:
        return None

    def begin_anew(self) -> None:
        if self._held:
            return
        # A file that was emptied is not a new session as long as it was read as one before.
        self._flushed, self._making.replaces_empty = True, False
        self._known = None


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
            found = self._files.stat(path)
        except FileNotFoundError as error:
            raise NoSuchSession(path) from error
        except OSError as error:
            raise Unreadable(path, words(error)) from error
        if not stat.S_ISREG(found.st_mode):
            raise Unreadable(path, "it is no regular file")
        return JsonlLog(path, self._world, exists=True)

    def new(self, path: str | None) -> JsonlLog:
        assert path is not None
        return JsonlLog(path, self._world, exists=False)

    def list_paths(self, folder: str) -> list[str]:
        try:
            entries = list(self._files.scan_folder(folder))
        except OSError:
            return []
        files = [entry for entry in entries if entry.name.endswith(".jsonl") and _is_file(entry)]
        return [entry.path for entry in files]

    def bring_back(self) -> list[SessionLog]:
        return []


def _is_file(entry: os.DirEntry[str]) -> bool:
    """Whether it is a file or leads to one; pipes and devices must not be opened."""
    try:
        return entry.is_file()
    except OSError:
        return False
