"""What a list tells of a session, gathered line by line, without an index and without the tree.

A `Gist` is fed whole lines in file order and holds next to none of them. What it has gathered
(`Facts`) can be stored, and a later Gist goes on from there when the file has grown.

Names, counts, first messages and times are those of pi's own list (pi 1.6.0: `buildSessionInfo`),
which counts lines, not entries of the tree. The context size at the end is told where the lines
alone tell it: from the newest measured answer on the way to the last entry. Where a compaction or
an edit came last, or the conversation went on at a place that is not remembered, it is unknown here
and the whole session has to be read (`Facts.tokens` is None).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from pisessiond.core import kinds
from pisessiond.core.anchors import is_anchor_line
from pisessiond.core.dates import date_ms
from pisessiond.core.javascript import NotJson, is_blank, is_truthy, parse_json, trim
from pisessiond.core.lines import EntryId, is_entry_id
from pisessiond.core.measuring import measure
from pisessiond.core.migration import format_version
from pisessiond.core.models_named import Named, named_model
from pisessiond.core.preview import clean_line, preview
from pisessiond.core.tokens import content_text

_HELD_BYTES = 256 << 10
"""Lines that are not sized yet are kept up to so many bytes; then they are sized."""

_ANSWERS = 20_000
"""Measured answers remembered while a file is read, to go on from when a branch begins there."""


class Facts(msgspec.Struct, omit_defaults=True):
    """What is known of a session file so far; stored as JSON."""

    id: str | None = None
    """From the header; None until it was seen."""
    cwd: str = ""
    created: str | None = None
    """The header's time as it stands there."""
    created_ms: float | None = None
    parent: str | None = None
    """The header's `parentSession`."""
    version: int = 3
    refused: bool = False
    """It is no session, and no line that comes later can change that."""
    name: str | None = None
    messages: int = 0
    first: str | None = None
    """The first user text, one line."""
    active_ms: float | None = None
    """Time of the newest user or assistant message."""
    entries: int = 0
    id_less: int = 0
    """Objects without an id."""
    point: EntryId | None = None
    """Of a fork: the last entry that came along from its parent and says something."""
    point_text: str | None = None
    is_past_point: bool = False
    first_after: str | None = None
    """Of a fork: the first user text that did not come along."""
    at: EntryId | None = None
    """Where the conversation stands."""
    tokens: int | None = 0
    """The context size there; None when these lines alone do not tell."""
    is_measured: bool = False
    provider: str | None = None
    model: str | None = None
    """Of the model that is in force there; both or none. Unknown wherever the size is."""
    is_unsized: bool = False
    """The size is unknown, and reading the whole session did not tell it either."""

    @property
    def is_session(self) -> bool:
        """Whether the file opens as a session."""
        if self.id is None or self.refused:
            return False
        return self.version < 2 or self.entries > 0 or self.id_less == 0


class _Usage(msgspec.Struct, gc=False):
    totalTokens: Any = None  # noqa: N815 - the file's own spelling


class _Message(msgspec.Struct, gc=False):
    role: Any = None
    timestamp: Any = None
    content: msgspec.Raw = msgspec.Raw()
    usage: _Usage | None = None
    provider: Any = None
    model: Any = None
    stopReason: Any = None  # noqa: N815


class _Line(msgspec.Struct, gc=False):
    type: str
    id: str = ""
    parentId: str | None = None  # noqa: N815
    timestamp: Any = None
    message: _Message | None = None
    name: Any = None
    provider: Any = None
    modelId: Any = None  # noqa: N815
    targetId: Any = None  # noqa: N815


T = TypeVar("T")
_SURROGATE = re.compile("[\ud800-\udfff]")

_decode = msgspec.json.Decoder(_Line).decode
_decode_any = msgspec.json.Decoder().decode
_decode_facts = msgspec.json.Decoder(Facts).decode
_encode = msgspec.json.Encoder().encode

_STATELESS = frozenset({"label", "session_info", "usage", "thinking_level_change", "model_change"})
"""Types that have no size and move nothing."""


def facts_text(facts: Facts) -> str:
    """Facts as they are stored."""
    return _encode(facts).decode()


def read_facts(text: str) -> Facts | None:
    """Facts that were stored; None when they are another version's."""
    try:
        return _decode_facts(text)
    except (msgspec.MsgspecError, RecursionError):
        return None


