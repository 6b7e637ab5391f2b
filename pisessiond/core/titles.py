"""One plain line that tells most of an entry first, for lists and trees (UX.md, "Titles").

Where `preview` shows how an entry begins, a title says what it is: the tool before its target, the
end of a long path, the first line of a text that says anything. A tool result is known by the call
it answers, which stands in another entry.
"""

from __future__ import annotations

import re
from typing import Any, Final, TypeGuard

from pisessiond.core.export_text import format_tokens, plain
from pisessiond.core.javascript import utf16_length
from pisessiond.core.preview import clean_line, preview
from pisessiond.core.projection import Entry
from pisessiond.core.tokens import content_text

LIMIT: Final = 80
"""UTF-16 code units of a title at most, where nothing else is asked for."""

_PATH_UNITS: Final = 40
"""A longer path is shown by its end."""

_LOOKED_AT: Final = 2_000
"""Characters of a text that are looked at."""

_TOLD_BY: Final = ("command", "pattern", "query", "url")
_PATHS: Final = ("path", "file_path", "filePath", "file")

# Signs that Markdown puts in front of a line: headings, quotes, list items, boxes.
_FRONT = re.compile(r"^(?:(?:#{1,6}|>|[-*+]|\d{1,3}[.)]|\[[ xX]\])\s+)+")
_LONE_TAG = re.compile(r"^(?:</?[A-Za-z][^<>]*>\s*)+$")
_FENCE = re.compile(r"^(?:`{3,}|~{3,})")
_SIGNS_ONLY = re.compile(r"^[\s#>*+\-_=|:~`.]*$")
_EMPHASIS = re.compile(r"(\*\*|__|``?)(?=\S)(.+?)(?<=\S)\1")


def title(entry: Entry, call: str = "", limit: int = LIMIT) -> str:
    """The line for an entry.

    Args:
        entry: its body.
        call: of a tool result, the title of the call it answers (`call_title`); "" when unknown.
        limit: UTF-16 code units at most.
    """
    kind = entry.get("type")
    if kind == "message":
        message = entry.get("message")
        return _message_title(message, call, limit) if isinstance(message, dict) else ""
    if kind == "custom_message":
        text = telling_line(content_text(entry.get("content"), "\n"), limit)
        return _joined(": ", plain(entry.get("customType")), text, limit=limit)
    if kind == "compaction":
        before = entry.get("tokensBefore")
        return f"Compaction {format_tokens(before)}" if _is_count(before) else "Compaction"
    if kind == "branch_summary":
        summary = entry.get("summary")
        line = telling_line(summary, limit) if isinstance(summary, str) else ""
        return _joined(": ", "Summary of the branch left", line, limit=limit)
    word = _META.get(kind) if isinstance(kind, str) else None
    if word is None:
        return _joined(": ", "unknown", plain(kind), limit=limit)
    return _joined(" ", word, preview(entry), limit=limit)


_META: Final = {
    "thinking_level_change": "thinking",
    "model_change": "model",
    "active_tools_change": "tools",
    "label": "label",
    "session_info": "name",
    "custom": "state",
    "usage": "usage",
    "context_edit": "edit",
    "leaf": "leaf",
}


def telling_line(text: str, limit: int = LIMIT) -> str:
    """The first line of a text that says anything, without the signs Markdown puts around it.

    Blank lines, rules, fences and lines of nothing but tags say nothing.
    """
    beginning = text.lstrip()[:_LOOKED_AT]
    for line in beginning.splitlines():
        line = line.strip()
        if _SIGNS_ONLY.match(line) or _LONE_TAG.match(line) or _FENCE.match(line):
            continue
        told = clean_line(_EMPHASIS.sub(r"\2", _FRONT.sub("", line)), limit)
        if told:
            return told
    return clean_line(beginning, limit)


def call_title(call: Any, limit: int = LIMIT) -> str:
    """A tool call's name and what it is about: `bash pytest -q`, `read …/store.py:40-80`."""
    if not isinstance(call, dict):
        return ""
    arguments = call.get("arguments")
    given = arguments if isinstance(arguments, dict) else {}
    return _joined(" ", plain(call.get("name")) or "call", _target(given), limit=limit)


def _target(arguments: dict[str, Any]) -> str:
    for name in _TOLD_BY:
        if told := plain(arguments.get(name)):
            return told
    for name in _PATHS:
        if told := plain(arguments.get(name)):
            return _end_of_path(told) + _lines(arguments)
    texts = (value for value in arguments.values() if isinstance(value, str))
    return next(filter(None, map(telling_line, texts)), "")


def _end_of_path(path: str) -> str:
    """A path as it is, or `…/` and as many of its last parts as there is room for."""
    if utf16_length(path) <= _PATH_UNITS:
        return path
    shown, rest = "", path
    while "/" in rest:
        rest, _, last = rest.rpartition("/")
        longer = f"/{last}{shown}"
        if shown and utf16_length(longer) >= _PATH_UNITS:
            break
        shown = longer
    return "…" + shown if shown else path


def _lines(arguments: dict[str, Any]) -> str:
    """`:40-80` where only some lines of a file are read."""
    first, count = arguments.get("offset"), arguments.get("limit")
    if not _is_count(first):
        return ""
    return f":{first}-{first + count - 1}" if _is_count(count) else f":{first}"


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def calls_of(entry: Entry) -> list[dict[str, Any]]:
    """The tool calls of an answer, as they stand there."""
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else []
    return [one for one in blocks if isinstance(one, dict) and one.get("type") == "toolCall"]


def _message_title(message: dict[str, Any], call: str, limit: int) -> str:
    role = message.get("role")
    content = message.get("content")
    if role == "toolResult":
        return clean_line(call, limit) or _result_title(message, limit)
    if role == "bashExecution":
        return clean_line(plain(message.get("command")), limit)
    if role == "assistant":
        return _answer_title(message, limit)
    if role in ("branchSummary", "compactionSummary"):
        content = message.get("summary")
    text = telling_line(content_text(content, "\n"), limit)
    if role == "custom":
        return _joined(": ", plain(message.get("customType")), text, limit=limit)
    return text or _images(content)


def _result_title(message: dict[str, Any], limit: int) -> str:
    """A tool result whose call is not known: its tool, and how it begins."""
    content = message.get("content")
    told = telling_line(content_text(content, "\n"), limit) or _images(content)
    return _joined(": ", plain(message.get("toolName")), told, limit=limit)


def _answer_title(message: dict[str, Any], limit: int) -> str:
    text = telling_line(content_text(message.get("content"), "\n"), limit)
    if text:
        return text
    calls = [call_title(block, limit) for block in calls_of({"message": message})]
    stop = message.get("stopReason")
    if not calls and stop == "error":
        return _joined(": ", "error", plain(message.get("errorMessage")), limit=limit)
    if not calls and stop == "aborted":
        return "aborted"
    return clean_line(" · ".join(calls), limit) or "thinking"


def _images(content: Any) -> str:
    blocks = content if isinstance(content, list) else []
    count = sum(isinstance(one, dict) and one.get("type") == "image" for one in blocks)
    return f"[{count} image{'s' if count > 1 else ''}]" if count else ""


def _joined(between: str, *words: str, limit: int) -> str:
    return clean_line(between.join(filter(None, words)), limit)
