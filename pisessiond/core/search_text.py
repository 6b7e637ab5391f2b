"""What of an entry can be searched: its texts, each with who said it or which tool it is about."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from pisessiond.core.projection import Entry
from pisessiond.core.tokens import content_text

SUMMARY: Final = "summary"
LABEL: Final = "label"
NAME: Final = "name"

_NESTING_LOOKED_AT: Final = 32


@dataclass(frozen=True, slots=True)
class SearchText:
    """One text of an entry. An assistant's words are one, and each of its tool calls is another."""

    role: str
    """The message's role; `custom`, `summary`, `label` or `name` for other entries."""
    tool: str | None
    """The tool that is called or answers."""
    text: str


def search_texts(entry: Entry) -> list[SearchText]:
    """The texts of an entry, in an order that stays the same; those without words are left out.

    Images, and what extensions keep for themselves (`details`, `custom` entries), are no text.
    """
    return [one for one in _texts(entry) if one.text and not one.text.isspace()]


def _texts(entry: Entry) -> Iterator[SearchText]:
    kind = entry.get("type")
    if kind == "message":
        message = entry.get("message")
        if isinstance(message, dict):
            yield from _message_texts(message)
    elif kind == "custom_message":
        yield SearchText("custom", None, content_text(entry.get("content"), "\n"))
    elif kind in ("compaction", "branch_summary"):
        yield SearchText(SUMMARY, None, _text(entry.get("summary")))
    elif kind == "label":
        yield SearchText(LABEL, None, _text(entry.get("label")))
    elif kind == "session_info":
        yield SearchText(NAME, None, _text(entry.get("name")))


def _message_texts(message: dict[str, Any]) -> Iterator[SearchText]:
    role = message.get("role")
    role = role if isinstance(role, str) else ""
    content = message.get("content")
    if role == "assistant":
        yield from _assistant_texts(content, message)
    elif role == "toolResult":
        yield SearchText(role, _text(message.get("toolName")) or None, content_text(content, "\n"))
    elif role == "bashExecution":
        both = (_text(message.get("command")), _text(message.get("output")))
        yield SearchText(role, "bash", "\n".join(filter(None, both)))
    elif role == "system":
        sections = message.get("sections")
        told = [content_text(content, "\n")]
        told += _strings(sections) if isinstance(sections, dict) else []
        yield SearchText(role, None, "\n".join(filter(None, told)))
    elif role in ("branchSummary", "compactionSummary"):
        yield SearchText(SUMMARY, None, _text(message.get("summary")))
    else:
        # Version 3 calls a hook's message custom.
        role = "custom" if role == "hookMessage" else role
        yield SearchText(role, None, content_text(content, "\n"))


def _assistant_texts(content: Any, message: dict[str, Any]) -> Iterator[SearchText]:
    words = [content] if isinstance(content, str) else []
    calls = []
    for block in content if isinstance(content, list) else ():
        if not isinstance(block, dict):
            continue
        kind = block.get("type")
        if kind in ("text", "thinking"):
            words.append(_text(block.get(kind)))
        elif kind == "toolCall":
            name = _text(block.get("name"))
            told = "\n".join([name, *_strings(block.get("arguments"))])
            calls.append(SearchText("assistant", name or None, told))
    words.append(_text(message.get("errorMessage")))
    yield SearchText("assistant", None, "\n".join(filter(None, words)))
    yield from calls


def _strings(value: Any, depth: int = 0) -> Iterator[str]:
    """Every text and number in a value, without the names of members."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, bool) or depth > _NESTING_LOOKED_AT:
        return
    elif isinstance(value, int | float):
        yield str(value)
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner, depth + 1)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
