"""A page of rows: some of one level, cut and built as the session stood. It reads bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pisessiond.core.index import NONE
from pisessiond.core.lines import EntryId
from pisessiond.core.rows.building import Builder, Known, edited_at
from pisessiond.core.rows.cutting import Segment
from pisessiond.core.rows.edits import Edited
from pisessiond.core.rows.growing import Growing
from pisessiond.core.rows.levels import HERE, Tree
from pisessiond.core.rows.places import find_entry, path_of_level
from pisessiond.core.rows.row import Filter, Row
from pisessiond.service.errors import InvalidRequest
from pisessiond.service.fork_marks import ForkMarks
from pisessiond.service.settings import Thresholds


class Standards(NamedTuple):
    """What the sizes of rows are held against."""

    window: int | None
    """In tokens; None when unknown."""
    thresholds: Thresholds
    is_sized: bool
    """Whether sizes are known at all."""


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
    standards: Standards
    """What its sizes are held against."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A level in segments, so that its next page need not cut it again."""

    key: tuple[object, ...]
    segments: Sequence[Segment]
    growing: Growing | None = None
    """What the main line goes on from; None where that is of another level."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A session at one moment, as a page is made of it."""

    tree: Tree
    known: Known
    """Edits and forks aside."""
    epoch: str
    rev: int
    standards: Standards
    cut: Cut | None = None
    """The level that was cut last; None for none."""

    def cut_of(self, level: str | None) -> Cut | None:
        """A level as it was cut before, if it was at this very moment."""
        is_of_now = self.cut is not None and self.cut.key == self.cut_key(level)
        return self.cut if is_of_now else None

    def cut_key(self, level: str | None) -> tuple[object, ...]:
        """What else would make other segments."""
        return self.epoch, self.rev, self.tree.filter, self.standards.is_sized, level


@dataclass(frozen=True, slots=True)
class MadePage:
    """A page, and what it takes to go on from there."""

    page: RowsPage
    growing: Growing | None
    """The main line it is of; None where it is of another level, or is kept up already."""
    edited: Edited
    forks: dict[int, tuple[str, ...]]
    """By row, the sessions forked there."""
    cut: Cut
    """The level, for its next page and for whoever looks next."""


def make_page(at: Standing, wish: RowsWish, marks: ForkMarks, *, keeps_up: bool) -> MadePage:
    """The rows asked for.

    Args:
        at: the session they are of.
        wish: which.
        marks: the forks that were made of it.
        keeps_up: whether the main line is to be gone on from.

    Raises:
        EntryNotFound: no entry has the id in `around`.
        NoSuchLevel: no such row can be opened, or nothing is seen of the entry.
        InvalidRequest: a cursor names no row of the level.
    """
    tree = at.tree
    forks = marks.by_row(tree.session)
    known = known_at(at, forks)
    level, path, sought = _find_level(tree, wish)
    depth = len(path_of_level(tree, level))
    cut = at.cut_of(level)
    growing = None
    if level is None and keeps_up:
        growing = cut.growing if cut is not None else None
        if growing is None:
            growing = Growing(tree, known)
            cut = Cut(at.cut_key(level), growing.segments(), growing)
    if cut is None:
        cut = Cut(at.cut_key(level), tree.level(level))
    segments = cut.segments
    if wish.around == HERE:
        sought = next(at for at, one in enumerate(segments) if one.kind == "here")
    start, stop = _range(tree, segments, wish, sought)
    behind = tree.id_of(segments[start - 1]) if start else None
    rows = Builder(tree, known, level, depth).rows(segments[start:stop], behind)
    page = RowsPage(
        epoch=at.epoch,
        rev=at.rev,
        level=level,
        total=len(segments),
        rows=tuple(rows),
        before=rows[0].id if rows and start else None,
        after=rows[-1].id if rows and stop < len(segments) else None,
        path=None if path is None else tuple(path),
        standards=at.standards,
    )
    return MadePage(page, growing, known.edited, forks, cut)


def known_at(at: Standing, forks: dict[int, tuple[str, ...]]) -> Known:
    """What is known of a session beside its tree, with the edits at the leaf and its forks."""
    tree, session = at.tree, at.tree.session
    edited = Edited()
    if not session.index.has_forward_edit and tree.leaf != NONE:
        edited = edited_at(session.sizes.edits_at(tree.leaf), session.entry)
    return replace(at.known, edited=edited, forks=forks)


def _find_level(tree: Tree, wish: RowsWish) -> tuple[str | None, list[str] | None, int | None]:
    """The level asked for, the rows to open on the way to it, and where on it the entry is."""
    if wish.around is None:
        return wish.level, None, None
    if wish.around == HERE:
        return None, [], None
    path, sought = find_entry(tree, wish.around)
    return (path[-1] if path else None), path, sought


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
    # Numbers are compared before names are made: a level may have a hundred thousand rows.
    row = tree.row_named(name.partition(":")[2])
    for at in range(len(segments) - 1, -1, -1):
        one = segments[at]
        is_about_it = row in (one.act, one.first, one.branch_point, one.compaction)
        if (row is None or is_about_it) and tree.id_of(one) == name:
            return at
    raise InvalidRequest(member, f"no row {name!r} is on that level; ask for it anew.")
