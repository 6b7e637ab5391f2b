"""A file system that fails where a test wants it to, and counts what it was asked for."""

import os
from collections import Counter
from collections.abc import Callable
from typing import Any

from pisessiond.storage.files import SystemFiles

OPENINGS = ("open_read", "open_write")
"""What opening is called here, by what for."""


class FaultyFiles(SystemFiles):
    """The real file system, with faults put in front of its calls.

    A fault stands for one call of its name and is used up by it, unless it was set with `always`.
    """

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        """How often each call was made."""
        self._once: dict[str, list[Callable[..., Any]]] = {}
        self._always: dict[str, Callable[..., Any]] = {}

    def fail(self, name: str, error: int, *, always: bool = False, skip: int = 0) -> None:
        """Let the next call of this name (after `skip` others) raise an `OSError`."""

        def refuse(*_: Any) -> Any:
            raise OSError(error, os.strerror(error))

        if always:
            self._always[name] = refuse
        else:
            self.instead(name, refuse, skip=skip)

    def instead(self, name: str, act: Callable[..., Any], *, skip: int = 0) -> None:
        """Let `act` stand for the next call of this name, with that call's arguments."""
        waiting = self._once.setdefault(name, [])
        waiting.extend([self.through(name)] * skip)
        waiting.append(act)

    def before(self, name: str, act: Callable[[], Any], *, skip: int = 0) -> None:
        """Do something, once, just before the next call of this name."""
        through = self.through(name)

        def both(*args: Any) -> Any:
            act()
            return through(*args)

        self.instead(name, both, skip=skip)

    def write_only(self, count: int, *, skip: int = 0) -> None:
        """Let a write (the next one after `skip` others) take no more than so many bytes."""
        write = self.through("write")
        self.instead(
            "write",
            lambda descriptor, data: write(descriptor, data[:count]) if count else 0,
            skip=skip,
        )

    @property
    def is_healthy(self) -> bool:
        """Whether no fault waits for its call any more."""
        return not self._always and not any(self._once.values())

    def heal(self) -> None:
        """Let everything work again."""
        self._once.clear()
        self._always.clear()

    def through(self, name: str) -> Callable[..., Any]:
        real: Callable[..., Any] = getattr(SystemFiles, "open" if name in OPENINGS else name)
        return lambda *args: real(self, *args)

    def _call(self, name: str, *args: Any) -> Any:
        self.calls[name] += 1
        waiting = self._once.get(name)
        if waiting:
            return waiting.pop(0)(*args)
        if name in self._always:
            return self._always[name](*args)
        return self.through(name)(*args)

    def open(self, path: str, flags: int, mode: int = 0o600) -> int:
        kind = "open_write" if flags & (os.O_WRONLY | os.O_RDWR) else "open_read"
        descriptor: int = self._call(kind, path, flags, mode)
        return descriptor

    def pread(self, descriptor: int, length: int, offset: int) -> bytes:
        data: bytes = self._call("pread", descriptor, length, offset)
        return data

    def write(self, descriptor: int, data: bytes) -> int:
        count: int = self._call("write", descriptor, data)
        return count

    def pwrite(self, descriptor: int, data: bytes, offset: int) -> int:
        count: int = self._call("pwrite", descriptor, data, offset)
        return count

    def sync_data(self, descriptor: int) -> None:
        self._call("sync_data", descriptor)

    def sync(self, descriptor: int) -> None:
        self._call("sync", descriptor)

    def stat(self, path: str) -> os.stat_result:
        found: os.stat_result = self._call("stat", path)
        return found

    def fstat(self, descriptor: int) -> os.stat_result:
        found: os.stat_result = self._call("fstat", descriptor)
        return found

    def close(self, descriptor: int) -> None:
        # Linux has let go of the descriptor whatever it answers.
        try:
            self._call("close", descriptor)
        except OSError:
            super().close(descriptor)
            raise

    def position(self, descriptor: int) -> int:
        position: int = self._call("position", descriptor)
        return position

    def truncate(self, descriptor: int, length: int) -> None:
        self._call("truncate", descriptor, length)

    def chmod(self, descriptor: int, mode: int) -> None:
        self._call("chmod", descriptor, mode)

    def chown(self, descriptor: int, uid: int, gid: int) -> None:
        self._call("chown", descriptor, uid, gid)

    def set_times(self, path: str, atime_ns: int, mtime_ns: int) -> None:
        self._call("set_times", path, atime_ns, mtime_ns)

    def replace(self, source: str, target: str) -> None:
        self._call("replace", source, target)

    def make_folders(self, path: str) -> None:
        self._call("make_folders", path)

    def unlink(self, path: str) -> None:
        self._call("unlink", path)
