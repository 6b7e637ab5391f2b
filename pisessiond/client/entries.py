"""Entries as a client makes them: chosen ids, and messages of plain text."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from typing import Any

NewId = Callable[[], str]
Clock = Callable[[], float]


def new_entry_id() -> str:
    """Eight hex digits, as pi's own ids. Whether it is taken, the daemon says."""
    return os.urandom(4).hex()


def with_ids(entries: Iterable[dict[str, Any]], new_id: NewId) -> list[dict[str, Any]]:
    """The entries, each with an id: its own, or a new one right behind its type.

    A client that knows the ids of what it appends may repeat the request after a crash.
    """
    made = []
    for entry in entries:
        if "id" not in entry:
            kind = {"type": entry["type"]} if "type" in entry else {}
            entry = {**kind, "id": new_id(), **entry}
        made.append(entry)
    return made


def user_message(text: str, clock: Clock = time.time) -> dict[str, Any]:
    """The entry of a user's message, as pi writes one."""
    return _message({"role": "user", "content": _text(text)}, clock)


def assistant_message(
    text: str, provider: str, model: str, clock: Clock = time.time
) -> dict[str, Any]:
    """The entry of an answer that no provider was asked for, and that therefore used nothing."""
    nothing = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}
    message = {
        "role": "assistant",
        "content": _text(text),
        "api": "none",
        "provider": provider,
        "model": model,
        "usage": {**nothing, "totalTokens": 0, "cost": {**nothing, "total": 0}},
        "stopReason": "stop",
    }
    return _message(message, clock)


def _text(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def _message(message: dict[str, Any], clock: Clock) -> dict[str, Any]:
    return {"type": "message", "message": {**message, "timestamp": int(clock() * 1000)}}
