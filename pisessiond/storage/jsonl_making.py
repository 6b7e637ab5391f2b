"""Making a session file: all of its first lines at once, or nothing.

A file that is there is never overwritten, but for one without a byte, which is filled.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from pisessiond.storage.errors import Degraded, FileChanged, SessionFileExists
from pisessiond.storage.jsonl_reading import Identity, close_quietly
from pisessiond.storage.jsonl_writing import (
    CutShort,
    SyncFailed,
    World,
    cut_off,
    refused,
    sync_data,
    sync_folder,
    unlink_quietly,
    write_once,
)


class Making:
    """The making of one file, tried until it is there."""

    def __init__(self, path: str, world: World) -> None:
        self._path = path
        self._files = world.files
        self._sync = world.sync
        self.replaces_empty = False
        """Whether a file without a byte is at the path, which is to be filled."""
        self._litter: tuple[int, int] | None = None
        """The file (device, inode) that a failed try of ours could not take away again."""

    def make(self, data: bytes) -> Identity:
        """Make the file, its folders too; the file as it is then.

        Raises:
            SessionFileExists: something is there.
            FileChanged: another program wrote to the empty file first.
            NotWritable, Degraded: it could not be made, and nothing of it is there.
        """
        try:
            folders = self._make_folders()
            descriptor = self._open()
        except FileExistsError as error:
            raise SessionFileExists(self._path) from error
        except OSError as error:
            raise refused(error) from error
        try:
            return self._fill(descriptor, folders, data)
        finally:
            close_quietly(self._files, descriptor)

    def _make_folders(self) -> list[str]:
        """Make the folders that are missing; where the names are that are new, the file's too."""
        folder = os.path.dirname(self._path)
        changed = [folder]
        while not self._is_there(changed[-1]):
            changed.append(os.path.dirname(changed[-1]))
        self._files.make_folders(folder)
        return changed

    def _is_there(self, folder: str) -> bool:
        try:
            self._files.stat(folder)
        except FileNotFoundError:
            return os.path.dirname(folder) == folder
        return True

    def _open(self) -> int:
        if self.replaces_empty:
            try:
                return self._files.open(self._path, os.O_WRONLY | os.O_APPEND)
            except FileNotFoundError:
                self.replaces_empty = False
        self._remove_litter()
        return self._files.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL)

    def _fill(self, descriptor: int, folders: Sequence[str], data: bytes) -> Identity:
        """Write the first lines, or leave nothing.

        A failed sync forbids nothing here: what was written goes away with the file or with its
        length, and the next try writes all of it anew.
        """
        files = self._files
        try:
            if files.fstat(descriptor).st_size:
                raise FileChanged("another program wrote to the empty file first")
            write_once(files, descriptor, data)
            sync_data(files, descriptor, self._sync)
            known = Identity.of(files.fstat(descriptor))
            if not self.replaces_empty and self._sync == "always":
                for folder in folders:
                    sync_folder(files, folder)
        except CutShort as error:
            self._remove(descriptor, error.fragment)
            raise Degraded(error.reason) from error
        except SyncFailed as error:
            self._remove(descriptor, data)
            raise Degraded(error.reason) from error
        except OSError as error:
            self._remove(descriptor, data)
            raise refused(error) from error
        return known

    def _remove(self, descriptor: int, written: bytes) -> None:
        """Leave nothing of a file that could not be made, and an empty one as it was."""
        if self.replaces_empty:
            cut_off(self._files, descriptor, 0, written)
            return
        if unlink_quietly(self._files, self._path):
            return
        try:
            stat = self._files.fstat(descriptor)
        except OSError:
            return
        self._litter = stat.st_dev, stat.st_ino

    def _remove_litter(self) -> None:
        if self._litter is None:
            return
        try:
            stat = self._files.stat(self._path)
        except FileNotFoundError:
            self._litter = None
            return
        if (stat.st_dev, stat.st_ino) == self._litter:
            self._files.unlink(self._path)
        self._litter = None
