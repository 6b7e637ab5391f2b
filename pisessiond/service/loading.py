"""Reading a session from its log, and spelling an old one in the current format."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from pisessiond.core.errors import NotASession
from pisessiond.core.flush import FlushRule, calls_for_flush
from pisessiond.core.headers import encode_header
from pisessiond.core.index import NONE
from pisessiond.core.lines import Head, read_line
from pisessiond.core.migration import migrate_header
from pisessiond.core.session import Session, load_session
from pisessiond.service.context_sizes import EarlySize, read_early_size
from pisessiond.service.settings import DefaultSettings, FolderSettings, Settings, folder_of
from pisessiond.storage.base import NO_NOTE, PlaceNotes, SessionLog
from pisessiond.storage.errors import NoSuchSession

_REWRITE_SECONDS = 0.3
"""So long another program may take to write a file anew before it counts as gone."""

_REWRITE_STEP = 0.02


@dataclass(slots=True)
class Loaded:
    """A session that was just read."""

    session: Session
    log: SessionLog
    early: EarlySize | None
    """The context size at the leaf, where that could be told without sizing the file."""
    settings: FolderSettings
    """Of the session's folder."""


_DEFAULT = DefaultSettings()


def load(log: SessionLog, settings: Settings = _DEFAULT) -> Loaded:
    """Read a session, and the settings of its folder; blocks.

    Raises:
        NotASession: its bytes are no session.
        StoreError: it cannot be read.
    """
    session = load_session(((run.offset, run.lines) for run in log.scan()), log.read)
    early = read_early_size(session) if session.index.count else None
    found = settings.for_folder(folder_of(session.cwd, log.path))
    return Loaded(session, log, early, found)


def load_again(log: SessionLog, settings: Settings = _DEFAULT) -> Loaded:
    """Read a session whose file was changed under us; blocks.

    Another program may be at it this very moment: pi migrates a file by emptying it and writing
    it anew, others remove it first. So what is no session now is given a little time to become one.

    Raises:
        NotASession: its bytes are no session.
        StoreError: it cannot be read.
    """
    waited = 0.0
    while True:
        log.begin_anew()
        try:
            return load(log, settings)
        except (NotASession, NoSuchSession):
            log.begin_anew()
            if waited >= _REWRITE_SECONDS:
                raise
        time.sleep(_REWRITE_STEP)
        waited += _REWRITE_STEP


def load_or_begin(
    log: SessionLog, header: dict[str, object], settings: Settings = _DEFAULT
) -> Loaded:
    """Read a session; a log without a byte begins as a new session with this header."""
    runs = ((run.offset, run.lines) for run in log.scan())
    first = next(runs, None)
    if first is None and not log.is_flushed:
        log.hold([encode_header(header)])
    return load(log, settings)


def return_to_noted_place(loaded: Loaded, path: str, notes: PlaceNotes) -> None:
    """Stand where a file of an old format was left, which only a client's write migrates."""
    session = loaded.session
    if not session.needs_migration:
        return
    place = notes.find(path)
    row = NONE if place is None else session.index.find(place)
    if place is not NO_NOTE and row is not None:
        session.leaf = row
        loaded.early = None


def fill(log: SessionLog, lines: Sequence[bytes], flush: FlushRule) -> None:
    """Give a new log its lines, stored or held as the rule says; blocks."""
    heads = [read_line(line) for line in lines]
    kinds = [head.kind for head in heads if isinstance(head, Head)]
    if calls_for_flush(flush, kinds):
        log.append(lines)
    else:
        log.hold(lines)


def migrated_lines(session: Session, log: SessionLog) -> list[bytes]:
    """Every line of an old file as the current format spells it, in their order; blocks.

    Lines that are no entries stay as they are: they are somebody's bytes.
    """
    rows = {at: row for row, at in enumerate(session.index.at)}
    lines = []
    seen_header = False
    for run in log.scan():
        offset = run.offset
        for line in run.lines:
            row = rows.get(offset)
            if row is not None:
                lines.append(session.migrated(row, line).strip(b" \t\r\n"))
            elif not seen_header and line == session.header_line:
                seen_header = True
                lines.append(migrate_header(line))
            else:
                lines.append(line)
            offset += len(line) + 1
    return lines
