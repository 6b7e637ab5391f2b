"""The words of all session files: FTS5 tables in the catalogue's file.

The texts themselves stay in the session files; here is which words stand in which entry and where
its line is. So the index is a fraction of the files' size, and who shows a result reads the line
again, which tells whether it is still true.

The words of a table without texts cannot be taken out again before SQLite 3.43. There they stay
behind as words of nothing; when they have become most of the index, it is made anew.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pisessiond.core.dates import date_ms
from pisessiond.core.javascript import NotJson, parse_json, stringify, trim
from pisessiond.core.lines import is_entry_id
from pisessiond.core.migration import format_version
from pisessiond.core.search_text import search_texts
from pisessiond.core.search_words import fold, identifier_parts, indexed_words
from pisessiond.storage.base import IndexedText, IndexPage, TextFilter
from pisessiond.storage.catalogue import CatalogueFile, Lines

logger = logging.getLogger(__name__)

T = TypeVar("T")

FORMAT: Final = 1
"""Of the tables and of what the core makes words of; raise it with either."""

HALF_LIFE_DAYS: Final = 14.0
"""Something found from today counts double, from so long ago half as much more."""

_CAN_DELETE: Final = sqlite3.sqlite_version_info >= (3, 43)
_GARBAGE_AT_LEAST: Final = 100_000
_IDS_AT_ONCE: Final = 500

_DROP: Final = """
DROP TABLE IF EXISTS search_words;
DROP TABLE IF EXISTS search_texts;
DROP TABLE IF EXISTS search_labels;
DROP TABLE IF EXISTS search_files;
"""

_MAKE: Final = (
    """CREATE TABLE search_files (
        file INTEGER PRIMARY KEY,
        session TEXT,
        cwd TEXT NOT NULL,
        name TEXT,
        version INTEGER NOT NULL
    )""",
    # Ids are never given twice: words of nothing must not become another text's.
    """CREATE TABLE search_texts (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        file INTEGER NOT NULL,
        offset INTEGER NOT NULL,
        length INTEGER NOT NULL,
        entry TEXT,
        number INTEGER NOT NULL,
        role TEXT NOT NULL,
        tool TEXT,
        time INTEGER
    )""",
    "CREATE INDEX search_texts_by_entry ON search_texts (file, entry)",
    """CREATE TABLE search_labels (
        file INTEGER NOT NULL,
        target TEXT NOT NULL,
        label TEXT NOT NULL,
        PRIMARY KEY (file, target)
    ) WITHOUT ROWID""",
    "CREATE VIRTUAL TABLE search_words USING fts5 (words, parts, content = '', tokenize = 'ascii'"
    + (", contentless_delete = 1)" if _CAN_DELETE else ")"),
)

_FIND: Final = """
WITH found AS MATERIALIZED (
    SELECT rowid AS id, -bm25(search_words, 1.0, 0.5) AS fit
    FROM search_words WHERE search_words MATCH :match
)
SELECT f.path, s.session, s.cwd, s.name, t.offset, t.length, t.entry, t.number, t.role, t.tool,
    t.time, group_concat(t.file),
    max((found.fit + 0.25)
        * (1 + :half_life / (:half_life + max(0, :now - coalesce(t.time, 0))))) AS score