class Gist:
    """Gathers the facts of one file."""

    def __init__(self, facts: Facts | None = None) -> None:
        """Begin, or go on after the lines that `facts` are of."""
        self.facts = facts or Facts()
        self.facts.is_unsized = False
        self._held: list[tuple[int, bytes]] = []
        """Entries after the last known size that are not sized yet: kind and line."""
        self._held_bytes = 0
        self._answers: dict[EntryId, tuple[int, Named | None]] = {}
        """What was measured at answers, and the model in force there."""
        self._named: Named | None = named_model(self.facts.provider, self.facts.model)
        self._models: dict[Named, Named] = {}
        """One object for each, since most answers of a file are of one model."""

    @property
    def is_refused(self) -> bool:
        """Whether nothing more has to be read: it is no session."""
        return self.facts.refused

    def feed(self, lines: Sequence[bytes]) -> None:
        """Take in the next whole lines."""
        start = 0
        if self.facts.id is None:
            start = self._find_header(lines)
        take = self._take
        for line in lines[start:] if start else lines:
            try:
                one = _decode(line)
            except (msgspec.MsgspecError, RecursionError):
                self._take_odd(line)
            else:
                take(one, line)

    def finish(self) -> Facts:
        """The facts, all lines sized; more may be fed afterwards."""
        self._size_held()
        self.facts.provider, self.facts.model = self._named or (None, None)
        return self.facts

    # The header --------------------------------------------------------------------------------

    def _find_header(self, lines: Sequence[bytes]) -> int:
        """Looks for the header; how many lines are dealt with."""
        for at, line in enumerate(lines):
            if self.facts.refused:
                return len(lines)
            if is_blank(line):
                continue
            try:
                value = parse_json(line)
            except NotJson:
                continue
            if not is_truthy(value):
                continue
            if (
                isinstance(value, dict)
                and value.get("type") == "session"
                and isinstance(value.get("id"), str)
            ):
                self._take_header(value)
                return at + 1
            self.facts.refused = True
        return len(lines)

    def _take_header(self, header: dict[str, Any]) -> None:
        facts = self.facts
        cwd, created, parent = (header.get(n) for n in ("cwd", "timestamp", "parentSession"))
        facts.id = _sound(header["id"])
        facts.cwd = _sound(cwd) if isinstance(cwd, str) else ""
        if isinstance(created, str):
            facts.created, facts.created_ms = _sound(created), date_ms(created)
        if isinstance(parent, str) and parent:
            facts.parent = _sound(parent)
        facts.version = format_version(header)

    # Entries -----------------------------------------------------------------------------------

    def _take_odd(self, line: bytes) -> None:
        """A line that the fast road refuses."""
        if is_blank(line):
            return
        try:
            value = parse_json(line)
        except NotJson:
            return
        if not isinstance(value, dict):
            return
        message = value.get("message")
        known = None
        if isinstance(message, dict):
            content = json.dumps(message["content"]).encode() if "content" in message else b""
            usage = message.get("usage")
            total = usage.get("totalTokens") if isinstance(usage, dict) else None
            known = _Message(
                message.get("role"),
                message.get("timestamp"),
                msgspec.Raw(content),
                _Usage(total) if isinstance(usage, dict) else None,
                message.get("provider"),
                message.get("model"),
                message.get("stopReason"),
            )
        entry_id: Any = _sound(value.get("id"))
        made = _Line(str(value.get("type")), "", None, value.get("timestamp"), known)
        made.id = entry_id if is_entry_id(entry_id) else ""
        parent: Any = _sound(value.get("parentId"))
        target: Any = _sound(value.get("targetId"))
        made.parentId, made.name, made.targetId = parent, value.get("name"), target
        made.provider, made.modelId = value.get("provider"), value.get("modelId")
        self._take(made, line)

    def _take(self, one: _Line, line: bytes) -> None:
        facts = self.facts
        message = one.message
        if one.type == "session":
            return
        if one.type == "message":
            facts.messages += 1
            if message is not None:
                self._take_message(one, message)
        elif one.type == "session_info":
            facts.name = _sound(trim(one.name)) or None if isinstance(one.name, str) else None
        if one.id:
            facts.entries += 1
        elif facts.version >= 2:
            facts.id_less += 1
            return
        if facts.parent is not None and not facts.is_past_point:
            self._look_for_point(one, line)
        self._size(one, line)

    def _take_message(self, one: _Line, message: _Message) -> None:
        facts, role = self.facts, message.role
        if role not in ("user", "assistant") or not memoryview(message.content).nbytes:
            return
        time = message.timestamp
        if not isinstance(time, int | float) or isinstance(time, bool):
            time = date_ms(one.timestamp) if isinstance(one.timestamp, str) else None
        if time is not None and (facts.active_ms is None or time > facts.active_ms):
            facts.active_ms = max(time, 0)
        if role == "user" and facts.first is None:
            facts.first = _text_of(message) or None

    def _look_for_point(self, one: _Line, line: bytes) -> None:
        """Of a fork: whether an entry came along from the parent, or was made after the fork."""
        facts = self.facts
        if one.type == "label":
            # Labels are written again, with their old times.
            return
        time = date_ms(one.timestamp) if isinstance(one.timestamp, str) else None
        if time is not None and facts.created_ms is not None and time < facts.created_ms:
            text = "" if one.type not in _SAYS_SOMETHING else _preview(line)
            if text:
                facts.point, facts.point_text = one.id or None, text
            return
        message = one.message
        if message is not None and message.role == "user":
            facts.first_after = _text_of(message) or None
            facts.is_past_point = facts.first_after is not None

    # Sizes -------------------------------------------------------------------------------------

    def _size(self, one: _Line, line: bytes) -> None:
        facts = self.facts
        if facts.version >= 2 and one.parentId != facts.at:
            self._go_to(one.parentId)
        if one.type == "leaf":
            self._go_to(one.targetId)
            return
        if one.type == "custom" and is_anchor_line(line):
            # It stands for its parent, and what follows hangs there.
            return
        if one.id:
            facts.at = one.id
        if one.type in _STATELESS:
            if one.type == "model_change":
                self._take_model(one.provider, one.modelId)
            return
        if one.type in ("compaction", "context_edit"):
            self._lose_size()
            return
        message = one.message
        kind = kinds.kind_of(one.type, message.role if message is not None else None)
        if kind == kinds.ASSISTANT and message is not None:
            self._take_model(message.provider, message.model)
        if kind == kinds.ASSISTANT and message is not None and message.usage is not None:
            usage = self._usage(message, line)
            if usage:
                facts.tokens, facts.is_measured = usage, True
                self._held.clear()
                self._held_bytes = 0
                if one.id and len(self._answers) < _ANSWERS:
                    self._answers[one.id] = usage, self._named
                return
        if kind == kinds.SYSTEM and not facts.is_measured:
            # System messages are replayed into one, which is more than a sum.
            self._lose_size()
        elif facts.tokens is not None and kind in kinds.GIVES_MESSAGE:
            self._held.append((kind, line))
            self._held_bytes += len(line)
            if self._held_bytes > _HELD_BYTES:
                self._size_held()

    def _take_model(self, provider: Any, model: Any) -> None:
        named = named_model(provider, model)
        if named is not None and named != self._named:
            self._named = self._models.setdefault(named, named)

    @staticmethod
    def _usage(message: _Message, line: bytes) -> int:
        total = message.usage.totalTokens if message.usage is not None else None
        if isinstance(total, int) and total > 0 and message.stopReason not in ("aborted", "error"):
            return total
        return measure(kinds.ASSISTANT, line).usage

    def _go_to(self, place: Any) -> None:
        """The conversation goes on elsewhere."""
        facts = self.facts
        self._held.clear()
        self._held_bytes = 0
        facts.at = place if is_entry_id(place) else None
        if not is_truthy(place):
            facts.tokens, facts.is_measured, self._named = 0, False, None
            return
        known = self._answers.get(place) if isinstance(place, str | int | float) else None
        facts.tokens, self._named = known or (None, None)
        facts.is_measured = known is not None

    def _lose_size(self) -> None:
        self.facts.tokens, self.facts.is_measured = None, False
        self._held.clear()
        self._held_bytes = 0

    def _size_held(self) -> None:
        if self.facts.tokens is not None:
            self.facts.tokens += sum(measure(kind, line).tokens for kind, line in self._held)
        self._held.clear()
        self._held_bytes = 0


_SAYS_SOMETHING = frozenset({"message", "custom_message", "compaction", "branch_summary"})


def _sound(value: T) -> T:
    """A value, its lone surrogates replaced if it is a text: they can be stored nowhere."""
    if isinstance(value, str) and not value.isascii():
        return _SURROGATE.sub("\ufffd", value)  # type: ignore[return-value]
    return value


def _text_of(message: _Message) -> str:
    """A message's text as pi's list joins it, one line."""
    try:
        content = _decode_any(bytes(message.content))
    except (msgspec.MsgspecError, RecursionError):
        try:
            content = parse_json(bytes(message.content))
        except NotJson:
            return ""
    return clean_line(content_text(content, " "))


def _preview(line: bytes) -> str:
    try:
        entry = parse_json(line)
    except NotJson:
        return ""
    return preview(entry) if isinstance(entry, dict) else ""
