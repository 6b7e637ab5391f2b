"""The rows of one open session: pages of levels for whoever asks, changes for whoever listens.

What rows need beside the index (shapes, ways) is gathered when rows are first asked for, in a
worker, and goes on with each entry on the event loop. A page is made in a worker, of the session
as it stood when it was asked for.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from pisessiond.core.index import NONE
from pisessiond.core.lines import EntryId
from pisessiond.core.projection import Entry
from pisessiond.core.rows.building import Builder, Known, edited_at
from pisessiond.core.rows.cutting import Segment
from pisessiond.core.rows.levels import HERE, NoSuchLevel, Tree
from pisessiond.core.rows.lines import Lines, Ways
from pisessiond.core.rows.places import find_entry, path_of_level
from pisessiond.core.rows.row import Filter, Row, RowsChange
from pisessiond.core.rows.shapes import Shapes
from pisessiond.core.session import Session
from pisessiond.service.branch_listing import BranchPage, BranchWish, branch_page
from pisessiond.service.context_sizes import Yardstick
from pisessiond.service.errors import InvalidRequest
from pisessiond.service.subscribers import Subscriber
from pisessiond.service.types import AnyOrigin, Change, ContextSize

if TYPE_CHECKING:
    from pisessiond.service.held_session import HeldSession

_ALL_STALE = RowsChange(stale=(None,))

_BY_KEPT = 10_000
"""Entries of which it is remembered who appended them."""


@dataclass(frozen=True, slots=True)
class RowsWish:
    """Which rows somebody asks for; at most one of `around`, `after` and `before`."""

    level: str | None = None
    """The row whose inside is wanted; None: the main line."""
    around: EntryId | None = None
    """An entry to be found, or `here`."""
    after: str | None = None
    before: str | None = None
    count: int = 200
    filter: Filter = "default"


@dataclass(frozen=True, slots=True)
class RowsPage:
    """Rows of one level."""

    epoch: str
    rev: int
    level: str | None
    total: int
    rows: tuple[Row, ...]
    before: str | None
    after: str | None
    path: tuple[str, ...] | None
    """The rows to open on the way to what was looked for; None where nothing was."""


@dataclass(slots=True)
class _Gathered:
    """What rows need beside the index, of one loaded session."""

    session: Session
    shapes: Shapes
    ways: Ways


class RowBook:
    """The rows of one session."""

    def __init__(self, held: HeldSession) -> None:
        # Weakly: the session holds this, and is to be freed when it is let go of.
        self._weak = weakref.ref(held)
        self._gathered: _Gathered | None = None
        self._by: dict[int, str] = {}
        self._listening: dict[Subscriber, Filter] = {}
        self._told_by: object = None
        """What percents were counted by when rows were last told."""

    @property
    def _held(self) -> HeldSession:
        held = self._weak()
        assert held is not None, "rows are asked through their session"
        return held

    def reset(self) -> None:
        """Forget everything: the session was read anew."""
        self._gathered = None
        self._by = {}

    # Pages -------------------------------------------------------------------------------------

    async def page(self, wish: RowsWish) -> RowsPage:
        """The rows asked for.

        Raises:
            EntryNotFound: no entry has the id in `around`.
            InvalidRequest: no such row can be opened, or a cursor names none.
        """
        tree = await self._tree(wish.filter)
        held = self._held
        make = partial(_make_page, tree, self._known(), wish, (held.epoch, held.rev))
        try:
            return await held.ask(lambda _: make())
        except NoSuchLevel as error:
            where = "around" if wish.around is not None else "level"
            raise InvalidRequest(where, str(error)) from error

    async def branches(self, wish: BranchWish) -> BranchPage:
        """Every branch, or those with some words in them; see `branch_page`."""
        tree = await self._tree("default")
        held = self._held
        make = partial(branch_page, tree, self._known(), wish, (held.epoch, held.rev))
        return await held.ask(lambda _: make())

    async def _tree(self, filter_name: Filter) -> Tree:
        """The tree as the session stands now; nothing has come since when this returns."""
        gathered = await self._gather()
        session = gathered.session
        lines = Lines(session, gathered.ways, session.leaf)
        return Tree(session, gathered.shapes, lines, filter_name)

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
        by = self._by
        return Known(is_unsaved=held.is_unsaved, by=by.get, window=window, grade=yardstick.grade)

    # Changes -----------------------------------------------------------------------------------

    def note(self, came: Iterable[tuple[int, Entry]], origin: AnyOrigin) -> None:
        """Go on with entries that were just taken in; on the event loop, in constant time each."""
        gathered = self._gathered
        name = origin if isinstance(origin, str) else origin.client
        for row, entry in came:
            if len(self._by) >= _BY_KEPT:
                self._by.pop(next(iter(self._by)))
            self._by[row] = name
            if gathered is None:
                continue
            if len(gathered.shapes) != row:
                # Lines that are no entries of ours came between; they are gathered when asked for.
                self._gathered = gathered = None
                continue
            gathered.shapes.add(gathered.session.index.kind[row], entry)
            gathered.ways.appended(row)

    def left(self, leaf: int) -> None:
        """Remember the way to a leaf that the session has just left."""
        if self._gathered is not None:
            self._gathered.ways.left(leaf)

    def listen(self, subscriber: Subscriber, filter_name: Filter) -> None:
        """Tell a subscriber how the rows change under a filter, from now on."""
        self._listening[subscriber] = filter_name

    def unlisten(self, subscriber: Subscriber) -> None:
        """Tell it no more; not having told is no error."""
        self._listening.pop(subscriber, None)

    def changes(
        self, changes: Sequence[Change], size: ContextSize | None
    ) -> dict[Filter, RowsChange]:
        """How the rows have changed with what is about to be told, by filter."""
        if not self._listening:
            return {}
        settings = self._held.sizing.settings
        told_by = (
            None if size is None else size.window,
            settings.thresholds,
            self._held.session.sizes.is_complete,
        )
        is_other, self._told_by = told_by != self._told_by, told_by
        if not changes and not is_other:
            return {}
        return dict.fromkeys(self._listening.values(), _ALL_STALE)


def _gather(session: Session, shapes: Shapes | None = None) -> _Gathered:
    shapes = Shapes() if shapes is None else shapes
    shapes.fill(session)
    return _Gathered(session, shapes, Ways(session))


def _make_page(tree: Tree, known: Known, wish: RowsWish, at_rev: tuple[str, int]) -> RowsPage:
    session = tree.session
    if not session.index.has_forward_edit:
        edits = session.sizes.edits_at(tree.leaf) if tree.leaf != NONE else {}
        known = replace(known, edited=edited_at(edits, session.entry))
    level = wish.level
    path: list[str] | None = None
    at: int | None = None
    if wish.around == HERE:
        path, level = [], None
    elif wish.around is not None:
        path, at = find_entry(tree, wish.around)
        level = path[-1] if path else None
    depth = len(path_of_level(tree, level))
    segments = tree.level(level)
    if wish.around == HERE:
        at = next(at for at, one in enumerate(segments) if one.kind == "here")
    start, stop = _range(tree, segments, wish, at)
    behind = tree.id_of(segments[start - 1]) if start else None
    rows = Builder(tree, known, level, depth).rows(segments[start:stop], behind)
    return RowsPage(
        epoch=at_rev[0],
        rev=at_rev[1],
        level=level,
        total=len(segments),
        rows=tuple(rows),
        before=rows[0].id if rows and start else None,
        after=rows[-1].id if rows and stop < len(segments) else None,
        path=None if path is None else tuple(path),
    )


def _range(
    tree: Tree, segments: Sequence[Segment], wish: RowsWish, around: int | None
) -> tuple[int, int]:
    count, total = wish.count, len(segments)
    if wish.before is not None:
        stop = _position(tree, segments, wish.before, "before")
        return max(stop - count, 0), stop
    if wish.after is not None:
        start = _position(tree, segments, wish.after, "after") + 1
        return start, min(start + count, total)
    if around is None:
        return 0, min(count, total)
    start = max(min(around - count // 2, total - count), 0)
    return start, min(start + count, total)


def _position(tree: Tree, segments: Sequence[Segment], name: str, member: str) -> int:
    # Cursors are near an end more often than not, and pages are asked for from the leaf upwards.
    for at in range(len(segments) - 1, -1, -1):
        if tree.id_of(segments[at]) == name:
            return at
    raise InvalidRequest(member, f"no row {name!r} is on that level; ask for it anew.")
