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
"""pi's five filters of the tree, by the names it gives them."""
Outcome: TypeAlias = Literal["ok", "failed", "error", "aborted", "running"]
Source: TypeAlias = Literal["measured", "estimated"]
Grade: TypeAlias = Literal["ok", "warn", "high"]
"""How full the window is, by the thresholds of the settings."""
Fold: TypeAlias = Literal["none", "closed", "open"]

TITLE: Final = 200
"""UTF-16 code units of a title at most."""


@dataclass(frozen=True, slots=True)
class RowSize:
    """The context size if one stood at a row's last entry, in tokens."""

    tokens: int
    source: Source
    percent: float | None = None
    """Of the window; None when the window is unknown."""
    grade: Grade = "ok"


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
    out: int = 0
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


@dataclass(frozen=True, slots=True)
class RowsChange:
    """How rows have changed; applying it twice changes nothing."""

    upsert: tuple[Row, ...] = ()
    """New or changed ones, whole; each stands behind its `after`."""
    gone: tuple[str, ...] = ()
    stale: tuple[str | None, ...] = ()
    """Levels to be asked for again, and with them whatever is open inside; None: the main line."""

    def then(self, later: RowsChange) -> RowsChange:
        """Both, one after the other, as one."""
        upserts = {row.id: row for row in self.upsert if row.id not in later.gone}
        for row in later.upsert:
            upserts.pop(row.id, None)
            upserts[row.id] = row
        gone = dict.fromkeys((*self.gone, *later.gone))
        stale = dict.fromkeys((*self.stale, *later.stale))
        return RowsChange(
            tuple(upserts.values()), tuple(one for one in gone if one not in upserts), tuple(stale)
        )
