"""Sessions that live as long as the process.

For throw-away sessions, and as the plain model that the other stores are tested against.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pisessiond.storage.base import AppendOutcome, Locator, Run, SessionLog, StoredLine
from pisessiond.storage.errors import FileChanged, NoSuchSession


class MemoryLog:
    """A log in a list; a line's position is its place in it."""

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._lines: list[bytes] = []
        self._held = 0
        self._flushed = False
        self._seen = 0

    @property
    def path(self) -> str | None:
        return self._path

    @property
    def is_flushed(self) -> bool:
        return self._flushed

    @property
    def is_safe(self) -> bool:
        return self._flushed

    @property
    def may_write(self) -> bool:
        return True

    @property
    def refusal(self) -> str | None:
        return None

    def scan(self) -> Iterator[Run]:
        self._seen = len(self._lines)
        for position, line in enumerate(self._lines):
            yield Run(position, [line])

    def read(self, locators: Sequence[Locator]) -> list[bytes]:
        return [
            self._lines[position] if position < len(self._lines) else b""
            for position, _ in locators
        ]

    def hold(self, lines: Sequence[bytes]) -> list[Locator]:
        assert not self._flushed
        return self._add(lines)

    def look(self) -> list[StoredLine]:
        foreign = [
            StoredLine(line, (self._seen + position, len(line)), is_ours=False)
            for position, line in enumerate(self._lines[self._seen :])
        ]
        self._seen = len(self._lines)
        return foreign

    def append(self, lines: Sequence[bytes], *, keep_time: bool = False) -> AppendOutcome:
        del keep_time
        if foreign := self.look():
            return AppendOutcome(False, foreign)
        self._flushed = True
        places = self._add(lines)
        stored = [
            StoredLine(line, place, is_ours=True) for line, place in zip(lines, places, strict=True)
        ]
        return AppendOutcome(True, stored)

    def _add(self, lines: Sequence[bytes]) -> list[Locator]:
        start = len(self._lines)
        self._lines.extend(lines)
        self._seen = len(self._lines)
        return [(start + position, len(line)) for position, line in enumerate(lines)]

    def add_foreign(self, lines: Sequence[bytes]) -> None:
        """Add lines as another writer would."""
        self._lines.extend(lines)

    def rewrite(self, lines: Sequence[bytes]) -> None:
        if self.look():
            raise FileChanged("another writer added lines")
        self._lines = list(lines)
        self._seen = len(self._lines)
        self._flushed = True

    def discard(self) -> None:
        return None

    def close(self) -> None:
        return None

    @property
    def is_remembered(self) -> bool:
        return True

    def remember(self) -> bool:
        return False

    def begin_anew(self) -> None:
        self._seen = 0


class MemoryStore:
    """Logs by path."""

    def __init__(self) -> None:
        self._logs: dict[str, MemoryLog] = {}

    def open(self, path: str) -> MemoryLog:
        if path not in self._logs or not self._logs[path].is_flushed:
            raise NoSuchSession(path)
        return self._logs[path]

    def new(self, path: str | None) -> MemoryLog:
        log = MemoryLog(path)
        if path is not None:
            self._logs[path] = log
        return log

    def list_paths(self, folder: str) -> list[str]:
        prefix = folder.rstrip("/") + "/"
        return [
            path
            for path, log in self._logs.items()
            if log.is_flushed and path.startswith(prefix) and "/" not in path[len(prefix) :]
        ]

    def bring_back(self) -> list[SessionLog]:
        return []
