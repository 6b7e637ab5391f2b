"""What many sessions used together: tokens and cost by model, project and day.

A fork holds copies of the entries it began with; within a family an entry counts once, by its id
and time. Only lines that can carry usage are decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pisessiond.core.javascript import NotJson, parse_json
from pisessiond.core.totals import Totals

_CARRIERS = ("compaction", "branch_summary", "usage")


@dataclass(slots=True)
class UsageTotals:
    """Sums over sessions."""

    all: Totals = field(default_factory=Totals)
    by_model: dict[str, Totals] = field(default_factory=dict)
    by_project: dict[str, Totals] = field(default_factory=dict)
    """By the `cwd` of the header."""
    by_day: dict[str, Totals] = field(default_factory=dict)
    """By `2026-11-30`."""
    sessions: int = 0
    answers: int = 0
    """Entries with usage, each once."""
    shared: int = 0
    """Entries with usage that forks hold too, not counted again."""

    def add(self, usage: dict[str, Any], model: str, project: str, day: str) -> None:
        """Count one entry."""
        self.answers += 1
        self.all.add(usage)
        for into, key in (
            (self.by_model, model),
            (self.by_project, project),
            (self.by_day, day),
        ):
            into.setdefault(key, Totals()).add(usage)


class _Message(msgspec.Struct, gc=False):
    role: str | None = None
    model: Any = None
    usage: Any = None


class _Line(msgspec.Struct, gc=False):
    type: str
    id: Any = None
    timestamp: Any = None
    message: _Message | None = None
    model: Any = None
    usage: Any = None


_decode = msgspec.json.Decoder(_Line).decode


class Family:
    """The entries of one family of forks that were counted already."""

    def __init__(self, totals: UsageTotals, day_of: Callable[[str], str]) -> None:
        """`day_of` gives the day of an ISO time, in whatever zone it likes."""
        self._totals = totals
        self._day_of = day_of
        self._seen: set[tuple[Any, Any]] = set()

    def add(self, lines: Iterable[bytes], project: str) -> None:
        """Count the entries on these lines that were not counted yet."""
        for line in lines:
            # An escape may spell the word in any way; pi and we never write one.
            if b'"usage"' in line or b"\\u00" in line:
                self._add_line(line, project)

    def _add_line(self, line: bytes, project: str) -> None:
        found = _read(line)
        if found is None:
            return
        message = found.message
        usage: Any = None
        model: Any = None
        if found.type == "message" and message is not None and message.role == "assistant":
            usage, model = message.usage, message.model
        elif found.type in _CARRIERS:
            usage, model = found.usage, found.model
        if not isinstance(usage, dict):
            return
        time = found.timestamp if isinstance(found.timestamp, str) else ""
        key = (found.id if isinstance(found.id, str | int | float) else None, time)
        if key in self._seen:
            self._totals.shared += 1
            return
        self._seen.add(key)
        named = model if isinstance(model, str) and model else "unknown"
        self._totals.add(usage, named, project, self._day_of(time))


def _read(line: bytes) -> _Line | None:
    try:
        return _decode(line)
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:
        return msgspec.convert(parse_json(line), _Line)
    except (NotJson, msgspec.MsgspecError, RecursionError):
        return None
