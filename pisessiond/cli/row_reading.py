"""Which rows a command draws: the main line, and what it was told to open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pisessiond.client.answers import EntryId, Row
from pisessiond.client.errors import RpcFailure
from pisessiond.client.row_mirror import RowMirror

if TYPE_CHECKING:
    from pisessiond.client.blocking_session import BlockingSession
    from pisessiond.client.questions import Filter

ALL: Final = "all"
NONE: Final = "none"
_NAMELESS: Final = ("ahead", "g:")
"""Rows that are called after no entry."""
_ATTEMPTS: Final = 3


@dataclass(frozen=True, slots=True)
class RowsRead:
    """Rows in the order of the screen."""

    rev: int
    total: int
    """Rows of the main line."""
    rows: list[Row]
    opened: set[str]
    """Those that are open, each followed by its inside."""


def read_rows(session: BlockingSession, shown: Filter, wanted: Sequence[str] = ()) -> RowsRead:
    """The rows of a session, of one revision unless it changes all the time.

    Args:
        session: whose.
        shown: the filter.
        wanted: `all`, or entries or rows to be seen with what is inside them.

    Raises:
        RpcFailure: what is wanted is not there.
    """
    attempt = 0
    while True:
        attempt += 1
        read, is_one = _read(session, shown, wanted)
        if is_one or attempt == _ATTEMPTS:
            return read


def _read(session: BlockingSession, shown: Filter, wanted: Sequence[str]) -> tuple[RowsRead, bool]:
    mirror = RowMirror()
    main = session.whole_level(filter=shown)
    mirror.hold(None, main["rows"])
    revs = {main["rev"]}
    if ALL in wanted:
        waiting = [row["id"] for row in main["rows"] if row["rows"]]
        while waiting:
            inside = _hold(session, shown, mirror, waiting.pop(), revs)
            waiting += [row["id"] for row in inside if row["rows"]]
    else:
        for level in _levels(session, shown, wanted, revs):
            _hold(session, shown, mirror, level, revs)
    return RowsRead(main["rev"], main["total"], mirror.rows(), mirror.opened), len(revs) == 1


def _hold(
    session: BlockingSession, shown: Filter, mirror: RowMirror, level: str, revs: set[int]
) -> list[Row]:
    try:
        page = session.whole_level(level, filter=shown)
    except RpcFailure as failure:
        if failure.kind != "InvalidParams":
            raise
        # It was there a moment ago.
        revs.add(-1)
        return []
    revs.add(page["rev"])
    mirror.hold(level, page["rows"])
    return page["rows"]


def _levels(
    session: BlockingSession, shown: Filter, wanted: Iterable[str], revs: set[int]
) -> list[str]:
    """The rows to open for some entries or rows to be seen opened, outer ones first."""
    found: dict[str, None] = {}
    for name in wanted:
        if name == NONE:
            continue
        if name in _NAMELESS:
            found[name] = None
            continue
        sign, _, entry = name.partition(":")
        around: EntryId = entry if entry and len(sign) == 1 else name
        page = session.rows(around=around, count=1, filter=shown)
        revs.add(page["rev"])
        found.update(dict.fromkeys(page.get("path") or ()))
        if around is not name and sign != "e":
            found[name] = None
    return list(found)
