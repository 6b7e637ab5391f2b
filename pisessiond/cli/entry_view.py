"""Entries and messages as text to read: pure functions of their JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from pisessiond.cli.figures import parse_time
from pisessiond.cli.plain_text import clean_line, clean_text, cut

_BODIES = {
    "compaction": "summary",
    "branch_summary": "summary",
    "custom_message": "content",
    "session_info": "name",
    "label": "label",
    "thinking_level_change": "thinkingLevel",
}
_HEADS = {"type", "id", "parentId", "timestamp"}


def entry_lines(entry: dict[str, Any]) -> Iterator[str]:
    """An entry: one line of what it is, then its text, indented."""
    message = entry.get("message")
    kind = str(entry.get("type"))
    if isinstance(message, dict) and message.get("role"):
        kind = str(message["role"])
    time = parse_time(_text(entry.get("timestamp")))
    parts = [clean_line(kind), clean_line(str(entry.get("id")))]
    parts += [f"{time:%Y-%m-%d %H:%M:%S}"] if time else []
    parts += [f"under {clean_line(str(entry['parentId']))}"] if entry.get("parentId") else []
    yield " · ".join(parts)
    for line in _entry_body(entry).split("\n"):
        yield f"  {line}".rstrip()


def message_lines(messages: list[dict[str, Any]], sources: list[Any], width: int) -> Iterator[str]:
    """A projection: one line for each message, with the entry it comes from."""
    for message, source in zip(messages, sources, strict=False):
        role = clean_line(str(message.get("role")))
        text = clean_line(message_text(message)[:1000])
        yield cut(f"{clean_line(str(source)):<8}  {role:<17} {text}", width)


def message_text(message: dict[str, Any]) -> str:
    """What a message says, tool calls and images in a few words."""
    if message.get("role") == "bashExecution":
        return f"$ {message.get('command')}\n{message.get('output') or ''}"
    if "summary" in message:
        return str(message["summary"])
    return _content_text(message.get("content"))


def _entry_body(entry: dict[str, Any]) -> str:
    kind = entry.get("type")
    message = entry.get("message")
    if isinstance(message, dict):
        return clean_text(message_text(message)).strip("\n")
    if kind == "model_change":
        return clean_line(f"{entry.get('provider')}/{entry.get('modelId')}")
    member = _BODIES.get(str(kind))
    if member is not None and member in entry:
        return clean_text(_content_text(entry[member])).strip("\n")
    rest = {key: value for key, value in entry.items() if key not in _HEADS}
    return clean_text(json.dumps(rest, ensure_ascii=False, indent=2))


def _content_text(content: Any) -> str:
    if not isinstance(content, list):
        return "" if content is None else str(content)
    return "\n".join(text for text in map(_block_text, content) if text)


def _block_text(block: Any) -> str:
    if not isinstance(block, dict):
        return str(block)
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "thinking":
            return f"[thinking] {block.get('thinking', '')}"
        case "toolCall":
            return f"[{block.get('name')}] {json.dumps(block.get('arguments'), ensure_ascii=False)}"
        case "image":
            return "[image]"
        case kind:
            return f"[{kind}]"


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
