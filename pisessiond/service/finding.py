"""Finding session files: by id, and the latest of a folder. Everything here blocks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from pisessiond.core.lines import HeaderLine, read_line
from pisessiond.service.errors import AmbiguousSession, SessionNotFound
from pisessiond.service.places import Places
from pisessiond.storage.base import SessionStore
from pisessiond.storage.errors import StoreError

_HEADER_LINES = 64
"""Lines looked at for a header before a file is taken for something else."""


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    modified: float
    """Seconds since 1970."""


class Finder:
    """Looks for session files in the folders of one agent dir."""

    def __init__(self, store: SessionStore, places: Places) -> None:
        self._store = store
        self._places = places

    def path_of(self, session_id: str) -> str:
        """The path of the session with this id.

        Raises:
            SessionNotFound: no file carries it.
            AmbiguousSession: several do.
        """
        ending = f"_{session_id}.jsonl"
        found = [file.path for file in self._all() if file.path.endswith(ending)]
        if not found:
            found = [file.path for file in self._all() if self._id_of(file.path) == session_id]
        if not found:
            raise SessionNotFound(session_id)
        if len(found) > 1:
            raise AmbiguousSession(session_id, sorted(found))
        return found[0]

    def has(self, session_id: str) -> bool:
        """Whether a session has this id."""
        try:
            self.path_of(session_id)
        except SessionNotFound:
            return False
        except AmbiguousSession:
            return True
        return True

    def latest(self, cwd: str, session_dir: str | None) -> str:
        """What `pi --continue` would take in `cwd`: the file changed last.

        Raises:
            SessionNotFound: there is none.
        """
        folder = self._places.folder_for(cwd, session_dir)
        for file in sorted(self._files(folder.path), key=lambda f: f.modified, reverse=True):
            header = self._header(file.path)
            if header is None or not isinstance(header.get("id"), str):
                continue
            if not folder.is_shared or self._belongs(header.get("cwd"), cwd):
                return file.path
        raise SessionNotFound(
            cwd, "There is no session of this folder yet; name one, or list those of all folders."
        )

    @staticmethod
    def _belongs(header_cwd: object, cwd: str) -> bool:
        if not isinstance(header_cwd, str) or not header_cwd:
            return False
        return os.path.normpath(header_cwd) == os.path.normpath(cwd)

    def _all(self) -> Iterator[_File]:
        shared = self._places.shared_folder
        if shared is not None:
            yield from self._files(shared)
        try:
            with os.scandir(self._places.sessions_dir) as entries:
                folders = [entry.path for entry in entries if entry.is_dir()]
        except OSError:
            return
        for folder in folders:
            yield from self._files(folder)

    def _files(self, folder: str) -> list[_File]:
        files = []
        for path in self._store.list_paths(folder):
            try:
                files.append(_File(path, os.stat(path).st_mtime))
            except OSError:
                continue
        return files

    def _id_of(self, path: str) -> object:
        header = self._header(path)
        return header.get("id") if header else None

    def _header(self, path: str) -> dict[str, object] | None:
        """The header of a file, read no further than the beginning of it."""
        try:
            run = next(iter(self._store.open(path).scan()), None)
        except StoreError:
            return None
        for line in run.lines[:_HEADER_LINES] if run else ():
            understood = read_line(line)
            if isinstance(understood, HeaderLine):
                return understood.header
        return None
