"""Reading the lines of a session file: what each is, and what of it the index needs.

A line is understood as `JSON.parse` understands it. Most lines take the fast road: msgspec
checks the whole line and decodes only five members. Whatever that road refuses (lone surrogate
escapes, numbers as ids, odd shapes) is parsed in full, so the fast road only ever saves time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from pisessiond.core import kinds
from pisessiond.core.javascript import NotJson, is_blank, parse_json
from pisessiond.core.json_faults import describe_fault

EntryId = str | int | float
"""An entry id; pi writes strings, a number read from a file works as it does in pi."""


class _MessageHead(msgspec.Struct, gc=False):
    role: str


class FastHead(msgspec.Struct, gc=False):
    """An ordinary line, as far as the index needs it."""

    type: str
    id: str
    timestamp: str
    parentId: str | None = None  # noqa: N815 - the file's own spelling
    message: _MessageHead | None = None


class _FastNote(msgspec.Struct, gc=False):
    """The members that the index keeps of some kinds (kinds.NOTED)."""

    targetId: Any = None  # noqa: N815
    label: Any = None
    name: Any = None
    firstKeptEntryId: Any = None  # noqa: N815
    replacement: Any = msgspec.UNSET


decode_head = msgspec.json.Decoder(FastHead).decode
_decode_note = msgspec.json.Decoder(_FastNote).decode


@dataclass(slots=True)
class Head:
    """What the index keeps of one entry."""

    id: EntryId
    parent_id: Any
    """As the line has it: None for a root, and anything odd where the file is odd."""
    kind: int
    time: Any
    """The `timestamp` member as it stands; UNSET when missing, which is no time, as null is one."""
    note: Any = None
    """By kind: compaction, its `firstKeptEntryId`; context edit and leaf, their `targetId`;
    label, `(targetId, label)`; session_info, its `name`. Otherwise None."""


@dataclass(frozen=True, slots=True)
class HeaderLine:
    """A `session` line."""

    header: dict[str, Any]


@dataclass(frozen=True, slots=True)
class OddLine:
    """A line that is no entry: not JSON, no object, or without a usable id."""

    kind: str
    """`badLine`, `notAnObject` or `noId`."""
    reason: str
    falsy: bool = False
    """One of null, false, 0 and "", which pi passes over even before the header."""


Line = Head | HeaderLine | OddLine


def read_line(line: bytes) -> Line | None:
    """What a line (without its line feed) is; None for a blank one."""
    try:
        fast = decode_head(line)
    except (msgspec.MsgspecError, RecursionError):
        return _read_slowly(line)
    if not fast.id or fast.type == "session":
        return _read_slowly(line)
    message = fast.message
    if fast.type == "message":
        if message is None:
            return Head(fast.id, fast.parentId, kinds.NO_MESSAGE, fast.timestamp)
        kind = kinds.OF_ROLE.get(message.role, kinds.OTHER_ROLE)
        return Head(fast.id, fast.parentId, kind, fast.timestamp)
    kind = kinds.OF_TYPE.get(fast.type, kinds.UNKNOWN)
    if kind not in kinds.NOTED:
        return Head(fast.id, fast.parentId, kind, fast.timestamp)
    try:
        note = _note_of(kind, msgspec.structs.asdict(_decode_note(line)))
    except msgspec.MsgspecError:
        return _read_slowly(line)
    return Head(fast.id, fast.parentId, kind, fast.timestamp, note)


def _read_slowly(line: bytes) -> Line | None:
    if is_blank(line):
        return None
    try:
        value = parse_json(line)
    except NotJson:
        return OddLine("badLine", describe_fault(line))
    if not isinstance(value, dict):
        return OddLine("notAnObject", "The line is JSON, but no object.", falsy=_is_falsy(value))
    if value.get("type") == "session":
        return HeaderLine(value)
    if not is_entry_id(value.get("id")):
        return OddLine("noId", "The entry has no usable id.")
    return head_of(value)


def _is_falsy(value: Any) -> bool:
    return value is None or value is False or value == "" or (_is_number(value) and value == 0)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_entry_id(value: Any) -> bool:
    """Whether pi could find an entry by this id: a non-empty string, or a number but 0."""
    return bool(value) and (isinstance(value, str) or _is_number(value))


def head_of(entry: Mapping[str, Any]) -> Head:
    """The head of a parsed entry whose id is usable."""
    message = entry.get("message")
    if entry.get("type") == "message" and not isinstance(message, dict):
        kind = kinds.NO_MESSAGE
    else:
        role = message.get("role") if isinstance(message, dict) else None
        kind = kinds.kind_of(entry.get("type"), role)
    note = _note_of(kind, entry) if kind in kinds.NOTED else None
    return Head(
        entry["id"], entry.get("parentId"), kind, entry.get("timestamp", msgspec.UNSET), note
    )


def _note_of(kind: int, entry: Mapping[str, Any]) -> Any:
    if kind == kinds.COMPACTION:
        return entry.get("firstKeptEntryId")
    if kind == kinds.LABEL:
        return (entry.get("targetId"), entry.get("label"))
    if kind == kinds.SESSION_INFO:
        # None is what other entries have; a name that is missing clears as an empty one does.
        name = entry.get("name")
        return "" if name is None else name
    return entry.get("targetId")
