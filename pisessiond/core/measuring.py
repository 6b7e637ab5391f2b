"""The size of one entry, straight from its line.

Sizing a whole file is what a client waits for after opening it, so ordinary messages take a fast
road: msgspec decodes just the texts that count. Whatever has another shape is parsed in full and
given to `tokens`; both roads give the same figures (tests compare them).
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from pisessiond.core import kinds
from pisessiond.core.javascript import NotJson, parse_json, utf16_length
from pisessiond.core.projection import compaction_summary_message, entry_messages
from pisessiond.core.tokens import (
    IMAGE_CHARS,
    estimate_tokens,
    message_parts,
    usage_tokens,
)


class Own(msgspec.Struct, frozen=True, gc=False):
    """What one entry weighs by itself, before any context edit."""

    tokens: int
    """Estimate of its message; of a compaction that of its summary; 0 without a message."""
    usage: int = 0
    """What the provider measured up to this answer, in tokens; 0 when it tells nothing."""
    thinking: int = 0
    """Of `tokens`, what an answer's thinking takes (`tokens.message_parts`)."""
    tool_calls: int = 0
    """Of `tokens`, what an answer's tool calls take."""
    images: int = 0
    """Of `tokens`, what images take."""
    parsed: dict[str, Any] | None = None
    """The entry, where the size of a system prompt has to be kept; else None."""


_NOTHING = Own(0)


# JSON that msgspec spells as JavaScript does, so that its spelling's length may be taken: no
# fractions or exponents, and integers that a double holds. Five levels are as deep as arguments
# go in practice; what is deeper, like any other number, takes the slow road.
_Scalar = str | Annotated[int, msgspec.Meta(ge=-(2**53), le=2**53)] | bool | None
_Level1 = _Scalar | list[_Scalar] | dict[str, _Scalar]
_Level2 = _Scalar | list[_Level1] | dict[str, _Level1]
_Level3 = _Scalar | list[_Level2] | dict[str, _Level2]
_Level4 = _Scalar | list[_Level3] | dict[str, _Level3]


class _Block(msgspec.Struct, gc=False):
    type: str
    text: str | None = None
    thinking: str | None = None
    name: str | None = None
    arguments: dict[str, _Level4] | msgspec.UnsetType = msgspec.UNSET


class _Usage(msgspec.Struct, gc=False):
    totalTokens: int = 0  # noqa: N815 - the file's own spelling


class _Message(msgspec.Struct, gc=False):
    content: str | list[_Block]
    usage: _Usage | None = None
    stopReason: str | None = None  # noqa: N815


class _Line(msgspec.Struct, gc=False):
    message: _Message


_decode = msgspec.json.Decoder(_Line).decode
_spell = msgspec.json.Encoder().encode
_FAST = frozenset({kinds.USER, kinds.ASSISTANT, kinds.TOOL_RESULT})
_WEIGHTLESS = frozenset(range(256)) - kinds.GIVES_MESSAGE


def measure(kind: int, line: bytes) -> Own:
    """The size of the entry on `line` (migrated), whose kind the index knows."""
    if kind in _WEIGHTLESS:
        return _NOTHING
    if kind in _FAST:
        try:
            return _measure_fast(kind, _decode(line).message)
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError, _Odd):
            pass
    return measure_entry(kind, line)


class _Odd(Exception):
    """The message has a shape that the fast road does not know."""


def _measure_fast(kind: int, message: _Message) -> Own:
    if kind == kinds.ASSISTANT:
        return _measure_answer(message)
    content = message.content
    if isinstance(content, str):
        return Own((utf16_length(content) + 3) // 4)
    chars, images = _plain_chars(content)
    if not images:
        return Own((chars + 3) // 4)
    return Own((chars + images + 3) // 4, images=images // 4)


def _measure_answer(message: _Message) -> Own:
    content = message.content
    text, thinking, calls = (0, 0, 0) if isinstance(content, str) else _answer_chars(content)
    usage = 0
    if message.usage is not None:
        usage = message.usage.totalTokens
        if usage <= 0:
            raise _Odd
        if message.stopReason in ("aborted", "error"):
            usage = 0
    # Rounded as `message_parts` does it.
    first = (thinking + 3) // 4
    both = (thinking + calls + 3) // 4
    return Own((thinking + calls + text + 3) // 4, usage, first, both - first)


def _answer_chars(content: list[_Block]) -> tuple[int, int, int]:
    """The characters of an answer's text, thinking and tool calls."""
    spoken = thought = called = 0
    for block in content:
        kind = block.type
        if kind == "text":
            text = block.text
            if text is None:
                raise _Odd
            spoken += len(text) if text.isascii() else utf16_length(text)
        elif kind == "thinking":
            text = block.thinking
            if text is None:
                raise _Odd
            thought += len(text) if text.isascii() else utf16_length(text)
        elif kind == "toolCall":
            arguments, text = block.arguments, block.name
            if arguments is msgspec.UNSET or text is None:
                raise _Odd
            spelled = _spell(arguments)
            called += len(spelled) if spelled.isascii() else utf16_length(spelled.decode())
            called += len(text) if text.isascii() else utf16_length(text)
    return spoken, thought, called


def _plain_chars(content: list[_Block]) -> tuple[int, int]:
    """The characters of texts, and those that images count like."""
    chars = images = 0
    for block in content:
        if block.type == "text":
            text = block.text
            if text is None:
                raise _Odd
            chars += len(text) if text.isascii() else utf16_length(text)
        elif block.type == "image":
            images += IMAGE_CHARS
    return chars, images


def measure_entry(kind: int, line: bytes) -> Own:
    """The same as `measure` by parsing the line in full."""
    try:
        entry = parse_json(line)
    except NotJson:
        return _NOTHING
    if not isinstance(entry, dict):
        return _NOTHING
    if kind == kinds.COMPACTION:
        return Own(estimate_tokens(compaction_summary_message(entry)), parsed=entry)
    messages = entry_messages(entry)
    if not messages:
        return _NOTHING if kind != kinds.SYSTEM else Own(0, parsed=entry)
    (message,) = messages
    parts = message_parts(message)
    return Own(
        sum(parts.values()),
        usage_tokens(message) or 0 if kind == kinds.ASSISTANT else 0,
        parts.get("thinking", 0),
        parts.get("toolCalls", 0),
        parts.get("images", 0),
        entry if kind == kinds.SYSTEM else None,
    )
