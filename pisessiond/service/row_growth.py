"""How rows change, for those who draw them: what an append changes as rows, all else as levels.

Everything here runs on the event loop, in constant time for each entry and filter: bodies are at
hand, nothing is read. Where a session cannot be followed, its levels are named stale; whoever asks
for the main line then brings what it takes to follow again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pisessiond.core import kinds
from pisessiond.core.projection import Entry
from pisessiond.core.rows.building import Known, note_edit
from pisessiond.core.rows.edits import Edited
from pisessiond.core.rows.growing import NOTHING, Growing
from pisessiond.core.rows.row import Filter, RowsChange
from pisessiond.core.session import Session
from pisessiond.service.subscribers import Subscriber
from pisessiond.service.types import Change

log = logging.getLogger(__name__)

ALL_STALE = RowsChange(stale=(None,))

_TOUCHES_ALL = frozenset({"fork", "save", "problem"})
"""Changes that alter rows anywhere and come with no entry, or not with one alone."""


@dataclass(slots=True)
class _Kept:
    """The rows of one filter, kept up."""

    growing: Growing
    edited: Edited


class RowGrowth:
    """Who draws a session's rows, and what they are told of them."""

    def __init__(self) -> None:
        self._listening: dict[Subscriber, Filter] = {}
        self._kept: dict[Filter, _Kept] = {}
        self._grown: dict[Filter, RowsChange] = {}
        """What entries have changed since that was told last."""

    @property
    def filters(self) -> frozenset[Filter]:
        """Those that somebody draws under."""
        return frozenset(self._listening.values())

    def follows(self, filter_name: Filter) -> bool:
        """Whether rows of a filter are kept up now."""
        return filter_name in self._kept

    def reset(self) -> None:
        """Forget all rows; who draws is still told."""
        self._kept.clear()
        self._grown.clear()

    def listen(self, subscriber: Subscriber, filter_name: Filter) -> None:
        """Tell a subscriber of a filter's rows, from now on."""
        self._listening[subscriber] = filter_name

    def unlisten(self, subscriber: Subscriber) -> None:
        """Tell it no more; not having told is no error."""
        self._listening.pop(subscriber, None)

    def keep(self, filter_name: Filter, growing: Growing, edited: Edited) -> None:
        """Go on from rows that were made of the session as it stands now."""
        self._kept[filter_name] = _Kept(growing, edited)
        self._grown.pop(filter_name, None)

    def note(self, session: Session, came: Sequence[tuple[int, Entry]], known: Known) -> None:
        """Go on with entries that were just taken in; the leaf has moved by now.

        Args:
            session: the one they are in.
            came: their rows and bodies, in the order they came.
            known: what is known beside the tree, edits aside.
        """
        filters = self.filters
        for name in list(self._kept):
            if name not in filters:
                del self._kept[name]
                continue
            change = self._grow(session, name, came, known)
            self._grown[name] = self._grown.get(name, NOTHING).then(change)

    def _grow(
        self, session: Session, name: Filter, came: Iterable[tuple[int, Entry]], known: Known
    ) -> RowsChange:
        kept = self._kept[name]
        known = replace(known, edited=kept.edited)
        change = NOTHING
        try:
            for row, entry in came:
                if session.index.kind[row] == kinds.CONTEXT_EDIT:
                    _note_edit(session, kept.edited, row, entry)
                change = change.then(kept.growing.grow(row, entry, known))
        except Exception:
            # The entries are stored and will be told; that cannot fail for the sake of a drawing.
            log.exception("rows could not be kept up")
            del self._kept[name]
            return ALL_STALE
        if kept.growing.is_stale:
            del self._kept[name]
        return change

    def changes(
        self, session: Session, changes: Sequence[Change], *, is_other: bool
    ) -> dict[Filter, RowsChange]:
        """How the rows have changed with what is about to be told, by filter.

        Args:
            session: as it stands now.
            changes: what is about to be told.
            is_other: whether sizes are known now, or are held against something else.
        """
        grown, self._grown = self._grown, {}
        if is_other or any(change.kind in _TOUCHES_ALL for change in changes):
            return dict.fromkeys(self.filters, ALL_STALE)
        if not changes:
            return {}
        told = {name: self._told(session, name, grown.get(name)) for name in self.filters}
        return {name: change for name, change in told.items() if change != NOTHING}

    def _told(self, session: Session, name: Filter, grown: RowsChange | None) -> RowsChange:
        kept = self._kept.get(name)
        if kept is None or kept.growing.leaf != session.leaf:
            # One went somewhere else, or nobody has asked for rows since they became stale.
            self._kept.pop(name, None)
            return ALL_STALE
        return NOTHING if grown is None else grown


def _note_edit(session: Session, edited: Edited, row: int, entry: Entry) -> None:
    """An edit counts where it is on the way to the leaf."""
    target = session.index.find(entry.get("targetId"))
    if target is not None and session.index.is_ancestor(row, session.leaf):
        note_edit(edited, target, entry, session.entry)
