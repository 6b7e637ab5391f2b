"""Making, opening, leaving and listing sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pisessiond.core.rows.levels import HERE
from pisessiond.protocol.lifecycle_models import Nothing
from pisessiond.protocol.session_models import (
    CloseParams,
    CreateParams,
    CreateResult,
    ListParams,
    ListResult,
    OpenParams,
    OpenResult,
    SyncParams,
)
from pisessiond.server import conversion
from pisessiond.server.row_conversion import rows_change, rows_result
from pisessiond.service.listing import Wanted
from pisessiond.service.row_growth import ALL_STALE
from pisessiond.service.row_pages import RowsWish

if TYPE_CHECKING:
    from pisessiond.server.connection import Connection


async def create(connection: Connection, params: CreateParams) -> CreateResult:
    """A new session; whoever wants to hear of it opens it."""
    client = connection.client
    made = await connection.state.sessions.create(
        cwd=client.resolve(params.cwd, "cwd"),
        id=params.id,
        name=params.name,
        store=params.store,
        session_dir=client.session_dir,
        origin=client.origin(params.request_id),
    )
    return CreateResult(
        session=made.handle, path=made.path, epoch=made.epoch, rev=made.rev, leaf=made.leaf
    )


async def open_session(connection: Connection, params: OpenParams) -> OpenResult:
    """Snapshot and subscription in one step: no change can fall between the two."""
    client = connection.client
    latest = params.latest
    opened = await connection.state.sessions.open(
        path=params.path and client.resolve(params.path, "path"),
        session=params.session,
        latest_cwd=client.resolve(latest.cwd, "latest.cwd") if latest else None,
        session_dir=client.session_dir,
    )
    since = params.since
    known = (since.epoch, since.rev) if since else None
    wish = params.rows
    page = None
    if wish is not None:
        # Before the subscription, so that no change can come between that and the answer.
        page = await opened.rows.page(RowsWish(around=HERE, count=wish.count, filter=wish.filter))
    result = conversion.open_result(connection.subscribe(opened, known), since)
    if wish is not None:
        connection.draw(opened, wish.filter)
        if page is not None and opened.rows.is_current(page):
            result.rows = rows_result(page)
        if result.changes:
            # What it drew before is told by no change that was kept for it.
            result.changes.append(rows_change(ALL_STALE, "repair"))
    return result


async def sync(connection: Connection, params: SyncParams) -> Nothing:
    """Answers when all that was written before it, by pi too, has been sent on this connection."""
    if params.session is not None:
        wanted = [connection.session(params.session)]
    else:
        wanted = list(connection.subscriptions.values())
    for session in wanted:
        await session.catch_up()
    # A client that was told too much to take it all must learn of that before it goes on.
    connection.outbound.tell_dropped()
    return Nothing()


def close(connection: Connection, params: CloseParams) -> Nothing:
    """No longer tells this client of the session."""
    connection.unsubscribe(params.session)
    return Nothing()


async def list_sessions(connection: Connection, params: ListParams) -> ListResult:
    """Sessions on disk and in memory."""
    client = connection.client
    cwd = client.resolve(params.cwd, "cwd") if params.cwd else None
    if params.watch:
        connection.watch_list(cwd)
    wanted = Wanted(
        cwd=cwd,
        query=params.query,
        name=params.name,
        is_open=params.open,
        is_unsaved=params.unsaved,
        is_live=params.live,
        limit=params.limit,
        cursor=params.cursor,
        session_dir=client.session_dir,
    )
    return conversion.list_result(await connection.state.sessions.list(wanted))
