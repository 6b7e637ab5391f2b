"""What is in the lines of a session that never got its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pisessiond.core import kinds
from pisessiond.core.errors import SessionFileError
from pisessiond.core.preview import preview
from pisessiond.core.session import load_session


@dataclass(frozen=True, slots=True)
class Described:
    """A session, for people."""

    session: str | None
    """Its id; None when the lines are no session."""
    entries: int
    first_message: str | None
    """Of the user, on one line."""


def describe_lines(lines: Sequence[bytes]) -> Described:
    """What a session that is made of these lines is about."""
    starts: dict[int, bytes] = {}
    at = 0
    for line in lines:
        starts[at] = line
        at += len(line) + 1
    try:
        session = load_session([(0, list(lines))], lambda places: [starts[at] for at, _ in places])
    except SessionFileError:
        return Described(None, 0, None)
    index = session.index
    row = index.kind.find(kinds.USER)
    first = preview(session.entry(row)) if row >= 0 else None
    return Described(session.id, index.count, first)
