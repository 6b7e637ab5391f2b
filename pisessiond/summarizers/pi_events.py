"""What `pi --mode json` tells while it answers one prompt (pi 1.6.0, `docs/json.md`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from pisessiond.core.javascript import NotJson, parse_json, utf16_length
from pisessiond.core.summary_text import sum_usage
from pisessiond.core.tokens import content_text
from pisessiond.summarizers.base import Received

LINE_LIMIT: Final = 64 << 20
"""Bytes of one line. pi repeats the whole prompt in some of them."""

# The prompt comes back in these; they are told apart without reading them.
_OF_NO_USE: Final = (
    b'{"type":"message_start","message":{"role":"user"',
    b'{"type":"message_end","message":{"role":"user"',
    b'{"type":"turn_end"',
)


class Message(msgspec.Struct, gc=False, rename="camel"):
    """An answer of the model; what is not read here may have any shape."""

    role: str
    content: Any = None
    provider: str | None = None
    model: str | None = None
    usage: Any = None
    stop_reason: str | None = None
    raw_stop_reason: str | None = None
    error_message: str | None = None

    @property
    def text(self) -> str:
        return content_text(self.content, "\n")


class _Piece(msgspec.Struct, gc=False):
    type: str
    delta: Any = None


class _Event(msgspec.Struct, gc=False, rename="camel"):
    type: str
    message: Message | None = None
    assistant_message_event: _Piece | None = None
    will_retry: bool = False


_decode = msgspec.json.Decoder(_Event).decode


class PiEvents:
    """The answer as far as it has come."""

    def __init__(self, received: Received) -> None:
        self._received = received
        self._rest = bytearray()
        self._units = 0
        self._usages: list[Mapping[str, Any]] = []
        self.answer: Message | None = None
        """The last one that is whole; None before."""
        self.is_over = False
        """Nothing more is wanted. pi itself may go on: it calls tools that are not there, and
        compacts a conversation that is over."""
        self.calls_tool = False

    @property
    def usage(self) -> dict[str, Any] | None:
        """What all attempts used together; None when none tells."""
        return sum_usage(self._usages)

    def take(self, piece: bytes) -> bool:
        """Read some output; whether nothing more is wanted."""
        *lines, rest = piece.split(b"\n")
        for line in lines:
            if not self.is_over:
                self._take_line(bytes(self._rest + line))
            self._rest.clear()
        self._rest += rest
        return self.is_over or len(self._rest) > LINE_LIMIT

    def _take_line(self, line: bytes) -> None:
        if line.startswith(_OF_NO_USE):
            return
        event = _read(line)
        if event is None:
            return
        if event.type == "message_update":
            self._take_piece(event.assistant_message_event)
        elif event.message is not None and event.message.role == "assistant":
            self._take_answer(event.type, event.message)
        elif event.type == "agent_end":
            self.is_over = self.answer is not None and not event.will_retry

    def _take_piece(self, piece: _Piece | None) -> None:
        if piece is None:
            return
        if piece.type == "text_delta" and isinstance(piece.delta, str):
            self._units += utf16_length(piece.delta)
            self._received(self._units)
        elif piece.type.startswith("toolcall"):
            self.calls_tool = self.is_over = True

    def _take_answer(self, kind: str, message: Message) -> None:
        if kind == "message_start":
            self._units = 0
        elif kind == "message_end":
            self.answer = message
            if isinstance(message.usage, dict) and message.usage.get("totalTokens"):
                self._usages.append(message.usage)
            # After an error `agent_end` says whether pi tries again.
            self.is_over = message.stop_reason not in ("error", "aborted")


def _read(line: bytes) -> _Event | None:
    try:
        return _decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    # A surrogate without a partner is JSON to pi.
    try:
        return msgspec.convert(parse_json(line), _Event)
    except (NotJson, msgspec.MsgspecError, RecursionError):
        return None
