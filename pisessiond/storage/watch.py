"""Hearing that other programs changed session files: the system's own events, or none at all.

What comes from here is a hint. A store compares the file with what it knows before every write,
and whoever watches also looks at the files' marks now and then (service/watching.py), so that an
event that never came costs seconds, not lines. Nothing here opens a session file.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Collection, Sequence
from typing import Any

from watchfiles._rust_notify import RustNotify

from pisessiond.storage.base import FolderWatch, Mark

_STEP_MS = 40
"""After an event it is waited so long for another one; also how often watchfiles looks for them."""

_BURST_MS = 120
"""Events that go on coming are given after so long at the latest."""

_WAIT_MS = 5_000

_REMOTE = re.compile(
    r"nfs\d?|cifs|smb\d?|smbfs|9p|fuse(\..*)?|ceph|lustre|afs|ncpfs|vboxsf|prl_fs|virtiofs|drvfs"
)
"""File systems that tell a machine nothing, or not all, of what others write to them."""

Notify = Callable[[list[str], bool, bool, int, bool, bool], Any]
"""Makes what watches folders; `RustNotify`, or a stand-in."""


class FolderWatches:
    """Watching folders by the system's events, where it gives any."""

    def __init__(self, mounts: str = "/proc/mounts", notify: Notify = RustNotify) -> None:
        """Watch with `notify`; `mounts` lists what is mounted where, in the form of fstab."""
        self._mounts = mounts
        self._notify = notify

    @property
    def kind(self) -> str:
        """What the events are called here."""
        return "fsevents" if sys.platform == "darwin" else "inotify"

    def watch(self, folders: Collection[str]) -> FolderWatch:
        """Watch these folders; those that cannot be watched are left out, and it is said why."""
        mounted = self._read_mounts()
        remote = {folder: _file_system(folder, mounted) for folder in folders}
        near = [f for f in folders if not _REMOTE.fullmatch(remote[f]) and os.path.isdir(f)]
        far = sorted({name for name in remote.values() if _REMOTE.fullmatch(name)})
        reason = f"a session is on a file system of type {', '.join(far)}" if far else None
        if not near:
            return _Watch(None, frozenset(), reason)
        try:
            # Not recursive, without watchfiles' own polling; a folder we may not read is no fault.
            notify = self._notify(sorted(near), False, False, 300, False, True)
        except (OSError, RuntimeError) as error:
            # Among them the limits of inotify on instances and watches of one user.
            return _Watch(None, frozenset(), f"the system watches no more folders ({error})")
        return _Watch(notify, frozenset(near), reason)

    def _read_mounts(self) -> list[tuple[str, str]]:
        """Where something is mounted and its file system; nothing where the system has no list."""
        try:
            with open(self._mounts, encoding="utf-8", errors="surrogateescape") as file:
                rows = [line.split() for line in file]
        except OSError:
            return []
        return [(_unescape(row[1]), row[2]) for row in rows if len(row) > 2]

    def marks(self, paths: Sequence[str]) -> list[Mark]:
        """What tells each file from a changed one, without reading it; None where it is gone."""
        return [_mark(path) for path in paths]


class _Watch:
    """Some folders that are being watched."""

    def __init__(self, notify: Any, folders: frozenset[str], reason: str | None) -> None:
        self._notify = notify
        self._ended = threading.Event()
        self.folders = folders
        self.reason = reason

    def wait(self) -> set[str]:
        if self._notify is None:
            self._ended.wait(_WAIT_MS / 1000)
            return set()
        try:
            changes = self._notify.watch(_BURST_MS, _STEP_MS, _WAIT_MS, self._ended)
        except RuntimeError:
            # It was closed.
            return set()
        return {path for _, path in changes} if isinstance(changes, set) else set()

    def close(self) -> None:
        self._ended.set()
        if self._notify is not None:
            self._notify.close()


def _mark(path: str) -> Mark:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def _unescape(text: str) -> str:
    """A path as /proc/mounts spells it: blanks and backslashes are octal there."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), text)


def _file_system(folder: str, mounted: Sequence[tuple[str, str]]) -> str:
    """The type of the file system a folder is on; empty where that is not known."""
    best, found = -1, ""
    for place, name in mounted:
        inside = folder == place or folder.startswith(place.rstrip("/") + "/")
        # Of several on one place the last one lies on top.
        if inside and len(place) >= best:
            best, found = len(place), name
    return found
