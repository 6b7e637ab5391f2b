"""Context sizes at any entries, for whoever asks."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from pisessiond.core.session import Session
from pisessiond.models.base import ModelName
from pisessiond.service.context_sizes import SizeReader, Yardstick, held_against
from pisessiond.service.held_session import HeldSession
from pisessiond.service.types import ContextSize

_AT_ONCE = 64
"""Rows counted in one go, so that whoever asked for thousands and left is soon forgotten."""


async def sizes_at(
    held: HeldSession, session: Session, rows: Iterable[int], window: int | None = None
) -> dict[int, ContextSize]:
    """The size at each of these rows, with all that clients are told of it.

    Args:
        held: the session as it is held.
        session: what the rows are of; every row must have been sized.
        rows: which; NONE is before the first entry.
        window: the context window to count by, in tokens; None: that of each row's model.
    """
    reader = SizeReader(session)
    # In order, so that one goes on from the one before it.
    ordered = sorted(set(rows))
    read: dict[int, tuple[ContextSize, ModelName | None]] = {}
    for start in range(0, len(ordered), _AT_ONCE):
        some = ordered[start : start + _AT_ONCE]
        read |= await held.ask(partial(_read, reader, some))
    windows: dict[ModelName | None, int | None] = {None: window}
    for _, model in read.values():
        if model is not None and model not in windows:
            windows[model] = window or await held.sizing.windows.soon(model)
    settings = held.sizing.settings
    return {
        row: held_against(size, Yardstick(model, windows[model], settings))
        for row, (size, model) in read.items()
    }


def _read(
    reader: SizeReader, rows: list[int], current: Session
) -> dict[int, tuple[ContextSize, ModelName | None]]:
    del current
    return reader.read(rows)
