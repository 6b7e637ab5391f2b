"""Rows of the service as models of the wire."""

from __future__ import annotations

from typing import cast

from pisessiond.core.rows.row import Row, RowsChange, RowSize
from pisessiond.protocol import row_models, values
from pisessiond.service.branch_listing import BranchPage
from pisessiond.service.row_pages import RowsPage


def row(given: Row) -> row_models.Row:
    """One row."""
    made = row_models.Row(
        id=given.id,
        kind=given.kind,
        level=given.level,
        after=given.after,
        entry=given.entry,
        first=given.first,
        last=given.last,
        entries=given.entries,
        title=given.title,
        label=given.label,
        counts=[row_models.RowCount(name=name, n=n) for name, n in given.counts],
        failed=given.failed,
        outcome=given.outcome,
        time=given.time,
        duration=given.duration,
        tokens=given.tokens,
        size=_size(given.size),
        rows=given.rows,
        depth=given.depth,
        fold=given.fold,
        flags=cast("list[row_models.RowFlag]", list(given.flags)),
        forks=list(given.forks),
        by=given.by,
    )
    if given.out:
        made.out = given.out
    return made


def _size(given: RowSize | None) -> row_models.RowSize | None:
    if given is None:
        return None
    return row_models.RowSize(
        tokens=given.tokens, percent=given.percent, source=given.source, grade=given.grade
    )


def branches_result(given: BranchPage) -> row_models.BranchesResult:
    """Some branches."""
    return row_models.BranchesResult(
        rev=given.rev,
        branches=[
            row_models.Branch(
                entry=one.entry,
                active=one.active,
                label=one.label,
                first=one.first,
                last=one.last,
                entries=one.entries,
                time=one.time,
                size=_size(one.size),
            )
            for one in given.branches
        ],
        cursor=given.cursor,
    )


def rows_result(given: RowsPage) -> row_models.RowsResult:
    """Rows of one level."""
    made = row_models.RowsResult(
        rev=given.rev,
        level=given.level,
        total=given.total,
        rows=[row(one) for one in given.rows],
    )
    if given.before is not None:
        made.before = given.before
    if given.after is not None:
        made.after = given.after
    if given.path is not None:
        made.path = list(given.path)
    return made


def rows_change(given: RowsChange, origin: values.Origin) -> values.Change:
    """How rows have changed, as a change among others."""
    return row_models.RowsChange(
        kind="rows",
        origin=origin,
        upsert=[row(one) for one in given.upsert],
        gone=list(given.gone),
        stale=list(given.stale),
    )
