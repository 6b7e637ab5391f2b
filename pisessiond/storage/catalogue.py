"""The catalogue: one SQLite file that remembers what session files say, so that none is read twice.

It is never the truth: deleted at will, and made anew when it is damaged or another version's.

One row a file: which file it was (device, inode, size, time of change), how far it was read and a
fingerprint of what stood there, and *facts*, text that this module keeps and does not understand.

**Parts** hang tables of their own on the same file, such as the search index. A part is given the
lines of every session file, each once, in file order and from where it stopped before:

    catalogue.attach(part)               # its tables are made, or kept if `version` is the same
    part.take(connection, file_id, [(offset, line), …])    # inside the transaction of the slice
    part.forget(connection, file_id)     # the file is gone or was rewritten: all from it goes

`take` and `forget` are called with `lock` held, in a worker thread. How far each part has got with
each file is kept here (`positions`), in the same transaction, so that a part need not know.

**Threads.** `connection` is the only one that writes; whoever uses it holds `lock` and commits by
leaving `writing()`. `reader()` gives a connection for one question that never waits for a writer
(WAL); its user closes it. Everything here blocks and belongs in a worker.
"""

from __future__ import annotations

import fcntl
import logging
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Final, Protocol

from pisessiond.storage.base import CatalogueRow
from pisessiond.storage.errors import CatalogueLost

log = logging.getLogger(__name__)

VERSION: Final = 2
"""Of the tables below; a file with another one is thrown away."""

_SCHEMA: Final = """
CREATE TABLE about (version INTEGER NOT NULL);
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    device INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    read_to INTEGER NOT NULL,
    tail BLOB NOT NULL,
    facts TEXT
);
CREATE TABLE parts (name TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE positions (
    part TEXT NOT NULL,
    file INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
    read_to INTEGER NOT NULL,
    PRIMARY KEY (part, file)
) WITHOUT ROWID;
CREATE INDEX positions_by_file ON positions (file);
"""

_ROWS: Final = "SELECT id, path, device, inode, size, mtime_ns, read_to, tail, facts FROM files"

_PUT: Final = """
INSERT INTO files (id, path, device, inode, size, mtime_ns, read_to, tail, facts)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET path = excluded.path, device = excluded.device,
    inode = excluded.inode, size = excluded.size, mtime_ns = excluded.mtime_ns,
    read_to = excluded.read_to, tail = excluded.tail, facts = excluded.facts
"""

Lines = Sequence[tuple[int, bytes]]
"""Lines without their line feeds, each with the byte offset where it begins."""


class Part(Protocol):
    """Tables of somebody else in the same file."""

    @property
    def name(self) -> str:
        """Tells it from other parts; begins the names of its tables."""

    @property
    def version(self) -> int:
        """Of its tables; when it is another than the file's, they are made anew."""

    def make(self, connection: sqlite3.Connection) -> None:
        """Drop the part's tables, of whatever version, and make them empty."""

    def take(self, connection: sqlite3.Connection, file_id: int, lines: Lines) -> None:
        """Take in the next lines of a file, the header among them."""

    def forget(self, connection: sqlite3.Connection, file_id: int) -> None:
        """Drop all that came from a file; knowing nothing of it is no error."""


