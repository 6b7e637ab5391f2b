"""What rows need to know of an entry beside its kind: one byte, and the tool of a result.

Sizing does without it, and so does whoever draws no rows; so it is gathered when rows are first
asked for, and then goes on with each entry that is appended.
"""

from __future__ import annotations

from array import array
from typing import Any, Final

import msgspec

from pisessiond.core import kinds
from pisessiond.core.javascript import is_truthy
from pisessiond.core.projection import Entry
from pisessiond.core.session import Session
from pisessiond.core.titles import calls_of
from pisessiond.core.tokens import content_text

TEXT: Final = 1
"""An answer says something."""
CALLS: Final = 2
"""It calls tools."""
ERROR: Final = 4
ABORTED: Final = 8
FAILED: Final = 16
"""A result or a shell command that did not go well."""
SHOWN: Final = 32
"""A custom message that is for people too."""

_STEP: Final = 512
_TOLD: Final = frozenset(
    {kinds.ASSISTANT, kinds.TOOL_RESULT, kinds.BASH, kinds.CUSTOM_MESSAGE, kinds.CUSTOM_ROLE}
)
_NO_TOOL: Final = 0


class _Block(msgspec.Struct, gc=False):
    type: str
    text: msgspec.Raw = msgspec.Raw(b'""')


class _Answer(msgspec.Struct, gc=False):
    content: list[_Block]
    stopReason: str | None = None  # noqa: N815 - the file's own spelling


class _AnswerLine(msgspec.Struct, gc=False):
    message: _Answer


class _Result(msgspec.Struct, gc=False):
    toolName: str | None = None  # noqa: N815
    isError: bool | None = None  # noqa: N815


class _ResultLine(msgspec.Struct, gc=False):
    message: _Result


_decode_answer = msgspec.json.Decoder(_AnswerLine).decode
_decode_text = msgspec.json.Decoder(str).decode
_QUOTE: Final = ord('"')
_ESCAPE: Final = ord("\\")
_FIRST: Final = ord("!")
_LAST: Final = ord("~")
_decode_result = msgspec.json.Decoder(_ResultLine).decode


class Shapes:
    """The shapes of the rows of one session, as far as they were told."""

    def __init__(self) -> None:
        self.of = bytearray()
        """By row."""
        self._tool = array("H")
        self._names: list[str] = [""]
        self._numbers: dict[str, int] = {"": _NO_TOOL}

    def __len__(self) -> int:
        return len(self.of)

    def tool(self, row: int) -> str:
        """The tool of a result; "" for every other entry."""
        return self._names[self._tool[row]]

    def fill(self, session: Session) -> None:
        """Tell the rest of the session's rows; reads their bodies."""
        stop = len(session.index)
        while len(self.of) < stop:
            start = len(self.of)
            rows = range(start, min(start + _STEP, stop))
            shapes, tools = bytearray(len(rows)), array("H", [_NO_TOOL]) * len(rows)
            told = [row for row in rows if session.index.kind[row] in _TOLD]
            for row, line in zip(told, session.lines(told), strict=True):
                shape, tool = _line_shape(session, row, line)
                shapes[row - start] = shape
                if tool:
                    tools[row - start] = self._number(tool)
            # The tools come first: readers take the length of the shapes for what is known.
            self._tool.extend(tools)
            self.of += shapes

    def add(self, kind: int, entry: Entry) -> None:
        """Tell the next row, whose body is at hand."""
        shape, tool = shape_of(kind, entry)
        self._tool.append(self._number(tool))
        self.of.append(shape)

    def _number(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            # More tools than that are told as none; real sessions know a few dozen.
            number = len(self._names) if len(self._names) < 0xFFFF else _NO_TOOL
            if number:
                self._numbers[name] = number
                self._names.append(name)
        return number


def _line_shape(session: Session, row: int, line: bytes) -> tuple[int, str]:
    kind = session.index.kind[row]
    try:
        if kind == kinds.TOOL_RESULT:
            result = _decode_result(line).message
            return FAILED if result.isError else 0, result.toolName or ""
        if kind == kinds.ASSISTANT:
            return _answer_shape(_decode_answer(line).message), ""
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        pass
    return shape_of(kind, session.entry(row))


def _answer_shape(message: _Answer) -> int:
    shape = _stop_shape(message.stopReason)
    for block in message.content:
        if block.type == "text":
            if _says_something(block.text):
                shape |= TEXT
        elif block.type == "toolCall":
            shape |= CALLS
    return shape


def _says_something(spelled: msgspec.Raw) -> bool:
    """Whether a text holds anything but blanks; mostly its first character tells."""
    view = memoryview(spelled)
    if len(view) > 1 and view[0] == _QUOTE and _FIRST <= view[1] <= _LAST and view[1] != _ESCAPE:
        return view[1] != _QUOTE
    return bool(_decode_text(spelled).strip())


def _stop_shape(reason: Any) -> int:
    return ERROR if reason == "error" else ABORTED if reason == "aborted" else 0


def shape_of(kind: int, entry: Entry) -> tuple[int, str]:
    """The shape of an entry, and the tool where it is a result."""
    message = entry.get("message")
    if kind == kinds.CUSTOM_MESSAGE:
        return (SHOWN if is_truthy(entry.get("display")) else 0), ""
    if not isinstance(message, dict):
        return 0, ""
    if kind == kinds.TOOL_RESULT:
        tool = message.get("toolName")
        failed = FAILED if is_truthy(message.get("isError")) else 0
        return failed, tool if isinstance(tool, str) else ""
    if kind == kinds.BASH:
        code = message.get("exitCode")
        is_bad = isinstance(code, (int, float)) and code != 0
        return (FAILED if is_bad or is_truthy(message.get("cancelled")) else 0), ""
    if kind == kinds.CUSTOM_ROLE:
        return (SHOWN if is_truthy(message.get("display")) else 0), ""
    if kind != kinds.ASSISTANT:
        return 0, ""
    content = message.get("content")
    # Here a text alone is no content, as everywhere in an answer.
    text = content_text(content, "") if isinstance(content, list) else ""
    shape = (TEXT if text.strip() else 0) | (CALLS if calls_of(entry) else 0)
    return shape | _stop_shape(message.get("stopReason")), ""
