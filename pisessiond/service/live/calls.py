"""What is asked of a running pi so that a decided act comes about there. Decides, asks nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pisessiond.core import kinds
from pisessiond.core.changes import NewEntry
from pisessiond.core.index import NONE
from pisessiond.core.lines import EntryId
from pisessiond.core.session import Session
from pisessiond.service.errors import ReadOnly, Unsupported

if TYPE_CHECKING:
    from pisessiond.service.session_queue import Plan

_QUICK_SECONDS: Final = 10.0
_STORE_SECONDS: Final = 60.0
"""With a summary that is written already pi asks no model; it draws, and other extensions may
have a word."""

_APPENDED: Final = frozenset({"custom", "custom_message", "message"})
_GIVEN_BY_PI: Final = frozenset({"id", "parentId", "timestamp"})
_PARENT_IN_PI: Final = frozenset({kinds.USER, kinds.CUSTOM_MESSAGE})
"""Where pi goes to the parent instead."""


@dataclass(frozen=True, slots=True)
class PiCall:
    """A request to a bridge."""

    method: str
    params: dict[str, Any]
    needs_idle: bool
    is_bound: bool = False
    """It holds only where the session stood when it was decided."""
    seconds: float = _QUICK_SECONDS


def call_for(
    session: Session, plan: Plan, entries: Sequence[NewEntry], left: EntryId | None
) -> PiCall | None:
    """What pi is asked for an act; None when nothing would change.

    Args:
        session: as it is.
        plan: what was decided.
        entries: what the act would add.
        left: where the session stands.

    Raises:
        ReadOnly: pi takes no such entry from outside.
        Unsupported: pi cannot stand there.
    """
    if plan.kind == "navigate":
        return _move(session, plan, entries, left)
    if not entries:
        return None
    entry = entries[0].entry
    if plan.kind == "compact":
        return _compaction(entry)
    if plan.kind == "append" and (len(entries) > 1 or entry["type"] in _APPENDED):
        return _append(entries, left)
    if entries[0].head.parent_id != left:
        raise _not_from_outside("an entry of another branch")
    return _single(entry)


def _append(entries: Sequence[NewEntry], left: EntryId | None) -> PiCall:
    parent = left
    for new in entries:
        if new.entry["type"] not in _APPENDED:
            raise _not_from_outside(f"entries of type {new.entry['type']} among others")
        if new.head.parent_id != parent:
            raise _not_from_outside("an entry of another branch")
        parent = new.head.id
    given = [
        {name: value for name, value in new.entry.items() if name not in _GIVEN_BY_PI}
        for new in entries
    ]
    needs_idle = any(one["type"] != "custom" for one in given)
    return PiCall("pi/append", {"entries": given}, needs_idle)


def _single(entry: dict[str, Any]) -> PiCall:
    match entry["type"]:
        case "label":
            params = {"target": entry["targetId"], "label": entry.get("label") or None}
            return PiCall("pi/label", params, needs_idle=False)
        case "session_info":
            return PiCall("pi/name", {"name": entry.get("name") or ""}, needs_idle=False)
        case "context_edit":
            params = {"target": entry["targetId"], "replacement": entry["replacement"]}
            return PiCall("pi/contextEdit", params, needs_idle=True)
        case other:
            raise _not_from_outside(f"entries of type {other}")


def _compaction(entry: dict[str, Any]) -> PiCall:
    params = {
        "summary": entry["summary"],
        "first_kept": entry["firstKeptEntryId"],
        "tokens_before": entry["tokensBefore"],
    }
    if entry.get("details") is not None:
        params["details"] = entry["details"]
    return PiCall("pi/compact", params, needs_idle=True, is_bound=True, seconds=_STORE_SECONDS)


def _move(
    session: Session, plan: Plan, entries: Sequence[NewEntry], left: EntryId | None
) -> PiCall | None:
    place: EntryId | None = plan.details["to"]
    summary = next((one.entry for one in entries if one.entry["type"] == "branch_summary"), None)
    label = next((one.entry for one in entries if one.entry["type"] == "label"), None)
    if place == left:
        return None if label is None else _single(label)
    params: dict[str, Any] = {"target": _target(session, plan.target, place)}
    if summary is not None:
        params |= {"summarize": True, "summary": summary["summary"]}
        if summary.get("details") is not None:
            params["details"] = summary["details"]
    if label is not None:
        params["label"] = label.get("label")
    is_bound = summary is not None
    seconds = _STORE_SECONDS if is_bound else _QUICK_SECONDS
    return PiCall("pi/navigate", params, needs_idle=True, is_bound=is_bound, seconds=seconds)


def _target(session: Session, asked: EntryId | None, place: EntryId | None) -> EntryId:
    """The entry to name to pi, so that it stands at `place`.

    Raises:
        Unsupported: there is none.
    """
    index = session.index
    if asked is not None and asked != place:
        return asked
    if place is None:
        first = next(
            (
                row
                for row in range(len(index))
                if index.parent[row] == NONE and index.kind[row] in _PARENT_IN_PI
            ),
            None,
        )
        if first is None:
            raise Unsupported(
                "A running pi goes before the first entry only from a first message of its user.",
                "such a message",
            )
        return index.ids[first]
    if index.kind[session.row_of(place)] in _PARENT_IN_PI:
        raise Unsupported(
            "A running pi does not stand on a message of its user, but before it.",
            "a move without exact",
        )
    return place


def _not_from_outside(what: str) -> ReadOnly:
    return ReadOnly(f"a running pi has it open, and takes no {what} from outside; fork it.", "pi")
