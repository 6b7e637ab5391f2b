"""The text of a conversation that a summary is made from.

Plain text instead of messages keeps a model from answering the conversation. The form is that of
pi 1.6.0's `convertToLlm` and `serializeConversation`; the words around shell output and earlier
summaries are our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from pisessiond.core.javascript import (
    cut_utf16,
    is_truthy,
    number_text,
    object_entries,
    stringify,
    utf16_length,
)
from pisessiond.core.tokens import content_text

TOOL_RESULT_LIMIT: Final = 2000
"""How many UTF-16 code units of a tool result a summary is given to read."""


def serialize_conversation(messages: Iterable[Mapping[str, Any]]) -> str:
    """The conversation as text: a paragraph for each thing said, called or returned.

    Thinking, system messages, unknown roles and shell output kept from the context are left out,
    and so are messages without text.
    """
    paragraphs: list[str] = []
    for message in messages:
        paragraphs.extend(_paragraphs(message))
    return "\n\n".join(paragraphs)


def _paragraphs(message: Mapping[str, Any]) -> list[str]:
    role = message.get("role")
    if role == "assistant":
        return _assistant_paragraphs(message.get("content"))
    if role == "toolResult":
        text = content_text(message.get("content"), "")
        return [f"[Tool result]: {_cut_result(text)}"] if text else []
    text = _user_text(message)
    return [f"[User]: {text}"] if text else []


def _user_text(message: Mapping[str, Any]) -> str:
    """What the model is told as the user's word; "" for roles it is not told of."""
    role = message.get("role")
    if role in ("user", "custom"):
        return content_text(message.get("content"), "")
    if role == "bashExecution":
        return "" if is_truthy(message.get("excludeFromContext")) else shell_text(message)
    if role == "branchSummary":
        return f"(Summary of another branch of this session)\n{_text(message.get('summary'))}"
    if role == "compactionSummary":
        return f"(Summary of the session up to here)\n{_text(message.get('summary'))}"
    return ""


def shell_text(message: Mapping[str, Any]) -> str:
    """A command that the user ran, what it printed and how it ended."""
    lines = [f"Shell command run by the user: {_text(message.get('command'))}"]
    output = _text(message.get("output"))
    lines.append(f"It printed:\n{output}" if output else "It printed nothing.")
    exit_code = message.get("exitCode")
    if is_truthy(message.get("cancelled")):
        lines.append("It was cancelled.")
    elif isinstance(exit_code, (int, float)) and exit_code != 0:
        lines.append(f"It failed with exit code {number_text(exit_code)}.")
    path = message.get("fullOutputPath")
    if is_truthy(message.get("truncated")) and isinstance(path, str) and path:
        lines.append(f"The output above is incomplete; all of it is in {path}.")
    return "\n".join(lines)


def _assistant_paragraphs(content: Any) -> list[str]:
    # Here a text alone is no content, as in the estimate: pi reads blocks only.
    blocks = [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []
    paragraphs = []
    # A block with an empty text still makes a paragraph in pi, unlike an empty user message.
    if any(block.get("type") == "text" for block in blocks):
        paragraphs.append(f"[Assistant]: {content_text(blocks, chr(10))}")
    calls = [_call_text(block) for block in blocks if block.get("type") == "toolCall"]
    if calls:
        paragraphs.append(f"[Assistant tool calls]: {'; '.join(calls)}")
    return paragraphs


def _call_text(block: Mapping[str, Any]) -> str:
    arguments = object_entries(block.get("arguments"))
    listed = ", ".join(f"{key}={stringify(value)}" for key, value in arguments)
    return f"{_text(block.get('name'))}({listed})"


def _cut_result(text: str) -> str:
    # A text with no more characters than units allowed may still be longer in units.
    length = utf16_length(text)
    if length <= TOOL_RESULT_LIMIT:
        return text
    head = cut_utf16(text, TOOL_RESULT_LIMIT)
    return f"{head}\n\n[... {length - TOOL_RESULT_LIMIT} more characters truncated]"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
