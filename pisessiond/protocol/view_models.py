"""Parameters and results of looking at a session: tree, entries, context, sizes, totals."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, RootModel, StrictStr, model_validator

from pisessiond.protocol.values import ContextSize, Node, Problem
from pisessiond.protocol.wire import MAX_TREE_NODES, EntryId, JsonObject, ReadParams, WireModel

TreeFilter = Literal["default", "no-tools", "user-only", "labeled-only", "all"]
"""pi's own filters of its tree."""


class SessionParams(ReadParams):
    """Which session."""

    session: StrictStr
    """Handle of an open session."""


class TreeParams(SessionParams):
    """A stretch of the tree: around an entry, or after or before one, or from the beginning."""

    around: EntryId | Literal["leaf"] | None = None
    """An entry in the middle of the stretch, or the leaf."""
    after: EntryId | None = None
    """The stretch behind this entry."""
    before: EntryId | None = None
    """The stretch in front of this entry."""
    count: int = Field(default=200, ge=1, le=MAX_TREE_NODES, strict=True)
    """At most so many nodes."""
    filter: TreeFilter = "all"
    """Which entries are shown, in pi's words."""

    @model_validator(mode="after")
    def _one_place(self) -> TreeParams:
        if sum(value is not None for value in (self.around, self.after, self.before)) > 1:
            raise ValueError("give at most one of around, after and before")
        return self


class TreeResult(WireModel):
    """Nodes in preorder, the active branch first; flat, never nested."""

    rev: int
    """The revision they are of; a page of another one is merged by id."""
    total: int
    """Nodes in the whole tree under this filter."""
    nodes: list[Node]
    """The stretch."""
    before: EntryId | None = None
    """Goes on in front of here; absent at the beginning."""
    after: EntryId | None = None
    """Goes on behind here; absent at the end."""


class EntriesParams(SessionParams):
    """Bodies of entries: of some, of a branch, or since one; of the active branch by default."""

    ids: list[EntryId] | None = None
    """These, in this order."""
    branch: EntryId | Literal["leaf"] | None = None
    """Those on the path to this entry."""
    since: EntryId | None = None
    """Those behind this one."""
    order: Literal["branch", "file"] = "branch"
    """From the root on, or as the file has them (the append log, moves included)."""
    limit: int = Field(default=1_000, ge=1, le=10_000, strict=True)
    """At most so many."""
    cursor: StrictStr | None = None
    """Goes on where an answer ended."""

    @model_validator(mode="after")
    def _one_choice(self) -> EntriesParams:
        if sum(value is not None for value in (self.ids, self.branch, self.since)) > 1:
            raise ValueError("give at most one of ids, branch and since")
        return self


class EntriesResult(WireModel):
    """Entries as stored."""

    rev: int
    """The revision they are of."""
    entries: list[JsonObject]
    """Each as the file has it, byte for byte; an old file's as migrated."""
    cursor: str | None
    """Goes on here; null at the end."""


class ContextParams(SessionParams):
    """Where to look from."""

    entry: EntryId | None = None
    """The projection at this entry; null: before the first one; absent: at the leaf."""
    limit: int | None = Field(default=None, ge=1, strict=True)
    """At most so many messages."""
    cursor: StrictStr | None = None
    """Goes on where an answer ended."""


class Omitted(WireModel):
    """An entry on the branch that gives no message."""

    id: EntryId
    """Which."""
    reason: Literal["compacted", "edited", "noMessage"]
    """Why."""


class ContextResult(WireModel):
    """What the model would be sent."""

    rev: int
    """The revision it is of."""
    messages: list[JsonObject]
    """In the order they would be sent."""
    sources: list[EntryId]
    """The entry each message comes from."""
    model: JsonObject | None
    """Provider and model as they stand; null when none was chosen."""
    thinking_level: Any
    """As it stands."""
    active_tools: Any
    """As they stand; null when the session does not say."""
    omitted: list[Omitted]
    """Entries on the branch that give no message."""
    cursor: str | None
    """Goes on here; null at the end."""


class ContextSizeParams(SessionParams):
    """The size at the leaf, or at some entries."""

    entries: list[EntryId] | None = Field(default=None, max_length=MAX_TREE_NODES)
    """Which entries; absent: the leaf."""
    window: int | None = Field(default=None, ge=1, strict=True)
    """The context window to count by, in tokens; absent: that of the model."""


class ContextSizes(WireModel):
    """Sizes at the entries asked for."""

    sizes: dict[str, ContextSize]
    """By entry id (a number as its text)."""


class ContextSizeResult(RootModel[ContextSize | ContextSizes]):
    """One size, or with `entries` one for each."""

    def to_wire(self) -> bytes:
        """The JSON text: aliases, and only what was set."""
        return self.root.to_wire()


class TokenTotals(WireModel):
    """Tokens as the entries themselves say."""

    input: int
    """Sent, in tokens."""
    output: int
    """Written by the model, in tokens."""
    cache_read: int
    """Read from the provider's cache, in tokens."""
    cache_write: int
    """Written to it, in tokens."""


class ModelTotals(WireModel):
    """Totals of one model."""

    model: str
    """Provider and model."""
    tokens: TokenTotals
    """What it used."""
    cost: float
    """In US dollars, as the entries say."""


class StatsPart(WireModel):
    """Totals of a branch or of the whole file."""

    messages: dict[str, int]
    """How many, by role."""
    tool_calls: int
    """How many."""
    tokens: TokenTotals
    """Over all models."""
    cost: float
    """In US dollars, as the entries say."""
    models: list[ModelTotals]
    """By model."""


class StatsResult(WireModel):
    """Totals."""

    rev: int
    """The revision they are of."""
    branch: StatsPart
    """Of the active branch."""
    file: StatsPart
    """Of all entries."""


class CompareParams(SessionParams):
    """Two branches, each named by its end."""

    a: EntryId | Literal["leaf"]
    """The end of one; `leaf`: the active branch."""
    b: EntryId | Literal["leaf"]
    """The end of the other."""


class FileLists(WireModel):
    """Files by what the tool calls did to them."""

    read: list[str]
    """Read and not modified."""
    modified: list[str]
    """Written or edited."""


class ComparedSide(WireModel):
    """One branch since the common ancestor."""

    entries: int
    """How many."""
    turns: int
    """How many of them are user messages."""
    size: ContextSize
    """The context size at its end."""
    tokens: TokenTotals
    """What its answers used."""
    cost: float
    """In US dollars, as the entries say."""
    seconds: float
    """From its first to its last entry."""
    files: FileLists
    """As its tool calls tell."""


class CompareResult(WireModel):
    """Both branches since they parted."""

    rev: int
    """The revision they are of."""
    ancestor: EntryId | None
    """The deepest entry on both; null when they share none."""
    ancestor_size: ContextSize | None
    """The context size there; null without one."""
    a: ComparedSide
    """The one."""
    b: ComparedSide
    """The other."""


class SummarizerChoice(WireModel):
    """A summarizer that can be named in session/compact and session/navigate."""

    name: str
    """What to name."""
    model: str | None
    """Who would write, as `provider/modelId`; null where it is no model, or not known."""
    ready: bool
    """Whether it could be asked now."""
    reason: str | None
    """Why not, in a sentence with the next step; null when it could."""
    default: bool
    """The one that is taken when none is named."""


class SummarizersResult(WireModel):
    """Who can write summaries for this session."""

    summarizers: list[SummarizerChoice]
    """The default first; empty when nothing is set up."""


class CheckResult(WireModel):
    """What in the file could not be taken as it stands."""

    problems: list[Problem]
    """In file order; empty when all is well."""
