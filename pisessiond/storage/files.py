"""The one seam to the file system: every call a store makes goes through `Files`.

Tests put a failing one in its place. Nothing here retries or interprets; `OSError` passes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Protocol


class Files(Protocol):
    """The file calls a store needs."""

    def open(self, path: str, flags: int, mode: int = 0o600) -> int: ...

    def close(self, descriptor: int) -> None: ...

    def pread(self, descriptor: int, length: int, offset: int) -> bytes: ...

    def write(self, descriptor: int, data: bytes) -> int: ...

    def pwrite(self, descriptor: int, data: bytes, offset: int) -> int: ...

    def position(self, descriptor: int) -> int:
        """Behind the last byte that was written through this descriptor."""

    def sync_data(self, descriptor: int) -> None: ...

    def sync(self, descriptor: int) -> None: ...

    def stat(self, path: str) -> os.stat_result: ...

    def fstat(self, descriptor: int) -> os.stat_result: ...

    def truncate(self, descriptor: int, length: int) -> None: ...

    def chmod(self, descriptor: int, mode: int) -> None: ...

    def chown(self, descriptor: int, uid: int, gid: int) -> None: ...

    def replace(self, source: str, target: str) -> None: ...

    def set_times(self, path: str, atime_ns: int, mtime_ns: int) -> None: ...

    def may_write(self, path: str) -> bool: ...

    def unlink(self, path: str) -> None: ...

    def make_folders(self, path: str) -> None: ...

    def scan_folder(self, path: str) -> Iterator[os.DirEntry[str]]: ...


class SystemFiles:
    """The real file system."""

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        return os.open(path, flags | os.O_CLOEXEC, mode)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def pread(self, descriptor: int, length: int, offset: int) -> bytes:
        return os.pread(descriptor, length, offset)

    def write(self, descriptor: int, data: bytes) -> int:
        return os.write(descriptor, data)

    def pwrite(self, descriptor: int, data: bytes, offset: int) -> int:
        return os.pwrite(descriptor, data, offset)

    def position(self, descriptor: int) -> int:
        return os.lseek(descriptor, 0, os.SEEK_CUR)

    def sync_data(self, descriptor: int) -> None:
        # macOS has no fdatasync.
        getattr(os, "fdatasync", os.fsync)(descriptor)

    def sync(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def stat(self, path: str) -> os.stat_result:
        return os.stat(path)

    def fstat(self, descriptor: int) -> os.stat_result:
        return os.fstat(descriptor)

    def truncate(self, descriptor: int, length: int) -> None:
        os.ftruncate(descriptor, length)

    def chmod(self, descriptor: int, mode: int) -> None:
        os.fchmod(descriptor, mode)

    def chown(self, descriptor: int, uid: int, gid: int) -> None:
        os.fchown(descriptor, uid, gid)

    def may_write(self, path: str) -> bool:
        return os.access(path, os.W_OK)

    def set_times(self, path: str, atime_ns: int, mtime_ns: int) -> None:
        os.utime(path, ns=(atime_ns, mtime_ns))

    def replace(self, source: str, target: str) -> None:
        os.replace(source, target)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def make_folders(self, path: str) -> None:
        os.makedirs(path, mode=0o755, exist_ok=True)

    def scan_folder(self, path: str) -> Iterator[os.DirEntry[str]]:
        with os.scandir(path) as entries:
            yield from entries
