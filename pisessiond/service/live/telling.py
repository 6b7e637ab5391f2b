"""Telling what came from outside: entries by whoever wrote them, and moves of pi's leaf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pisessiond.core.projection import Entry
from pisessiond.service.following import about_others
from pisessiond.service.nodes import make_node
from pisessiond.service.types import EXTERNAL, AnyOrigin, Change, ChangeKind

if TYPE_CHECKING:
    from pisessiond.service.held_session import HeldSession


def foreign_changes(held: HeldSession, came: Sequence[tuple[int, Entry]]) -> list[Change]:
    """What is to be told of entries that were just taken in, each with who wrote it."""
    session = held.session
    changes: list[Change] = []
    for written, part in held.live.by_writer(
        [(row, session.index.ids[row], entry) for row, entry in came]
    ):
        held.rows.note(part, written.origin)
        nodes = tuple(make_node(session, row, entry) for row, entry in part)
        changes.append(Change(written.kind, written.origin, nodes, dict(written.details)))
        if written.origin == EXTERNAL and held.live.pis:
            # Those that have it open have not read that.
            held.presence.changed()
        if written.kind in ("append", "navigate"):
            changes += about_others(session, [row for row, _ in part], written.origin)
    return changes


def follow_leaf(held: HeldSession, origin: AnyOrigin, kind: ChangeKind = "navigate") -> bool:
    """Stand where the owner stands, and tell so; False when the session stands there."""
    session, place = held.session, held.live.place()
    if place is None or place == session.leaf:
        return False
    left = session.leaf_id
    held.rows.left(session.leaf)
    session.leaf = place
    held.leaf_conflict = None
    details = {"from": left, "to": session.leaf_id}
    held.tell([Change(kind, origin, details=details)])
    return True
