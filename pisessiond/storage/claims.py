"""Who of ours writes to a session file: one process at a time (PROTOCOL.md, "Transports").

A claim is a flock on a file in the state folder, named by the session file's real path. The lock
files are never unlinked, so that two processes can never hold locks on two files of one name;
what is written in them is a label for people and decides nothing. pi knows nothing of it.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os

from pisessiond.storage.base import Claim, Claimed

_LABEL_BYTES = 200


class _FileClaim:
    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    def release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class FolderClaims:
    """Claims of all processes that share a state folder."""

    def __init__(self, folder: str, label: str) -> None:
        """Claim in `folder`, made on first use; `label` tells people whose a claim is."""
        self._folder = folder
        self._label = label.encode()[:_LABEL_BYTES]

    def claim(self, path: str) -> Claim:
        name = hashlib.sha256(os.fsencode(path)).hexdigest()[:32]
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(os.path.join(self._folder, name), flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.pread(descriptor, _LABEL_BYTES, 0).decode("utf-8", "replace")
            os.close(descriptor)
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise Claimed(owner or "unknown") from error
            raise
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, self._label, 0)
        return _FileClaim(descriptor)
