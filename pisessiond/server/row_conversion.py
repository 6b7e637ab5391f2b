"""Rows of the service as models of the wire."""

from __future__ import annotations

from typing import cast

from pisessiond.core.rows.row import Row, RowsChange
from pisessiond.protocol import row_models, values
from pisessiond.service.row_book import RowsPage


def row(given: Row) -> row_models.Row:
    """One row."""
    size = given.size
    return row_models.Row(
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
        size=None
        if size is None
        else row_models.RowSize(
            tokens=size.tokens, percent=size.percent, source=size.source, grade=size.grade
        ),
        rows=given.rows,
        depth=given.depth,
        fold=given.fold,
        flags=cast("list[row_models.RowFlag]", list(given.flags)),
        forks=list(given.forks),
        by=given.by,
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
