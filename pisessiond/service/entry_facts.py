"""All that is to be told of one entry of a session, for whoever looks at it; reads bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pisessiond.core import kinds
from pisessiond.core.changes import EDITABLE
from pisessiond.core.export_sizes import label_of
from pisessiond.core.export_text import plain
from pisessiond.core.index import NONE
from pisessiond.core.problems import Problem
from pisessiond.core.projection import Entry
from pisessiond.core.rows.building import note_edit
from pisessiond.core.rows.edits import Edited
from pisessiond.core.session import Session
from pisessiond.core.sizes import Size, first_kept_row
from pisessiond.core.titles import call_title, calls_of
from pisessiond.core.totals import Tally, Totals
from pisessiond.service.types import EntryId

MOST_LABELS: Final = 5
"""Labels offered to be used again."""
_MOST_PROBLEMS: Final = 20


@dataclass(frozen=True, slots=True)
class EntryFacts:
    """One entry, and how it stands in its session."""

    id: EntryId
    line: int
    """Counted from 1."""
    entry: Entry
    """The body, as the current format version spells it."""
    call: str
    """Of a tool result, the call it answers; "" when that is not known."""
    size: Size | None
    """The context size if one stood here; None while it is not known."""
    own: int | None
    """Its own estimate in tokens; None while it is not known."""
    usage: Totals | None
    """What its provider counted and took; None where it says nothing of that."""
    label: str
    place: str
    """`leaf`, `active`, `other`, or `replaced` of a line whose id a later one took over."""
    is_summarised: bool
    """Whether a compaction stands for it at the leaf."""
    is_left_out: bool | None
    """Whether it is out of the context at the leaf; None where it stands there as it is."""
    children: int
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Choices:
    """What can be done at an entry."""

    id: EntryId
    line: int
    """Counted from 1."""
    is_leaf: bool
    is_user: bool
    can_edit: bool
    """Whether it can be taken out of the context, or put back."""
    is_edited: bool
    label: str
    labels: tuple[str, ...]
    """Those in use elsewhere in the session, the newest first."""


def tell_entry(session: Session, row: int) -> EntryFacts:
    """All that is to be told of a row."""
    index = session.index
    body = session.entry(row)
    tally = Tally()
    tally.add(body)
    line = index.line[row]
    problems = [one for one in list(session.problems) if one.line == line]
    return EntryFacts(
        id=index.ids[row],
        line=line,
        entry=body,
        call=_call(session, row, body),
        size=session.size_at(row) if session.sizes.is_complete else None,
        own=session.sizes.own[row] if row < session.sizes.known else None,
        usage=tally.all if tally.all != Totals() else None,
        label=label_of(session, row) if index.kind[row] != kinds.REPLACED else "",
        place=_place(session, row),
        is_summarised=_is_summarised(session, row),
        is_left_out=_left_out(session, row),
        children=index.child_count(row),
        problems=tuple(problems[:_MOST_PROBLEMS]),
    )


def tell_choices(session: Session, row: int) -> Choices:
    """What can be done at a row."""
    index = session.index
    is_active = index.is_ancestor(row, session.leaf) and not _is_summarised(session, row)
    label = label_of(session, row)
    newest = reversed([plain(text) for text, _ in list(session.labels.values())])
    others = dict.fromkeys(one for one in newest if one and one != label)
    return Choices(
        id=index.ids[row],
        line=index.line[row],
        is_leaf=row == session.leaf,
        is_user=index.kind[row] == kinds.USER,
        can_edit=is_active and index.kind[row] in EDITABLE,
        is_edited=_left_out(session, row) is not None,
        label=label,
        labels=tuple(others)[:MOST_LABELS],
    )


def _place(session: Session, row: int) -> str:
    if session.index.kind[row] == kinds.REPLACED:
        return "replaced"
    if row == session.leaf:
        return "leaf"
    return "active" if session.index.is_ancestor(row, session.leaf) else "other"


def _is_summarised(session: Session, row: int) -> bool:
    index, leaf = session.index, session.leaf
    compaction = index.state_at(leaf).compaction
    if compaction == NONE or not index.is_ancestor(row, leaf):
        return False
    return index.depth[row] < index.depth[first_kept_row(index, compaction)]


def _left_out(session: Session, row: int) -> bool | None:
    """Whether an edit takes an entry out at the leaf, or replaces it; None where none does."""
    if session.leaf == NONE or session.index.has_forward_edit:
        return None
    edit = session.sizes.edits_at(session.leaf).get(row)
    if edit is None:
        return None
    edited = Edited()
    note_edit(edited, row, session.entry(edit), session.entry)
    return edited.get(row)


def _call(session: Session, row: int, body: Entry) -> str:
    """The title of the call that a result answers."""
    index = session.index
    caller = index.assistant[row] if index.kind[row] == kinds.TOOL_RESULT else NONE
    message: Any = body.get("message")
    if caller == NONE or not isinstance(message, dict):
        return ""
    for call in calls_of(session.entry(caller)):
        if call.get("id") == message.get("toolCallId"):
            return call_title(call)
    return ""
