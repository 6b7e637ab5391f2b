"""Which model a session stands at: the last one that an entry of the branch names in full."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

import msgspec

from pisessiond.core import kinds
from pisessiond.core.index import NONE, Index
from pisessiond.core.javascript import NotJson, parse_json
from pisessiond.core.projection import Entry
from pisessiond.core.session import Session

Named = tuple[str, str]
"""Provider and model id."""

_TRIES = 16
"""Entries looked at before it is given up: only those count that can name a model, and hardly one
of them does not."""


class _Message(msgspec.Struct, gc=False):
    provider: str
    model: str


class _Answer(msgspec.Struct, gc=False):
    message: _Message


_decode = msgspec.json.Decoder(_Answer).decode


def model_of(entry: Entry) -> Named | None:
    """The model that an entry names; None where it names none, or only half of one."""
    holder, name = entry, "modelId"
    if entry.get("type") == "message":
        holder, name = entry.get("message", {}), "model"
        if not isinstance(holder, dict) or holder.get("role") != "assistant":
            return None
    elif entry.get("type") != "model_change":
        return None
    return named_model(holder.get("provider"), holder.get(name))


def named_model(provider: Any, model: Any) -> Named | None:
    """Provider and model where an entry names both; None where it names half of one."""
    is_whole = isinstance(provider, str) and isinstance(model, str) and provider and model
    return (provider, model) if is_whole else None


def model_source(index: Index, row: int) -> int:
    """The nearest row at or above `row` that can name a model; NONE without one."""
    if row == NONE:
        return NONE
    changed, answer = index.state_at(row).model, index.assistant[row]
    if changed == NONE or answer == NONE:
        return max(changed, answer)
    return changed if index.depth[changed] > index.depth[answer] else answer


def find_model(
    session: Session, row: int, known: MutableMapping[int, Named | None]
) -> Named | None:
    """The model at a row; reads a few entries at most.

    Args:
        session: the session.
        row: where one stands.
        known: what rows name, as far as it was read before; what is read now is added.
    """
    index = session.index
    source = model_source(index, row)
    for _ in range(_TRIES):
        if source == NONE:
            return None
        if source not in known:
            known[source] = _read_model(index.kind[source], session.lines([source])[0])
        if known[source] is not None:
            return known[source]
        source = model_source(index, index.parent[source])
    return None


def recall_model(index: Index, row: int, known: Mapping[int, Named | None]) -> Named | None:
    """The same without reading.

    Raises:
        KeyError: an entry has to be read that is not known.
    """
    source = model_source(index, row)
    for _ in range(_TRIES):
        if source == NONE or known[source] is not None:
            return None if source == NONE else known[source]
        source = model_source(index, index.parent[source])
    return None


def _read_model(kind: int, line: bytes) -> Named | None:
    if kind == kinds.ASSISTANT:
        try:
            message = _decode(line).message
        except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
            pass
        else:
            return named_model(message.provider, message.model)
    try:
        entry = parse_json(line)
    except NotJson:
        return None
    return model_of(entry) if isinstance(entry, dict) else None
