"""Compactions: what is cut, a summary that is written or given, and storing both."""

from __future__ import annotations

from dataclasses import dataclass, replace

from msgspec import UNSET

from pisessiond.core.changes import Summary
from pisessiond.core.summary_task import SummaryTask
from pisessiond.core.summary_text import (
    assemble_compaction,
    compaction_tasks,
    summary_details,
)
from pisessiond.service.asking import WILL_COMPACT, Word, ask_all, offering
from pisessiond.service.cutting import Cut, cut, still_holds, store
from pisessiond.service.drafts import Drafts, KeptDraft, outdated, without_messages
from pisessiond.service.errors import FileChanged, LeafMoved
from pisessiond.service.operations import Operation, Reason, Report
from pisessiond.service.previewing import CompactionPlan, compaction_preview
from pisessiond.service.previews import CompactionPreview, DraftSummary
from pisessiond.service.session_acts import BaseLeaf, SessionActs
from pisessiond.service.storing import in_worker
from pisessiond.service.summarising import (
    Wishes,
    choose_writer,
    usage_of,
    write_all,
)
from pisessiond.service.types import AnyOrigin, Compacted
from pisessiond.summarizers.base import NoSummarizer, Summarizer


@dataclass(frozen=True, slots=True)
class Asker:
    """Who wants a summary, and why."""

    origin: AnyOrigin
    base_leaf: BaseLeaf = UNSET
    reason: Reason = "manual"
    report: Report | None = None


@dataclass(frozen=True, slots=True)
class Given:
    """A summary that the asker brings."""

    text: str
    draft: str | None
    """The draft it was made from."""


async def _tasks(
    plan: CompactionPlan, wishes: Wishes, writer: Summarizer | None
) -> tuple[SummaryTask, ...]:
    facts = None if writer is None else writer.facts
    return await in_worker(
        lambda: compaction_tasks(
            plan.preparation,
            wishes.instructions,
            wishes.replaces_instructions,
            window=None if facts is None else facts.window,
            max_output=None if facts is None else facts.max_output,
        ),
        abandon=True,
    )


async def _preview(
    plan: CompactionPlan,
    wishes: Wishes,
    writer: Summarizer | None,
    no_summarizer: str | None,
    *,
    with_input: bool = False,
) -> CompactionPreview:
    tasks = await _tasks(plan, wishes, writer)
    return await in_worker(
        lambda: compaction_preview(
            plan, tasks, writer=writer, no_summarizer=no_summarizer, with_input=with_input
        ),
        abandon=True,
    )


async def preview(
    held: SessionActs, *, summarizer: str | None, with_input: bool
) -> CompactionPreview:
    """What a compaction would do.

    Raises:
        NothingToCompact, CannotShrink, BadSetting: it would be refused.
    """
    made = await cut(held)
    wishes = Wishes(summarizer=summarizer)
    try:
        writer = await choose_writer(held, summarizer, made.model, None)
    except NoSummarizer as error:
        return await _preview(made.plan, wishes, None, str(error), with_input=with_input)
    return await _preview(made.plan, wishes, writer, None, with_input=with_input)


# The acts


async def compact(
    held: SessionActs, drafts: Drafts, given: Given | None, wishes: Wishes, asker: Asker
) -> Compacted:
    """Store a compaction with the summary given, or one that is written now.

    Raises:
        NothingToCompact, CannotShrink, BadSetting: it would not help, or nobody knows how.
        NoSummarizer, SummaryFailed: there is no summary.
        InvalidRequest: the draft is unknown, or the branch is another one since.
        LeafMoved: the leaf is not `base_leaf`, or the cut no longer holds.
        FileChanged: what was summarised was written anew, and reads otherwise.
        OperationCancelled: someone ended it.
        Busy: something else runs.
    """
    held.check_writable()
    held.check_leaf(asker.base_leaf)
    draft = drafts.find(given.draft) if given is not None and given.draft is not None else None
    with held.operations.hold(
        "compact", asker.origin, reason=asker.reason, report=asker.report
    ) as operation:
        await held.claim_to_write(asker.origin)
        made = await cut(held, asker.base_leaf) if draft is None else draft.made
        if draft is not None and not still_holds(held.draft(), made.leaf):
            raise outdated()
        if given is None:
            summary = await _written_or_given(held, made, wishes, operation)
        else:
            await _ask_clients(held, made, wishes, None, None, operation)
            summary = (
                Summary(given.text)
                if draft is None
                else Summary(given.text, draft.details, draft.usage, from_hook=False)
            )
        try:
            done = await store(
                held, made, summary, asker.origin, only_alone=asker.reason == "threshold"
            )
        except (LeafMoved, FileChanged) as error:
            if draft is None:
                raise
            raise outdated() from error
        operation.outcome = f"The context went from {done.before:,} to about {done.after:,} tokens."
    if given is not None and given.draft is not None:
        drafts.drop(given.draft)
    return done


async def draft_summary(
    held: SessionActs, drafts: Drafts, wishes: Wishes, asker: Asker
) -> DraftSummary:
    """Have a summary written that is not stored.

    Raises:
        As `compact`.
    """
    held.check_writable()
    with held.operations.hold("compact", asker.origin, report=asker.report) as operation:
        await held.claim_to_write(asker.origin)
        made = await cut(held)
        plan = made.plan
        writer = await choose_writer(held, wishes.summarizer, made.model, operation)
        summary = await _write(plan, wishes, writer, operation)
        shown = await _preview(plan, wishes, writer, None)
        operation.outcome = "The summary is written, and not stored yet."
    kept = KeptDraft(without_messages(made), summary.details or {}, summary.usage)
    return DraftSummary(drafts.keep(kept, held.epoch), summary.text, summary.usage, shown)


# The summary


async def _written_or_given(
    held: SessionActs, made: Cut, wishes: Wishes, operation: Operation
) -> Summary:
    """The summary a client gives when it hears of the compaction, or one that is written."""
    writer, refusal = None, None
    try:
        writer = await choose_writer(held, wishes.summarizer, made.model, operation)
    except NoSummarizer as error:
        # A client may still give the summary.
        refusal = error
    word = await _ask_clients(
        held, made, wishes, writer, None if refusal is None else str(refusal), operation
    )
    if word.summary is not None:
        return Summary(word.summary, word.details, word.usage)
    if writer is None:
        assert refusal is not None
        raise refusal
    if word.instructions is not None:
        wishes = replace(wishes, instructions=word.instructions)
    return await _write(made.plan, wishes, writer, operation)


async def _ask_clients(
    held: SessionActs,
    made: Cut,
    wishes: Wishes,
    writer: Summarizer | None,
    no_summarizer: str | None,
    operation: Operation,
) -> Word:
    """What clients say of it. Raises: OperationCancelled: one does not want it."""
    if not offering(held.subscribers, WILL_COMPACT):
        return Word()
    shown = await _preview(made.plan, wishes, writer, no_summarizer)
    params = {
        "session": held.handle,
        "operation_id": operation.id,
        "reason": operation.reason,
        "preparation": shown,
    }
    return await ask_all(held.subscribers, WILL_COMPACT, params, operation)


async def _write(
    plan: CompactionPlan, wishes: Wishes, writer: Summarizer, operation: Operation
) -> Summary:
    tasks = await _tasks(plan, wishes, writer)
    operation.asks(writer.name)
    written = await write_all(writer, tasks, operation.receive)
    preparation = plan.preparation
    return Summary(
        assemble_compaction(preparation, [text.text for text in written]),
        summary_details(preparation.file_operations, is_extract=writer.is_extract),
        usage_of(written),
        from_hook=False,
    )
