"""Where a compaction cuts a branch, and what its summary is made from.

Pure functions over the projection of the active branch: the service asks for a preparation, has
a summarizer write the text and appends the entry. Nothing here calls a model or writes.

The rules are those of pi 1.6.0's `findProjectedCutPoint` and `prepareCompaction`:

    system user assistant toolResult | user assistant toolResult assistant
    `------ messages to summarise --'|`--------------- kept -------------'
                               first kept entry

The cut may fall inside a turn, in front of an assistant message (a *split turn*). The beginning
of that turn is then summarised apart, since what is kept would be hard to read without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

from pisessiond.core.errors import NothingToCompact
from pisessiond.core.file_operations import FileOperations
from pisessiond.core.projection import Message, ProjectedEntry, entry_messages
from pisessiond.core.system_state import EMPTY, SystemState, replay
from pisessiond.core.tokens import estimate_tokens

_TURN_START_ROLES: Final = frozenset(
    {"user", "bashExecution", "custom", "branchSummary", "compactionSummary"}
)
_CUT_POINT_ROLES: Final = _TURN_START_ROLES | {"assistant"}


@dataclass(frozen=True, slots=True)
class CompactionSettings:
    """When to compact and how much to keep; pi's setting `compaction`."""

    enabled: bool = True
    """Whether compaction starts by itself. By hand it always may."""
    reserve_tokens: int = 16384
    """Room left in the window for the next prompt and answer."""
    keep_recent_tokens: int = 20000
    """How much of the newest part of the branch is kept, by estimate."""


@dataclass(frozen=True, slots=True)
class CutPoint:
    """Where a compaction cuts, as positions among the projected entries."""

    first_kept: int
    turn_start: int | None
    """The entry that begins the turn the cut falls into; None when it falls between turns."""
    is_split_turn: bool


@dataclass(frozen=True, slots=True)
class CompactionPreparation:
    """All that a compaction needs before the summary is written."""

    first_kept_entry_id: Any
    messages_to_summarize: tuple[Message, ...]
    """The history up to the cut, or up to the turn it splits; without system messages."""
    turn_prefix_messages: tuple[Message, ...]
    """The beginning of a split turn; empty otherwise."""
    is_split_turn: bool
    tokens_before: int
    previous_summary: str | None
    """The summary of the newest compaction, which the new one updates."""
    file_operations: FileOperations
    settings: CompactionSettings
    summarized_entry_ids: tuple[Any, ...]
    """The entries that leave the projection, those without a message too, oldest first."""
    kept_entry_ids: tuple[Any, ...]
    """The entries that stay, beginning with the first kept one."""
    system: SystemState
    """The system messages of the projection, edits applied, as the compaction carries them on."""


def should_compact(tokens: int, window: int, settings: CompactionSettings) -> bool:
    """Whether compaction is due at this context size."""
    return settings.enabled and tokens > window - settings.reserve_tokens


# The cut point


def find_cut_point(
    projected: Sequence[ProjectedEntry], start: int, end: int, keep_recent_tokens: int
) -> CutPoint:
    """Where to cut between `start` and `end` (exclusive) so that about that much is kept.

    With nothing to cut at, the cut stands at `start` and keeps everything.
    """
    allowed = [at for at in range(start, end) if _gives(projected[at], _CUT_POINT_ROLES)]
    if not allowed:
        return CutPoint(start, None, False)
    reached = _reach_budget(projected, start, end, keep_recent_tokens)
    if reached is None:
        cut = allowed[0]
    else:
        cut = next((at for at in allowed if at >= reached), allowed[-1])
        if _only_attempts_follow(projected[cut + 1 : end]):
            cut += 1
    while cut > start and _is_silent(projected[cut - 1]):
        cut -= 1
    turn_start = None
    if not _starts_turn(projected[cut]):
        before = range(cut - 1, start - 1, -1)
        turn_start = next((at for at in before if _starts_turn(projected[at])), None)
    return CutPoint(cut, turn_start, turn_start is not None)


def _reach_budget(
    projected: Sequence[ProjectedEntry], start: int, end: int, budget: int
) -> int | None:
    """The newest position from which on the estimates reach the budget; None if they never do."""
    tokens = 0
    for at in range(end - 1, start - 1, -1):
        own = sum(map(estimate_tokens, projected[at].messages))
        tokens += own
        # Only an entry with a size can be the one, also under a budget of 0.
        if own and tokens >= budget:
            return at
    return None


def _gives(projected: ProjectedEntry, roles: frozenset[str]) -> bool:
    if projected.entry.get("type") == "compaction":
        return False
    return any(_role(message) in roles for message in projected.messages)


