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
from pisessiond.core.tokens import IMAGE_CHARS, estimate_tokens, usage_tokens


class Own(msgspec.Struct, frozen=True, gc=False):
    """What one entry weighs by itself, before any context edit."""

    tokens: int
    """Estimate of its message; of a compaction that of its summary; 0 without a message."""
    usage: int
    """What the provider measured up to this answer, in tokens; 0 when it tells nothing."""
    parsed: dict[str, Any] | None
    """The entry, where the size of a system prompt has to be kept; else None."""


_NOTHING = Own(0, 0, None)


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
    content = message.content
    if isinstance(content, str):
        chars = 0 if kind == kinds.ASSISTANT else utf16_length(content)
    elif kind == kinds.ASSISTANT:
        chars = _assistant_chars(content)
    else:
        chars = _plain_chars(content)
    usage = 0
    if kind == kinds.ASSISTANT and message.usage is not None:
        usage = message.usage.totalTokens
        if usage <= 0:
            raise _Odd
        if message.stopReason in ("aborted", "error"):
            usage = 0
    return Own((chars + 3) // 4, usage, None)


def _assistant_chars(content: list[_Block]) -> int:
    chars = 0
    for block in content:
        kind = block.type
        if kind == "text":
            text = block.text
        elif kind == "thinking":
            text = block.thinking
        elif kind == "toolCall":
            arguments = block.arguments
            if arguments is msgspec.UNSET:
                raise _Odd
            spelled = _spell(arguments)
            chars += len(spelled) if spelled.isascii() else utf16_length(spelled.decode())
            text = block.name
        else:
            continue
        if text is None:
            raise _Odd
        chars += len(text) if text.isascii() else utf16_length(text)
    return chars


def _plain_chars(content: list[_Block]) -> int:
    chars = 0
    for block in content:
        if block.type == "text":
            text = block.text
            if text is None:
                raise _Odd
            chars += len(text) if text.isascii() else utf16_length(text)
        elif block.type == "image":
            chars += IMAGE_CHARS
    return chars


def measure_entry(kind: int, line: bytes) -> Own:
    """The same as `measure` by parsing the line in full."""
    try:
        entry = parse_json(line)
    except NotJson:
        return _NOTHING
    if not isinstance(entry, dict):
        return _NOTHING
    if kind == kinds.COMPACTION:
        return Own(estimate_tokens(compaction_summary_message(entry)), 0, entry)
    messages = entry_messages(entry)
    tokens = sum(estimate_tokens(message) for message in messages)
    usage = usage_tokens(messages[0]) or 0 if kind == kinds.ASSISTANT and messages else 0
    return Own(tokens, usage, entry if kind == kinds.SYSTEM else None)
