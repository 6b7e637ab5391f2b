"""One plain line that tells an entry from its neighbours; never markup, never a second line."""

from __future__ import annotations

import re
from typing import Any

from pisessiond.core.javascript import cut_utf16
from pisessiond.core.projection import Entry
from pisessiond.core.tokens import content_text

LIMIT = 200
"""UTF-16 code units of a preview at most."""

_LOOKED_AT = 2_000
"""Characters of a text that are looked at; a preview is cut from them."""

HIDDEN = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb]"
)
SURROGATE = re.compile("[\ud800-\udfff]")


def clean_line(text: str, limit: int = LIMIT) -> str:
    """`text` as one line: no control, bidi or zero-width characters, white space as one space."""
    text = " ".join(text[:_LOOKED_AT].split())
    # Two searches for characters that hardly any text has cost more than all else here.
    if not text.isprintable():
        # Spaces to either side of what was hidden stand together now.
        text = " ".join(SURROGATE.sub("\ufffd", HIDDEN.sub("", text)).split())
    cut = cut_utf16(text, limit)
    return cut if len(cut) == len(text) else cut_utf16(text, limit - 1) + "…"


def preview(entry: Entry) -> str:
    """The line for an entry; empty when it has nothing to say."""
    return clean_line(_text(entry))


def _text(entry: Entry) -> str:
    kind = entry.get("type")
    if kind == "message":
        message = entry.get("message")
        return _message_text(message) if isinstance(message, dict) else ""
    if kind == "custom_message":
        return content_text(entry.get("content"), " ")
    names = _TOLD.get(kind, ()) if isinstance(kind, str) else ()
    return " ".join(_plain(entry[name]) for name in names if entry.get(name) is not None)


_TOLD = {
    "compaction": ("summary",),
    "branch_summary": ("summary",),
    "thinking_level_change": ("thinkingLevel",),
    "model_change": ("provider", "modelId"),
    "active_tools_change": ("activeToolNames",),
    "label": ("label",),
    "session_info": ("name",),
    "custom": ("customType",),
    "usage": ("kind", "model"),
    "context_edit": ("targetId",),
    "leaf": ("targetId",),
}


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(item for item in value if isinstance(item, str))
    return str(value) if isinstance(value, int | float) else ""


def _message_text(message: dict[str, Any]) -> str:
    role = message.get("role")
    if role == "bashExecution":
        return _plain(message.get("command"))
    text = content_text(message.get("content"), " ")
    if text.strip():
        return text
    if role in ("branchSummary", "compactionSummary"):
        return _plain(message.get("summary"))
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    if role == "assistant":
        return " · ".join(
            _call_text(block) for block in blocks if _is(block, "toolCall")
        ) or _plain(message.get("errorMessage"))
    images = sum(_is(block, "image") for block in blocks)
    return f"[{images} image{'s' if images > 1 else ''}]" if images else ""


def _is(block: Any, kind: str) -> bool:
    return isinstance(block, dict) and block.get("type") == kind


def _call_text(block: dict[str, Any]) -> str:
    arguments = block.get("arguments")
    name = _plain(block.get("name"))
    if not isinstance(arguments, dict):
        return name
    told = next((arguments[key] for key in ("path", "command", "pattern") if key in arguments), "")
    return f"{name} {_plain(told)}".strip()
