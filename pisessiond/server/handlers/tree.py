"""The tree of a session and the bodies of its entries."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pisessiond.protocol.graph_models import GraphParams
from pisessiond.protocol.row_models import (
    BranchesParams,
    BranchesResult,
    RowsParams,
    RowsResult,
)
from pisessiond.protocol.view_models import EntriesParams, TreeParams, TreeResult
from pisessiond.server import conversion
from pisessiond.server.envelope import RawJson, encode
from pisessiond.server.graph_conversion import graph_text
from pisessiond.server.row_conversion import branches_result, rows_result
from pisessiond.service.branch_listing import BranchWish
from pisessiond.service.graph_pages import GraphWish
from pisessiond.service.row_pages import RowsWish
from pisessiond.service.storing import in_worker

if TYPE_CHECKING:
    from pisessiond.server.connection import Connection


async def tree(connection: Connection, params: TreeParams) -> TreeResult:
    """A stretch of the tree."""
    page = await connection.session(params.session).tree(
        around=params.around,
        after=params.after,
        before=params.before,
        count=params.count,
        filter=params.filter,
    )
    return conversion.tree_result(page)


async def rows(connection: Connection, params: RowsParams) -> RowsResult:
    """Rows of one level."""
    page = await connection.session(params.session).rows.page(
        RowsWish(
            level=params.level,
            around=params.around,
            after=params.after,
            before=params.before,
            count=params.count,
            filter=params.filter,
        )
    )
    return rows_result(page)


async def branches(connection: Connection, params: BranchesParams) -> BranchesResult:
    """Branches by their ends."""
    wish = BranchWish(params.query, params.limit, params.cursor)
    return branches_result(await connection.session(params.session).rows.branches(wish))


async def graph(connection: Connection, params: GraphParams) -> RawJson:
    """A stretch of the graph."""
    wish = GraphWish(params.zoom, params.start, params.around, params.count)
    page = await connection.session(params.session).rows.graph(wish)
    return await in_worker(partial(graph_text, page), abandon=True)


async def entries(connection: Connection, params: EntriesParams) -> RawJson:
    """Bodies as stored.

    They are put into the answer as the bytes they are: no number changes its spelling and no
    member its place.
    """
    page = await connection.session(params.session).entries(
        ids=params.ids,
        branch=params.branch,
        since=params.since,
        order=params.order,
        limit=params.limit,
        cursor=params.cursor,
    )
    return RawJson(
        b'{"rev":%d,"entries":[%b],"cursor":%b}'
        % (page.rev, b",".join(page.lines), encode(page.cursor))
    )
