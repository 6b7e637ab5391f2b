"""Compactions: prepared, written by a summarizer or given, and stored where they still hold.

While a summary is written the session goes on: we or another program may append. What was cut is
still cut then, so the compaction is stored at the new leaf, unless what came in between is itself
a compaction or a context edit, or the leaf was moved away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from msgspec import UNSET

from pisessiond.core import kinds
from pisessiond.core.changes import Draft, Summary
from pisessiond.core.errors import CannotShrink, EntryNotFound, NothingToCompact, NotOnBranch
from pisessiond.core.lines import EntryId
from pisessiond.core.projection import Entry, project_entry
from pisessiond.core.session import Session
from pisessiond.core.summary_task import SummaryTask
from pisessiond.core.summary_text import (
    assemble_compaction,
    compaction_tasks,
    summary_details,
)
from pisessiond.core.system_state import SystemState, replay
from pisessiond.core.tokens import estimate_tokens
from pisessiond.models.base import ModelName
from pisessiond.service.asking import WILL_COMPACT, Word, ask_all, offering
from pisessiond.service.drafts import Drafts, KeptDraft, outdated
from pisessiond.service.errors import FileChanged, LeafMoved, OperationCancelled, ServiceError
from pisessiond.service.operations import Operation, Reason, Report
from pisessiond.service.previewing import CompactionPlan, compaction_preview, plan_compaction
from pisessiond.service.session_acts import BaseLeaf, SessionActs
from pisessiond.service.session_queue import Plan
from pisessiond.service.storing import in_worker
from pisessiond.service.summarising import (
    Wishes,
    choose_writer,
    model_at,
    refuse,
    sound_settings,
    usage_of,
    write_all,
)
from pisessiond.service.types import AnyOrigin, Compacted, CompactionPreview, DraftSummary
from pisessiond.summarizers.base import NoSummarizer, Summarizer

_HOLDS_NO_LONGER: Final = frozenset({kinds.COMPACTION, kinds.CONTEXT_EDIT})
"""What makes a prepared cut another one when it comes behind it."""

_ANOTHER_PROGRAM: Final = "another program, which writes to the session too"
"""Who ends a compaction of our own accord by its append."""


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


@dataclass(frozen=True, slots=True)
class Prepared:
    """A cut, and where the session stood."""

    plan: CompactionPlan
    leaf: EntryId
    model: ModelName | None


# Preparing


async def prepare(held: SessionActs, base_leaf: BaseLeaf = UNSET) -> Prepared:
    """What compacting at the leaf would cut.

    Raises:
        NothingToCompact: there is nothing to summarise.
        CannotShrink: what is kept is as large as what is there.
        BadSetting: the settings do not say how much to keep.
        LeafMoved: the leaf is not `base_leaf`.
    """
    settings = await sound_settings(held)
    for _ in range(3):
        session = await held.sized()
        held.check_leaf(base_leaf)
        row, leaf = session.leaf, session.leaf_id
        if leaf is None:
            raise NothingToCompact("the session stands before its first entry.")

        def plan(
            current: Session, session: Session = session, row: int = row
        ) -> tuple[CompactionPlan, ModelName | None] | None:
            if current is not session:
                return None
            model = model_at(session, row)
            refuse(settings.problem_for(model))
            return plan_compaction(session, row, settings.compaction_for(model)), model

        found = await held.ask(plan)
        if found is not None:
            prepared = Prepared(found[0], leaf, found[1])
            _check_size(prepared.plan, 0)
            return prepared
    raise FileChanged("it is rewritten again and again")


def _check_size(plan: CompactionPlan, summary_tokens: int) -> int:
    """The size after, by estimate. Raises: CannotShrink."""
    before, after = plan.preparation.tokens_before, plan.tokens_kept + summary_tokens
    if after >= before:
        raise CannotShrink(before, after)
    return after


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
    prepared = await prepare(held)
    wishes = Wishes(summarizer=summarizer)
    try:
        writer = await choose_writer(held, summarizer, prepared.model, None)
    except NoSummarizer as error:
        return await _preview(prepared.plan, wishes, None, str(error), with_input=with_input)
    return await _preview(prepared.plan, wishes, writer, None, with_input=with_input)


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
        OperationCancelled: someone ended it.
        Busy: something else runs.
    """
    held.check_writable()
    held.check_leaf(asker.base_leaf)
    draft = drafts.find(given.draft) if given is not None and given.draft is not None else None
    with held.operations.hold(
        "compact", asker.origin, reason=asker.reason, report=asker.report
    ) as operation:
        await held.claim_to_write()
        if draft is not None:
            if not _still_holds(_now(held), draft.leaf):
                raise outdated()
            prepared = Prepared(draft.plan, draft.leaf, None)
        else:
            prepared = await prepare(held, asker.base_leaf)
        if given is None:
            summary = await _written_or_given(held, prepared, wishes, operation)
        else:
            await _ask_clients(held, prepared, wishes, None, None, operation)
            summary = (
                Summary(given.text)
                if draft is None
                else Summary(given.text, draft.details, draft.usage, from_hook=False)
            )
        after = _check_size(prepared.plan, _summary_tokens(summary))
        try:
            done = await _store(held, prepared, summary, after, asker)
        except LeafMoved as error:
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
        await held.claim_to_write()
        prepared = await prepare(held)
        plan = prepared.plan
        writer = await choose_writer(held, wishes.summarizer, prepared.model, operation)
        summary = await _write(plan, wishes, writer, operation)
        shown = await _preview(plan, wishes, writer, None)
        operation.outcome = "The summary is written, and not stored yet."
    preparation = replace(plan.preparation, messages_to_summarize=(), turn_prefix_messages=())
    kept = KeptDraft(
        replace(plan, preparation=preparation), prepared.leaf, summary.details or {}, summary.usage
    )
    return DraftSummary(drafts.keep(kept, held.epoch), summary.text, summary.usage, shown)


