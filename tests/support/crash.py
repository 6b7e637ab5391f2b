"""What a disk may hold after a crash, told from a record of file operations.

The model is a strict one: a name lasts once its folder was synced, bytes once their file was, and
of the last write that was not, any beginning may be there, or zeros in its place.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.files import FaultyFiles


@dataclass(frozen=True)
class Operation:
    """One thing that changed the file system, or let it last, or that a client was told."""

    name: str
    path: str = ""
    offset: int = 0
    data: bytes = b""
    target: str = ""
    acknowledged: dict[Path, list[Any]] = field(default_factory=dict)


class RecordingFiles(FaultyFiles):
    """The real file system, with a record of what was done to it below a folder."""

    def __init__(self) -> None:
        super().__init__()
        self.record: list[Operation] = []
        self._paths: dict[int, str] = {}

    def note_acknowledged(self, acknowledged: dict[Path, list[Any]]) -> None:
        self.record.append(Operation("acknowledge", acknowledged=dict(acknowledged)))

    def _call(self, name: str, *args: Any) -> Any:
        missing = self._missing(args[0]) if name == "make_folders" else []
        result = super()._call(name, *args)
        note: Callable[..., None] | None = getattr(self, f"_note_{name}", None)
        if note is not None:
            note(result, *args)
        for folder in reversed(missing):
            self._add("folder", folder)
        return result

    def _missing(self, folder: str) -> list[str]:
        found = []
        while not os.path.isdir(folder):
            found.append(folder)
            folder = os.path.dirname(folder)
        return found

    def _add(self, name: str, path: str, **rest: Any) -> None:
        self.record.append(Operation(name, path, **rest))

    def _note_open_read(self, result: int, path: str, *_: Any) -> None:
        self._paths[result] = path

    def _note_open_write(self, result: int, path: str, flags: int, *_: Any) -> None:
        self._paths[result] = path
        if flags & os.O_CREAT:
            self._add("create", path)

    def _note_write(self, result: int, descriptor: int, data: bytes) -> None:
        end = os.lseek(descriptor, 0, os.SEEK_CUR)
        if result:
            path = self._paths[descriptor]
            self._add("write", path, offset=end - result, data=bytes(data[:result]))

    def _note_pwrite(self, result: int, descriptor: int, data: bytes, offset: int) -> None:
        self._add("write", self._paths[descriptor], offset=offset, data=bytes(data[:result]))

    def _note_truncate(self, _: None, descriptor: int, length: int) -> None:
        self._add("truncate", self._paths[descriptor], offset=length)

    def _note_sync_data(self, _: None, descriptor: int) -> None:
        self._add("sync", self._paths[descriptor])

    _note_sync = _note_sync_data

    def _note_replace(self, _: None, source: str, target: str) -> None:
        self._add("replace", source, target=target)

    def _note_unlink(self, _: None, path: str) -> None:
        self._add("unlink", path)


class _Content:
    """The bytes of one file: as they are, and as they surely are after a crash."""

    def __init__(self) -> None:
        self.now = b""
        self.lasting = b""
        self.before_last = b""
        self.last: Operation | None = None

    def write(self, operation: Operation) -> None:
        self.before_last = self.now
        self.last = operation
        self.now = put(self.now, operation.offset, operation.data)

    def sync(self) -> None:
        self.lasting = self.now
        self.last = None

    def possible(self) -> set[bytes]:
        if self.last is None:
            return {self.now, self.lasting}
        data, offset = self.last.data, self.last.offset
        cuts = {0, 1, len(data) // 2, len(data) - 1, len(data)}
        found = {put(self.before_last, offset, data[:cut]) for cut in cuts}
        return found | {self.lasting, put(self.before_last, offset, b"\0" * len(data))}


def put(data: bytes, offset: int, more: bytes) -> bytes:
    """Bytes with others at an offset of them."""
    return data[:offset].ljust(offset, b"\0") + more + data[offset + len(more) :]


class Disk:
    """Names and contents while operations are replayed."""

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        self._now: dict[str, _Content] = {}
        self._lasting: dict[str, _Content] = {}
        for path, data in (files or {}).items():
            content = _Content()
            content.now = content.lasting = data
            self._now[path] = self._lasting[path] = content

    def apply(self, operation: Operation) -> None:
        path = operation.path
        match operation.name:
            case "create" | "folder":
                self._now[path] = _Content()
            case "write":
                self._now[path].write(operation)
            case "truncate":
                self._now[path].now = self._now[path].now[: operation.offset]
            case "sync":
                self._sync(path)
            case "replace":
                self._now[operation.target] = self._now.pop(path)
            case "unlink":
                self._now.pop(path, None)
            case _:
                pass

    def _sync(self, path: str) -> None:
        if path in self._now and not self._is_folder(path):
            self._now[path].sync()
            return
        inside = {name for name in {*self._now, *self._lasting} if os.path.dirname(name) == path}
        for name in inside:
            if name in self._now:
                self._lasting[name] = self._now[name]
            else:
                self._lasting.pop(name, None)

    def _is_folder(self, path: str) -> bool:
        return any(os.path.dirname(name) == path for name in self._now)

    def crash_states(self) -> Iterator[tuple[str, bytes | None]]:
        """Every path and what may be there: bytes, or None where no file may be."""
        for names in (self._now, self._lasting):
            for path in {*self._now, *self._lasting}:
                content = names.get(path)
                if content is None or not self._is_reached(path, names):
                    yield path, None
                else:
                    yield from ((path, data) for data in content.possible())

    def _is_reached(self, path: str, names: dict[str, _Content]) -> bool:
        """Whether the folders above it that were made lately would be there too."""
        above = os.path.dirname(path)
        while above != os.path.dirname(above):
            if above in self._now and above not in names:
                return False
            above = os.path.dirname(above)
        return True
