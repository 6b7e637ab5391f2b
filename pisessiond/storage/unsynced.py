"""Copies of lines of which the system could not say that they are on disk.

One file a session in the state folder, likely another disk than the one that failed: first a line
of JSON that names the session file and says when, then the lines as they were written. They are
for people, and are taken away once the same bytes have been synced after all.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Sequence


class UnsyncedLines:
    """The copies in one folder, made on first use."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def keep(self, path: str, lines: Sequence[bytes]) -> str | None:
        """Add lines to the copy for the session at `path`; where it is, None if that failed too."""
        target = self._file(path)
        note = json.dumps({"path": path, "time": time.time()}).encode()
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            descriptor = os.open(target, flags, 0o600)
            try:
                data = b"".join(line + b"\n" for line in [note, *lines])
                while data:
                    data = data[os.write(descriptor, data) :]
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError:
            return None
        return target

    def drop(self, path: str) -> None:
        """Take the copy away; having none is no error."""
        try:
            os.unlink(self._file(path))
        except OSError:
            return

    def _file(self, path: str) -> str:
        name = hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
        return os.path.join(self._folder, f"{name}.jsonl")
