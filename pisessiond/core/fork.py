"""New sessions out of old ones: fork and clone (SESSION-RULES section 7).

Lines are copied as bytes; only `parentId` and `firstKeptEntryId` are replaced, and only where
they change (pi: `createBranchedSession`, `forkFrom`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import UNSET

from pisessiond.core import kinds
from pisessiond.core.entries import complete_entry, encode_entry
from pisessiond.core.javascript import parse_json, stringify
from pisessiond.core.lines import EntryId
from pisessiond.core.members import member_value, replace_members
from pisessiond.core.session import Session

NewId = Callable[[Callable[[str], bool]], str]
"""Gives an entry id for which the predicate (is it taken?) is false."""

GoOn = Callable[[], None]
"""Called between two slices of what takes long; ends it by raising."""

_JSON_WHITE = b" \t\r\n"

_SLICE = 512
"""Lines between two calls of `GoOn`; a few milliseconds."""


def _always() -> None:
    return None


def branch_lines(session: Session, row: int, new_id: NewId, go_on: GoOn = _always) -> list[bytes]:
    """The lines of a session that holds just the branch down to `row`.

    Label entries are left out and the chain is closed over them; the labels of what is left are
    written again at the end with their times, in the order their targets were first labelled.
    """
    index = session.index
    path = index.branch(row)
    kept = [at for at in path if index.kind[at] != kinds.LABEL]
    stored = dict(zip(kept, _read(session, kept, go_on), strict=True))
    lines = _rechained(session, path, stored, go_on)
    last = index.ids[kept[-1]] if kept else None
    return lines + _label_lines(session, kept, last, new_id)


def _read(session: Session, rows: Sequence[int], go_on: GoOn) -> list[bytes]:
    """The lines of rows, slice by slice."""
    lines: list[bytes] = []
    for start in range(0, len(rows), _SLICE):
        go_on()
        lines += session.lines(rows[start : start + _SLICE])
    return lines


def _rechained(
    session: Session, path: Sequence[int], lines: dict[int, bytes], go_on: GoOn
) -> list[bytes]:
    index = session.index
    heirs: dict[Any, EntryId] = {}
    pending: list[EntryId] = []
    parent: EntryId | None = None
    result = []
    for position, at in enumerate(path):
        if position % _SLICE == 0:
            go_on()
        entry_id = index.ids[at]
        if at not in lines:
            pending.append(entry_id)
            continue
        heirs.update(dict.fromkeys(pending, entry_id))
        pending.clear()
        values = {"parentId": _text(parent)}
        if index.kind[at] == kinds.COMPACTION:
            first = index.notes.get(at)
            if first != entry_id and isinstance(first, str | int | float) and first in heirs:
                values["firstKeptEntryId"] = _text(heirs[first])
        result.append(with_members(lines[at], values))
        parent = entry_id
    return result


def with_members(line: bytes, values: dict[str, bytes]) -> bytes:
    """The line with these members, untouched where it says so already."""
    changed = {}
    for name, value in values.items():
        stands = member_value(line, name)
        if stands is None or parse_json(stands) != parse_json(value):
            changed[name] = value
    return replace_members(line, changed) if changed else line.strip(_JSON_WHITE)


def _label_lines(
    session: Session, kept: Sequence[int], parent: EntryId | None, new_id: NewId
) -> list[bytes]:
    taken = {session.index.ids[at] for at in kept}
    lines = []
    for target, (label, time) in session.labels.items():
        if session.index.find(target) is None or target not in taken:
            continue
        given = {"type": "label", "targetId": target, "label": label}
        entry_id = new_id(taken.__contains__)
        entry = complete_entry(given, entry_id, parent, time)
        if time is UNSET:
            del entry["timestamp"]
        lines.append(encode_entry(entry))
        taken.add(entry_id)
        parent = entry_id
    return lines


def all_lines(session: Session, go_on: GoOn = _always) -> list[bytes]:
    """Every entry of a session in file order, migrated, for a fork to another `cwd`."""
    index = session.index
    rows = [row for row in range(len(index)) if index.kind[row] != kinds.REPLACED]
    return [line.strip(_JSON_WHITE) for line in _read(session, rows, go_on)]


def _text(value: Any) -> bytes:
    return stringify(value).encode()