# The summary


async def _written_or_given(
    held: SessionActs, prepared: Prepared, wishes: Wishes, operation: Operation
) -> Summary:
    """The summary a client gives when it hears of the compaction, or one that is written."""
    writer, refusal = None, None
    try:
        writer = await choose_writer(held, wishes.summarizer, prepared.model, operation)
    except NoSummarizer as error:
        # A client may still give the summary.
        refusal = error
    word = await _ask_clients(
        held, prepared, wishes, writer, None if refusal is None else str(refusal), operation
    )
    if word.summary is not None:
        return Summary(word.summary, word.details, word.usage)
    if writer is None:
        assert refusal is not None
        raise refusal
    if word.instructions is not None:
        wishes = replace(wishes, instructions=word.instructions)
    return await _write(prepared.plan, wishes, writer, operation)


async def _ask_clients(
    held: SessionActs,
    prepared: Prepared,
    wishes: Wishes,
    writer: Summarizer | None,
    no_summarizer: str | None,
    operation: Operation,
) -> Word:
    """What clients say of it. Raises: OperationCancelled: one does not want it."""
    if not offering(held.subscribers, WILL_COMPACT):
        return Word()
    shown = await _preview(prepared.plan, wishes, writer, no_summarizer)
    params = {
        "session": held.handle,
        "operation_id": operation.id,
        "reason": operation.reason,
        "preparation": shown,
    }
    word = await ask_all(held.subscribers, WILL_COMPACT, params)
    if word.cancelled_by is not None:
        raise OperationCancelled(operation.word, word.cancelled_by)
    return word


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


def _summary_tokens(summary: Summary) -> int:
    return estimate_tokens({"role": "compactionSummary", "summary": summary.text})


# Storing it


class _Unread(ServiceError):
    """A system message came meanwhile, and its body is not at hand."""

    def __init__(self, entry: EntryId) -> None:
        super().__init__("A system message has to be read first.")
        self.entry = entry


def _now(held: SessionActs) -> Draft:
    return Draft(held.session, held.clock.new_id, held.clock.now_iso())


def _still_holds(draft: Draft, leaf: EntryId) -> bool:
    """Whether a cut that was prepared at `leaf` is the same cut at the draft's leaf."""
    added = draft.added_since(leaf)
    return added is not None and all(
        draft.kind_of(entry) not in _HOLDS_NO_LONGER for entry in added
    )


async def _store(
    held: SessionActs, prepared: Prepared, summary: Summary, after: int, asker: Asker
) -> Compacted:
    """Append the compaction at the leaf as it is now. Raises: LeafMoved."""
    preparation, leaf = prepared.plan.preparation, prepared.leaf
    read: dict[EntryId, Entry] = {}

    def decide(draft: Draft) -> Plan:
        if asker.reason == "threshold" and held.last_external is not None:
            raise OperationCancelled("compaction", _ANOTHER_PROGRAM)
        if not _still_holds(draft, leaf):
            raise LeafMoved(draft.leaf, held.rev)
        system = _system_now(draft, leaf, preparation.system, read)
        try:
            return Plan("compact", draft.compact(preparation, summary, system).head.id)
        except (EntryNotFound, NotOnBranch) as error:
            # The file was rewritten, and what was to be kept is not there any more.
            raise LeafMoved(draft.leaf, held.rev) from error

    while True:
        try:
            act = await held.act(decide, asker.origin)
            break
        except _Unread as error:
            read[error.entry] = await held.ask(partial(_entry_of, entry_id=error.entry))
    entry_id = act.plan.value if act.plan else None
    size = held.size_at(entry_id)
    if size is not None and size.estimated is not None:
        after = size.estimated
    return Compacted(act.rev, act.leaf, entry_id, preparation.tokens_before, after)


def _entry_of(session: Session, entry_id: EntryId) -> Entry:
    return session.entry(session.row_of(entry_id))


def _system_now(
    draft: Draft, leaf: EntryId, system: SystemState, read: Mapping[EntryId, Entry]
) -> SystemState:
    """The system messages with those that came meanwhile, which the compaction carries on too."""
    for entry_id in draft.added_since(leaf) or ():
        if draft.kind_of(entry_id) == kinds.SYSTEM:
            drafted = draft.drafted(entry_id)
            entry = read.get(entry_id) if drafted is None else drafted.entry
            if entry is None:
                raise _Unread(entry_id)
            for message in project_entry(entry, None):
                system = replay(system, message)
    return system
