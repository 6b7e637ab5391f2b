"""Searching all sessions: the index over their files, and what is in memory only.

What the index names is read again from the file before it is answered: a line that says something
else by now is no result. Everything here blocks.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from pisessiond.core import kinds
from pisessiond.core.dates import date_ms, iso_from_ms
from pisessiond.core.errors import SessionFileError
from pisessiond.core.javascript import NotJson, parse_json
from pisessiond.core.search_query import Query
from pisessiond.core.search_text import SearchText, search_texts
from pisessiond.core.search_words import fold
from pisessiond.core.session import Session
from pisessiond.core.snippets import Snippet, make_snippet
from pisessiond.service.errors import InvalidRequest
from pisessiond.service.loading import load
from pisessiond.service.open_session import OpenSession
from pisessiond.service.places import Folder
from pisessiond.service.shelf import Shelf, Stop
from pisessiond.service.types import EntryId
from pisessiond.storage.base import (
    IndexedText,
    SeenFile,
    SessionLog,
    SessionStore,
    TextFilter,
    TextSearch,
)
from pisessiond.storage.errors import StoreError

CATCH_UP_SECONDS: Final = 0.5
"""So long an answer may wait for what changed to be indexed."""

LOOK_SECONDS: Final = 1.0
"""So long texts that the index names are read for one answer; it is cut short then."""

_AT_ONCE: Final = 100
"""Texts that the index is asked for at first; it is asked for more each time."""
_AT_ONCE_AT_MOST: Final = 5_000
_IN_MEMORY: Final = 32 << 20
"""Bytes of entries that the index does not know yet and that are gone through, newest first."""


@dataclass(frozen=True, slots=True)
class SearchWish:
    """What is looked for, and where."""

    query: str
    session: str | None = None
    """Handle, session id or absolute path."""
    role: str | None = None
    tool: str | None = None
    label: str | None = None
    cwd: str | None = None
    since: int | None = None
    """Milliseconds since 1970."""
    limit: int = 20
    cursor: str | None = None
    session_dir: str | None = None
    """The client's own session folder."""


@dataclass(frozen=True, slots=True)
class SearchHit:
    """An entry in which all that was looked for stands."""

    session: str
    """Handle or session id, to open it by."""
    path: str | None
    cwd: str
    name: str | None
    entry: EntryId
    role: str
    tool: str | None
    time: str | None
    snippet: Snippet
    copies: tuple[tuple[str, str], ...] = ()
    """The same entry in other files: sessions and paths."""


@dataclass(frozen=True, slots=True)
class SearchPage:
    """Some of what was found, best first."""

    hits: list[SearchHit]
    cursor: str | None
    pending: int
    """Session files that are known and were not searched to their end."""


@dataclass(slots=True)
class _Cursor:
    """How far an earlier answer came."""

    now: int
    last: int | None = None
    fresh: int = 0
    """Results in memory that were given."""
    indexed: int = 0
    """Results of the index that were looked at."""

    @classmethod
    def read(cls, text: str | None, now: int) -> _Cursor:
        if text is None:
            return cls(now)
        numbers = text.split(".")
        if len(numbers) != 4 or not all(one.isascii() and one.isdigit() for one in numbers):
            raise InvalidRequest("cursor", "is not one that an earlier answer gave.")
        if any(len(one) > 18 for one in numbers):
            raise InvalidRequest("cursor", "is not one that an earlier answer gave.")
        now, last, fresh, indexed = map(int, numbers)
        return cls(now, last or None, fresh, indexed)

    def __str__(self) -> str:
        return f"{self.now}.{self.last or 0}.{self.fresh}.{self.indexed}"


