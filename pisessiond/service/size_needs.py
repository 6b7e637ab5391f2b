"""What has to be read before the size at the leaf can be told, and reading it.

An append goes on from what was counted before and needs nothing. A move needs the place counted;
an edit may let other entries in among the largest, and a compaction does; a tool result is known
by its call.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Sequence
from dataclasses import dataclass, field

from pisessiond.core import kinds
from pisessiond.core.changes import Draft
from pisessiond.core.composition import LARGEST, Composition
from pisessiond.core.lines import EntryId
from pisessiond.core.models_named import Named, find_model, recall_model
from pisessiond.core.session import Session
from pisessiond.core.thinking_levels import find_level, recall_level
from pisessiond.core.titles import calls_of
from pisessiond.service.context_sizes import make_size
from pisessiond.service.titles import Titles, answered_call, read_calls, read_titles

_PLACES = 8
"""Places that one batch of acts moves to and that are counted before it is told."""


@dataclass(slots=True)
class Needs:
    """What has to be read; rows are of one session."""

    places: list[int] = field(default_factory=list)
    """Rows that are to be counted, with the models and thinking levels there."""
    titles: set[int] = field(default_factory=set)
    calls: dict[str, int] = field(default_factory=dict)
    """Calls whose results are appended, each with the row from which it is looked for upwards."""
    spare: int = 0
    """How many of the largest entries may be edited away."""

    def __bool__(self) -> bool:
        return bool(self.places or self.titles or self.calls)


@dataclass(slots=True)
class Found:
    """What was read."""

    compositions: list[Composition] = field(default_factory=list)
    titles: dict[int, str] = field(default_factory=dict)
    calls: dict[str, tuple[int, str]] = field(default_factory=dict)
    """By id: the row that makes the call, and its title; "" where none does."""
    models: dict[int, Named | None] = field(default_factory=dict)
    levels: dict[int, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is known by row, so that it need not be read again."""

    titles: dict[int, str]
    models: dict[int, Named | None]
    levels: dict[int, str | None]
    """Of changes of the thinking level."""


def needs_of(
    draft: Draft,
    leaves: Sequence[EntryId | None],
    composition: Composition | None,
    titles: Titles,
    known: Remembered,
) -> Needs:
    """What the sizes need when acts on a draft are told.

    Args:
        draft: what they add.
        leaves: where each of them leaves the session.
        composition: what is counted.
        titles: with the calls that are known.
        known: what else is.
    """
    added = [new.head.kind for new in draft.entries]
    needs = Needs(spare=added.count(kinds.CONTEXT_EDIT))
    # The last act's first: it is what everyone stands at in the end.
    places = dict.fromkeys(_stored_place(draft, leaf) for leaf in reversed(leaves))
    for place in list(places)[:_PLACES]:
        if composition is None or not _is_ready(composition, draft, place, needs.spare, known):
            needs.places.append(place)
        else:
            ranked = composition.largest(LARGEST + needs.spare)
            needs.titles.update(row for row, _ in ranked if row not in titles.known)
    if kinds.COMPACTION in added:
        needs.titles |= _kept_rows(draft) - titles.known.keys()
    if kinds.TOOL_RESULT in added:
        needs.calls = _answered_calls(draft, titles)
    return needs


def _is_ready(
    composition: Composition, draft: Draft, place: int, edits: int, known: Remembered
) -> bool:
    """Whether it stands at a place, so many edits may come, and what is in force is known."""
    try:
        recall_model(draft.session.index, place, known.models)
        recall_level(draft.session.index, place, known.levels)
    except KeyError:
        return False
    return composition.row == place and composition.can_spare(edits)


def _stored_place(draft: Draft, leaf: EntryId | None) -> int:
    """The deepest stored row on the branch of a place that may be drafted."""
    while leaf is not None and (new := draft.drafted(leaf)) is not None:
        leaf = new.head.parent_id
    return draft.session.row_of(leaf)


def _kept_rows(draft: Draft) -> set[int]:
    """The rows that may be the largest behind a drafted compaction."""
    session, rows = draft.session, set[int]()
    index = session.index
    for new in draft.entries:
        first = index.find(new.head.note)
        if new.head.kind != kinds.COMPACTION or first is None:
            continue
        place = _stored_place(draft, new.head.parent_id)
        if index.is_ancestor(first, place):
            kept = index.branch(place, above=index.parent[first])
            kept.sort(key=session.sizes.own.__getitem__, reverse=True)
            # Edits change their order; each can let one more in.
            edited = session.sizes.edits_at(place)
            rows.update(kept[: LARGEST + len(edited)], edited)
    return rows


def _answered_calls(draft: Draft, titles: Titles) -> dict[str, int]:
    """Calls that drafted tool results answer and whose titles are not known."""
    drafted = {
        block.get("id")
        for new in draft.entries
        if new.head.kind == kinds.ASSISTANT
        for block in calls_of(new.entry)
    }
    wanted: dict[str, int] = {}
    for new in draft.entries:
        call_id = answered_call(new.entry)
        if call_id is None or call_id in drafted:
            continue
        place = _stored_place(draft, new.head.parent_id)
        if titles.find_call(place, call_id) is None:
            wanted[call_id] = place
    return wanted


def read_needs(session: Session, needs: Needs, known: Remembered) -> Found:
    """Everything that is needed and not known; blocks."""
    found = Found()
    rows = set(needs.titles)
    for place in needs.places:
        # Sizes the edits that count there, and those that counted before a compaction.
        make_size(session, place)
        composition = Composition(session.sizes, place)
        found.compositions.append(composition)
        rows.update(row for row, _ in composition.largest(LARGEST + needs.spare))
        find_model(session, place, ChainMap(found.models, known.models))
        find_level(session, place, ChainMap(found.levels, known.levels))
    found.titles = read_titles(session, sorted(rows - known.titles.keys()))
    for call_id, place in needs.calls.items():
        made = read_calls(session, place, [call_id])
        # That there is none is known as well; then the result is known by its own beginning.
        found.calls[call_id] = made.get(call_id, (place, ""))
    return found
