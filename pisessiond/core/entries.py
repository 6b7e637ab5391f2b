"""New entries: what pi would accept, spelled as pi would write it.

The table below is SESSION-RULES section 2: members in pi's order. A member with a question mark
there is written when it was given, null, false and empty included.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pisessiond.core.dates import date_ms
from pisessiond.core.errors import InvalidEntry
from pisessiond.core.javascript import NESTING_LIMIT, is_deeper_than, stringify, trim
from pisessiond.core.projection import Entry

BASE: Final = ("type", "id", "parentId", "timestamp")

_LINE_BREAKS = re.compile(r"[\r\n]+")
_REFUSED_ROLES: Final = frozenset({"branchSummary", "compactionSummary"})
_CONTENT_ROLES: Final = frozenset({"user", "assistant", "toolResult", "custom"})

Check = Callable[[Any], str | None]
"""What is wrong with a member's value, in a clause; None when it is right."""


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) else "must be a string"


def _number(value: Any) -> str | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return None if is_number else "must be a number"


def _boolean(value: Any) -> str | None:
    return None if isinstance(value, bool) else "must be true or false"


def _object(value: Any) -> str | None:
    return None if isinstance(value, dict) else "must be an object"


def _texts(value: Any) -> str | None:
    is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return None if is_list else "must be a list of strings"


def _content(value: Any) -> str | None:
    if isinstance(value, str):
        return None
    is_list = isinstance(value, list) and all(isinstance(item, dict) for item in value)
    return None if is_list else "must be a string or a list of content blocks"


def _anything(_: Any) -> str | None:
    return None


def _reference(value: Any) -> str | None:
    is_id = isinstance(value, str | int | float) and not isinstance(value, bool)
    return None if is_id else "must be an entry id"


def _reference_or_null(value: Any) -> str | None:
    return None if value is None else _reference(value)


def _text_or_null(value: Any) -> str | None:
    return None if value is None or isinstance(value, str) else "must be a string or null"


def _message(value: Any) -> str | None:
    if not isinstance(value, dict):
        return "must be an object"
    role = value.get("role")
    if not isinstance(role, str) or not role:
        return "needs a role"
    if role in _REFUSED_ROLES:
        return f"of role {role} is an entry of its own; append that entry type instead"
    if role in _CONTENT_ROLES:
        wrong = _content(value.get("content"))
        if wrong is None and role in ("assistant", "toolResult") and value["content"] == "":
            return None
        return f"content {wrong}" if wrong else None
    if role == "bashExecution":
        return next(
            (
                f"{name} must be a string"
                for name in ("command", "output")
                if _text(value.get(name))
            ),
            None,
        )
    return None


def _replacement(value: Any) -> str | None:
    if value is None or (isinstance(value, dict) and "content" in value):
        content = None if value is None else value["content"]
        if value is None or isinstance(content, str | list):
            return None
    return "must be null, or an object with string or list content"


@dataclass(frozen=True, slots=True)
class EntryType:
    """The members of one entry type in pi's order, after the base members or before `id`."""

    members: Mapping[str, Check]
    optional: frozenset[str] = frozenset()
    base_last: bool = False
    """pi writes `id`, `parentId` and `timestamp` behind the others."""


ENTRY_TYPES: Final[dict[str, EntryType]] = {
    "message": EntryType({"message": _message}),
    "thinking_level_change": EntryType({"thinkingLevel": _text}),
    "model_change": EntryType({"provider": _text, "modelId": _text}),
    "active_tools_change": EntryType({"activeToolNames": _texts}),
    "compaction": EntryType(
        {
            "summary": _text,
            "firstKeptEntryId": _reference,
            "tokensBefore": _number,
            "details": _anything,
            "usage": _anything,
            "fromHook": _boolean,
            "systemMessage": _object,
        },
        frozenset({"details", "usage", "fromHook", "systemMessage"}),
    ),
    "branch_summary": EntryType(
        {
            "fromId": _reference,
            "summary": _text,
            "details": _anything,
            "usage": _anything,
            "fromHook": _boolean,
        },
        frozenset({"details", "usage", "fromHook"}),
    ),
    "custom_message": EntryType(
        {"customType": _text, "content": _content, "display": _boolean, "details": _anything},
        frozenset({"details"}),
        base_last=True,
    ),
    "context_edit": EntryType({"targetId": _reference, "replacement": _replacement}),
    "custom": EntryType(
        {"customType": _text, "data": _anything}, frozenset({"data"}), base_last=True
    ),
    "usage": EntryType(
        {"kind": _text, "provider": _text, "model": _text, "usage": _object, "note": _text},
        frozenset({"note"}),
    ),
    "label": EntryType({"targetId": _reference, "label": _text_or_null}, frozenset({"label"})),
    "session_info": EntryType({"name": _text}),
    "leaf": EntryType({"targetId": _reference_or_null}),
}


def check_entry(entry: Mapping[str, Any]) -> None:
    """Refuse what pi could not read back.

    Raises:
        InvalidEntry: the type is missing or reserved, or a member has another shape than pi's.
    """
    if is_deeper_than(dict(entry), NESTING_LIMIT):
        raise InvalidEntry(f"it is nested deeper than {NESTING_LIMIT} levels")
    kind = entry.get("type")
    if not isinstance(kind, str) or not kind:
        raise InvalidEntry("it needs a type", "type")
    if kind == "session":
        raise InvalidEntry("session is the header's type", "type")
    if "id" in entry and (not isinstance(entry["id"], str) or not entry["id"]):
        raise InvalidEntry("an id must be a string that is not empty", "id")
    if "timestamp" in entry:
        time = entry["timestamp"]
        if not isinstance(time, str) or date_ms(time) is None:
            raise InvalidEntry("a timestamp must be an ISO 8601 time", "timestamp")
    known = ENTRY_TYPES.get(kind)
    if known is None:
        return
    for name, check in known.members.items():
        if name not in entry:
            if name in known.optional:
                continue
            raise InvalidEntry(f"a {kind} entry needs {name}", name)
        wrong = check(entry[name])
        if wrong is not None:
            raise InvalidEntry(f"{name} {wrong}", name)


def complete_entry(
    given: Mapping[str, Any], entry_id: str, parent_id: Any, timestamp: str
) -> Entry:
    """A checked entry with all its members, in the order pi writes them."""
    kind = given["type"]
    base = {"id": entry_id, "parentId": parent_id, "timestamp": timestamp}
    known = ENTRY_TYPES.get(kind, EntryType({}))
    members = {name: given[name] for name in known.members if name in given}
    rest = {
        name: value for name, value in given.items() if name not in BASE and name not in members
    }
    if kind == "session_info":
        members["name"] = trim(_LINE_BREAKS.sub(" ", members["name"]))
    if kind == "usage" and not members.get("note"):
        members.pop("note", None)
    if known.base_last:
        return {"type": kind, **members, **base, **rest}
    return {"type": kind, **base, **members, **rest}


def encode_entry(entry: Mapping[str, Any]) -> bytes:
    """The line of an entry, as `JSON.stringify` spells it, without a line feed."""
    return stringify(entry).encode()
