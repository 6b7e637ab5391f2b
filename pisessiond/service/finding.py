"""Finding session files: by id, the latest of a folder, the plain list. Everything here blocks.

The plain list reads the files of one page and no others; an index over all of them comes later.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pisessiond.core import kinds
from pisessiond.core.dates import iso_from_ms
from pisessiond.core.errors import SessionFileError
from pisessiond.core.lines import HeaderLine, read_line
from pisessiond.core.preview import preview
from pisessiond.core.session import Session
from pisessiond.service.errors import AmbiguousSession, InvalidRequest, SessionNotFound
from pisessiond.service.loading import load
from pisessiond.service.open_session import OpenSession
from pisessiond.service.places import Folder, Places
from pisessiond.service.types import ListedSession
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
        raise SessionNotFound(cwd)

    @staticmethod
    def _belongs(header_cwd: object, cwd: str) -> bool:
        if not isinstance(header_cwd, str) or not header_cwd:
            return False
        return os.path.normpath(header_cwd) == os.path.normpath(cwd)

    def page(
        self,
        open_sessions: Sequence[OpenSession],
        *,
        cwd: str | None,
        query: str | None,
        limit: int,
        cursor: str | None,
        session_dir: str | None,
    ) -> tuple[list[ListedSession], str | None]:
        """A page of sessions, and the cursor of the next one."""
        start = self._position(cursor)
        found: list[ListedSession] = []
        passed = 0
        for listed in self._candidates(open_sessions, cwd, session_dir):
            if query and not _matches(listed, query):
                continue
            passed += 1
            if passed <= start:
                continue
            if len(found) == limit:
                return found, str(start + limit)
            found.append(listed)
        return found, None

    @staticmethod
    def _position(cursor: str | None) -> int:
        if cursor is None:
            return 0
        if not cursor.isascii() or not cursor.isdigit():
            raise InvalidRequest("cursor", "is not one that an earlier answer gave.")
        return int(cursor)

    def _candidates(
        self, open_sessions: Sequence[OpenSession], cwd: str | None, session_dir: str | None
    ) -> Iterator[ListedSession]:
        folder = self._places.folder_for(cwd, session_dir) if cwd is not None else None
        held = {session.path: session for session in open_sessions}
        for session in open_sessions:
            is_no_file = session.is_unsaved or session.path is None
            if is_no_file and (cwd is None or self._belongs(session.session.cwd, cwd)):
                yield _describe(session.session, session.path, session, None)
        files = self._files(folder.path) if folder else list(self._all())
        for file in sorted(files, key=lambda f: f.modified, reverse=True):
            opened = held.get(os.path.realpath(file.path))
            listed = self._listed(file, opened)
            if listed is not None and self._is_wanted(listed, cwd, folder):
                yield listed

    def _is_wanted(self, listed: ListedSession, cwd: str | None, folder: Folder | None) -> bool:
        if cwd is None or folder is None or not folder.is_shared:
            return True
        return self._belongs(listed.cwd, cwd)

    def _listed(self, file: _File, opened: OpenSession | None) -> ListedSession | None:
        try:
            if opened is not None:
                if opened.is_unsaved:
                    return None
                return _describe(opened.session, file.path, opened, file.modified)
            session = load(self._store.open(file.path)).session
            return _describe(session, file.path, None, file.modified)
        except (StoreError, SessionFileError):
            return None

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


def _describe(
    session: Session, path: str | None, opened: OpenSession | None, modified: float | None
) -> ListedSession:
    index = session.index
    first = next((row for row in range(len(index)) if index.kind[row] == kinds.USER), None)
    header = session.header
    created = header.get("timestamp")
    parent = header.get("parentSession")
    messages = sum(index.kind_counts[kind] for kind in range(kinds.USER, kinds.NO_MESSAGE + 1))
    changed = iso_from_ms(int(modified * 1000)) if modified is not None else None
    return ListedSession(
        session=opened.handle if opened else session.id,
        path=path,
        cwd=session.cwd if isinstance(session.cwd, str) else "",
        name=session.name,
        first_message=preview(session.entry(first)) if first is not None else None,
        messages=messages,
        created=created if isinstance(created, str) else None,
        modified=changed or (created if isinstance(created, str) else ""),
        parent_session=parent if isinstance(parent, str) else None,
        open=len(opened.subscribers) if opened else 0,
        unsaved=opened.is_unsaved if opened else False,
        last_external=opened.last_external if opened else None,
    )


def _matches(listed: ListedSession, query: str) -> bool:
    """Whether every word of the query is in the name, the first message or the path."""
    text = " ".join(filter(None, (listed.name, listed.first_message, listed.path))).casefold()
    return all(word in text for word in query.casefold().split())
