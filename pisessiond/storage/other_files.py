"""Files that are no open sessions: new ones beside pi's, and the trash of the desktop."""

from __future__ import annotations

import os
from collections.abc import Iterable

from pisessiond.storage.errors import NoSuchSession, NotThrownAway, SessionFileExists
from pisessiond.storage.files import Files, SystemFiles
from pisessiond.storage.jsonl_writing import refused, unlink_quietly


class SystemOtherFiles:
    """The real file system and the user's trash."""

    def __init__(self, files: Files | None = None) -> None:
        self._files = files or SystemFiles()

    def write_new(self, path: str, pieces: Iterable[bytes]) -> int:
        """A new file of these pieces, or nothing; how many bytes it has."""
        files = self._files
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        try:
            descriptor = files.open(path, flags, 0o600)
        except FileExistsError as error:
            raise SessionFileExists(path) from error
        except OSError as error:
            raise refused(error) from error
        is_whole = False
        try:
            size = self._fill(descriptor, pieces)
            is_whole = True
        except OSError as error:
            raise refused(error) from error
        finally:
            if not is_whole:
                unlink_quietly(files, path)
            files.close(descriptor)
        return size

    def _fill(self, descriptor: int, pieces: Iterable[bytes]) -> int:
        size = 0
        for piece in pieces:
            view = memoryview(piece)
            while view:
                written = self._files.write(descriptor, bytes(view))
                size += written
                view = view[written:]
        self._files.sync(descriptor)
        return size

    def throw_away(self, path: str) -> None:
        """Move a file to the trash; it is never deleted for good."""
        # Only who deletes pays for it.
        from send2trash import send2trash

        if not os.path.exists(path):
            raise NoSuchSession(path)
        try:
            send2trash(path)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno else "there is none for this disk"
            raise NotThrownAway(reason) from error
