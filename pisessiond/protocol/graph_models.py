"""A whole session as a picture of lanes, a stretch of its lines at a time (UX: graph)."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field, model_validator

from pisessiond.protocol.row_models import RowCount, RowFlag, RowKind, RowSize
from pisessiond.protocol.view_models import SessionParams
from pisessiond.protocol.wire import MAX_TREE_NODES, EntryId, WireModel

GraphZoom: TypeAlias = Literal["branches", "turns", "entries"]


class GraphParams(SessionParams):
    """A stretch of the graph: from a line on, or around an entry."""

    zoom: GraphZoom = "turns"
    """`turns`: a line for each row of the tree under the default filter, but those that only fold
    others away. `entries`: the same under `all`. `branches`: branch points, compactions, entries
    that sessions were forked from, `here`, and a line for the end of each branch."""
    start: int = Field(default=0, ge=0, strict=True)
    """The number of the first line, from 0; past the end there are none."""
    around: EntryId | Literal["here"] | None = None
    """An entry to be found instead: its line stands in the middle, and `found` says which it is."""
    count: int = Field(default=200, ge=1, le=MAX_TREE_NODES, strict=True)
    """At most so many lines."""

    @model_validator(mode="after")
    def _one_place(self) -> GraphParams:
        if self.around is not None and "start" in self.model_fields_set:
            raise ValueError("give at most one of start and around")
        return self


class GraphLane(WireModel):
    """A lane beside a line: it passes the line by, or begins there."""

    lane: int
    """Its number: 0 is the main line, 9 the bundle."""
    tokens: int | None
    """The context size there, which is how wide it is; null until known, and for the bundle."""
    percent: float | None
    """Of the window; null when the window or the size is unknown, and for the bundle."""
    next: int | None
    """The number of the next line in it."""
    count: int = 1
    """How many branches are in it: more than one in the bundle only, and absent for one."""
    leads: bool = False
    """Its branch has no line above: the lane only leads from the branch point to the first. Absent
    where it does not."""


class GraphEnd(WireModel):
    """What is told in the last line of a branch; the context size there is that of the line."""

    row: str | None
    """The row of the branch in the tree (`b:`); null for the main line."""
    entry: EntryId | None
    """The last entry of it: where to navigate to; null in a session without entries."""
    entries: int
    """How many entries it has since it left the line it is on."""
    title: str
    """What its row in the tree is called; empty for the main line."""
    label: str | None
    """The newest label on it; null without one."""


class GraphLine(WireModel):
    """One line of the graph; what it has in common with a row of the tree means the same there."""

    id: str
    """The id of the row of the tree that it is; no two lines have the same."""
    kind: RowKind
    """What it stands for; never `summarised`, `group`; `alternative` and `ahead` only where the
    zoom is `branches`, as the end of a branch."""
    entry: EntryId | None
    """What acting on it means; null: before the first entry."""
    first: EntryId | None
    """The first entry it stands for; null for `here`."""
    last: EntryId | None
    """The last entry it stands for; null for `here`."""
    entries: int
    """How many entries its row stands for."""
    title: str
    """One plain line, at most 200 UTF-16 units."""
    label: str | None
    """The label of its entry; null without one."""
    counts: list[RowCount]
    """Tools, most used first; of work and steps."""
    failed: int
    """Failed steps in it."""
    out: int | None = None
    """Of work: results in it that are out of the context; absent where none is."""
    outcome: Literal["ok", "failed", "error", "aborted", "running"] | None
    """How it ended; null where nothing can fail."""
    time: str | None
    """ISO 8601 of `entry`; null where it cannot be read."""
    duration: int | None
    """Milliseconds from its first entry to `entry`; of work only."""
    tokens: int | None
    """Its own size, estimated, in tokens; null until known."""
    size: RowSize | None
    """The context size if one stood there, which is how wide its lane is; null until known."""
    flags: list[RowFlag]
    """States, none of which is told by colour alone."""
    forks: list[str]
    """Handles or paths of sessions forked here."""
    by: str | None
    """Who appended it, where that is known: a client's name, or `external`."""
    lane: int
    """Its lane: 0 is the main line, 1 to 8 those beside it, 9 the bundle of all the rest."""
    parent: int | None
    """The number of the line it stands under, always smaller than its own; null for a root."""
    next: int | None
    """The number of the next line of its branch; null at its end."""
    comes_out: bool = False
    """Its branch leaves the bundle here, so that a connection leads from lane 9 to its own; absent
    where it does not."""
    passing: list[GraphLane]
    """The lanes that come from above and go on below, by number; its own is among them only where
    it is the bundle and others are in that."""
    leaving: list[GraphLane]
    """The lanes that begin here, led to their places from its own lane."""
    end: GraphEnd | None = None
    """Where a branch ends; absent elsewhere."""


class GraphResult(WireModel):
    """A stretch of the graph, oldest line first.

    Lines are numbered from the top. A change of the session may number them anew: who draws asks
    again for what is in sight, at most every 200 ms, by `around` and what it holds on to, and
    merges by id.
    """

    rev: int
    """The revision they are of."""
    zoom: GraphZoom
    """As asked for."""
    total: int
    """Lines of the whole graph."""
    lanes: int
    """Lanes of the whole graph, 10 at most; the bundle is the tenth."""
    window: int | None
    """The context window in tokens that percents are of; null when unknown."""
    here: int
    """The number of the line `here`."""
    start: int
    """The number of the first line below."""
    lines: list[GraphLine]
    """The stretch."""
    found: int | None = None
    """With `around`: the number of the line that stands for the entry; where none does, of the
    nearest one."""
    point_before: int | None
    """The number of the last line before the stretch at which branches leave; null for none."""
    point_after: int | None
    """The number of the first line behind the stretch at which branches leave; null for none."""
