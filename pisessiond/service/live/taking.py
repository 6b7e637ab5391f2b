"""Taking a running pi along to a session that was forked from the one it has open."""

from __future__ import annotations

import uuid

from pisessiond.service.errors import Unsupported
from pisessiond.service.live.pi import RunningPi, Silent
from pisessiond.service.open_session import OpenSession
from pisessiond.service.types import Forked, Origin

_SECONDS = 10.0


async def find(held: OpenSession, origin: Origin) -> RunningPi:
    """The pi that is to come along; asked before anything is made.

    Raises:
        Unsupported: none has it open, or it cannot.
        AmbiguousOwner, SessionChanged, ReadOnly, PiBusy: as `deciding.decide`.
    """
    await held.live.ready(origin)
    pi = held.live.decide(origin, needs_idle=True)
    if pi is None or not pi.bridge.offers("pi/switch"):
        raise Unsupported("No running pi can be taken along.", "a pi that has the session open")
    return pi


async def take(pi: RunningPi, forked: Forked, origin: Origin) -> str | None:
    """Have it open the fork; why it stayed, in a sentence, None when it came."""
    if forked.path is None or forked.unsaved:
        return "The fork has no file yet, so that pi cannot open it."
    name = origin.request_id or uuid.uuid4().hex
    params = {
        "file": forked.path,
        "request_id": f"switch:{origin.client_id}:{name}",
        "client": origin.client,
        "client_id": origin.client_id,
    }
    try:
        answer = await pi.ask("pi/switch", params, _SECONDS)
    except Silent:
        return f"pi {pi.pid} gave no answer; look where it is."
    if answer.get("refused") is None:
        return None
    return answer.get("message") or f"pi {pi.pid} would not leave."
