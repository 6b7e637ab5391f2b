"""The rows of one open session: pages of levels for whoever asks, changes for whoever listens.

What rows need beside the index (shapes, ways) is gathered when rows are first asked for, in a
worker, and goes on with each entry on the event loop. A page is made in a worker, of the session
as it stood when it was asked for; that of the main line is what changes go on from.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from pisessiond.core.graph.gathering import FILTER_OF
from pisessiond.core.index import NONE
from pisessiond.core.lines import EntryId
from pisessiond.core.projection import Entry
from pisessiond.core.rows.building import Known
from pisessiond.core.rows.levels import NoSuchLevel, Tree
from pisessiond.core.rows.lines import Lines, Ways
from pisessiond.core.rows.outline import Item, make_outline
from pisessiond.core.rows.places import rows_of
from pisessiond.core.rows.row import Filter, RowsChange
from pisessiond.core.rows.shapes import Shapes
from pisessiond.core.session import Session
from pisessiond.service.branch_listing import BranchPage, BranchWish, branch_page
from pisessiond.service.context_sizes import Yardstick
from pisessiond.service.errors import InvalidRequest
from pisessiond.service.fork_marks import ForkMarks, telling_row
from pisessiond.service.graph_pages import GraphPage, GraphWish, KeptGraphs, make_graph
from pisessiond.service.row_growth import RowGrowth
from pisessiond.service.row_pages import (
    Cut,
    MadePage,
    RowsPage,
    RowsWish,
    Standards,
    Standing,
    make_page,
)
from pisessiond.service.storing import in_worker
from pisessiond.service.subscribers import Subscriber
from pisessiond.service.types import AnyOrigin, Change, ContextSize

if TYPE_CHECKING:
    from pisessiond.service.held_session import HeldSession

T = TypeVar("T")

_BY_KEPT = 10_000
"""Entries of which it is remembered who appended them."""


@dataclass(slots=True)
class _Gathered:
    """What rows need beside the index, of one loaded session."""

    session: Session
    shapes: Shapes
    ways: Ways


class _Reloaded(Exception):
    """The session was read anew while it was being asked."""


class RowBook:
    """The rows of one session."""

    def __init__(self, held: HeldSession) -> None:
        # Weakly: the session holds this, and is to be freed when it is let go of.
        self._weak = weakref.ref(held)
        self._gathered: _Gathered | None = None
        self._by: dict[int, str] = {}
        self._growth = RowGrowth()
        self.forks = ForkMarks()
        self._forked: dict[int, tuple[str, ...]] = {}
        """By row, the sessions forked there, as they were told last."""
        self._are_forks_told = True
        self._cut: Cut | None = None
        self._graphs = KeptGraphs()
        self._told_by: Standards | None = None
        """What rows were told by last; None before that."""

    @property
    def _held(self) -> HeldSession:
        held = self._weak()
        assert held is not None, "rows are asked through their session"
        return held

    def reset(self) -> None:
        """Forget everything: the session was read anew."""
        self._gathered = None
        self._by = {}
        self._forked = {}
        self._cut = None
        self._graphs.forget()
        self._growth.reset()

    # Pages -------------------------------------------------------------------------------------

    async def page(self, wish: RowsWish) -> RowsPage:
        """The rows asked for, as the session stood when they were.

        Sizes are missing as long as they are being counted; when they are known, whoever draws
        is told to ask again.

        Raises:
            EntryNotFound: no entry has the id in `around`.
            InvalidRequest: no such row can be opened, or a cursor names none.
        """
        # What is cut before all is sized lacks the sums that later rows go on from.
        keeps_up = self._held.session.sizes.is_complete and not self._growth.follows(wish.filter)
        try:
            at, made = await self._ask(
                wish.filter, partial(make_page, wish=wish, marks=self.forks, keeps_up=keeps_up)
            )
        except NoSuchLevel as error:
            where = "around" if wish.around is not None else "level"
            raise InvalidRequest(where, str(error)) from error
        if at.tree.session is self._held.session:
            self._forked, self._cut = made.forks, made.cut
            self._go_on_from(at, made)
        return made.page

    async def branches(self, wish: BranchWish) -> BranchPage:
        """Every branch, or those with some words in them, once all is sized; see `branch_page`."""
        await self._held.sized()
        _, page = await self._ask(
            "default", lambda at: branch_page(at.tree, at.known, wish, (at.epoch, at.rev))
        )
        return page

    async def outline(self, most: int) -> list[Item]:
        """Every level at once under the default filter, so many items at most; see `outline`."""
        _, items = await self._ask("default", lambda at: make_outline(at.tree, at.known, most))
        return items

    async def graph(self, wish: GraphWish) -> GraphPage:
        """The lines of the graph asked for, as the session stood when they were.

        Sizes are missing as long as they are being counted; when they are known, whoever has the
        session open is told so.

        Raises:
            EntryNotFound: no entry has the id in `around`.
        """
        kept = self._graphs.of(wish.zoom)
        at, (page, laid_out) = await self._ask(
            FILTER_OF[wish.zoom], partial(make_graph, wish=wish, marks=self.forks, kept=kept)
        )
        held = self._held
        if (at.epoch, at.rev) == (held.epoch, held.rev):
            self._graphs.keep(wish.zoom, laid_out)
        return page

    async def rows_of(self, entries: Sequence[EntryId]) -> dict[EntryId, str]:
        """The rows under the default filter that show entries of the active branch.

        Empty as long as nobody has asked for rows: what they need is not gathered for this.
        """
        if self._gathered is None:
            return {}

        def find(at: Standing) -> dict[int, str]:
            index = at.tree.session.index
            rows = [row for entry in entries if (row := index.find(entry)) is not None]
            return rows_of(at.tree, rows)

        at, found = await self._ask("default", find)
        ids = at.tree.session.index.ids
        return {ids[row]: name for row, name in found.items()}

    def is_current(self, page: RowsPage) -> bool:
        """Whether a page still says how the session stands."""
        held = self._held
        at = (page.epoch, page.rev, page.standards)
        return at == (held.epoch, held.rev, self._standards(held.leaf_size()))

    async def _ask(self, filter_name: Filter, make: Callable[[Standing], T]) -> tuple[Standing, T]:
        """What is made of the session as it stands now, in a worker; made anew once it is another.

        Entries that come meanwhile are not seen.
        """
        while True:
            gathered = await self._gather()
            at = self._stand(gathered, filter_name)

            def question(now: Session, at: Standing = at) -> T:
                if now is not at.tree.session:
                    raise _Reloaded
                return make(at)

            try:
                return at, await self._held.ask(question)
            except _Reloaded:
                continue

    def _stand(self, gathered: _Gathered, filter_name: Filter) -> Standing:
        held, session = self._held, gathered.session
        lines = Lines(session, gathered.ways, session.leaf, len(session.index))
        tree = Tree(session, gathered.shapes, lines, filter_name)
        standards = self._standards(held.leaf_size())
        return Standing(tree, self._known(), held.epoch, held.rev, standards, self._cut)

    async def _gather(self) -> _Gathered:
        held = self._held
        fresh: _Gathered | None = None
        while True:
            session = held.session
            known = self._gathered
            if known is not None and known.session is session:
                return known
            if fresh is None or fresh.session is not session:
                fresh = await held.ask(_gather)
            else:
                fresh = await held.ask(partial(_gather, shapes=fresh.shapes))
            # Entries that came in the meantime are told in the next round, which is short.
            if fresh.session is held.session and len(fresh.shapes) == len(session.index):
                self._gathered = fresh

    def _known(self) -> Known:
        held = self._held
        size = held.leaf_size()
        window = None if size is None else size.window
        yardstick = Yardstick(None, window, held.sizing.settings)
        return Known(
            is_unsaved=held.is_unsaved,
            forks=self._forked,
            by=self._by.get,
            window=window,
            grade=yardstick.grade,
        )

    def _standards(self, size: ContextSize | None) -> Standards:
        held = self._held
        window = None if size is None else size.window
        return Standards(window, held.sizing.settings.thresholds, held.session.sizes.is_complete)

    # Changes -----------------------------------------------------------------------------------

    def _go_on_from(self, at: Standing, made: MadePage) -> None:
        """Keep the rows of the main line up, if nothing has come since they were made."""
        session, lines = at.tree.session, at.tree.lines
        is_now = session.leaf == lines.leaf and len(session.index) == lines.count
        if made.growing is not None and is_now:
            lines.count = None
            self._growth.keep(at.tree.filter, made.growing, made.edited)

    def note(self, came: Iterable[tuple[int, Entry]], origin: AnyOrigin) -> None:
        """Go on with entries that were just taken in; on the event loop, in constant time each."""
        came = list(came)
        self._graphs.forget()
        name = origin if isinstance(origin, str) else origin.client
        for row, entry in came:
            if len(self._by) >= _BY_KEPT:
                self._by.pop(next(iter(self._by)))
            self._by[row] = name
            self._note_shape(row, entry)
        if self._gathered is None:
            self._growth.reset()
        elif self._growth.filters and came:
            self._growth.note(self._gathered.session, came, self._known())

    def _note_shape(self, row: int, entry: Entry) -> None:
        gathered = self._gathered
        if gathered is None:
            return
        if len(gathered.shapes) != row:
            # Lines that are no entries of ours came between; they are gathered when asked for.
            self._gathered = None
            return
        gathered.shapes.add(gathered.session.index.kind[row], entry)
        gathered.ways.appended(row)

    def forked(self, fork: str, end: EntryId | None) -> None:
        """Remember a fork that was just made, by its path or handle, of all down to an entry."""
        self.forks.made(fork, end)
        row = telling_row(self._held.session, end)
        if row != NONE:
            forks = sorted((*self._forked.get(row, ()), fork))
            self._forked = {**self._forked, row: tuple(forks)}

    @property
    def is_drawn(self) -> bool:
        """Whether anybody is told of rows."""
        return bool(self._growth.filters)

    async def look_at_forks(self) -> None:
        """Tell those who draw rows where forks were made or thrown away by others."""
        session = self._held.session
        forked = await in_worker(partial(self.forks.by_row, session), abandon=True)
        held = self._held
        if held.session is session and forked != self._forked:
            self._forked, self._are_forks_told = forked, False
            held.tell([], steps=0)

    def left(self, leaf: int) -> None:
        """Remember the way to a leaf that the session has just left."""
        self._graphs.forget()
        if self._gathered is not None:
            self._gathered.ways.left(leaf)

    def listen(self, subscriber: Subscriber, filter_name: Filter) -> None:
        """Tell a subscriber how the rows change under a filter, from now on."""
        if not self._growth.filters:
            self._told_by = self._standards(self._held.leaf_size())
        self._growth.listen(subscriber, filter_name)

    def unlisten(self, subscriber: Subscriber) -> None:
        """Tell it no more; not having told is no error."""
        self._growth.unlisten(subscriber)

    def changes(
        self, changes: Sequence[Change], size: ContextSize | None
    ) -> dict[Filter, RowsChange]:
        """How the rows have changed with what is about to be told, by filter."""
        if not self._growth.filters:
            return {}
        told_by = self._standards(size)
        is_other = told_by != self._told_by or not self._are_forks_told
        self._told_by, self._are_forks_told = told_by, True
        return self._growth.changes(self._held.session, changes, is_other=is_other)


def _gather(session: Session, shapes: Shapes | None = None) -> _Gathered:
    shapes = Shapes() if shapes is None else shapes
    shapes.fill(session)
    return _Gathered(session, shapes, Ways(session))
