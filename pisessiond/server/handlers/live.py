"""What clients ask of a running pi: a prompt, and its end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pisessiond.protocol.live_models import AbortParams, PromptParams, PromptResult, RereadParams
from pisessiond.protocol.values import Done
from pisessiond.service.live import prompting

if TYPE_CHECKING:
    from pisessiond.server.connection import Connection
    from pisessiond.service.types import Origin


def _origin(connection: Connection, params: PromptParams | AbortParams | RereadParams) -> Origin:
    return replace(connection.client.origin(params.request_id), through=params.pi)


async def prompt(connection: Connection, params: PromptParams) -> PromptResult:
    """Gives the pi that has a session open a prompt."""
    done = await prompting.prompt(
        connection.session(params.session),
        params.text,
        deliver_as=params.deliver_as,
        origin=_origin(connection, params),
    )
    result = PromptResult(rev=done.rev, leaf=done.leaf, queued=done.queued)
    if done.entry is not None:
        result.entry = done.entry
    return result


async def reread(connection: Connection, params: RereadParams) -> Done:
    """Has the pi that has a session open read what others wrote to it."""
    done = await prompting.reread(
        connection.session(params.session), origin=_origin(connection, params)
    )
    return Done(rev=done.rev, leaf=done.leaf)


async def abort(connection: Connection, params: AbortParams) -> Done:
    """Stops what the pi that has a session open is at."""
    done = await prompting.abort(
        connection.session(params.session), origin=_origin(connection, params)
    )
    return Done(rev=done.rev, leaf=done.leaf)
