"""Reading files of versions 1 and 2 as if they were version 3 (pi: `migrateToCurrentVersion`).

Nothing is written by reading: an old line is migrated each time it is read, and the whole file
once, at the first write that a client asks for. Unlike pi's, the ids given to the entries of a
version 1 file are derived from the file, so they are the same at each opening until then.
"""

from __future__ import annotations

import hashlib
from typing import Any

from pisessiond.core import kinds
from pisessiond.core.javascript import parse_json, stringify
from pisessiond.core.lines import EntryId, Head, head_of
from pisessiond.core.members import member_value, replace_members

CURRENT_VERSION = 3
_KEPT_INDEX = "firstKeptEntryIndex"


def format_version(header: dict[str, Any]) -> int:
    """The format version of a header: missing or null is 1, what is no number is 2.

    pi compares `version` with 2 and 3 as JavaScript does, so that text such as "abc" is in need
    of migration but not of new ids.
    """
    version = header.get("version")
    if version is None:
        return 1
    if isinstance(version, str):
        try:
            version = float(version.strip() or 0)
        except ValueError:
            return 2
    if not isinstance(version, int | float):
        return 2
    if version < 2:
        return 1
    if version < CURRENT_VERSION:
        return 2
    return CURRENT_VERSION if version == CURRENT_VERSION else CURRENT_VERSION + 1


class Migration:
    """Gives the entries of one version 1 file their ids, line after line."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._previous: str | None = None
        self._given: set[str] = set()
        self._parsed: list[str | None] = [None]
        """Of each parsed line, the header being the first, the id it was given."""

    def pass_over(self) -> None:
        """Count a parsed line that is no entry."""
        self._parsed.append(None)

    def take(self, line: bytes) -> Head:
        """The head of an entry's line, migrated."""
        entry = parse_json(line)
        assert isinstance(entry, dict)
        entry_id = self._new_id(len(self._parsed))
        self._parsed.append(entry_id)
        entry["id"] = entry_id
        entry["parentId"] = self._previous
        self._previous = entry_id
        kept_index = entry.get(_KEPT_INDEX)
        if entry.get("type") == "compaction" and _is_number(kept_index):
            kept = self._id_at(kept_index)
            if kept is not None:
                entry["firstKeptEntryId"] = kept
        return head_of(entry)

    def _new_id(self, position: int) -> str:
        salt = 0
        while True:
            seed = f"{self._session_id}\n{position}\n{salt}".encode("utf-8", "surrogatepass")
            entry_id = hashlib.blake2b(seed, digest_size=4).hexdigest()
            if entry_id not in self._given:
                self._given.add(entry_id)
                return entry_id
            salt += 1

    def _id_at(self, position: Any) -> str | None:
        if position != int(position) or not 0 <= position < len(self._parsed):
            return None
        return self._parsed[int(position)]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def migrate_line(
    line: bytes, version: int, entry_id: EntryId, parent_id: EntryId | None, first_kept: Any
) -> bytes:
    """An entry's line as version 3 spells it, everything else byte for byte.

    Args:
        first_kept: of a version 1 compaction, the id it keeps from; None for none.
    """
    if version < 2:
        values = {"id": _text(entry_id), "parentId": _text(parent_id)}
        removed: frozenset[str] = frozenset()
        old_index = member_value(line, _KEPT_INDEX)
        is_compaction = member_value(line, "type") == b'"compaction"'
        if is_compaction and old_index is not None and _is_number(parse_json(old_index)):
            removed = frozenset({_KEPT_INDEX})
            if first_kept is not None:
                values["firstKeptEntryId"] = _text(first_kept)
        line = replace_members(line, values, removed)
    if version < CURRENT_VERSION and b"hookMessage" in line:
        line = _rename_hook_message(line)
    return line


def _rename_hook_message(line: bytes) -> bytes:
    message = member_value(line, "message")
    if member_value(line, "type") != b'"message"' or message is None or message[:1] != b"{":
        return line
    if member_value(message, "role") != b'"hookMessage"':
        return line
    return replace_members(line, {"message": replace_members(message, {"role": b'"custom"'})})


def migrate_header(line: bytes) -> bytes:
    """A header line with the current version: in place, or last where there was none."""
    return replace_members(line, {"version": str(CURRENT_VERSION).encode()})


def kind_in_version(kind: int, version: int) -> int:
    """The kind of a message with the role that version 3 renamed to `custom`."""
    if kind != kinds.HOOK:
        return kind
    return kinds.CUSTOM_ROLE if version < CURRENT_VERSION else kinds.OTHER_ROLE


def _text(value: Any) -> bytes:
    return stringify(value).encode()
