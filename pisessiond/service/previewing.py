"""What a compaction would do and what asking a summarizer comes to, worked out before acting.

Plain functions over a session and whoever would write; they read bodies and spell prompts, so
they run in workers. The acts use the same plans, so that a dry run and the act agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pisessiond.core.compaction import CompactionPreparation, CompactionSettings
from pisessiond.core.conversation import serialize_conversation
from pisessiond.core.file_operations import compute_file_lists
from pisessiond.core.javascript import utf16_length
from pisessiond.core.lines import EntryId
from pisessiond.core.projection import ProjectedEntry, project
from pisessiond.core.session import Session
from pisessiond.core.summary_prompts import make_prompt
from pisessiond.core.summary_task import SummaryTask
from pisessiond.core.tokens import estimate_tokens
from pisessiond.models.base import Price
from pisessiond.service.previews import CompactionPreview, Forecast, SummaryInput
from pisessiond.summarizers.base import Summarizer

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """A compaction that is prepared, and what it leaves."""

    preparation: CompactionPreparation
    tokens_kept: int
    """Estimate of what stays besides the summary, the system part once, in tokens."""
    turn_prefix: tuple[EntryId, ...]
    """The summarised entries that are the beginning of a split turn."""


def plan_compaction(session: Session, row: int, settings: CompactionSettings) -> CompactionPlan:
    """What compacting at a row would do; every row must have been sized.

    Raises:
        NothingToCompact: there is nothing to summarise.
    """
    projection = session.projection(row)
    preparation = session.prepare_compaction(row, settings, projection)
    first = len(projection.entries) - len(preparation.kept_entry_ids)
    return CompactionPlan(
        preparation=preparation,
        tokens_kept=_kept_tokens(projection.entries[first:]) + preparation.system.tokens,
        turn_prefix=_turn_prefix(projection.entries[:first], len(preparation.turn_prefix_messages)),
    )


def _kept_tokens(kept: Sequence[ProjectedEntry]) -> int:
    # Projected anew, since an edit that is cut off no longer reaches what is kept.
    entries = [item.entry for item in kept if item.entry.get("type") != "compaction"]
    return sum(
        estimate_tokens(message)
        for item in project(entries)
        for message in item.messages
        if message.get("role") != "system"
    )


def _turn_prefix(summarised: Sequence[ProjectedEntry], messages: int) -> tuple[EntryId, ...]:
    """The last summarised entries, back to the one with which so many messages are reached."""
    ids: list[EntryId] = []
    for item in reversed(summarised):
        if messages <= 0:
            break
        ids.append(item.entry["id"])
        messages -= sum(message.get("role") != "system" for message in item.messages)
    return tuple(reversed(ids))


def compaction_preview(
    plan: CompactionPlan,
    tasks: Sequence[SummaryTask],
    *,
    writer: Summarizer | None,
    no_summarizer: str | None = None,
    with_input: bool = False,
) -> CompactionPreview:
    """The plan in ids and figures, for a person to look at before acting.

    Args:
        plan: from `plan_compaction`.
        tasks: the texts that would be asked for (`core.summary_text.compaction_tasks`).
        writer: who would write them; None where nobody could.
        no_summarizer: why nobody could, in a sentence.
        with_input: whether to say what the writer would read.
    """
    preparation = plan.preparation
    files = compute_file_lists(preparation.file_operations)
    at_most = sum(task.max_tokens for task in tasks)
    return CompactionPreview(
        first_kept=preparation.first_kept_entry_id,
        is_split_turn=preparation.is_split_turn,
        summarised=preparation.summarized_entry_ids,
        turn_prefix=plan.turn_prefix,
        kept=preparation.kept_entry_ids,
        tokens_before=preparation.tokens_before,
        tokens_kept=plan.tokens_kept,
        previous_summary=preparation.previous_summary is not None,
        read_files=files.read_files,
        modified_files=files.modified_files,
        summary_at_most=at_most,
        tokens_after=plan.tokens_kept + at_most,
        forecast=None if writer is None else make_forecast(writer, tasks),
        no_summarizer=no_summarizer,
        inputs=tuple(map(summary_input, tasks)) if with_input else None,
    )


def summary_input(task: SummaryTask) -> SummaryInput:
    """What a writer would read for one text."""
    text = serialize_conversation(task.messages)
    return SummaryInput(task.kind, text, task.previous_summary)


def make_forecast(writer: Summarizer, tasks: Sequence[SummaryTask]) -> Forecast:
    """What having these texts written comes to."""
    tokens = [_prompt_tokens(task) for task in tasks]
    return Forecast(
        summarizer=writer.name,
        model=None if writer.model is None else str(writer.model),
        tokens_in=sum(tokens),
        cost=_cost(writer, sum(tokens), sum(task.max_tokens for task in tasks)),
    )


def _prompt_tokens(task: SummaryTask) -> int:
    """Estimate of the prompt for one text, its conversation included."""
    prompt = make_prompt(task)
    return (utf16_length(prompt.system) + utf16_length(prompt.user) + 3) // 4


def _cost(writer: Summarizer, tokens_in: int, at_most: int) -> float | None:
    price: Price | None = writer.facts.price
    if writer.is_extract:
        return 0.0
    if price is None:
        return None
    return (tokens_in * price.input + at_most / 2 * price.output) / _MILLION
