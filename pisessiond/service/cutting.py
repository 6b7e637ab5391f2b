"""Where a compaction cuts, whether that still holds, and storing it where it does.

While a summary is written the session goes on: we or another program may append. What was cut is
still cut then, so the compaction is stored at the new leaf, unless what came in between is itself
a compaction or a context edit, the leaf was moved away, or what was summarised reads otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from msgspec import UNSET

from pisessiond.core import kinds
from pisessiond.core.changes import Draft, Summary
from pisessiond.core.errors import CannotShrink, EntryNotFound, NothingToCompact, NotOnBranch
from pisessiond.core.lines import EntryId
from pisessiond.core.projection import Entry, project_entry
from pisessiond.core.session import Session
from pisessiond.core.sizes import select_rows
from pisessiond.core.system_state import SystemState, replay
from pisessiond.core.tokens import estimate_tokens
from pisessiond.models.base import ModelName
from pisessiond.service.errors import LeafMoved, OperationCancelled, ServiceError
from pisessiond.service.looking import look_from
from pisessiond.service.previewing import CompactionPlan, plan_compaction
from pisessiond.service.session_acts import BaseLeaf, SessionActs
from pisessiond.service.session_queue import Plan
from pisessiond.service.settings import FolderSettings
from pisessiond.service.summarising import model_at, refuse, sound_settings
from pisessiond.service.summary_sources import Check, ReadAnew, Source, make_source
from pisessiond.service.types import AnyOrigin, Compacted

_HOLDS_NO_LONGER: Final = frozenset({kinds.COMPACTION, kinds.CONTEXT_EDIT})
"""What makes a prepared cut another one when it comes behind it."""

_COUNTS_EVERYWHERE: Final = frozenset({kinds.COMPACTION, kinds.CONTEXT_EDIT, kinds.SYSTEM})

_ANOTHER_PROGRAM: Final = "another program, which writes to the session too"
"""Who ends a compaction of our own accord by its append."""


@dataclass(frozen=True, slots=True)
class Cut:
    """What a compaction cuts, and where the session stood."""

    plan: CompactionPlan
    leaf: EntryId
    source: Source
    """The entries that count for the summary and for what is carried on beside it."""
    model: ModelName | None
    """The one the session stood at."""
    size: int
    """What has to become less, in tokens: the measured size or the estimate, whichever is larger,
    for what stays can only be estimated, and estimates may be above what a provider counts."""

    def size_with(self, summary: Summary | None) -> int:
        """The estimate for what is kept and a summary of it.

        Raises:
            CannotShrink: it is no less than what is there.
        """
        after = self.plan.tokens_kept
        if summary is not None:
            after += estimate_tokens({"role": "compactionSummary", "summary": summary.text})
        if after >= self.size:
            raise CannotShrink(self.size, after)
        return after


async def cut(held: SessionActs, base_leaf: BaseLeaf = UNSET) -> Cut:
    """What compacting at the leaf would cut.

    Raises:
        NothingToCompact: there is nothing to summarise.
        CannotShrink: what is kept is as large as what is there.
        BadSetting: the settings do not say how much to keep.
        LeafMoved: the leaf is not `base_leaf`.
    """
    settings = await sound_settings(held)

    def begin(session: Session) -> Callable[[Session], Cut]:
        held.check_leaf(base_leaf)
        return partial(_cut_at, row=session.leaf, settings=settings, epoch=held.epoch)

    _, made = await look_from(held, begin)
    made.size_with(None)
    return made


def _cut_at(session: Session, *, row: int, settings: FolderSettings, epoch: str) -> Cut:
    """The cut at a row."""
    leaf = session.id_of(row)
    if leaf is None:
        raise NothingToCompact("the session stands before its first entry.")
    model = model_at(session, row)
    refuse(settings.problem_for(model))
    plan = plan_compaction(session, row, settings.compaction_for(model))
    size = session.size_at(row)
    source = make_source(session, _rows_that_count(session, row, plan), epoch)
    return Cut(plan, leaf, source, model, max(size.tokens, size.estimated))


def _rows_that_count(session: Session, row: int, plan: CompactionPlan) -> list[int]:
    """What is summarised, and of what is kept that which says how it reads or is carried on."""
    kind, ids = session.index.kind, session.index.ids
    kept = set(plan.preparation.kept_entry_ids)
    return [
        at
        for at in select_rows(session.index, row)
        if ids[at] not in kept or kind[at] in _COUNTS_EVERYWHERE
    ]


def still_holds(draft: Draft, leaf: EntryId) -> bool:
    """Whether what was cut at `leaf` would be cut the same way at the draft's leaf."""
    added = draft.added_since(leaf)
    return added is not None and all(
        draft.kind_of(entry) not in _HOLDS_NO_LONGER for entry in added
    )


class _Unread(ServiceError):
    """A system message came meanwhile, and its body is not at hand."""

    def __init__(self, entry: EntryId) -> None:
        super().__init__("A system message has to be read first.")
        self.entry = entry


async def store(
    held: SessionActs, made: Cut, summary: Summary, origin: AnyOrigin, *, only_alone: bool
) -> Compacted:
    """Append the compaction at the leaf as it is now.

    Args:
        held: the session.
        made: what it cuts.
        summary: what stands for that.
        origin: who wants it.
        only_alone: not where another program has written.

    Raises:
        CannotShrink: it would not help.
        LeafMoved: the cut no longer holds.
        FileChanged: what was summarised was written anew, and reads otherwise.
        OperationCancelled: another program has written.
    """
    preparation, leaf = made.plan.preparation, made.leaf
    check = Check(held, made.source)
    after = made.size_with(summary)
    read: dict[EntryId, Entry] = {}

    def decide(draft: Draft) -> Plan:
        if only_alone and held.last_external is not None:
            raise OperationCancelled("compaction", _ANOTHER_PROGRAM)
        if not still_holds(draft, leaf):
            raise LeafMoved(draft.leaf, held.rev)
        check.insist()
        system = _system_now(draft, leaf, preparation.system, read)
        try:
            return Plan("compact", draft.compact(preparation, summary, system).head.id)
        except (EntryNotFound, NotOnBranch) as error:
            # The file was rewritten, and what was to be kept is not there any more.
            raise LeafMoved(draft.leaf, held.rev) from error

    while True:
        try:
            act = await held.act(decide, origin, is_paid=True)
            break
        except ReadAnew:
            await check.compare()
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
