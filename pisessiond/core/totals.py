"""What a branch or a file adds up to: messages, tool calls, tokens and cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pisessiond.core.javascript import NotJson, parse_json

_TOKENS = {
    "input": "input",
    "output": "output",
    "cacheRead": "cache_read",
    "cacheWrite": "cache_write",
}


@dataclass(slots=True)
class Totals:
    """Sums; tokens in tokens, cost as the entries say it (pi writes US dollars)."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0
    cost: float = 0.0

    def add(self, usage: dict[str, Any]) -> None:
        """Add one provider usage; members that are no numbers count nothing."""
        for theirs, ours in _TOKENS.items():
            setattr(self, ours, getattr(self, ours) + _number(usage.get(theirs)))
        cost = usage.get("cost")
        if isinstance(cost, dict):
            self.cost += _number(cost.get("total"))


@dataclass(slots=True)
class Tally:
    """Totals of some entries."""

    messages: Counter[str] = field(default_factory=Counter)
    tool_calls: int = 0
    all: Totals = field(default_factory=Totals)
    by_model: dict[str, Totals] = field(default_factory=dict)

    def add(self, entry: dict[str, Any]) -> None:
        """Count one entry: its message, and whatever usage it carries."""
        message = entry.get("message")
        if entry.get("type") == "message" and isinstance(message, dict):
            self._add_message(message)
        elif entry.get("type") in ("compaction", "branch_summary", "usage"):
            self._add_usage(entry.get("usage"), entry.get("model"))

    def _add_message(self, message: dict[str, Any]) -> None:
        role = message.get("role")
        self.messages[role if isinstance(role, str) else "unknown"] += 1
        if role != "assistant":
            return
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        self.tool_calls += sum(isinstance(b, dict) and b.get("type") == "toolCall" for b in blocks)
        self._add_usage(message.get("usage"), message.get("model"))

    def _add_usage(self, usage: Any, model: Any) -> None:
        if not isinstance(usage, dict):
            return
        self.all.add(usage)
        if isinstance(model, str):
            self.by_model.setdefault(model, Totals()).add(usage)


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else 0


class _Block(msgspec.Struct, gc=False):
    type: str


class _Message(msgspec.Struct, gc=False):
    role: str
    content: str | list[_Block] | None = None
    model: str | None = None
    usage: dict[str, Any] | None = None


class _Line(msgspec.Struct, gc=False):
    type: str
    message: _Message | None = None
    model: Any = None
    usage: Any = None


_decode = msgspec.json.Decoder(_Line).decode


def tally(lines: Iterable[bytes]) -> Tally:
    """The totals of the entries on these lines; texts are not decoded where that can be helped."""
    total = Tally()
    for line in lines:
        try:
            total.add(msgspec.to_builtins(_decode(line)))
        except (msgspec.MsgspecError, RecursionError):
            _add_slowly(total, line)
    return total


def _add_slowly(total: Tally, line: bytes) -> None:
    try:
        entry = parse_json(line)
    except NotJson:
        return
    if isinstance(entry, dict):
        total.add(entry)
