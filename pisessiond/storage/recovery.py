"""What a session holds before its file exists, kept so that a killed daemon loses no prompt.

A file in the state folder for each session that is not on disk yet: first a line of JSON that
names the path planned for it, then the session's lines exactly as they are held. Lines are synced
there before they are acknowledged, and the file goes once the session itself is on disk.

Whoever holds such a session has its file locked (flock), so that of several processes one brings
it back, and none while it is held elsewhere. A file that holds what the session's own file does
not say is never taken away but by `drop`.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pisessiond.storage.base import (
    AppendOutcome,
    Locator,
    Run,
    SessionLog,
    SessionStore,
    StoredLine,
)
from pisessiond.storage.errors import Degraded, FileChanged, StoreError
from pisessiond.storage.files import Files, SystemFiles

log = logging.getLogger(__name__)

_ENDING = ".unsaved"

State = Literal["held", "waiting", "saved", "conflict", "damaged"]
"""`held` by a running process; `waiting` to be brought back; `saved`: its session file says all of
it; `conflict`: that file says something else; `damaged`: it names no path, or holds no line."""


class Kept:
    """One recovery file as it was found, open and perhaps locked."""

    def __init__(self, file: str, descriptor: int, data: bytes) -> None:
        self.file = file
        self.descriptor = descriptor
        whole = data.rpartition(b"\n")[0]
        note, *lines = whole.split(b"\n") if whole else [b""]
        self.path = _path_in(note)
        """The planned path; None when the file does not say."""
        self.lines = lines
        """Whole lines; a torn last one was never acknowledged."""
        self.end = len(whole) + 1 if whole else 0
        """Behind the last whole line, in bytes."""

    @property
    def content(self) -> bytes:
        """What the session's own file would begin with."""
        return b"".join(line + b"\n" for line in self.lines)

    def state(self) -> State:
        """How it stands with a file that nobody holds."""
        if self.path is None or not self.lines:
            return "damaged"
        try:
            with open(self.path, "rb") as file:
                there = file.read()
        except FileNotFoundError:
            return "waiting"
        except OSError:
            return "conflict"
        if not there or self.is_begun(there):
            return "waiting"
        return "saved" if set(self.lines) <= set(there.split(b"\n")) else "conflict"

    def is_begun(self, there: bytes) -> bool:
        """Whether bytes at the planned path are what a crash left of the writing of these lines.

        A file system may have given it its length and not yet its bytes, which are zeros then.
        """
        written = there.rstrip(b"\0")
        return len(written) < len(self.content) and self.content.startswith(written)


def _path_in(note: bytes) -> str | None:
    try:
        told = json.loads(note)
    except ValueError:
        return None
    path = told.get("path") if isinstance(told, dict) else None
    return path if isinstance(path, str) and os.path.isabs(path) else None


@dataclass(frozen=True, slots=True)
class Found:
    """A recovery file, for people."""

    file: str
    path: str | None
    lines: list[bytes]
    state: State
    modified: float
    """Seconds since 1970."""


