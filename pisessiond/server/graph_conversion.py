"""Lines of a graph as models of the wire."""

from __future__ import annotations

from typing import Final

from pisessiond.core.graph.lines import BranchEnd, GraphLine, Lane
from pisessiond.protocol import graph_models, row_models
from pisessiond.server import row_conversion
from pisessiond.server.envelope import RawJson, encode_result
from pisessiond.service.graph_pages import GraphPage

_SHARED: Final = row_models.Row.model_fields.keys() & graph_models.GraphLine.model_fields.keys()
"""What a line has in common with the row of the tree that it is."""


def graph_text(given: GraphPage) -> RawJson:
    """A stretch of a graph as the text of an answer; two thousand lines are work for a worker."""
    return encode_result(graph_result(given))


def graph_result(given: GraphPage) -> graph_models.GraphResult:
    """A stretch of a graph."""
    made = graph_models.GraphResult(
        rev=given.rev,
        zoom=given.zoom,
        total=given.total,
        lanes=given.lanes,
        window=given.window,
        here=given.here,
        start=given.start,
        lines=[_line(one) for one in given.lines],
        point_before=given.point_before,
        point_after=given.point_after,
    )
    if given.found is not None:
        made.found = given.found
    return made


def _line(given: GraphLine) -> graph_models.GraphLine:
    row = row_conversion.row(given.row)
    shared = {name: getattr(row, name) for name in row.model_fields_set & _SHARED}
    made = graph_models.GraphLine.model_construct(
        **shared,
        lane=given.lane,
        parent=given.parent,
        next=given.next,
        passing=[_lane(one) for one in given.passing],
        leaving=[_lane(one) for one in given.leaving],
    )
    if given.comes_out:
        made.comes_out = True
    if given.end is not None:
        made.end = _end(given.end)
    return made


def _lane(given: Lane) -> graph_models.GraphLane:
    size = given.size
    made = graph_models.GraphLane(
        lane=given.lane,
        tokens=None if size is None else size.tokens,
        percent=None if size is None else size.percent,
        next=given.next,
    )
    if given.count != 1:
        made.count = given.count
    if given.leads:
        made.leads = True
    return made


def _end(given: BranchEnd) -> graph_models.GraphEnd:
    return graph_models.GraphEnd(
        row=given.row,
        entry=given.entry,
        entries=given.entries,
        title=given.title,
        label=given.label,
    )