FROM found
JOIN search_texts t ON t.id = found.id
JOIN files f ON f.id = t.file
JOIN search_files s ON s.file = t.file
WHERE t.id <= :last {conditions}
GROUP BY coalesce(t.entry || ' ' || t.time || ' ' || t.number, t.id)
ORDER BY score DESC, t.time DESC, t.id DESC
LIMIT :limit OFFSET :start
"""

_COPIES: Final = """
SELECT s.session, f.path FROM files f JOIN search_files s ON s.file = f.id WHERE f.path != ?
"""

_CONDITIONS: Final = {
    "session": "AND (s.session = :session OR f.path = :session)",
    "path": "AND f.path = :path",
    "role": "AND t.role = :role",
    "tool": "AND t.tool = :tool",
    "cwd": "AND s.cwd = :cwd",
    "since": "AND t.time >= :since",
    "label": "AND EXISTS (SELECT 1 FROM search_labels l WHERE l.file = t.file"
    " AND l.target = t.entry AND l.label = :label)",
}


@dataclass(slots=True)
class _NewText:
    """A row of `search_texts`, and its words."""

    row: tuple[Any, ...]
    words: str
    parts: str


class TextIndex:
    """The part `search` of a catalogue, and the questions to it. Everything here blocks."""

    name = "search"
    version = FORMAT * 2 + _CAN_DELETE

    def __init__(self, catalogue: CatalogueFile) -> None:
        """Attach it to a catalogue.

        Raises:
            sqlite3.OperationalError: this SQLite has no FTS5.
        """
        self._catalogue = catalogue
        catalogue.attach(self)

    # The catalogue's calls ----------------------------------------------------------------------

    def make(self, connection: sqlite3.Connection) -> None:
        """Empty tables, whatever was there."""
        for statement in (*_DROP.split(";"), *_MAKE):
            connection.execute(statement)

    def take(self, connection: sqlite3.Connection, file_id: int, lines: Lines) -> None:
        """Take in the next lines of a file."""
        version = self._version(connection, file_id)
        new: list[_NewText] = []
        for offset, line in lines:
            entry = _parse(line)
            if entry is None:
                continue
            if version is None:
                # Nothing counts before the header.
                if entry.get("type") == "session":
                    version = format_version(entry)
                    self._take_header(connection, file_id, entry, version)
                continue
            if entry.get("type") == "session":
                continue
            if version < 2:
                # Its ids are made when it is read, from the lines before.
                new += _new_texts(file_id, offset, line, entry, None)
            elif is_entry_id(entry.get("id")):
                key = _key(entry["id"])
                self._take_note(connection, file_id, entry)
                new += _new_texts(file_id, offset, line, entry, key)
        self._put(connection, file_id, new)

    @staticmethod
    def _version(connection: sqlite3.Connection, file_id: int) -> int | None:
        found = connection.execute(
            "SELECT version FROM search_files WHERE file = ?", (file_id,)
        ).fetchone()
        return None if found is None else int(found[0])

    @staticmethod
    def _take_header(
        connection: sqlite3.Connection, file_id: int, header: dict[str, Any], version: int
    ) -> None:
        cwd = header.get("cwd")
        cwd = os.path.normpath(_clean(cwd)) if isinstance(cwd, str) and cwd else ""
        session = header.get("id")
        connection.execute(
            "INSERT INTO search_files VALUES (?, ?, ?, NULL, ?)",
            (file_id, _clean(session) if isinstance(session, str) else None, cwd, version),
        )

    @staticmethod
    def _take_note(connection: sqlite3.Connection, file_id: int, entry: dict[str, Any]) -> None:
        """What a later entry changes of the session or of another entry."""
        kind = entry.get("type")
        if kind == "session_info":
            name = entry.get("name")
            name = _clean(trim(name)) if isinstance(name, str) else ""
            connection.execute(
                "UPDATE search_files SET name = ? WHERE file = ?", (name or None, file_id)
            )
        elif kind == "label" and is_entry_id(entry.get("targetId")):
            label = entry.get("label")
            target = _key(entry["targetId"])
            if isinstance(label, str) and label:
                connection.execute(
                    "INSERT OR REPLACE INTO search_labels VALUES (?, ?, ?)",
                    (file_id, target, folded_label(label)),
                )
            else:
                connection.execute(
                    "DELETE FROM search_labels WHERE file = ? AND target = ?", (file_id, target)
                )

    def _put(self, connection: sqlite3.Connection, file_id: int, new: Sequence[_NewText]) -> None:
        if not new:
            return
        keys = dict.fromkeys(one.row[3] for one in new if one.row[3] is not None)
        self._forget_entries(connection, file_id, list(keys))
        last_offset = {one.row[3]: one.row[1] for one in new}
        # Of an id that comes twice, the later line counts.
        kept = [one for one in new if one.row[3] is None or last_offset[one.row[3]] == one.row[1]]
        found = connection.execute(
            "SELECT seq FROM sqlite_sequence WHERE name = 'search_texts'"
        ).fetchone()
        first = (found[0] if found else 0) + 1
        connection.executemany(
            "INSERT INTO search_texts VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [(first + at, *one.row) for at, one in enumerate(kept)],
        )
        connection.executemany(
            "INSERT INTO search_words (rowid, words, parts) VALUES (?, ?, ?)",
            [(first + at, one.words, one.parts) for at, one in enumerate(kept)],
        )

    def _forget_entries(
        self, connection: sqlite3.Connection, file_id: int, keys: Sequence[str]
    ) -> None:
        for at in range(0, len(keys), _IDS_AT_ONCE):
            some = keys[at : at + _IDS_AT_ONCE]
            marks = ", ".join("?" * len(some))
            found = connection.execute(
                f"SELECT id FROM search_texts WHERE file = ? AND entry IN ({marks})",  # noqa: S608
                (file_id, *some),
            ).fetchall()
            self._delete(connection, found)

    @staticmethod
    def _delete(connection: sqlite3.Connection, ids: list[tuple[int]]) -> None:
        connection.executemany("DELETE FROM search_texts WHERE id = ?", ids)
        if _CAN_DELETE:
            connection.executemany("DELETE FROM search_words WHERE rowid = ?", ids)

    def forget(self, connection: sqlite3.Connection, file_id: int) -> None:
        """Drop all that came from a file."""
        ids = connection.execute(
            "SELECT id FROM search_texts WHERE file = ?", (file_id,)
        ).fetchall()
        self._delete(connection, ids)
        connection.execute("DELETE FROM search_files WHERE file = ?", (file_id,))
        connection.execute("DELETE FROM search_labels WHERE file = ?", (file_id,))
        if ids and not _CAN_DELETE:
            self._clear_garbage(connection)

    def _clear_garbage(self, connection: sqlite3.Connection) -> None:
        made = connection.execute(
            "SELECT seq FROM sqlite_sequence WHERE name = 'search_texts'"
        ).fetchone()
        live = connection.execute("SELECT count(*) FROM search_texts").fetchone()[0]
        if made is not None and made[0] - live > max(_GARBAGE_AT_LEAST, live):
            logger.info("the search index is made anew: most of it is of files that are gone")
            self.make(connection)
            # The catalogue feeds it from the beginning then.
            connection.execute("DELETE FROM positions WHERE part = ?", (self.name,))

    # Questions ----------------------------------------------------------------------------------

    def find(
        self, match: str, wanted: TextFilter, *, now: int, last: int | None, start: int, limit: int
    ) -> IndexPage:
        """What an FTS5 query finds, the best and newest first.

        Damaged tables are made anew, and nothing is found until they are filled again.
        """
        return self._ask(
            lambda connection: self._find(connection, match, wanted, now, last, start, limit),
            IndexPage([], last or 0),
        )

    def _ask(self, question: Callable[[sqlite3.Connection], T], nothing: T) -> T:
        path = self._catalogue.path
        if path is not None and not os.path.exists(path):
            # The catalogue notices that at its next look; SQLite would make an empty file.
            return nothing
        try:
            with self._catalogue.reader() as connection:
                return question(connection)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
                raise
            self._begin_anew(error)
            return nothing

    def _begin_anew(self, error: sqlite3.Error) -> None:
        logger.warning("the search index is made anew: %s", error)
        try:
            with self._catalogue.writing() as connection:
                self.make(connection)
                connection.execute("DELETE FROM positions WHERE part = ?", (self.name,))
        except sqlite3.Error as worse:
            # Taken away, the whole of it is made anew at the catalogue's next look.
            logger.warning("the catalogue is thrown away: %s", worse)
            if self._catalogue.path is not None:
                with suppress(OSError):
                    os.unlink(self._catalogue.path)

    def _find(
        self,
        connection: sqlite3.Connection,
        match: str,
        wanted: TextFilter,
        now: int,
        last: int | None,
        start: int,
        limit: int,
    ) -> IndexPage:
        if last is None:
            last = connection.execute("SELECT coalesce(max(id), 0) FROM search_texts").fetchone()[0]
        values = {name: value for name, value in wanted._asdict().items() if value is not None}
        conditions = " ".join(_CONDITIONS[name] for name in values)
        if "cwd" in values:
            values["cwd"] = os.path.normpath(values["cwd"])
        if "label" in values:
            values["label"] = folded_label(values["label"])
        values = {n: _clean(v) if isinstance(v, str) else v for n, v in values.items()}
        rows = connection.execute(
            _FIND.format(conditions=conditions),
            {
                **values,
                "match": match,
                "now": now,
                "last": last,
                "half_life": HALF_LIFE_DAYS * 86_400_000,
                "limit": limit,
                "start": start,
            },
        ).fetchall()
        texts = [self._indexed(connection, row) for row in rows]
        return IndexPage(texts, last)

    @staticmethod
    def _indexed(connection: sqlite3.Connection, row: tuple[Any, ...]) -> IndexedText:
        path, session, cwd, name, offset, length, entry, number, role, tool, time, files, _ = row
        copies: list[tuple[str | None, str]] = []
        if "," in files:
            copies = connection.execute(
                f"{_COPIES} AND f.id IN ({files}) ORDER BY f.id", (path,)
            ).fetchall()
        return IndexedText(
            path=path,
            session=session,
            cwd=cwd,
            name=name,
            locator=(offset, length),
            entry=None if entry is None else parse_json(entry.encode()),
            number=number,
            role=role,
            tool=tool,
            time=time,
            copies=tuple(copies),
        )

    def read_to(self, path: str) -> int:
        """How far into a file its words are known; 0 when they are not."""
        return self._number(
            "SELECT p.read_to FROM files f JOIN positions p ON p.file = f.id"
            " WHERE p.part = ? AND f.path = ?",
            (self.name, path),
        )

    def pending(self) -> int:
        """How many session files are known whose words are not, or not all."""
        return self._number(
            "SELECT count(*) FROM files f LEFT JOIN positions p ON p.file = f.id AND p.part = ?"
            " WHERE f.facts IS NOT NULL AND coalesce(p.read_to, 0) < f.read_to",
            (self.name,),
        )

    def _number(self, question: str, values: tuple[str, ...]) -> int:
        found = self._ask(lambda connection: connection.execute(question, values).fetchone(), None)
        return 0 if found is None else int(found[0])


def folded_label(label: str) -> str:
    """A label as it is compared: without case, accents and blanks around it."""
    return _clean(fold(label).strip())


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        value = parse_json(line)
    except NotJson:
        return None
    return value if isinstance(value, dict) else None


def _new_texts(
    file_id: int, offset: int, line: bytes, entry: dict[str, Any], key: str | None
) -> Iterator[_NewText]:
    time = date_ms(entry["timestamp"]) if "timestamp" in entry else None
    for number, one in enumerate(search_texts(entry)):
        tool = None if one.tool is None else _clean(one.tool)
        row = (file_id, offset, len(line), key, number, _clean(one.role), tool, time)
        yield _NewText(row, indexed_words(one.text), identifier_parts(one.text))


def _key(entry_id: Any) -> str:
    """An entry id as the tables have it: as JSON, since 7 and "7" are two."""
    return stringify(entry_id)


def _clean(text: str) -> str:
    """The text as SQLite takes it, which knows no lone surrogates."""
    return text.encode("utf-8", "replace").decode()
