"""What the bridge inside a running pi tells: its session, what comes there, what it is doing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pisessiond.protocol.pi_models import (
    PiAttachParams,
    PiAttachResult,
    PiDetachedParams,
    PiDidChangeParams,
    PiDidStateParams,
    PiWillCompactParams,
    PiWillNavigateParams,
    PiWord,
)
from pisessiond.server import pi_conversion
from pisessiond.service.live import wills

if TYPE_CHECKING:
    from pisessiond.server.connection import Connection


async def attach(connection: Connection, params: PiAttachParams) -> PiAttachResult:
    """This pi has a session open; it is answered when the daemon has read what pi has read."""
    live = connection.state.sessions.live
    attached = await live.attach(connection.running_pi, pi_conversion.attach(params))
    result = PiAttachResult(session=attached.session, owner=attached.owner, unseen=attached.unseen)
    if attached.position is not None:
        result.position = attached.position
    return result


async def detached(connection: Connection, params: PiDetachedParams) -> None:
    """This pi has left its session."""
    live = connection.state.sessions.live
    await live.detached(connection.running_pi, params.gen, params.reason, params.target)


async def did_change(connection: Connection, params: PiDidChangeParams) -> None:
    """Entries came, or the leaf moved."""
    live = connection.state.sessions.live
    await live.changed(connection.running_pi, pi_conversion.change(params))


async def did_state(connection: Connection, params: PiDidStateParams) -> None:
    """What this pi is doing is something else."""
    live = connection.state.sessions.live
    await live.state(connection.running_pi, params.gen, pi_conversion.state(params))


async def will_navigate(connection: Connection, params: PiWillNavigateParams) -> PiWord:
    """A person moves the leaf in this pi."""
    pi = connection.running_pi
    word = await wills.will_navigate(pi, params.gen, params.target, summarize=params.summarize)
    return _word(word)


async def will_compact(connection: Connection, params: PiWillCompactParams) -> PiWord:
    """This pi is about to compact."""
    pi = connection.running_pi
    return _word(await wills.will_compact(pi, params.gen, params.reason, params.first_kept))


def _word(given: wills.PiWord) -> PiWord:
    word = PiWord()
    if given.cancel:
        word.cancel = True
    if given.summary:
        word.summary = given.summary
        if given.details is not None:
            word.details = given.details
    return word
