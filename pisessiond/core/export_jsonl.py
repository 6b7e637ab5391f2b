"""One branch of a session as a session of its own (pi 1.6.0: `serializeSessionBranch`).

Lines are copied as bytes; only a `parentId` that differs is replaced. Labels on the branch stay
where they stand.
"""

from __future__ import annotations

from collections.abc import Iterator

from pisessiond.core.fork import with_members
from pisessiond.core.headers import encode_header, make_header
from pisessiond.core.javascript import stringify
from pisessiond.core.session import Session

_STEP = 256


def export_jsonl(session: Session, row: int, timestamp: str, cwd: str) -> Iterator[bytes]:
    """The lines of the branch down to `row`, each with its line feed; `timestamp` is now."""
    yield encode_header(make_header(session.id, timestamp, cwd)) + b"\n"
    parent = b"null"
    path = session.index.branch(row)
    for start in range(0, len(path), _STEP):
        rows = path[start : start + _STEP]
        for at, line in zip(rows, session.lines(rows), strict=True):
            yield with_members(line, {"parentId": parent}) + b"\n"
            parent = stringify(session.index.ids[at]).encode()