class RecoveryFolder:
    """The recovery files of one state folder, made on first use."""

    def __init__(self, folder: str, files: Files | None = None) -> None:
        self._folder = folder
        self._files = files or SystemFiles()

    def begin(self, path: str) -> RecoveryFile:
        """Where the lines of a session planned at `path` will be kept; nothing is made yet."""
        return RecoveryFile(self._folder, path, self._files)

    def take_free(self, but: Collection[str] = ()) -> Iterator[Kept]:
        """Every file that nobody holds, locked, but for those of some names.

        Whoever gets one closes its descriptor.
        """
        for name in self._names():
            kept = None if name in but else self._open(name)
            if kept is not None:
                yield kept

    def _names(self) -> list[str]:
        try:
            names = os.listdir(self._folder)
        except OSError:
            return []
        return sorted(name for name in names if name.endswith(_ENDING))

    def _open(self, name: str) -> Kept | None:
        file = os.path.join(self._folder, name)
        try:
            descriptor = self._files.open(file, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # It may have been taken away between the two calls.
            if os.fstat(descriptor).st_nlink:
                return Kept(file, descriptor, _read(descriptor))
        except OSError:
            pass
        os.close(descriptor)
        return None

    def resume(self, kept: Kept) -> RecoveryFile:
        """Go on keeping lines in a file that was found."""
        assert kept.path is not None
        resumed = RecoveryFile(self._folder, kept.path, self._files)
        resumed.take_over(kept)
        return resumed

    def look(self) -> list[Found]:
        """All files, oldest first; none of them is held afterwards."""
        found = []
        for name in self._names():
            file = os.path.join(self._folder, name)
            try:
                descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            except OSError:
                continue
            try:
                kept = Kept(file, descriptor, _read(descriptor))
                state: State = "held" if _is_locked(descriptor) else kept.state()
                modified = os.fstat(descriptor).st_mtime
            finally:
                os.close(descriptor)
            found.append(Found(file, kept.path, kept.lines, state, modified))
        return sorted(found, key=lambda one: one.modified)

    def drop(self, file: str) -> bool:
        """Take away a file that nobody holds; False when somebody does, or it is gone."""
        kept = self._open(os.path.basename(file))
        if kept is None:
            return False
        try:
            self._files.unlink(kept.file)
        finally:
            os.close(kept.descriptor)
        return True


def _read(descriptor: int) -> bytes:
    parts = []
    at = 0
    while part := os.pread(descriptor, 1 << 20, at):
        parts.append(part)
        at += len(part)
    return b"".join(parts)


def _is_locked(descriptor: int) -> bool:
    try:
        # Shared, so that two who look do not take each other for a holder.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False


class RecoveryFile:
    """The file of one session, locked from its first line on."""

    def __init__(self, folder: str, path: str, files: Files) -> None:
        self._folder = folder
        self._path = path
        self._files = files
        self._file: str | None = None
        self._descriptor: int | None = None
        self._end = 0
        """Behind the last line that counts."""
        self._has_fragment = False
        """Whether a write that failed may have left something behind that."""

    def take_over(self, kept: Kept) -> None:
        """Go on where another process ended, without the torn line that it may have left."""
        self._file, self._descriptor, self._end = kept.file, kept.descriptor, kept.end
        self._files.truncate(kept.descriptor, kept.end)

    def add(self, lines: Sequence[bytes]) -> None:
        """Keep more lines; they are on disk when this returns, or none of them counts.

        Raises:
            Degraded: they cannot be kept.
        """
        try:
            self._add(b"".join(line + b"\n" for line in lines))
        except OSError as error:
            reason = f"{os.strerror(error.errno or 0)}, for the recovery file"
            raise Degraded(reason) from error

    def _add(self, data: bytes) -> None:
        is_new = self._descriptor is None
        if is_new:
            data = json.dumps({"path": self._path}).encode() + b"\n" + data
        descriptor = self._open()
        if self._has_fragment:
            self._files.truncate(descriptor, self._end)
            self._has_fragment = False
        try:
            written = self._files.write(descriptor, data)
            while written < len(data):
                written += self._files.write(descriptor, data[written:])
            self._files.sync_data(descriptor)
            if is_new:
                self._sync_folder(self._folder)
        except OSError:
            if is_new:
                self.drop()
            else:
                self._has_fragment = True
            raise
        self._end += len(data)

    def _open(self) -> int:
        if self._descriptor is not None:
            return self._descriptor
        if not os.path.isdir(self._folder):
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            self._sync_folder(os.path.dirname(self._folder))
        name = hashlib.sha256(os.fsencode(self._path)).hexdigest()[:32]
        number = 1
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        while True:
            # A file of an earlier session planned at the same path is not ours.
            file = os.path.join(self._folder, f"{name}-{number}{_ENDING}")
            try:
                descriptor = self._files.open(file, flags, 0o600)
                break
            except FileExistsError:
                number += 1
        self._file, self._descriptor, self._end = file, descriptor, 0
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor

    def _sync_folder(self, folder: str) -> None:
        descriptor = self._files.open(folder, os.O_RDONLY)
        try:
            self._files.sync(descriptor)
        finally:
            os.close(descriptor)

    def drop(self) -> None:
        """Take the file away; having none is no error."""
        if self._file is not None:
            try:
                self._files.unlink(self._file)
            except OSError as error:
                # The next who looks finds that the session's file says all of it.
                log.warning("a recovery file was not taken away: %s", error.strerror)
        self.release()

    def release(self) -> None:
        """Let another process have the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
        self._descriptor = self._file = None


class RecoveringLog:
    """A log whose held lines are kept in a recovery file until they are stored."""

    def __init__(self, inner: SessionLog, recovery: RecoveryFile) -> None:
        self._inner = inner
        self._recovery = recovery
        self._unkept: list[bytes] = []
        """A header without an entry: nothing would be lost with it."""
        self._holds_entries = False

    @property
    def path(self) -> str | None:
        return self._inner.path

    @property
    def is_flushed(self) -> bool:
        return self._inner.is_flushed

    @property
    def is_safe(self) -> bool:
        return True

    @property
    def may_write(self) -> bool:
        return self._inner.may_write

    @property
    def refusal(self) -> str | None:
        return self._inner.refusal

    def scan(self) -> Iterator[Run]:
        return self._inner.scan()

    def read(self, locators: Sequence[Locator]) -> list[bytes]:
        return self._inner.read(locators)

    def hold(self, lines: Sequence[bytes]) -> list[Locator]:
        unkept = [*self._unkept, *lines]
        if self._holds_entries or len(unkept) > 1:
            self._recovery.add(unkept)
            self._holds_entries = True
            unkept = []
        self._unkept = unkept
        return self._inner.hold(lines)

    def hold_again(self, lines: Sequence[bytes]) -> None:
        """Hold lines that are kept already."""
        self._holds_entries = True
        self._inner.hold(lines)

    def look(self) -> list[StoredLine]:
        return self._inner.look()

    def append(self, lines: Sequence[bytes], *, keep_time: bool = False) -> AppendOutcome:
        if self.is_flushed:
            return self._inner.append(lines, keep_time=keep_time)
        try:
            outcome = self._inner.append(lines, keep_time=keep_time)
        except FileChanged:
            # Another program made the file its own: what was held stays here, for people.
            if self._inner.is_flushed:
                self._recovery.release()
            raise
        self._unkept = []
        self._recovery.drop()
        return outcome

    def rewrite(self, lines: Sequence[bytes]) -> None:
        self._inner.rewrite(lines)

    def discard(self) -> None:
        self._inner.discard()
        self._recovery.drop()

    def close(self) -> None:
        self._inner.close()
        self._recovery.release()

    @property
    def is_remembered(self) -> bool:
        return self._inner.is_remembered

    def remember(self) -> bool:
        return self._inner.remember()

    def begin_anew(self) -> None:
        self._inner.begin_anew()


class RecoveringStore:
    """A store of files that also keeps what is not in them yet."""

    def __init__(self, inner: SessionStore, folder: RecoveryFolder) -> None:
        self._inner = inner
        self._folder = folder
        self._left: set[str] = set()
        """Files that cannot be brought back; they are looked at once."""

    def open(self, path: str) -> SessionLog:
        return RecoveringLog(self._inner.open(path), self._folder.begin(path))

    def new(self, path: str | None) -> SessionLog:
        inner = self._inner.new(path)
        return inner if path is None else RecoveringLog(inner, self._folder.begin(path))

    def list_paths(self, folder: str) -> list[str]:
        return self._inner.list_paths(folder)

    def bring_back(self) -> list[SessionLog]:
        found: list[SessionLog] = []
        for kept in self._folder.take_free(self._left):
            brought = self._bring(kept)
            if brought is not None:
                found.append(brought)
        return found

    def _bring(self, kept: Kept) -> SessionLog | None:
        state = kept.state()
        try:
            if state == "waiting":
                return self._held_again(kept)
            if state == "saved":
                os.unlink(kept.file)
        except (OSError, StoreError) as error:
            log.error("an unsaved session was not brought back: %s", error)
        if state in ("conflict", "damaged"):
            log.warning("a recovery file is left as it is (%s); see pisessiond recover", state)
            self._left.add(os.path.basename(kept.file))
        os.close(kept.descriptor)
        return None

    def _held_again(self, kept: Kept) -> SessionLog:
        assert kept.path is not None
        inner = self._inner.new(kept.path)
        if os.path.exists(kept.path):
            with open(kept.path, "rb") as file:
                is_begun = kept.is_begun(there := file.read()) and there != b""
            if is_begun:
                # Nothing is in it that is not here, and nobody was told of it.
                os.unlink(kept.path)
            else:
                inner = self._inner.open(kept.path)
                next(iter(inner.scan()), None)
        brought = RecoveringLog(inner, self._folder.resume(kept))
        brought.hold_again(kept.lines)
        return brought
