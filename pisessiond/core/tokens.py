"""How large messages are: estimated from their characters, or measured by the provider.

The rules are those of pi 1.6.0's `estimateTokens`, `getAssistantUsage` and
`calculateContextTokens`. Where pi would throw over a malformed message, the malformed part
counts 0 here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from pisessiond.core.javascript import (
    is_truthy,
    join_pairs,
    number_text,
    object_entries,
    stringify_length,
    utf16_length,
)

Part: TypeAlias = Literal[
    "system",
    "user",
    "assistant",
    "thinking",
    "toolCalls",
    "toolResults",
    "images",
    "summaries",
]
"""What a context is made of. Custom messages and shell output count as `user`."""

PARTS: Final[tuple[Part, ...]] = (
    "system",
    "user",
    "assistant",
    "thinking",
    "toolCalls",
    "toolResults",
    "images",
    "summaries",
)

IMAGE_CHARS: Final = 4800
"""An image counts like this many characters, whatever its size (pi's ESTIMATED_IMAGE_CHARS)."""

_ROUNDING: Final[tuple[Part, ...]] = (
    "images",
    "system",
    "user",
    "toolResults",
    "summaries",
    "thinking",
    "toolCalls",
    "assistant",
)
"""The order in which the parts of one message are rounded: images first, so that one is 1,200."""

_CONTENT_PARTS: Final[dict[str, Part]] = {
    "user": "user",
    "custom": "user",
    "toolResult": "toolResults",
    "system": "system",
}


def estimate_tokens(message: Mapping[str, Any]) -> int:
    """The estimated tokens of one message: its characters divided by four, rounded up."""
    return (sum(message_chars(message).values()) + 3) // 4


def message_parts(message: Mapping[str, Any]) -> dict[Part, int]:
    """The estimated tokens of one message by what they are; they add up to its estimate."""
    chars = message_chars(message)
    parts: dict[Part, int] = {}
    seen = told = 0
    for part in _ROUNDING:
        if part in chars:
            # What one part is rounded up by, the next one has less: the sum is rounded once.
            seen += chars[part]
            up_to_here = (seen + 3) // 4
            parts[part] = up_to_here - told
            told = up_to_here
    return parts


def message_chars(message: Mapping[str, Any]) -> dict[Part, int]:
    """The characters (UTF-16 code units) of one message by what they are.

    Only the parts that the message can have are there; a message of an unknown role has none.
    """
    role = message.get("role")
    if role == "assistant":
        return _assistant_chars(message.get("content"))
    if role == "bashExecution":
        return {"user": _length(message.get("command")) + _length(message.get("output"))}
    if role in ("branchSummary", "compactionSummary"):
        return {"summaries": _length(message.get("summary"))}
    part = _CONTENT_PARTS.get(role) if isinstance(role, str) else None
    if part is None:
        return {}
    chars = _content_chars(part, message.get("content"))
    if role == "system":
        chars["system"] += _system_extras(message)
    return chars


def _assistant_chars(content: Any) -> dict[Part, int]:
    text = thinking = calls = 0
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        if kind == "text":
            text += _length(block.get("text"))
        elif kind == "thinking":
            thinking += _length(block.get("thinking"))
        elif kind == "toolCall":
            calls += _length(block.get("name"))
            if "arguments" in block:
                calls += stringify_length(block["arguments"])
    return {"assistant": text, "thinking": thinking, "toolCalls": calls}


def _content_chars(part: Part, content: Any) -> dict[Part, int]:
    if not isinstance(content, list):
        return {part: _length(content)}
    text = images = 0
    for block in content:
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        if kind == "text":
            text += _length(block.get("text"))
        elif kind == "image":
            images += IMAGE_CHARS
    return {part: text, "images": images}


def _system_extras(message: Mapping[str, Any]) -> int:
    chars = sum(_length(text) for _, text in object_entries(message.get("sections")))
    tools = message.get("toolsAdded")
    return chars + stringify_length(tools) if is_truthy(tools) else chars


def _length(text: Any) -> int:
    return utf16_length(text) if isinstance(text, str) else 0


def usage_tokens(message: Mapping[str, Any]) -> int | None:
    """The tokens that the provider measured up to and with this assistant message.

    `totalTokens`, or else the sum of its four parts, all of which must be there. None when the
    message tells nothing: another role, no usage, zero or less, no number, or an answer that was
    aborted or failed. Ours: a text where a number should be, which pi would glue to the estimate,
    is None; a fraction is rounded up.
    """
    if message.get("role") != "assistant" or message.get("stopReason") in ("aborted", "error"):
        return None
    usage = message.get("usage")
    if not isinstance(usage, dict):
        return None
    total = usage.get("totalTokens")
    if not is_truthy(total):
        total = _sum_of_parts(usage)
    if isinstance(total, bool) or not isinstance(total, (int, float)):
        return None
    return math.ceil(total) if 0 < total < math.inf else None


def _sum_of_parts(usage: Mapping[str, Any]) -> float | None:
    total: float = 0
    for name in ("input", "output", "cacheRead", "cacheWrite"):
        # A missing one makes the sum NaN in JavaScript, null counts as 0.
        part = usage.get(name, "")
        if part is None:
            continue
        if not isinstance(part, (int, float)):
            return None
        total += part
    return total


def content_text(content: Any, separator: str) -> str:
    """The text blocks of a message's content, joined (pi: `contentText`); "" for no content."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (block.get("text") for block in content if _is_text_block(block))
    joined = separator.join(map(_as_text, texts))
    # Where nothing stands between two texts, the halves of a pair become one character.
    return joined if separator or joined.isascii() else join_pairs(joined)


def _is_text_block(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text"


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value) if isinstance(value, (int, float)) else ""
