"""Giving a running pi a prompt, stopping what it is at, having it read its file anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from pisessiond.core.lines import EntryId
from pisessiond.service.errors import Unsupported
from pisessiond.service.live.pi import RunningPi
from pisessiond.service.live.routing import ask_once, asker
from pisessiond.service.open_session import OpenSession
from pisessiond.service.types import Done, Origin

_SECONDS: Final = 120.0
"""The user may be asked first whether that client may prompt."""


@dataclass(frozen=True, slots=True)
class Prompted(Done):
    """pi has taken a prompt."""

    entry: EntryId | None = None
    """The user message; None while it waits."""
    queued: bool = False


async def prompt(
    held: OpenSession,
    text: str,
    *,
    deliver_as: Literal["steer", "followUp"] | None,
    origin: Origin,
) -> Prompted:
    """Give the pi that has a session open a prompt.

    Raises:
        Unsupported: none has it open.
        AmbiguousOwner, SessionChanged, ReadOnly, PiBusy: as `deciding.decide`; or pi refused.
        PiUnknown: no proof came that pi has taken it; it may have.
    """
    params: dict[str, Any] = {"text": text}
    if deliver_as is not None:
        params["deliver_as"] = deliver_as
    answer = await _ask(held, "pi/prompt", params, origin)
    ids = answer.get("ids") or [None]
    return Prompted(held.rev, held.leaf, ids[0], answer.get("queued", False))


async def abort(held: OpenSession, *, origin: Origin) -> Done:
    """Stop what the pi that has a session open is at.

    Raises:
        As `prompt`.
    """
    await _ask(held, "pi/abort", {}, origin)
    return Done(held.rev, held.leaf)


async def reread(held: OpenSession, *, origin: Origin) -> Done:
    """Have the pi that has a session open read what others wrote to its file; its place stays.

    Raises:
        As `prompt`.
    """
    await _ask(held, "pi/reread", {}, origin, needs_idle=True)
    return Done(held.rev, held.leaf)


async def _ask(
    held: OpenSession,
    method: str,
    params: dict[str, Any],
    origin: Origin,
    *,
    needs_idle: bool = False,
) -> dict[str, Any]:
    pi = await _pi(held, origin, needs_idle=needs_idle)
    if not pi.bridge.offers(method):
        raise Unsupported(f"pi {pi.pid} takes no such word from outside.", "a newer pi or bridge")
    answer = await ask_once(held, pi, method, {**params, **asker(origin)}, _SECONDS)
    await held.look()
    return answer


async def _pi(held: OpenSession, origin: Origin, *, needs_idle: bool) -> RunningPi:
    await held.live.settled()
    pi = held.live.decide(origin, needs_idle=needs_idle)
    if pi is None:
        raise Unsupported(
            "No running pi has this session open; `pisessiond pi status` tells which pi run where.",
            "a pi that has it open",
        )
    return pi
