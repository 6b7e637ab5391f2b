"""What an entry says to a reader: who, since when, and its parts in their order.

Both the Markdown and the HTML export are made from this, so that they tell the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pisessiond.core.export_text import arguments_text, clean_block, clock_of, plain
from pisessiond.core.javascript import is_truthy, stringify
from pisessiond.core.projection import Entry
from pisessiond.core.tokens import content_text

PartKind = Literal["text", "thinking", "call", "result", "shell", "summary", "system", "data"]
"""`text` and `summary` are read, all others are folded."""


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that an entry says. Its texts are clean (`export_text`)."""

    kind: PartKind
    title: str
    """One line that tells it from its neighbours; "" where the text does."""
    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """An entry as it is shown."""

    who: str
    """`You`, `Assistant`, …"""
    style: Literal["user", "answer", "work", "shell", "note", "summary", "meta"]
    detail: str
    """A model, a tool, a kind of note; "" without."""
    failed: bool
    day: str
    time: str
    parts: tuple[Part, ...]

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The tools it calls."""
        return tuple(part.title.split(" ", 1)[0] for part in self.parts if part.kind == "call")


def tell(entry: Entry) -> Told | None:
    """What an entry says; None for those that only keep state (settings, labels, names, usage)."""
    kind = entry.get("type")
    if kind == "message":
        message = entry.get("message")
        return _message(entry, message) if isinstance(message, dict) else None
    if kind == "custom_message":
        if not is_truthy(entry.get("display")):
            return None
        return _told(
            entry, "Note", "note", plain(entry.get("customType")), _content(entry.get("content"))
        )
    if kind == "compaction":
        before = entry.get("tokensBefore")
        detail = f"{before:,.0f} tokens before" if _is_number(before) else ""
        return _told(entry, "Compaction", "summary", detail, _summary(entry))
    if kind == "branch_summary":
        return _told(entry, "Summary of the branch left", "summary", "", _summary(entry))
    if kind == "model_change":
        return _told(entry, "Model", "meta", plain(entry.get("modelId")), [])
    if kind == "context_edit":
        how = "left out of" if entry.get("replacement") is None else "replaced in"
        detail = f"{plain(entry.get('targetId'))} {how} the context from here on"
        return _told(entry, "Edit", "meta", detail, [])
    if kind in _STATE:
        return None
    return _told(entry, "Unknown entry", "meta", plain(kind), [_data(entry)])


_STATE = (
    "thinking_level_change",
    "active_tools_change",
    "label",
    "session_info",
    "usage",
    "custom",
    "leaf",
)
"""A tuple: a `type` that was read from a file may be anything, even a list."""


def _message(entry: Entry, message: dict[str, Any]) -> Told:
    role = message.get("role")
    content = message.get("content")
    if role == "user":
        return _told(entry, "You", "user", "", _content(content))
    if role == "assistant":
        return _assistant(entry, message)
    if role == "toolResult":
        name = plain(message.get("toolName"))
        failed = is_truthy(message.get("isError"))
        text = _joined(content)
        parts = [Part("result", name, text)]
        return _told(entry, "Tool result", "work", name, parts, failed=failed)
    if role == "bashExecution":
        return _shell(entry, message)
    if role == "system":
        return _told(entry, "System", "meta", "", [Part("system", "prompt", _joined(content))])
    if role == "custom":
        return _told(entry, "Note", "note", plain(message.get("customType")), _content(content))
    return _told(entry, "Message", "note", plain(role), [_data(message)])


def _assistant(entry: Entry, message: dict[str, Any]) -> Told:
    parts: list[Part] = []
    content = message.get("content")
    for block in content if isinstance(content, list) else [content]:
        if isinstance(block, str):
            parts.append(Part("text", "", clean_block(block)))
        elif isinstance(block, dict):
            parts.append(_block(block))
    parts = [part for part in parts if part.text.strip() or part.kind == "call"]
    stop = message.get("stopReason")
    failed = stop in ("error", "aborted")
    if failed:
        reason = plain(message.get("errorMessage"), 2_000)
        parts.append(Part("text", "", f"{stop}: {reason}" if reason else str(stop)))
    speaks = any(part.kind == "text" for part in parts)
    calls = any(part.kind == "call" for part in parts)
    style: Literal["answer", "work"] = "answer" if speaks or not calls else "work"
    return _told(entry, "Assistant", style, plain(message.get("model")), parts, failed=failed)


def _block(block: dict[str, Any]) -> Part:
    kind = block.get("type")
    if kind == "text":
        return Part("text", "", clean_block(content_text([block], "")))
    if kind == "thinking":
        text = block.get("thinking")
        return Part("thinking", "thinking", clean_block(text) if isinstance(text, str) else "")
    if kind == "toolCall":
        arguments = block.get("arguments")
        return Part("call", _call_title(block.get("name"), arguments), arguments_text(arguments))
    if kind == "image":
        return Part("text", "", f"[{_image(block)}]")
    return _data(block)


def _call_title(name: Any, arguments: Any) -> str:
    given = arguments if isinstance(arguments, dict) else {}
    told = next((given[key] for key in ("path", "command", "pattern") if key in given), "")
    return f"{plain(name) or 'call'} {plain(told, 120)}".rstrip()


def _image(block: dict[str, Any]) -> str:
    kind = plain(block.get("mimeType")) or "image"
    data = block.get("data")
    return f"{kind}, {len(data) * 3 // 4:,} bytes" if isinstance(data, str) else kind


def _content(content: Any) -> list[Part]:
    if isinstance(content, str):
        return [Part("text", "", clean_block(content))]
    blocks = content if isinstance(content, list) else []
    return [_block(block) for block in blocks if isinstance(block, dict)]


def _joined(content: Any) -> str:
    return "\n".join(part.text for part in _content(content)).rstrip("\n")


def _shell(entry: Entry, message: dict[str, Any]) -> Told:
    code = message.get("exitCode")
    failed = is_truthy(message.get("cancelled")) or (_is_number(code) and code != 0)
    command, output = message.get("command"), message.get("output")
    title = plain(command)
    text = clean_block(output).rstrip("\n") if isinstance(output, str) else ""
    return _told(entry, "Shell", "shell", title, [Part("shell", title, text)], failed=failed)


def _summary(entry: Entry) -> list[Part]:
    summary = entry.get("summary")
    return [Part("summary", "", clean_block(summary))] if isinstance(summary, str) else []


def _data(value: dict[str, Any]) -> Part:
    return Part("data", plain(value.get("type")) or "data", clean_block(stringify(value)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _told(
    entry: Entry,
    who: str,
    style: Literal["user", "answer", "work", "shell", "note", "summary", "meta"],
    detail: str,
    parts: list[Part],
    *,
    failed: bool = False,
) -> Told:
    day, time = clock_of(entry)
    return Told(who, style, detail, failed, day, time, tuple(parts))
