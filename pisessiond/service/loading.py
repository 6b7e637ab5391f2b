"""Reading a session from its log, and spelling an old one in the current format."""

from __future__ import annotations

from dataclasses import dataclass

from pisessiond.core.headers import encode_header
from pisessiond.core.migration import migrate_header
from pisessiond.core.session import Session, load_session
from pisessiond.service.nodes import early_size
from pisessiond.service.types import ContextSize
from pisessiond.storage.base import SessionLog


@dataclass(slots=True)
class Loaded:
    """A session that was just read."""

    session: Session
    log: SessionLog
    size: ContextSize | None
    """The context size at the leaf, where that could be told without sizing the file."""


def load(log: SessionLog) -> Loaded:
    """Read a session; blocks.

    Raises:
        NotASession: its bytes are no session.
        StoreError: it cannot be read.
    """
    session = load_session(((run.offset, run.lines) for run in log.scan()), log.read)
    size = early_size(session, session.leaf) if session.index.count else None
    return Loaded(session, log, size)


def load_or_begin(log: SessionLog, header: dict[str, object]) -> Loaded:
    """Read a session; a log without a byte begins as a new session with this header."""
    runs = ((run.offset, run.lines) for run in log.scan())
    first = next(runs, None)
    if first is None and not log.is_flushed:
        log.hold([encode_header(header)])
    return load(log)


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
