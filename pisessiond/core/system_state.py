"""The system message as it stands after every system message of a projection.

A session may hold many: later ones add to the prompt, patch its sections and change the tools.
The rules are those of pi 1.6.0's `getCurrentSystemMessage` and `getCurrentTools`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from pisessiond.core.javascript import object_entries
from pisessiond.core.tokens import content_text, estimate_tokens

_MISSING: Final = object()


@dataclass(frozen=True)
class SystemState:
    """What the system messages so far add up to. Never changed; `replay` gives a new one."""

    content: tuple[str, ...] = ()
    """The contents that are not empty, in order."""
    sections: Mapping[str, Any] = field(default_factory=dict)
    """The sections by name, in the order in which they were (last) added."""
    tools: Mapping[Any, Any] = field(default_factory=dict)
    """The tools as they stand, by a key made of their name."""
    timestamp: Any = _MISSING
    """The first timestamp given; a private mark as long as there is none."""

    def message(self) -> dict[str, Any] | None:
        """The one system message that says the same, or None when there is none.

        Messages that give neither a timestamp nor a tool leave none, as in pi.
        """
        if self.timestamp is _MISSING and not self.tools:
            return None
        message: dict[str, Any] = {"role": "system", "content": "\n\n".join(self.content)}
        if self.sections:
            message["sections"] = dict(self.sections)
        if self.tools:
            message["toolsAdded"] = list(self.tools.values())
        has_time = self.timestamp is not _MISSING and self.timestamp is not None
        message["timestamp"] = self.timestamp if has_time else 0
        return message

    @cached_property
    def tokens(self) -> int:
        """The estimate for the replayed message, 0 when there is none."""
        message = self.message()
        return 0 if message is None else estimate_tokens(message)


EMPTY: Final = SystemState()


def replay(state: SystemState, message: Mapping[str, Any]) -> SystemState:
    """The state after one more message; the same state for a message of another role."""
    if message.get("role") != "system":
        return state
    text = content_text(message.get("content"), "\n")
    return SystemState(
        (*state.content, text) if text else state.content,
        _patch_sections(state.sections, message.get("sections")),
        _change_tools(state.tools, message),
        message.get("timestamp", _MISSING) if _lacks_time(state) else state.timestamp,
    )


def _lacks_time(state: SystemState) -> bool:
    return state.timestamp is _MISSING or state.timestamp is None


def _patch_sections(sections: Mapping[str, Any], patch: Any) -> Mapping[str, Any]:
    changes = object_entries(patch)
    if not changes:
        return sections
    patched = dict(sections)
    for name, value in changes:
        if value is None:
            patched.pop(name, None)
        else:
            patched[name] = value
    return patched


def _change_tools(tools: Mapping[Any, Any], message: Mapping[str, Any]) -> Mapping[Any, Any]:
    removed, added = message.get("toolsRemoved"), message.get("toolsAdded")
    if not removed and not added:
        return tools
    changed = dict(tools)
    if isinstance(removed, list):
        for tool in removed:
            if tool is not None:
                changed.pop(_tool_key(tool), None)
    if isinstance(added, list):
        for tool in added:
            if tool is not None:
                changed[_tool_key(tool)] = tool
    return changed


def _tool_key(tool: Any) -> Any:
    """What a JavaScript map would find the tool by; a list or an object is like no other."""
    name = tool.get("name", _MISSING) if isinstance(tool, dict) else _MISSING
    if isinstance(name, (list, dict)):
        return object()
    # Python takes True for 1, JavaScript's maps do not.
    return (isinstance(name, bool), name)
