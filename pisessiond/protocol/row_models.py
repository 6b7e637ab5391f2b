"""The tree as people see it: rows, their levels, and how they change (UX: rows from the daemon)."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import Field, StrictStr, model_validator

from pisessiond.protocol.values import Change, SizeSource
from pisessiond.protocol.view_models import SessionParams, TreeFilter
from pisessiond.protocol.wire import MAX_LISTED, MAX_TREE_NODES, EntryId, WireModel

RowKind: TypeAlias = Literal[
    "user",
    "answer",
    "work",
    "step",
    "bash",
    "note",
    "compaction",
    "summarised",
    "branchSummary",
    "alternative",
    "group",
    "ahead",
    "here",
    "meta",
]
RowFlag: TypeAlias = Literal[
    "active",
    "ahead",
    "summarised",
    "omitted",
    "replaced",
    "unsaved",
    "problem",
    "external",
    "notInContext",
]


class RowCount(WireModel):
    """How often a tool was called."""

    name: str
    """The tool."""
    n: int
    """How often."""


class RowSize(WireModel):
    """The context size if one stood at a row's last entry."""

    tokens: int
    """In tokens."""
    percent: float | None
    """Of the window; null when the window is unknown."""
    source: SizeSource
    """Measured by a provider, or estimated from characters."""
    grade: Literal["ok", "warn", "high"]
    """By the thresholds of the settings."""


class Row(WireModel):
    """One painted line, standing for one or more entries."""

    id: str
    """`e:` entry, `w:` first of the work, `b:` first of the branch, `g:` branch point,
    `s:` compaction, `ahead`, `here`; it stays when the tree grows."""
    kind: RowKind
    """What it stands for."""
    level: str | None
    """The row it is inside; null: the main line."""
    after: str | None
    """The row of its level it stands behind; null: the first."""
    entry: EntryId | None
    """What acting on it means; of an alternative and of `ahead` its end. Null: before the first
    entry."""
    first: EntryId | None
    """The first entry it stands for; null for `here`."""
    last: EntryId | None
    """The last entry it stands for; null for `here`."""
    entries: int
    """How many entries it stands for."""
    title: str
    """One plain line, at most 200 UTF-16 units."""
    label: str | None
    """The label of its entry; null without one."""
    counts: list[RowCount]
    """Tools, most used first; of work and steps."""
    failed: int
    """Failed steps in it."""
    out: int | None = None
    """Of work: results in it that are out of the context, or replaced in it; absent where none
    is. Where all are, the row is flagged `omitted`."""
    outcome: Literal["ok", "failed", "error", "aborted", "running"] | None
    """How it ended; null where nothing can fail."""
    time: str | None
    """ISO 8601 of `entry`, of its last entry where it stands for others that have rows; null where
    it cannot be read."""
    duration: int | None
    """Milliseconds from its first entry to `entry`; of work only."""
    tokens: int | None
    """Its own size, estimated, in tokens; null until known."""
    size: RowSize | None
    """Null until known."""
    rows: int
    """Rows inside it; 0 where it cannot be opened."""
    depth: int
    """Levels it is away from the main line."""
    fold: Literal["none", "closed", "open"]
    """How it is at first."""
    flags: list[RowFlag]
    """States, none of which is told by colour alone."""
    forks: list[str]
    """Handles or paths of sessions forked here."""
    by: str | None
    """Who appended it, where that is known: a client's name, or `external`."""


class RowsWish(WireModel):
    """That rows are wanted, at `session/open`."""

    filter: TreeFilter = "default"
    """Which rows there are."""
    count: int = Field(default=200, ge=1, le=MAX_TREE_NODES, strict=True)
    """At most so many of the main line around `here` come with the answer."""


class RowsParams(SessionParams):
    """One level of the rows, or the part of it around an entry."""

    level: StrictStr | None = None
    """The row whose inside is wanted; absent: the main line."""
    around: EntryId | Literal["here"] | None = None
    """An entry to be found: the answer is of its level, and `path` names those to open."""
    after: StrictStr | None = None
    """The stretch behind this row."""
    before: StrictStr | None = None
    """The stretch in front of this row."""
    count: int = Field(default=200, ge=1, le=MAX_TREE_NODES, strict=True)
    """At most so many rows."""
    filter: TreeFilter = "default"
    """Which rows there are."""

    @model_validator(mode="after")
    def _one_place(self) -> RowsParams:
        if sum(value is not None for value in (self.around, self.after, self.before)) > 1:
            raise ValueError("give at most one of around, after and before")
        return self


class BranchesParams(SessionParams):
    """Branches of a session, all or some."""

    query: StrictStr = ""
    """Words of which each has to be in the label, the first or the last text; case and accents
    do not count."""
    limit: int = Field(default=50, ge=1, le=MAX_LISTED, strict=True)
    """At most so many."""
    cursor: StrictStr | None = None
    """Goes on where an answer ended."""


class Branch(WireModel):
    """A branch by its end: the main line, or an alternative since it left the line it is on."""

    entry: EntryId
    """Its end: where to navigate to."""
    active: bool
    """Whether it is the one the session stands on."""
    label: str | None
    """The newest label on it; null without one."""
    first: str
    """Its first user text, one line; else what its first row says."""
    last: str
    """What was said last, one line."""
    entries: int
    """How many entries it has since it left the line."""
    time: str | None
    """ISO time of its end; null where it cannot be read."""
    size: RowSize | None
    """The context size at its end; null until known."""


class BranchesResult(WireModel):
    """Some branches."""

    rev: int
    """The revision they are of."""
    branches: list[Branch]
    """The active one, then the others, newest first; only those that have a row under the default
    filter."""
    cursor: str | None
    """Goes on here; null at the end."""


class RowsChange(Change):
    """The change of kind `rows`; only for clients that asked for rows at `session/open`."""

    upsert: list[Row] = Field(default_factory=list)
    """New or changed rows, whole; each stands behind its `after` on its `level`."""
    gone: list[str] = Field(default_factory=list)
    """Rows that are no more."""
    stale: list[str | None] = Field(default_factory=list)
    """Levels to be asked for again, and with them whatever is open inside; null: the main line."""


class RowsResult(WireModel):
    """Rows of one level in their order."""

    rev: int
    """The revision they are of; a page of another one is merged by id."""
    level: str | None
    """The row they are inside; null: the main line."""
    total: int
    """Rows of the whole level."""
    rows: list[Row]
    """The stretch."""
    before: str | None = None
    """Goes on in front of here; absent at the beginning."""
    after: str | None = None
    """Goes on behind here; absent at the end."""
    path: list[str] | None = None
    """With `around`: the rows to open on the way, the outermost first."""
