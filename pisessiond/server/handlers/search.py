"""Searching all sessions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pisessiond.core.dates import date_ms
from pisessiond.protocol.errors import invalid_params
from pisessiond.protocol.search_models import (
    EntryCopy,
    MatchRange,
    SearchHit,
    SearchParams,
    SearchResult,
    SearchSnippet,
)
from pisessiond.service.searching import SearchHit as FoundHit
from pisessiond.service.searching import SearchWish

if TYPE_CHECKING:
    from pisessiond.server.connection import Connection


async def search(connection: Connection, params: SearchParams) -> SearchResult:
    """A page of what was found."""
    client = connection.client
    since = None
    if params.since is not None and (since := date_ms(params.since)) is None:
        raise invalid_params("since", "give an ISO time, such as 2026-11-01")
    session = params.session
    if session is not None and os.sep in session:
        session = client.resolve(session, "session")
    wish = SearchWish(
        query=params.query,
        session=session,
        role=params.role,
        tool=params.tool,
        label=params.label,
        cwd=None if params.cwd is None else client.resolve(params.cwd, "cwd"),
        since=since,
        limit=params.limit,
        cursor=params.cursor,
        session_dir=client.session_dir,
    )
    page = await connection.state.sessions.search(wish)
    return SearchResult(
        hits=[_hit(one) for one in page.hits], cursor=page.cursor, pending=page.pending
    )


def _hit(given: FoundHit) -> SearchHit:
    matches = [MatchRange(start=start, end=end) for start, end in given.snippet.matches]
    return SearchHit(
        session=given.session,
        path=given.path,
        cwd=given.cwd,
        name=given.name,
        entry=given.entry,
        role=given.role,
        tool=given.tool,
        time=given.time,
        snippet=SearchSnippet(text=given.snippet.text, matches=matches),
        copies=[EntryCopy(session=session, path=path) for session, path in given.copies],
    )
