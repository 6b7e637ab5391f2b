"""Places of sessions whose files must not be written to yet, one small file each.

An old file is migrated only by a write that a client asked for; until then the place its
conversation was moved to stands here, in the state folder, by the file's real path.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from pisessiond.storage.base import NO_NOTE

_BYTES = 64 << 10


class FolderPlaceNotes:
    """Notes in one folder, made on first use."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def keep(self, path: str, place: Any) -> None:
        """Note the place of the session at `path`; None is before the first entry."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        target = self._file(path)
        temporary = f"{target}.{os.getpid()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(temporary, flags, 0o600)
        try:
            os.write(descriptor, json.dumps({"path": path, "leaf": place}).encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(temporary, target)

    def find(self, path: str) -> Any:
        """The noted place; `NO_NOTE` when there is none, or one that cannot be read."""
        try:
            with open(self._file(path), "rb") as file:
                note = json.loads(file.read(_BYTES))
        except (OSError, ValueError):
            return NO_NOTE
        if not isinstance(note, dict) or note.get("path") != path or "leaf" not in note:
            return NO_NOTE
        return note["leaf"]

    def drop(self, path: str) -> None:
        """Forget the note; having none is no error."""
        try:
            os.unlink(self._file(path))
        except FileNotFoundError:
            return

    def _file(self, path: str) -> str:
        return os.path.join(self._folder, hashlib.sha256(os.fsencode(path)).hexdigest()[:32])