def _starts_turn(projected: ProjectedEntry) -> bool:
    return _gives(projected, _TURN_START_ROLES)


def _is_silent(projected: ProjectedEntry) -> bool:
    return projected.entry.get("type") != "compaction" and not projected.messages


def _only_attempts_follow(suffix: Sequence[ProjectedEntry]) -> bool:
    """Whether all that follows the cut is answers taken out by edits.

    pi leaves a failed attempt in the file and omits it by a `context_edit` before it tries
    again. The cut then moves past the last visible entry, which would otherwise be all that is
    kept. Any other edit, or anything the model still sees, keeps the cut where it is.
    """
    omitted = [item.entry for item in suffix if _is_omitted(item)]
    if not any(_is_assistant(entry) for entry in omitted):
        return False
    omitted_ids = [entry.get("id") for entry in omitted]
    for item in suffix:
        kind = item.entry.get("type")
        if kind == "compaction":
            return False
        if kind == "context_edit":
            if not _is_omission(item.entry) and item.entry.get("targetId") not in omitted_ids:
                return False
        elif item.messages:
            return False
    return True


def _is_omitted(projected: ProjectedEntry) -> bool:
    return not projected.messages and bool(entry_messages(projected.entry))


def _is_omission(edit: dict[str, Any]) -> bool:
    return "replacement" in edit and edit["replacement"] is None


def _is_assistant(entry: dict[str, Any]) -> bool:
    return entry.get("type") == "message" and entry["message"].get("role") == "assistant"


def _role(message: Message) -> str:
    role = message.get("role")
    return role if isinstance(role, str) else ""


# The preparation


def prepare_compaction(
    projected: Sequence[ProjectedEntry], tokens_before: int, settings: CompactionSettings
) -> CompactionPreparation:
    """What to summarise and what to keep of the active branch.

    Args:
        projected: The projection of the branch; its newest compaction, if any, comes first.
        tokens_before: The context size as section 5 of the rules has it for compactions.
        settings: How much to keep.

    Raises:
        NothingToCompact: The branch ends in a compaction, or nothing stands before the cut.
    """
    if _ends_in_compaction(projected):
        raise NothingToCompact("the last entry is a compaction already.")
    previous = _newest_compaction(projected)
    start = 0 if previous is None else previous + 1
    cut = find_cut_point(projected, start, len(projected), settings.keep_recent_tokens)
    history_end = cut.first_kept if cut.turn_start is None else cut.turn_start
    history = _messages(projected[start:history_end])
    prefix = _messages(projected[history_end : cut.first_kept])
    if not history and not prefix:
        raise NothingToCompact("everything on the branch is recent enough to be kept.")
    operations = FileOperations()
    summary = None
    if previous is not None:
        compaction = projected[previous].entry
        summary = compaction.get("summary")
        operations.add_details(compaction)
    for message in (*history, *prefix):
        operations.add_message(message)
    ids = [item.entry["id"] for item in projected]
    return CompactionPreparation(
        first_kept_entry_id=ids[cut.first_kept],
        messages_to_summarize=history,
        turn_prefix_messages=prefix,
        is_split_turn=cut.is_split_turn,
        tokens_before=tokens_before,
        previous_summary=summary if isinstance(summary, str) else None,
        file_operations=operations,
        settings=settings,
        summarized_entry_ids=tuple(ids[start : cut.first_kept]),
        kept_entry_ids=tuple(ids[cut.first_kept :]),
        system=reduce(replay, (m for item in projected for m in item.messages), EMPTY),
    )


def _ends_in_compaction(projected: Sequence[ProjectedEntry]) -> bool:
    # A compaction comes first in the projection wherever it stands on the branch; it is the last
    # entry there exactly when none of the others is its child.
    if not projected or projected[0].entry.get("type") != "compaction":
        return False
    compaction_id = projected[0].entry["id"]
    return all(item.entry.get("parentId") != compaction_id for item in projected)


def _newest_compaction(projected: Sequence[ProjectedEntry]) -> int | None:
    """Where the compaction stands that still gives a summary, unless an edit took it out."""
    for at, item in enumerate(projected):
        if item.entry.get("type") == "compaction" and item.messages:
            return at
    return None


def _messages(projected: Sequence[ProjectedEntry]) -> tuple[Message, ...]:
    """The conversation of a stretch: system messages are state, and compactions are told apart."""
    return tuple(
        message
        for item in projected
        if item.entry.get("type") != "compaction"
        for message in item.messages
        if message.get("role") != "system"
    )
