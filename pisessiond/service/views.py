"""What questions to one session are answered: pages of the tree, entries, the context; totals.

Sizes are in tokens, costs in US dollars.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pisessiond.service.types import ContextSize, EntryId, Node


@dataclass(frozen=True, slots=True)
class TreePage:
    """A run of nodes in preorder, active branch first; `before`/`after` continue it."""

    rev: int
    total: int
    nodes: tuple[Node, ...]
    before: EntryId | None
    after: EntryId | None


@dataclass(frozen=True, slots=True)
class EntriesPage:
    rev: int
    lines: tuple[bytes, ...]
    """Entries as stored (migrated where the file is old), each one JSON object in UTF-8."""
    cursor: str | None
    """Continue here; None at the end."""


@dataclass(frozen=True, slots=True)
class ContextPage:
    rev: int
    messages: tuple[dict[str, Any], ...]
    sources: tuple[EntryId, ...]
    """The entry each message comes from."""
    model: dict[str, Any] | None
    thinking_level: Any
    active_tools: Any
    omitted: tuple[tuple[EntryId, Literal["compacted", "edited", "noMessage"]], ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class TokenTotals:
    input: int
    output: int
    cache_read: int
    cache_write: int


@dataclass(frozen=True, slots=True)
class ModelTotals:
    model: str
    tokens: TokenTotals
    cost: float


@dataclass(frozen=True, slots=True)
class StatsPart:
    """Totals of a branch or of the whole file."""

    messages: dict[str, int]
    """How many, by role."""
    tool_calls: int
    tokens: TokenTotals
    cost: float
    """As the entries themselves say, in the currency pi writes (US dollars)."""
    models: tuple[ModelTotals, ...]


@dataclass(frozen=True, slots=True)
class Stats:
    rev: int
    branch: StatsPart
    file: StatsPart


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """One of two branches since their common ancestor."""

    entries: int
    turns: int
    size: ContextSize
    """At its end."""
    tokens: TokenTotals
    cost: float
    seconds: float
    """From the first to the last entry."""
    read_files: tuple[str, ...]
    modified_files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    rev: int
    ancestor: EntryId | None
    """The deepest entry on both; None when they share none."""
    ancestor_size: ContextSize | None
    a: ComparedSide
    b: ComparedSide
