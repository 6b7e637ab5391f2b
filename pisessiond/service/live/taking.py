"""Taking a running pi along to a session that was forked from the one it has open."""

from __future__ import annotations

from typing import Final, Literal

import anyio

from pisessiond.core.lines import EntryId
from pisessiond.service.errors import PiUnknown, Unsupported
from pisessiond.service.live.pi import RunningPi, Silent
from pisessiond.service.live.routing import ask_once, asker
from pisessiond.service.open_session import OpenSession
from pisessiond.service.types import Forked, Origin

_SECONDS: Final = 10.0


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


async def fork_in_pi(
    held: OpenSession,
    pi: RunningPi,
    entry: EntryId | None,
    position: Literal["before", "at"] | None,
    origin: Origin,
) -> Forked:
    """Have it fork a session that only it has, and go there; the session it has then.

    Raises:
        PiBusy, Unsupported, PiRefused, SessionChanged: it would not.
        PiUnknown: it did not say in time what it has then.
    """
    wanted = held.leaf if entry is None else entry
    if wanted is None:
        raise Unsupported("An empty session is not forked.", "a first message")
    params = {
        **asker(origin, act="fork:"),
        "entry": wanted,
        "position": "at" if entry is None else position or "before",
    }
    gen = pi.gen
    answer = await ask_once(held, pi, "pi/fork", params, _SECONDS)
    made = None
    with anyio.move_on_after(_SECONDS):
        made = await pi.session_of(gen + 1)
    if made is None:
        raise PiUnknown(pi.pid)
    text = answer.get("editor_text")
    return Forked(made.handle, made.path, made.is_unsaved, text, held.rev)


async def take(pi: RunningPi, forked: Forked, origin: Origin) -> str | None:
    """Have it open the fork; why it stayed, in a sentence, None when it came."""
    if forked.path is None or forked.unsaved:
        return "The fork has no file yet, so that pi cannot open it."
    params = {**asker(origin, act="switch:"), "file": forked.path}
    try:
        answer = await pi.ask("pi/switch", params, _SECONDS)
    except Silent:
        return f"pi {pi.pid} gave no answer; look where it is."
    if answer.get("refused") is None:
        return None
    return answer.get("message") or f"pi {pi.pid} would not leave."
