"""Moves of the leaf, plain and with a summary of the branch that is left.

A plain move is one act. Where a client wants to hear of moves before they happen, or a summary has
to be written, the move is an operation: the leaf stays where it is until all is there.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from pisessiond.core import kinds
from pisessiond.core.branch_summary import (
    BranchSummaryPreparation,
    prepare_branch_summary,
    rows_left,
)
from pisessiond.core.changes import Destination, Draft, Summary, destination
from pisessiond.core.index import NONE
from pisessiond.core.lines import EntryId
from pisessiond.core.session import Session
from pisessiond.core.summary_task import SummaryTask
from pisessiond.core.summary_text import assemble_branch_summary, branch_tasks, summary_details
from pisessiond.models.base import ModelName
from pisessiond.service.asking import WILL_NAVIGATE, Word, ask_all, offering
from pisessiond.service.compacting import Asker
from pisessiond.service.errors import LeafMoved
from pisessiond.service.operations import Operation
from pisessiond.service.previews import MovePreview
from pisessiond.service.session_acts import SessionActs
from pisessiond.service.session_queue import Plan
from pisessiond.service.summarising import (
    Wishes,
    choose_writer,
    model_at,
    sound_settings,
    usage_of,
    window_to_fill,
    write_all,
)
from pisessiond.service.summary_sources import (
    Check,
    ReadAnew,
    Source,
    ask_with_epoch,
    make_source,
)
from pisessiond.service.types import Navigated, OperationName
from pisessiond.summarizers.base import Summarizer

Preview = Callable[[], Awaitable[MovePreview]]
"""What the move would do."""


@dataclass(frozen=True, slots=True)
class Move:
    """Where to go, and what to leave there."""

    target: EntryId | None
    exact: bool
    summary: str | None
    """A summary of the branch that is left, already written."""
    label: str | None


async def navigate(
    held: SessionActs, move: Move, wishes: Wishes | None, asker: Asker, preview: Preview
) -> Navigated:
    """Move the leaf.

    Args:
        held: the session.
        move: where to.
        wishes: how the branch that is left is to be summarised; None: it is not.
        asker: who wants it.
        preview: what clients are told who want to hear of it before.

    Raises:
        EntryNotFound: the target is not there.
        LeafMoved: the leaf is not `base_leaf`, or moved while the summary was written.
        FileChanged: the branch was written anew meanwhile, and reads otherwise.
        NoSummarizer, SummaryFailed, BadSetting: there is no summary; the leaf has not moved.
        OperationCancelled: someone ended it.
        Busy: something runs that needs the leaf where it is.
    """
    held.operations.refuse_move()
    place = await _destination(held, move)
    goes = place.leaf != held.leaf and (move.exact or move.target != held.leaf)
    listens = bool(offering(held.subscribers, WILL_NAVIGATE))
    if not goes or (wishes is None and not listens):
        return await _move(held, move, place, asker)
    held.check_writable()
    held.check_leaf(asker.base_leaf)
    name: OperationName = "navigate" if wishes is None else "summarise"
    with held.operations.hold(name, asker.origin, report=asker.report) as operation:
        branch, told = None, None
        if wishes is not None:
            await held.claim_to_write(asker.origin)
            branch = await _read_branch(held, move.target, asker)
        word = await _ask_clients(held, move, wishes is not None, preview, operation)
        if word.label is not None:
            move = replace(move, label=word.label)
        if branch is not None and wishes is not None:
            told = await _summary(held, branch, wishes, word, operation)
        done = await _move(held, move, place, asker, told, operation)
        operation.outcome = _outcome(done)
    return done


def _outcome(done: Navigated) -> str:
    if done.summary_entry is None:
        return "The leaf has moved."
    return "The leaf has moved; a summary tells of the branch that was left."


async def _destination(held: SessionActs, move: Move) -> Destination:
    session, target = held.session, move.target
    row = session.row_of(target)
    if move.exact or row == NONE:
        return Destination(target, None)
    entry = None
    if session.index.kind[row] in (kinds.USER, kinds.CUSTOM_MESSAGE):
        entry = await held.ask(lambda current: current.entry(current.row_of(target)))
    return destination(held.session, held.session.row_of(target), entry)


# What is left


@dataclass(frozen=True, slots=True)
class LeftBranch:
    """A branch that is about to be left."""

    left: EntryId | None
    """Its end, where the session stands."""
    target: EntryId | None
    """Where one goes; what is on the path there is not left."""
    is_empty: bool
    """Nothing is left behind."""
    model: ModelName | None
    reserve_tokens: int


async def _read_branch(held: SessionActs, target: EntryId | None, asker: Asker) -> LeftBranch:
    """What is left when one goes to `target` from the leaf.

    Raises:
        BadSetting: the settings do not say how much room a summary has.
        LeafMoved: the leaf is not `base_leaf`.
    """
    settings = await sound_settings(held)
    held.check_leaf(asker.base_leaf)
    left = held.leaf

    def read(session: Session) -> LeftBranch:
        leaf = session.row_of(left)
        rows = rows_left(session.index, leaf, session.row_of(target))
        model = model_at(session, leaf)
        return LeftBranch(left, target, not rows, model, settings.branch_reserve_tokens)

    return await held.ask(read)


async def _ask_clients(
    held: SessionActs, move: Move, summarises: bool, preview: Preview, operation: Operation
) -> Word:
    """What clients say of it. Raises: OperationCancelled: one does not want it."""
    if not offering(held.subscribers, WILL_NAVIGATE):
        return Word()
    params = {
        "session": held.handle,
        "operation_id": operation.id,
        "target": move.target,
        "summarize": summarises,
        "preparation": await preview(),
    }
    return await ask_all(held.subscribers, WILL_NAVIGATE, params, operation)


# The summary


@dataclass(frozen=True, slots=True)
class Told:
    """A summary that was made for this move."""

    summary: Summary
    left: EntryId | None
    """Where the session stood."""
    source: Source | None = None
    """What it was written from; None where a client gave it."""


async def _summary(
    held: SessionActs, branch: LeftBranch, wishes: Wishes, word: Word, operation: Operation
) -> Told | None:
    """The summary a client gave, or one that is written; None when nothing is left behind."""
    if branch.is_empty:
        return None
    if word.summary is not None:
        return Told(Summary(word.summary, word.details, word.usage), branch.left)
    if word.instructions is not None:
        wishes = replace(wishes, instructions=word.instructions)
    writer = await choose_writer(held, wishes.summarizer, branch.model, operation)
    window = await window_to_fill(held, writer, branch.model)

    def prepare(
        session: Session, epoch: str
    ) -> tuple[BranchSummaryPreparation, tuple[SummaryTask, ...], Source]:
        preparation, tasks = tasks_for(session, branch, wishes, writer, window)
        return preparation, tasks, make_source(session, preparation.rows, epoch)

    preparation, tasks, source = await ask_with_epoch(held, prepare)
    if not tasks:
        return None
    operation.asks(writer.name)
    written = await write_all(writer, tasks, operation.receive)
    summary = Summary(
        assemble_branch_summary(preparation, [text.text for text in written]),
        summary_details(preparation.file_operations, is_extract=writer.is_extract),
        usage_of(written),
        from_hook=False,
    )
    return Told(summary, branch.left, source)


def tasks_for(
    session: Session, branch: LeftBranch, wishes: Wishes, writer: Summarizer, window: int
) -> tuple[BranchSummaryPreparation, tuple[SummaryTask, ...]]:
    """What is told of a branch, and what is to be written. Reads the bodies that find a place.

    Raises:
        EntryNotFound: an end of the branch is not there any more.
    """
    rows = rows_left(session.index, session.row_of(branch.left), session.row_of(branch.target))
    preparation = prepare_branch_summary(session, rows, window - branch.reserve_tokens)
    tasks = branch_tasks(
        preparation,
        branch.reserve_tokens,
        wishes.instructions,
        wishes.replaces_instructions,
        window=writer.facts.window,
        max_output=writer.facts.max_output,
    )
    return preparation, tasks


# The move itself


def _leaves(draft: Draft, left: EntryId | None, target: EntryId | None) -> bool:
    """Whether moving from `left` to `target` leaves entries behind, so that a summary has words."""
    return left is not None and not draft.is_on_branch(left, target)


async def _move(
    held: SessionActs,
    move: Move,
    place: Destination,
    asker: Asker,
    told: Told | None = None,
    operation: Operation | None = None,
) -> Navigated:
    """Move the leaf and add what is to stand there, as one act.

    Args:
        held: the session.
        move: where to.
        place: where that leads.
        asker: who wants it.
        told: the summary that was made for this move.
        operation: what the move belongs to.
    """
    given = Summary(move.summary) if move.summary is not None else None
    check = Check(held, told.source) if told is not None and told.source is not None else None

    def decide(draft: Draft) -> Plan:
        held.operations.refuse_move(operation)
        if told is not None and not draft.is_leaf_since(told.left):
            raise LeafMoved(draft.leaf, held.rev)
        if check is not None:
            check.insist()
        left = draft.leaf
        if not move.exact and move.target == left:
            place_leaf, text = left, None
        else:
            place_leaf, text = place.leaf, place.editor_text
        draft.move(place_leaf)
        added, summary = None, told.summary if told is not None else given
        if summary is not None and place_leaf != left and _leaves(draft, left, move.target):
            added = draft.summarise_branch(summary, left).head.id
        labelled = added if added is not None else move.target
        if move.label is not None and labelled is not None:
            draft.label(labelled, move.label)
        return Plan("navigate", (text, added), {"from": left, "to": place_leaf}, move.target)

    while True:
        try:
            is_paid = told is not None
            act = await held.act(decide, asker.origin, asker.base_leaf, is_paid=is_paid)
            break
        except ReadAnew:
            assert check is not None
            await check.compare()
    text, added = act.plan.value if act.plan else (None, None)
    return Navigated(act.rev, act.leaf, text, added)
