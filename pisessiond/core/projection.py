"""What the model would be sent: the projection of a branch (SESSION-RULES section 4).

Pure functions over parsed entries; which entries stand on a branch is the index's business.
The rules are those of pi 1.6.0's `buildSessionProjection`, `buildContextEntries`,
`projectContextEntry` and `sessionEntryToContextMessages`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pisessiond.core.dates import date_ms
from pisessiond.core.index import is_key
from pisessiond.core.javascript import is_truthy

Entry = dict[str, Any]
"""A parsed line of a session: the JSON object as it stands, members in their order."""

Message = dict[str, Any]
"""A message as the model (or pi's own loop) sees it."""

# Tuples, since a role read from a file may be anything, even a list or an object.
_CONTENT_ROLES = ("user", "assistant", "toolResult")
_EDITABLE_ROLES = (*_CONTENT_ROLES, "custom")
_BLOCK_ROLES = ("assistant", "toolResult")


@dataclass(frozen=True, slots=True)
class ProjectedEntry:
    """One selected entry and what the model sees of it."""

    entry: Entry
    """The source entry, unchanged."""
    messages: tuple[Message, ...]
    """What it contributes after the newest edit of it; empty when it gives nothing."""


def entry_messages(entry: Entry) -> tuple[Message, ...]:
    """What an entry gives before any context edit (pi: `sessionEntryToContextMessages`).

    A `message` entry whose message is no object gives nothing, where pi throws.
    """
    kind = entry.get("type")
    if kind == "message":
        return _stored_message(entry.get("message"))
    if kind == "custom_message":
        return (_custom_message(entry),)
    if kind == "branch_summary":
        return (_branch_summary_message(entry),) if is_truthy(entry.get("summary")) else ()
    if kind == "compaction":
        summary = compaction_summary_message(entry)
        system = entry.get("systemMessage")
        return (system, summary) if isinstance(system, dict) else (summary,)
    return ()


def _stored_message(message: Any) -> tuple[Message, ...]:
    if not isinstance(message, dict):
        return ()
    if message.get("content") is None:
        role = message.get("role")
        if role == "system":
            return ({**message, "content": ""},)
        if role in _CONTENT_ROLES:
            return ({**message, "content": []},)
    return (message,)


def _with_present(base: Message, entry: Entry, names: Iterable[str]) -> Message:
    for name in names:
        if name in entry:
            base[name] = entry[name]
    return base


def _custom_message(entry: Entry) -> Message:
    message = _with_present({"role": "custom"}, entry, ("customType",))
    content = entry.get("content")
    message["content"] = [] if content is None else content
    _with_present(message, entry, ("display", "details"))
    message["timestamp"] = entry_time_ms(entry)
    return message


def _branch_summary_message(entry: Entry) -> Message:
    message = _with_present({"role": "branchSummary"}, entry, ("summary", "fromId"))
    message["timestamp"] = entry_time_ms(entry)
    return message


def compaction_summary_message(entry: Entry) -> Message:
    """The summary message of a compaction entry, without its system message."""
    message = _with_present({"role": "compactionSummary"}, entry, ("summary", "tokensBefore"))
    message["timestamp"] = entry_time_ms(entry)
    return message


def entry_time_ms(entry: Entry) -> float | None:
    """The entry's own time in milliseconds; None when absent or unreadable."""
    return date_ms(entry["timestamp"]) if "timestamp" in entry else None


def project_entry(entry: Entry, edit: Entry | None) -> tuple[Message, ...]:
    """What the model sees of `entry` under its newest edit (pi: `projectContextEntry`)."""
    messages = entry_messages(entry)
    if edit is None:
        return messages
    replacement = edit.get("replacement", {})
    if replacement is None:
        return ()
    # JavaScript finds no `content` in whatever else stands there, and so takes the content away.
    members = replacement if isinstance(replacement, dict) else {}
    return tuple(_replaced(message, members) for message in messages)


def _replaced(message: Message, replacement: dict[str, Any]) -> Message:
    role = message.get("role")
    if role not in _EDITABLE_ROLES:
        return message
    if "content" not in replacement:
        return {name: value for name, value in message.items() if name != "content"}
    content = replacement["content"]
    if role in _BLOCK_ROLES and isinstance(content, str):
        content = [{"type": "text", "text": content}]
    return {**message, "content": content}


def project(selected: Sequence[Entry]) -> list[ProjectedEntry]:
    """The projection of selected entries: edits applied, older compactions silent."""
    edits: dict[Any, Entry] = {}
    for entry in selected:
        if entry.get("type") == "context_edit" and is_key(entry.get("targetId")):
            edits[entry.get("targetId")] = entry
    projected = []
    for position, entry in enumerate(selected):
        if entry.get("type") == "compaction" and position > 0:
            messages: tuple[Message, ...] = ()
        else:
            messages = project_entry(entry, edits.get(entry["id"]))
        projected.append(ProjectedEntry(entry, messages))
    return projected
