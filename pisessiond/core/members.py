"""Replacing members of a JSON object without touching its other bytes.

Lines that we did not write leave as they came: key order, number spelling, escapes and even
broken UTF-8 survive, because only the bytes of the changed members are exchanged. The text must
be JSON already (`lines.read_line` understood it); nothing here checks that.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pisessiond.core.javascript import parse_json

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,\]}]+")
_SPACE = re.compile(rb"[ \t\r\n]*")
_MARK = re.compile(rb'["{}\[\]]')
_WHITE = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class Member:
    """Where one member of an object stands, as byte positions."""

    name: str
    start: int
    """The opening quote of the name."""
    value: int
    end: int
    """Behind the value."""


def members(text: bytes) -> list[Member]:
    """The members of the object that `text` is, in their order; repeated names included."""
    found = []
    position = _skip(text, _skip(text, 0) + 1)
    while text[position : position + 1] == b'"':
        start = position
        name_end = _string_end(text, start)
        value = _skip(text, _skip(text, name_end) + 1)
        end = _value_end(text, value)
        name = text[start:name_end]
        plain = name[1:-1].decode("utf-8", "replace") if b"\\" not in name else parse_json(name)
        found.append(Member(str(plain), start, value, end))
        position = _skip(text, end)
        if text[position : position + 1] == b",":
            position = _skip(text, position + 1)
    return found


def replace_members(
    text: bytes, values: Mapping[str, bytes], removed: frozenset[str] = frozenset()
) -> bytes:
    """The object with members set (new ones last, as JavaScript adds them) or removed.

    `values` are JSON texts. White space around the object is dropped, and that in front of a
    removed member goes with it.
    """
    text = text.strip(_WHITE)
    found = members(text)
    last = {member.name: position for position, member in enumerate(found)}
    pieces: list[bytes] = []
    # What stands before a member: the brace, or the comma and white space after the one before.
    before = text[: found[0].start] if found else b"{"
    for position, member in enumerate(found):
        if member.name not in removed:
            is_set = member.name in values and last[member.name] == position
            piece = text[member.start : member.end]
            if is_set:
                piece = text[member.start : member.value] + values[member.name]
            pieces += [before, piece]
            before = b""
        if position + 1 < len(found) and (pieces or member.name not in removed):
            before = text[member.end : found[position + 1].start]
    for name, value in values.items():
        if name not in last:
            pieces += [b"," if pieces else before, b'"' + name.encode() + b'":' + value]
    pieces = pieces or [before]
    return b"".join(pieces) + text[found[-1].end if found else -1 :]


def member_value(text: bytes, name: str) -> bytes | None:
    """The JSON text of a member; of a repeated name the last, as `JSON.parse` takes it."""
    found = [member for member in members(text) if member.name == name]
    return text[found[-1].value : found[-1].end] if found else None


def _skip(text: bytes, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _string_end(text: bytes, start: int) -> int:
    match = _STRING.match(text, start)
    return match.end() if match else len(text)


def _value_end(text: bytes, start: int) -> int:
    first = text[start : start + 1]
    if first == b'"':
        return _string_end(text, start)
    if first not in (b"{", b"["):
        match = _SCALAR.match(text, start)
        return match.end() if match else start
    depth = 0
    position = start
    while mark := _MARK.search(text, position):
        position = mark.end()
        sign = mark.group()
        if sign == b'"':
            position = _string_end(text, mark.start())
        else:
            depth += 1 if sign in (b"{", b"[") else -1
            if depth == 0:
                return position
    return len(text)