class CatalogueFile:
    """The catalogue of one agent dir."""

    def __init__(self, path: str | None) -> None:
        """Open it, made where it is missing; None keeps it in memory.

        A folder that cannot be written to is no error: it is kept in memory then.
        """
        self.lock = threading.RLock()
        self.parts: list[Part] = []
        self.path = path
        """Where it is; None in memory."""
        self._claim: int | None = None
        self.connection = self._open()

    # Opening -----------------------------------------------------------------------------------

    def _open(self) -> sqlite3.Connection:
        if self.path is not None:
            for _ in range(2):
                try:
                    return self._open_file(self.path)
                except (sqlite3.Error, _OtherVersion) as error:
                    log.info("the catalogue is made anew: %s", error)
                    self._throw_away(self.path)
                except OSError as error:
                    log.warning("the catalogue cannot be kept: %s", error.strerror)
                    break
            self.path = None
        connection = _connect(":memory:")
        _make_tables(connection)
        return connection

    def _open_file(self, path: str) -> sqlite3.Connection:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        # SQLite would make it readable for all under a lax umask.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        self._take_claim(path)
        connection = _connect(path)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            # What a crash takes back is read again.
            connection.execute("PRAGMA synchronous = NORMAL")
            if connection.execute("PRAGMA schema_version").fetchone()[0] == 0:
                _make_tables(connection)
            self._check(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _take_claim(self, path: str) -> None:
        """Be the one process that writes to it; the claim ends with the process.

        Raises:
            OSError: another one is.
        """
        if self._claim is not None:
            return
        claim = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(claim)
            raise
        self._claim = claim

    @staticmethod
    def _check(connection: sqlite3.Connection) -> None:
        found = connection.execute("SELECT version FROM about").fetchone()
        if found is None or found[0] != VERSION:
            raise _OtherVersion("it was made by another version")
        # A full check takes seconds once all words are in it; what is damaged elsewhere is found
        # when it is used (`_failed`).
        connection.execute("SELECT count(*), max(length(facts)) FROM files").fetchone()

    @staticmethod
    def _throw_away(path: str) -> None:
        for name in (path, f"{path}-wal", f"{path}-shm"):
            with suppress(OSError):
                os.unlink(name)

    def recover(self) -> bool:
        """Make it anew if it was deleted; True when it was, attached parts included.

        A file that somebody took away is still written to where nobody finds it again.
        """
        with self.lock:
            if self.path is None or os.path.exists(self.path):
                return False
            self.make_anew()
            return True

    def make_anew(self) -> None:
        """Throw everything away and begin with nothing, attached parts included."""
        self._begin_anew(keep=True)

    def _begin_anew(self, *, keep: bool) -> None:
        with self.lock:
            with suppress(sqlite3.Error):
                self.connection.close()
            if self.path is not None:
                self._throw_away(self.path)
            if not keep:
                self.path = None
            self.connection = self._open()
            for part in self.parts:
                self._make_part(part)

    @property
    def has_parts(self) -> bool:
        """Whether anybody wants the lines of files."""
        return bool(self.parts)

    def close(self) -> None:
        """Let go of it."""
        with self.lock:
            self.connection.close()
            if self._claim is not None:
                os.close(self._claim)
                self._claim = None

    @contextmanager
    def _mended(self) -> Iterator[None]:
        """Make it anew where using it fails.

        Raises:
            CatalogueLost: it failed; it is empty now.
        """
        try:
            yield
        except sqlite3.Error as error:
            # What is damaged is thrown away; a full disk or one that fails cannot keep another.
            is_damaged = type(error) is sqlite3.DatabaseError
            if not is_damaged and not isinstance(error, sqlite3.OperationalError):
                # A mistake in a part, which a new file would not mend.
                raise
            log.warning("the catalogue failed and is made anew: %s", error)
            self._begin_anew(keep=is_damaged)
            raise CatalogueLost from error

    # Using it ----------------------------------------------------------------------------------

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The writing connection in a transaction: all that is done in it, or nothing."""
        with self.lock:
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
            except BaseException:
                with suppress(sqlite3.Error):
                    self.connection.execute("ROLLBACK")
                raise
            self.connection.execute("COMMIT")

    @contextmanager
    def reader(self) -> Iterator[sqlite3.Connection]:
        """A connection to ask by, for the calling thread alone."""
        if self.path is None:
            with self.lock:
                yield self.connection
            return
        connection = _connect(self.path)
        try:
            connection.execute("PRAGMA query_only = 1")
            yield connection
        finally:
            connection.close()

    def attach(self, part: Part) -> None:
        """Keep a part's tables from now on."""
        with self.lock:
            self.parts.append(part)
            self._make_part(part)

    def _make_part(self, part: Part) -> None:
        with self.writing() as connection:
            known = connection.execute(
                "SELECT version FROM parts WHERE name = ?", (part.name,)
            ).fetchone()
            if known is not None and known[0] == part.version:
                return
            part.make(connection)
            connection.execute("DELETE FROM positions WHERE part = ?", (part.name,))
            connection.execute(
                "INSERT OR REPLACE INTO parts VALUES (?, ?)", (part.name, part.version)
            )

    # Rows --------------------------------------------------------------------------------------

    def rows(self) -> list[CatalogueRow]:
        """Every file that is known."""
        with self.lock, self._mended():
            found = self.connection.execute(_ROWS).fetchall()
        return [CatalogueRow(*row) for row in found]

    def put(self, rows: Sequence[CatalogueRow]) -> list[CatalogueRow]:
        """Keep rows, those of the same path replaced; the same rows with their ids.

        A row with id 0 is a file that is new or was rewritten: what parts know of the path goes.
        """
        kept = []
        with self._mended(), self.writing() as connection:
            for row in rows:
                if row.id == 0:
                    self._forget(connection, row.path)
                values = (row.id or None, *row[1:])
                cursor = connection.execute(_PUT, values)
                new_id = row.id or cursor.lastrowid or 0
                kept.append(row._replace(id=new_id))
        return kept

    def forget(self, paths: Sequence[str]) -> None:
        """Drop all that is known of these files."""
        with self._mended(), self.writing() as connection:
            for path in paths:
                self._forget(connection, path)

    def _forget(self, connection: sqlite3.Connection, path: str) -> None:
        found = connection.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
        if found is None:
            return
        for part in self.parts:
            part.forget(connection, found[0])
        connection.execute("DELETE FROM files WHERE id = ?", (found[0],))

    # Feeding parts -----------------------------------------------------------------------------

    def behind(self, file_id: int, read_to: int) -> int | None:
        """Where the part that has got least far with a file goes on; None when none is behind."""
        with self.lock, self._mended():
            starts = [at for part in self.parts if (at := self._position(part, file_id)) < read_to]
        return min(starts, default=None)

    def _position(self, part: Part, file_id: int) -> int:
        found = self.connection.execute(
            "SELECT read_to FROM positions WHERE part = ? AND file = ?", (part.name, file_id)
        ).fetchone()
        return int(found[0]) if found is not None else 0

    def feed(self, file_id: int, lines: Lines, read_to: int) -> None:
        """Give lines to the parts that have not had them; they have got to `read_to` then."""
        with self._mended(), self.writing() as connection:
            if (
                connection.execute("SELECT 1 FROM files WHERE id = ?", (file_id,)).fetchone()
                is None
            ):
                # Forgotten meanwhile.
                return
            for part in self.parts:
                start = self._position(part, file_id)
                new = [one for one in lines if one[0] >= start]
                if new:
                    part.take(connection, file_id, new)
                if read_to > start:
                    connection.execute(
                        "INSERT OR REPLACE INTO positions VALUES (?, ?, ?)",
                        (part.name, file_id, read_to),
                    )


class _OtherVersion(Exception):
    """The file was made by another version of us."""


def _make_tables(connection: sqlite3.Connection) -> None:
    connection.executescript("BEGIN;" + _SCHEMA)
    connection.execute("INSERT INTO about VALUES (?)", (VERSION,))
    connection.execute("COMMIT")


def _connect(path: str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA foreign_keys = 1")
    return connection
