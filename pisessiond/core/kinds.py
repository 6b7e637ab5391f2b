"""The kinds of entries as the index tells them apart: type and, for messages, role in one byte."""

from __future__ import annotations

from typing import Final

USER: Final = 1
ASSISTANT: Final = 2
TOOL_RESULT: Final = 3
BASH: Final = 4
CUSTOM_ROLE: Final = 5
SYSTEM: Final = 6
OTHER_ROLE: Final = 7
"""A message of a role that is not listed here; it goes to the model as it is."""
NO_MESSAGE: Final = 8
"""A `message` entry whose message is no object: a problem, and nothing in the projection."""
HOOK: Final = 9
"""A message of role `hookMessage`, which version 3 renamed; the loader settles what it is."""
COMPACTION: Final = 10
BRANCH_SUMMARY: Final = 11
CUSTOM_MESSAGE: Final = 12
CONTEXT_EDIT: Final = 13
THINKING_LEVEL: Final = 14
MODEL_CHANGE: Final = 15
ACTIVE_TOOLS: Final = 16
LABEL: Final = 17
SESSION_INFO: Final = 18
USAGE: Final = 19
CUSTOM: Final = 20
LEAF: Final = 21
UNKNOWN: Final = 22
REPLACED: Final = 255
"""A line whose id a later line took over: in no tree and on no path."""

OF_ROLE: Final = {
    "user": USER,
    "assistant": ASSISTANT,
    "toolResult": TOOL_RESULT,
    "bashExecution": BASH,
    "custom": CUSTOM_ROLE,
    "system": SYSTEM,
    "hookMessage": HOOK,
}
OF_TYPE: Final = {
    "compaction": COMPACTION,
    "branch_summary": BRANCH_SUMMARY,
    "custom_message": CUSTOM_MESSAGE,
    "context_edit": CONTEXT_EDIT,
    "thinking_level_change": THINKING_LEVEL,
    "model_change": MODEL_CHANGE,
    "active_tools_change": ACTIVE_TOOLS,
    "label": LABEL,
    "session_info": SESSION_INFO,
    "usage": USAGE,
    "custom": CUSTOM,
    "leaf": LEAF,
}

GIVES_MESSAGE: Final = frozenset(
    {
        USER,
        ASSISTANT,
        TOOL_RESULT,
        BASH,
        CUSTOM_ROLE,
        SYSTEM,
        OTHER_ROLE,
        COMPACTION,
        BRANCH_SUMMARY,
        CUSTOM_MESSAGE,
    }
)
"""Kinds that put something in front of the model (a branch summary unless it is empty)."""

STATE: Final = frozenset(
    {COMPACTION, CONTEXT_EDIT, SYSTEM, THINKING_LEVEL, MODEL_CHANGE, ACTIVE_TOOLS}
)
"""Kinds whose nearest one on the branch decides something at every entry below it."""

METADATA: Final = frozenset({LABEL, SESSION_INFO, USAGE, CUSTOM})
"""Kinds that do not move the conversation (PROTOCOL.md, `baseLeaf`)."""

NOTED: Final = frozenset({COMPACTION, CONTEXT_EDIT, LABEL, SESSION_INFO, LEAF})
"""Kinds of which the index remembers a member besides parent and place."""


def kind_of(entry_type: object, role: object) -> int:
    """The kind of an entry by its `type` and, for a message, its message's `role`."""
    if entry_type == "message":
        return OF_ROLE.get(role, OTHER_ROLE) if isinstance(role, str) else OTHER_ROLE
    return OF_TYPE.get(entry_type, UNKNOWN) if isinstance(entry_type, str) else UNKNOWN
