"""What the model would be sent, how large it is, totals, and the file's problems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pisessiond.protocol import values
from pisessiond.protocol.view_models import (
    CheckResult,
    CompareParams,
    CompareResult,
    ContextParams,
    ContextResult,
    ContextSizeParams,
    ContextSizeResult,
    ContextSizes,
    SessionParams,
    StatsResult,
    SummarizerChoice,
    SummarizersResult,
)
from pisessiond.server import conversion

if TYPE_CHECKING:
    from pisessiond.server.connection import Connection
    from pisessiond.service.open_session import OpenSession


async def context(connection: Connection, params: ContextParams) -> ContextResult:
    """The projection at the leaf or any entry."""
    page = await connection.session(params.session).context(
        params.entry if "entry" in params.model_fields_set else msgspec.UNSET,
        limit=params.limit,
        cursor=params.cursor,
    )
    return conversion.context_result(page)


async def context_size(connection: Connection, params: ContextSizeParams) -> ContextSizeResult:
    """The size at the leaf, or at each of some entries."""
    session = connection.session(params.session)
    await session.refresh_settings()
    if params.entries is None:
        size = conversion.context_size(await session.context_size(window=params.window))
        await _name_rows(session, size)
        return ContextSizeResult(size)
    sizes = await session.context_sizes(params.entries, window=params.window)
    return ContextSizeResult(
        ContextSizes(
            sizes={str(entry): conversion.context_size(size) for entry, size in sizes.items()}
        )
    )


async def _name_rows(session: OpenSession, size: values.ContextSize) -> None:
    """Say of the largest entries in which row one finds them."""
    if size.largest:
        rows = await session.rows.rows_of([one.entry for one in size.largest])
        for one in size.largest:
            if (row := rows.get(one.entry)) is not None:
                one.row = row


async def stats(connection: Connection, params: SessionParams) -> StatsResult:
    """Totals of the active branch and of the file."""
    return conversion.stats_result(await connection.session(params.session).stats())


async def compare(connection: Connection, params: CompareParams) -> CompareResult:
    """Two branches since they parted."""
    session = connection.session(params.session)
    ends = [session.leaf if end == "leaf" else end for end in (params.a, params.b)]
    return conversion.compare_result(await session.compare(*ends))


async def summarizers(connection: Connection, params: SessionParams) -> SummarizersResult:
    """Who can write summaries for the session."""
    found = await connection.session(params.session).summarizers()
    return SummarizersResult(
        summarizers=[
            SummarizerChoice(
                name=one.name,
                model=None if one.model is None else str(one.model),
                ready=one.is_ready,
                reason=one.reason,
                default=one.is_default,
            )
            for one in found
        ]
    )


async def check(connection: Connection, params: SessionParams) -> CheckResult:
    """The file's problems."""
    found = await connection.session(params.session).check()
    return CheckResult(problems=conversion.problems(found))
