"""Small files that are read anew when they have changed, and not before."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import Generic, TypeVar

from pisessiond.core.errors import BadSetting

T = TypeVar("T")

MAX_BYTES = 4 << 20
"""A settings file larger than this is none."""


class Unreadable(Exception):
    """A file is there and cannot be read; the message says why, without its path."""


class CachedFile(Generic[T]):
    """What a file says, parsed once for each of its states; looking costs one `stat`.

    Safe in several threads: at worst two of them parse the same state.
    """

    def __init__(
        self,
        path: str,
        parse: Callable[[str | None], T],
        *,
        is_private: bool = False,
    ) -> None:
        """Keep `parse(text)`; it is given None where there is no file.

        Args:
            path: of the file.
            parse: must not raise for whatever stands there, and is told of an unreadable file by
                `Unreadable` from `read_text` alone, which `look` passes on.
            is_private: refuse a file that someone else wrote or everybody may write to.
        """
        self.path = path
        self._parse = parse
        self._is_private = is_private
        self._seen: tuple[_Mark, T] | None = None

    @property
    def last(self) -> T | None:
        """What was found when somebody last looked; None when nobody did. No I/O."""
        return None if self._seen is None else self._seen[1]

    def look(self) -> T:
        """What the file says now.

        Raises:
            Unreadable: it is there and cannot be read, is no file, is too large, or is not
                private.
        """
        mark = _mark(self.path)
        if self._seen is not None and self._seen[0] == mark:
            return self._seen[1]
        text, mark = read_text(self.path, is_private=self._is_private)
        value = self._parse(text)
        self._seen = mark, value
        return value


_Mark = tuple[int, ...]
_NONE: _Mark = ()


def _mark(path: str) -> _Mark:
    try:
        return _mark_of(os.stat(path))
    except (OSError, ValueError):
        return _NONE


def _mark_of(found: os.stat_result) -> _Mark:
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def read_text(path: str, *, is_private: bool = False) -> tuple[str | None, _Mark]:
    """The text of a file and the mark of the state it was read in; None where there is none.

    Raises:
        Unreadable: as `CachedFile.look`.
    """
    try:
        # Without waiting: a pipe of that name would keep us for ever.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None, _NONE
    except OSError as error:
        raise Unreadable(f"cannot be read ({error.strerror}); look at its permissions.") from error
    try:
        found = os.fstat(file)
        _check(found, is_private)
        with open(file, encoding="utf-8", errors="replace", newline="", closefd=False) as reader:
            return reader.read(), _mark_of(found)
    except OSError as error:
        raise Unreadable(f"cannot be read ({error.strerror}).") from error
    finally:
        os.close(file)


def _check(found: os.stat_result, is_private: bool) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise Unreadable("is no file; move it away.")
    if found.st_size > MAX_BYTES:
        raise Unreadable(f"is larger than {MAX_BYTES >> 20} MiB; move it away.")
    if is_private and found.st_uid not in (os.getuid(), 0):
        raise Unreadable(f"belongs to user {found.st_uid}, not to you; make it your own.")
    if is_private and found.st_mode & stat.S_IWOTH:
        raise Unreadable("may be written to by everybody, and names programs; chmod o-w it.")


def with_tilde(path: str, home: str) -> str:
    """A path as people know it, with `~` for the home."""
    home = home.rstrip("/")
    return f"~{path[len(home) :]}" if home and f"{path}/".startswith(f"{home}/") else path


def unreadable(file: str, error: Unreadable) -> BadSetting:
    """The same, named by its file; `file` with `~` for the home."""
    return BadSetting(file, "the file", str(error))
