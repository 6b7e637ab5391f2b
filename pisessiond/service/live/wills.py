"""A running pi is about to move or to compact by its own user: clients may have a word.

No summarizer of ours writes then: pi waits five seconds for a word, in which no model is done. Who
wants our summaries in a running pi compacts or moves from a client, and pi stores the result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import anyio

from pisessiond.core.errors import SessionError
from pisessiond.core.lines import EntryId
from pisessiond.service.asking import WILL_COMPACT, WILL_NAVIGATE, Word, ask_all, offering
from pisessiond.service.errors import OperationCancelled, ServiceError
from pisessiond.service.live.pi import RunningPi
from pisessiond.service.open_session import OpenSession
from pisessiond.service.types import OperationName

_SECONDS: Final = 4.5
"""pi waits five."""


@dataclass(frozen=True, slots=True)
class PiWord:
    """What pi is to do about it; empty: what it would."""

    cancel: bool = False
    summary: str | None = None
    details: dict[str, Any] | None = None


async def will_navigate(pi: RunningPi, gen: int, target: EntryId, *, summarize: bool) -> PiWord:
    """What clients say of a move that is made in a pi."""
    held = await pi.session_of(gen)
    if held is None or not held.has_entry(target):
        return PiWord()

    async def params() -> dict[str, Any]:
        preview = await held.preview_move(target, exact=False, summarizer=None)
        return {"target": target, "summarize": summarize, "preparation": preview}

    word = await _ask(held, pi, WILL_NAVIGATE, "navigate", params)
    return word if summarize else PiWord(cancel=word.cancel)


async def will_compact(pi: RunningPi, gen: int, reason: str, first_kept: EntryId) -> PiWord:
    """What clients say of a compaction that is made in a pi."""
    held = await pi.session_of(gen)
    if held is None:
        return PiWord()
    fits = True

    async def params() -> dict[str, Any]:
        nonlocal fits
        preview = await held.prepare_compaction()
        fits = preview.first_kept == first_kept
        # pi's overflow is a threshold that was passed.
        why = "manual" if reason == "manual" else "threshold"
        return {"reason": why, "preparation": preview}

    word = await _ask(held, pi, WILL_COMPACT, "compact", params)
    # Where pi cuts elsewhere, a summary of our cut would tell of other entries.
    return word if fits else PiWord(cancel=word.cancel)


async def _ask(
    held: OpenSession,
    pi: RunningPi,
    method: str,
    name: OperationName,
    params: Callable[[], Awaitable[dict[str, Any]]],
) -> PiWord:
    """What those who offer an answer say, in the time that pi waits; empty where they cannot."""
    if not offering(held.subscribers, method) or held.operations.current is not None:
        return PiWord()
    word = Word()
    try:
        with anyio.move_on_after(_SECONDS), held.operations.hold(name, pi.origin) as operation:
            given = {**await params(), "session": held.handle, "operation_id": operation.id}
            word = await ask_all(held.subscribers, method, given, operation)
    except OperationCancelled:
        return PiWord(cancel=True)
    except (ServiceError, SessionError):
        # Nothing to compact by our reckoning, or the entry is not read yet: pi knows best.
        return PiWord()
    return PiWord(summary=word.summary, details=word.details)