class Searcher:
    """Searches the sessions of one daemon."""

    def __init__(
        self,
        index: TextSearch,
        shelf: Shelf,
        folders: Callable[[str | None], Sequence[Folder]],
        store: SessionStore,
        now_iso: Callable[[], str],
    ) -> None:
        """Search what a shelf knows of the session folders that `folders` gives."""
        self._index = index
        self._shelf = shelf
        self._folders = folders
        self._store = store
        self._now_iso = now_iso

    def page(
        self, open_sessions: Sequence[OpenSession], wish: SearchWish, stop: Stop
    ) -> SearchPage:
        """A page of results. A query without a word finds nothing.

        Raises:
            InvalidRequest: the cursor is none of ours.
            Stopped: `stop` was set meanwhile.
        """
        query = Query(wish.query)
        cursor = _Cursor.read(wish.cursor, date_ms(self._now_iso()) or 0)
        if not query.terms:
            return SearchPage([], None, self._index.pending())
        if wish.session is not None and os.path.isabs(wish.session):
            wish = replace(wish, session=os.path.realpath(wish.session))
        with self._shelf.asking():
            pending = self._catch_up(wish.session_dir, stop)
        chosen = next((one for one in open_sessions if one.handle == wish.session), None)
        fresh = self._fresh(open_sessions, chosen, query, wish)[cursor.fresh :]
        hits = fresh[: wish.limit]
        cursor.fresh += len(hits)
        if len(hits) < len(fresh):
            return SearchPage(hits, str(cursor), pending)
        if chosen is not None and chosen.path is None:
            return SearchPage(hits, None, pending)
        held = {one.path: one for one in open_sessions if one.path is not None}
        with _Lines(self._store) as lines:
            wanted = _filter(wish, chosen)
            is_more = self._add_indexed(hits, query, wanted, cursor, wish.limit, held, lines, stop)
        return SearchPage(hits, str(cursor) if is_more else None, pending)

    def _catch_up(self, session_dir: str | None, stop: Stop) -> int:
        """Have the index take in what changed, as far as that is quickly done.

        How many files it does not know to their end then; the background goes on with them.
        """
        end = time.monotonic() + CATCH_UP_SECONDS
        unread = 0
        files = self._shelf.look(folder.path for folder in self._folders(session_dir))
        for seen in files:
            stop.check()
            if self._shelf.known(seen) is None and not self._shelf.is_bad(seen):
                if time.monotonic() > end:
                    unread += 1
                else:
                    self._shelf.read(seen, stop)
        if self._index.pending():
            for _ in self._feeding(files, stop):
                if time.monotonic() > end:
                    break
        return unread + self._index.pending()

    def _feeding(self, files: Sequence[SeenFile], stop: Stop) -> Iterator[None]:
        for seen in files:
            if (known := self._shelf.known(seen)) is not None:
                yield from self._shelf.feed_parts(known, stop)

    # The index ---------------------------------------------------------------------------------

    def _add_indexed(
        self,
        hits: list[SearchHit],
        query: Query,
        wanted: TextFilter,
        cursor: _Cursor,
        limit: int,
        held: dict[str, OpenSession],
        lines: _Lines,
        stop: Stop,
    ) -> bool:
        """Fills up `hits`; whether there may be more."""
        end = time.monotonic() + LOOK_SECONDS
        at_once = _AT_ONCE
        while True:
            page = self._index.find(
                query.index_query,
                wanted,
                now=cursor.now,
                last=cursor.last,
                start=cursor.indexed,
                limit=at_once,
            )
            cursor.last = page.last
            for text in page.texts:
                if len(hits) == limit or time.monotonic() > end:
                    return True
                stop.check()
                cursor.indexed += 1
                hit = self._checked(text, query, held.get(text.path), lines)
                if hit is not None:
                    hits.append(hit)
            if len(page.texts) < at_once:
                return False
            at_once = min(at_once * 4, _AT_ONCE_AT_MOST)

    @staticmethod
    def _checked(
        text: IndexedText, query: Query, opened: OpenSession | None, lines: _Lines
    ) -> SearchHit | None:
        entry = lines.entry(text)
        if entry is None:
            return None
        texts = search_texts(entry)
        if text.number >= len(texts):
            return None
        found_in = texts[text.number]
        found = query.find(found_in.text)
        if found is None:
            return None
        return SearchHit(
            session=opened.handle if opened else text.session or text.path,
            path=text.path,
            cwd=text.cwd,
            name=opened.session.name if opened else text.name,
            entry=entry["id"],
            role=found_in.role,
            tool=found_in.tool,
            time=None if text.time is None else iso_from_ms(text.time),
            snippet=make_snippet(found_in.text, found),
            copies=tuple((session or path, path) for session, path in text.copies),
        )

    # Memory ------------------------------------------------------------------------------------

    def _fresh(
        self,
        open_sessions: Sequence[OpenSession],
        chosen: OpenSession | None,
        query: Query,
        wish: SearchWish,
    ) -> list[SearchHit]:
        """What is found in entries that the index does not know, newest first."""
        found: list[tuple[int, SearchHit]] = []
        for opened in open_sessions:
            if _is_wanted(opened, chosen, wish):
                with suppress(StoreError, SessionFileError):
                    found += self._fresh_in(opened, query, wish)
        return [hit for _, hit in sorted(found, key=lambda one: -one[0])]

    def _fresh_in(
        self, opened: OpenSession, query: Query, wish: SearchWish
    ) -> Iterator[tuple[int, SearchHit]]:
        session = opened.session
        known = 0
        if opened.path is not None and not opened.is_unsaved:
            known = self._index.read_to(opened.path)
        cwd = session.cwd
        for row in _unknown_rows(session, known):
            when = date_ms(session.index.times[row])
            if wish.since is not None and (when is None or when < wish.since):
                continue
            if wish.label is not None and not _has_label(session, row, wish.label):
                continue
            entry = session.entry(row)
            for text in search_texts(entry):
                if not _is_of(text, wish) or (found := query.find(text.text)) is None:
                    continue
                hit = SearchHit(
                    session=opened.handle,
                    path=opened.path,
                    cwd=cwd if isinstance(cwd, str) else "",
                    name=session.name,
                    entry=session.index.ids[row],
                    role=text.role,
                    tool=text.tool,
                    time=None if when is None else iso_from_ms(when),
                    snippet=make_snippet(text.text, found),
                )
                yield when or 0, hit


