"""What a row says, and the names of the filters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from pisessiond.core.lines import EntryId

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
Filter: TypeAlias = Literal["default", "no-tools", "user-only", "labeled-only", "all"]
FILTERS: Final[tuple[Filter, ...]] = (
    "default",
    "no-tools",
    "user-only",
    "labeled-only",
    "all",
)
Outcome: TypeAlias = Literal["ok", "failed", "error", "aborted", "running"]
Fold: TypeAlias = Literal["none", "closed", "open"]

TITLE: Final = 200
"""UTF-16 code units of a title at most."""


@dataclass(frozen=True, slots=True)
class RowSize:
    """The context size if one stood at a row's last entry, in tokens."""

    tokens: int
    source: Literal["measured", "estimated"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the tree as people see it; see the protocol's `Row` for each member."""

    id: str
    kind: RowKind
    level: str | None
    after: str | None
    entry: EntryId | None
    first: EntryId | None
    last: EntryId | None
    entries: int
    title: str
    label: str | None = None
    counts: tuple[tuple[str, int], ...] = ()
    failed: int = 0
    outcome: Outcome | None = None
    time: str | None = None
    duration: int | None = None
    tokens: int | None = None
    size: RowSize | None = None
    rows: int = 0
    depth: int = 0
    fold: Fold = "none"
    flags: tuple[str, ...] = ()
    forks: tuple[str, ...] = ()
    by: str | None = None
