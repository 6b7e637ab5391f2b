"""Taking in what another program wrote to a session that is open here.

The rule of the leaf (PROTOCOL.md, "The leaf, when two write"): what goes on from where we stand
moves the leaf; anything else leaves it where a client put it, or is followed if none has moved.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from pisessiond.core import kinds
from pisessiond.core.dates import date_ms
from pisessiond.core.index import NONE
from pisessiond.core.javascript import NotJson, parse_json
from pisessiond.core.lines import EntryId, Head, OddLine, read_line
from pisessiond.core.problems import Problem
from pisessiond.core.projection import Entry
from pisessiond.core.session import Session
from pisessiond.service.types import AnyOrigin, Change
from pisessiond.storage.base import StoredLine

LIVE_MS: Final = 15 * 60 * 1000
"""A session is live while another program wrote to it so long ago at most."""


def is_live(last_external: str | None, now: str) -> bool:
    """Whether another program wrote lately; both are ISO times."""
    time_ms = date_ms(last_external) if last_external is not None else None
    now_ms = date_ms(now)
    return time_ms is not None and now_ms is not None and now_ms - time_ms < LIVE_MS


def take_in_line(session: Session, item: StoredLine, *, client_moved: bool) -> int | None:
    """Add one foreign line and move the leaf by the rule; its row, None when it is no entry.

    Raises:
        NeedsRebuild: the line changes what older rows mean.
    """
    understood = read_line(item.line)
    if isinstance(understood, OddLine):
        session.line_count += 1
        session.problems.append(
            Problem(understood.kind, understood.reason, session.line_count, item.locator[0])
        )
        return None
    if not isinstance(understood, Head):
        session.line_count += 1
        return None
    row = session.take_in(understood, item.line, item.locator[0])
    if not client_moved or _goes_on_from(session, session.leaf, row):
        place = session.stands_at(row)
        session.leaf = session.leaf if place is None else place
    return row


def _goes_on_from(session: Session, leaf: int, row: int) -> bool:
    """Whether a row hangs under the leaf, with nothing that gives a message in between."""
    index = session.index
    above = index.parent[row]
    while above not in (leaf, NONE) and index.kind[above] not in kinds.GIVES_MESSAGE:
        above = index.parent[above]
    return above == leaf


def about_others(session: Session, rows: Iterable[int], origin: AnyOrigin) -> list[Change]:
    """What appended entries change besides themselves, however they came: a label, the name.

    Bodies never travel unasked, so a node of type `label` alone does not say whom it names.
    """
    index = session.index
    found: dict[object, Change] = {}
    for row in rows:
        if index.kind[row] == kinds.SESSION_INFO:
            found["name"] = Change("rename", origin, details={"name": session.name})
        elif index.kind[row] == kinds.LABEL:
            target, _ = index.notes[row]
            if not isinstance(target, str | int | float) or index.find(target) is None:
                continue
            label = session.labels.get(target, (None, None))[0]
            details = {"target": target, "label": label if isinstance(label, str) else None}
            found["label", target] = Change("label", origin, details=details)
    return list(found.values())


def ids_of(lines: Iterable[StoredLine]) -> list[EntryId]:
    """The ids of those lines that are entries."""
    understood = (read_line(item.line) for item in lines)
    return [head.id for head in understood if isinstance(head, Head)]


def foreign_entry(line: bytes) -> Entry:
    """The body of an entry that was just taken in."""
    try:
        entry = parse_json(line)
    except NotJson:
        entry = {}
    return entry if isinstance(entry, dict) else {}