class _Lines:
    """Entries read again from their files, each file opened once."""

    def __init__(self, store: SessionStore) -> None:
        self._store = store
        self._logs: dict[str, SessionLog | None] = {}
        self._old: dict[str, Session | None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for log in self._logs.values():
            if log is not None:
                log.close()

    def entry(self, text: IndexedText) -> dict[str, Any] | None:
        """The entry that the index names; None when it is not there any more."""
        try:
            if text.entry is None:
                return self._old_entry(text)
            log = self._log(text.path)
            entry = parse_json(log.read([text.locator])[0]) if log is not None else None
        except (StoreError, SessionFileError, NotJson):
            return None
        is_same = isinstance(entry, dict) and _is_same_id(entry.get("id"), text.entry)
        return entry if is_same and isinstance(entry, dict) else None

    def _log(self, path: str) -> SessionLog | None:
        if path not in self._logs:
            self._logs[path] = None
            self._logs[path] = self._store.open(path)
        return self._logs[path]

    def _old_entry(self, text: IndexedText) -> dict[str, Any] | None:
        """An entry of a version 1 file, whose id only reading all of the file tells."""
        if text.path not in self._old:
            self._old[text.path] = None
            log = self._log(text.path)
            self._old[text.path] = None if log is None else load(log).session
        session = self._old[text.path]
        offset = text.locator[0]
        row = None if session is None else _row_at(session, offset)
        return None if session is None or row is None else session.entry(row)


def _row_at(session: Session, offset: int) -> int | None:
    try:
        return session.index.at.index(offset)
    except ValueError:
        return None


def _is_same_id(one: object, other: object) -> bool:
    return isinstance(one, str) == isinstance(other, str) and one == other


def _filter(wish: SearchWish, chosen: OpenSession | None) -> TextFilter:
    by_path = chosen.path if chosen is not None else None
    return TextFilter(
        session=None if by_path else wish.session,
        path=by_path,
        role=wish.role,
        tool=wish.tool,
        label=wish.label,
        cwd=wish.cwd,
        since=wish.since,
    )


def _is_wanted(opened: OpenSession, chosen: OpenSession | None, wish: SearchWish) -> bool:
    if chosen is not None:
        if opened is not chosen:
            return False
    elif wish.session is not None and wish.session not in (opened.session.id, opened.path):
        return False
    if wish.cwd is None:
        return True
    cwd = opened.session.cwd
    return (
        isinstance(cwd, str) and bool(cwd) and os.path.normpath(cwd) == os.path.normpath(wish.cwd)
    )


def _unknown_rows(session: Session, known: int) -> list[int]:
    """Rows of the lines from byte `known` on that are in the tree, newest first, within reason."""
    index = session.index
    rows: list[int] = []
    size = 0
    for row in range(len(index) - 1, -1, -1):
        if index.at[row] < known:
            # Lines stand in the file in the order of the rows.
            break
        size += index.length[row]
        if size > _IN_MEMORY:
            break
        if index.kind[row] != kinds.REPLACED:
            rows.append(row)
    return rows


def _has_label(session: Session, row: int, wanted: str) -> bool:
    label = session.labels.get(session.index.ids[row], (None, None))[0]
    return isinstance(label, str) and fold(label).strip() == fold(wanted).strip()


def _is_of(text: SearchText, wish: SearchWish) -> bool:
    return wish.role in (None, text.role) and wish.tool in (None, text.tool)
