"""Why a line is no JSON, in words that are the same under every Python version.

Python's own messages change from version to version, and speak of a text rather than of a line of
a session file. Only lines that were refused already come here.
"""

from __future__ import annotations

import re
from typing import Final

from pisessiond.core.javascript import NESTING_LIMIT

BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"

_SPACE: Final = re.compile(rb"[ \t\r\n]*")
_STRING: Final = re.compile(rb'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*')
_ESCAPE_BEGUN: Final = re.compile(rb"\\(?:u[0-9A-Fa-f]{0,3})?")
_SCALAR: Final = re.compile(
    rb"(?:-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)(?![\w.+-])"
)
_WORD: Final = re.compile(rb"[\w.+-]+")
_WORDS_BEGUN: Final = re.compile(
    rb"-?(?:(?:0|[1-9][0-9]*)(?:\.|(?:\.[0-9]+)?[eE][+-]?)?)?|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?"
)
_NO_NUMBERS: Final = (b"NaN", b"Infinity", b"-Infinity")

_TORN: Final = "The line ends in the middle of its JSON."


def describe_fault(line: bytes) -> str:
    """What is wrong with a line that `parse_json` refuses, in one sentence."""
    if not line.strip(b"\x00"):
        return "The line holds nothing but zero bytes."
    if line.startswith(BYTE_ORDER_MARK):
        return "The line begins with a byte order mark, which is no JSON."
    return _Scan(line).fault() or f"Its JSON is nested deeper than {NESTING_LIMIT} levels."


class _Scan:
    """One walk over a text, without recursion, to the first byte that JSON does not allow."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._at = 0
        self._open: list[bytes] = []

    def fault(self) -> str | None:
        """The first fault; None when there is none."""
        while True:
            wrong = self._value()
            if wrong is not None:
                return wrong
            while self._open and self._next() in (b"}", b"]"):
                if self._next() != self._open.pop():
                    return self._unexpected()
                self._at += 1
            if not self._open:
                return "Something follows the JSON of the line." if self._next() else None
            if self._next() != b",":
                return self._unexpected()
            self._at += 1
            if self._open[-1] == b"}" and (wrong := self._name()):
                return wrong

    def _next(self) -> bytes:
        found = _SPACE.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return self._text[self._at : self._at + 1]

    def _unexpected(self) -> str:
        if not self._next():
            return _TORN
        return f"The line is no JSON from its byte {self._at + 1} on."

    def _value(self) -> str | None:
        """Passes over a scalar, or the beginning of an array or object down to its first scalar."""
        while (sign := self._next()) in (b"{", b"["):
            self._at += 1
            closing = b"}" if sign == b"{" else b"]"
            if self._next() == closing:
                self._at += 1
                return None
            self._open.append(closing)
            if sign == b"{" and (wrong := self._name()):
                return wrong
        if sign == b'"':
            return self._string()
        if found := _SCALAR.match(self._text, self._at):
            self._at = found.end()
            return None
        word = _WORD.match(self._text, self._at)
        if word is None:
            return self._unexpected()
        if word.end() == len(self._text) and _WORDS_BEGUN.fullmatch(word[0]):
            return _TORN
        if word[0] in _NO_NUMBERS:
            return f"The line holds {word[0].decode()}, which is no JSON."
        return self._unexpected()

    def _name(self) -> str | None:
        if self._next() != b'"':
            return self._unexpected()
        if wrong := self._string():
            return wrong
        if self._next() != b":":
            return self._unexpected()
        self._at += 1
        return None

    def _string(self) -> str | None:
        found = _STRING.match(self._text, self._at)
        assert found is not None
        self._at = found.end()
        if self._text[self._at : self._at + 1] == b'"':
            self._at += 1
            return None
        if not self._text[self._at :] or _ESCAPE_BEGUN.fullmatch(self._text, self._at):
            return _TORN
        if self._text[self._at : self._at + 1] == b"\\":
            return f"The text at byte {self._at + 1} of the line has an escape that JSON has not."
        return f"The text at byte {self._at + 1} of the line holds a control character."
