"""What an act would do and cost, told before it is done. Sizes are in tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pisessiond.service.types import ContextSize, EntryId


@dataclass(frozen=True, slots=True)
class Forecast:
    """What asking a summarizer comes to."""

    summarizer: str
    model: str | None
    """As `provider/modelId`; None where it is no model."""
    tokens_in: int
    """Estimate of what it reads, in tokens."""
    cost: float | None
    """In US dollars, with a summary half as long as it may get; None when the price is unknown."""


@dataclass(frozen=True, slots=True)
class SummaryInput:
    """What one call of a summarizer reads."""

    kind: Literal["history", "turnPrefix", "branch"]
    text: str
    """The messages in plain text."""
    previous_summary: str | None


@dataclass(frozen=True, slots=True)
class CompactionPreview:
    """What a compaction would do, nothing changed."""

    first_kept: EntryId
    is_split_turn: bool
    summarised: tuple[EntryId, ...]
    turn_prefix: tuple[EntryId, ...]
    kept: tuple[EntryId, ...]
    tokens_before: int
    tokens_kept: int
    """Estimate of what stays besides the summary."""
    previous_summary: bool
    read_files: tuple[str, ...]
    modified_files: tuple[str, ...]
    summary_at_most: int = 0
    """How long the summary may get, in tokens."""
    tokens_after: int = 0
    """Estimate of the size after it, with a summary of that length."""
    forecast: Forecast | None = None
    """What the summarizer would be given and cost; None when there is none."""
    no_summarizer: str | None = None
    """Why there is none, in a sentence."""
    inputs: tuple[SummaryInput, ...] | None = None
    """What the summarizer would read; None where it was not asked for."""


@dataclass(frozen=True, slots=True)
class DraftSummary:
    """A summary that was written and is not stored yet, for a person to look at."""

    draft: str
    """Names it in the compaction that stores it."""
    summary: str
    usage: dict[str, Any] | None
    preview: CompactionPreview


@dataclass(frozen=True, slots=True)
class MovePreview:
    """What a move or a fork would do, nothing changed."""

    leaf: EntryId | None
    """Where it would stand."""
    left_entries: int
    """Entries that leave the active branch; they stay in the tree."""
    left_turns: int
    size_now: ContextSize
    size_after: ContextSize
    returns_text: str | None
    """The text that would come back for the prompt."""
    outside: str | None
    """ISO time of another program's newest write in the last 15 minutes; None without one."""
    forecast: Forecast | None
    """Of summarising what is left; None when nothing is left or nobody could."""
