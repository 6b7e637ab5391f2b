"""The main line's rows, kept up with what is appended under the leaf in constant time.

An append changes the last row of the line, the last one inside it where it is work, and `here`;
nothing is read for that. Whatever else comes (a compaction, an entry elsewhere, a label) names the
levels that say something of it, to be asked for again.
"""

from __future__ import annotations

from collections.abc import Sequence

from pisessiond.core import kinds
from pisessiond.core.index import NONE
from pisessiond.core.projection import Entry
from pisessiond.core.rows.building import Builder, Known
from pisessiond.core.rows.cutting import Cutter, Segment, has_row
from pisessiond.core.rows.levels import AHEAD, Tree
from pisessiond.core.rows.places import path_to
from pisessiond.core.rows.row import Row, RowsChange

NOTHING = RowsChange()
_MAIN_IS_STALE = RowsChange(stale=(None,))

_MAKES_LABELLED = frozenset({kinds.LABEL, kinds.COMPACTION})
"""What makes other rows under `labeled-only`."""


class Growing:
    """The rows of the main line under one filter, as far as they can be kept up."""

    def __init__(self, tree: Tree, known: Known) -> None:
        """Cut the line once; reads the bodies that its last rows need.

        Args:
            tree: of this alone, for it goes along with the leaf.
            known: what is known beside the tree, at the leaf.
        """
        self.is_stale = False
        """Something came that it could not follow; make another one."""
        self._tree = tree
        self._cutter = tree.main()
        self._behind = tree.leaf_segments()
        self._inside = self._cut_inside()
        self._bodies: dict[int, Entry] = {}
        self._read(known)

    @property
    def leaf(self) -> int:
        """Where it stands."""
        return self._tree.leaf

    def segments(self) -> list[Segment]:
        """Those of the main line, with what stands at the leaf and behind it."""
        return [*self._cutter.segments, *self._behind]

    def grow(self, row: int, entry: Entry, known: Known) -> RowsChange:
        """What an entry that was just taken in changes; the session's leaf has moved by now.

        Args:
            row: the entry's.
            entry: its body.
            known: what is known beside the tree, with the entry.
        """
        session = self._tree.session
        is_under_leaf = session.index.parent[row] == self.leaf
        # Of several that came together, each is followed on the way to where they end.
        follows = is_under_leaf and session.index.is_ancestor(row, session.leaf)
        if self.is_stale or (session.leaf != self.leaf and not follows):
            self.is_stale = True
            return _MAIN_IS_STALE
        kind = session.index.kind[row]
        is_labelled = self._tree.filter == "labeled-only" and kind in _MAKES_LABELLED
        # Where edits have to be walked for, no row is marked.
        is_odd = kind == kinds.CONTEXT_EDIT and session.index.has_forward_edit
        if is_labelled or is_odd:
            self.is_stale = True
            return _MAIN_IS_STALE
        if follows:
            change = self._follow(row, entry, known)
        elif session.index.count == 1:
            # `here` says that the session is empty.
            self.is_stale = True
            return _MAIN_IS_STALE
        elif kind not in kinds.GIVES_MESSAGE and is_under_leaf and not self._has_row(row):
            # An anchor, which stands for the place it was written under.
            change = NOTHING
        elif self._tree.filter == "labeled-only":
            # What was ahead may be so no more.
            self.is_stale = True
            return _MAIN_IS_STALE
        else:
            change = RowsChange(stale=(self._told_elsewhere(row),))
        return change.then(self._told_of_others(entry))

    # The line goes on --------------------------------------------------------------------------

    def _follow(self, row: int, entry: Entry, known: Known) -> RowsChange:
        tree, index = self._tree, self._tree.session.index
        others = [other for other in tree.lines.children(tree.leaf) if other != row]
        tree.lines.leaf = row
        # What was ahead is an alternative now, and a compaction summarises what stood there.
        is_other = index.kind[row] in (kinds.COMPACTION, kinds.LEAF)
        if is_other or any(map(tree.has_rows, others)) or not tree.session.can_size(row):
            self.is_stale = True
            return _MAIN_IS_STALE
        if tree.filter == "labeled-only":
            return self._follow_flat(known)
        self._bodies[row] = entry
        changed, gone = _feed(tree, self._cutter, row)
        self._behind = [tree.here()]
        rows = self._rows(self._cutter, changed, None, known)
        rows += self._grow_inside(row, changed, gone, known)
        here = Builder(tree, known, None, 0, self._bodies)
        segments = self._cutter.segments
        rows.append(here.row(self._behind[0], tree.id_of(segments[-1]) if segments else None))
        self._forget()
        return RowsChange(tuple(rows), tuple(gone))

    def _follow_flat(self, known: Known) -> RowsChange:
        """Under `labeled-only` only `here` changes, which stands behind all that came before."""
        tree, segments = self._tree, self._cutter.segments
        if segments[-1].kind != "here":
            self.is_stale = True
            return _MAIN_IS_STALE
        segments[-1] = tree.here()
        before = tree.id_of(segments[-2]) if len(segments) > 1 else None
        return RowsChange((Builder(tree, known, None, 0).row(segments[-1], before),))

    def _grow_inside(
        self, row: int, changed: Sequence[Segment], gone: list[str], known: Known
    ) -> list[Row]:
        """The rows inside the work that the line ends in; adds to those that are gone."""
        tree, last = self._tree, self._cutter.last
        if last is None or not changed:
            return []
        inside = self._inside
        if last.first == row:
            self._inside = self._cut_inside()
            ended = changed[0]
            if inside is None or inside.last is None or ended is last or ended.kind != "work":
                return []
            # Its last call waits no more.
            inside.end_work()
            return self._rows(inside, [inside.last], tree.id_of(ended), known)
        if inside is None:
            return []
        was_one = len(inside.segments) == 1
        inner, inner_gone = _feed(tree, inside, row)
        if last.kind != "work":
            return []
        # A row of the line that is inside now stands there, and is not gone.
        inner = inside.segments if was_one else inner
        moved = {tree.id_of(one) for one in inner}
        gone[:] = [name for name in dict.fromkeys((*gone, *inner_gone)) if name not in moved]
        return self._rows(inside, inner, tree.id_of(last), known)

    def _rows(
        self, cutter: Cutter, changed: Sequence[Segment], level: str | None, known: Known
    ) -> list[Row]:
        """The rows of segments that are the last ones of a cutter, alternatives aside."""
        tree, segments = self._tree, cutter.segments
        builder = Builder(tree, known, level, 0 if level is None else 1, self._bodies)
        rows: list[Row] = []
        at = len(segments)
        for segment in reversed(changed):
            at -= 1
            while segments[at] is not segment:
                at -= 1
            before = tree.id_of(segments[at - 1]) if at else None
            rows.append(builder.row(segment, before))
        rows.reverse()
        return rows

    def _cut_inside(self) -> Cutter | None:
        """The inside of the last row, if that is work or may become work."""
        tree, last = self._tree, self._cutter.last
        if last is None or not (self._cutter.is_work or last.kind == "work"):
            return None
        index = tree.session.index
        inside = Cutter(tree.session, tree.shapes, "inside")
        inside.feed(index.branch(last.last, index.parent[last.first]))
        if not self._cutter.is_work:
            inside.end_work()
        return inside

    # Bodies at hand ----------------------------------------------------------------------------

    def _read(self, known: Known) -> None:
        builder = Builder(self._tree, known, None, 0, self._bodies)
        builder.read(self._last_ones())
        missing = [row for row in self._state_rows() if row not in self._bodies]
        self._bodies.update(zip(missing, self._tree.session.entries(missing), strict=True))

    def _forget(self) -> None:
        """Let go of the bodies that no row to come can need."""
        builder = Builder(self._tree, Known(), None, 0, self._bodies)
        needed = {row for one in self._last_ones() for row in builder.wanted(one)}
        needed.update(self._state_rows())
        for row in self._bodies.keys() - needed:
            del self._bodies[row]

    def _last_ones(self) -> list[Segment]:
        """The rows that the next entry may change."""
        last = [self._cutter.last, self._inside.last if self._inside is not None else None]
        return [one for one in last if one is not None]

    def _state_rows(self) -> list[int]:
        """The entries that the title of the next answer or step may tell of."""
        index, leaf = self._tree.session.index, self.leaf
        if leaf == NONE:
            return []
        state = index.state_at(leaf)
        return [row for row in (index.assistant[leaf], state.model, state.thinking) if row != NONE]

    # What cannot be followed -------------------------------------------------------------------

    def _told_elsewhere(self, row: int) -> str | None:
        """The level to be asked for again, with what is open inside, when a row came elsewhere."""
        path = self._path_told(row)
        level = None if AHEAD in path else _telling_of_branch(path)
        if level is not None and level.startswith("s:"):
            # Its row says how many there are inside.
            at = path.index(level)
            level = path[at - 1] if at else None
        if level is None:
            self.is_stale = True
        return level

    def _path_told(self, row: int) -> list[str]:
        """The rows to open for an entry, but for those of branches that had no row before it."""
        path = path_to(self._tree, row)
        for at, name in enumerate(path):
            if name.startswith("b:"):
                first = self._tree.row_named(name.removeprefix("b:"))
                if first is not None and not self._tree.has_rows(first, without=row):
                    return path[: at + 1]
        return path

    def _told_of_others(self, entry: Entry) -> RowsChange:
        """The level that shows a label or a mark which an entry gives to another one."""
        tree = self._tree
        kind, target = entry.get("type"), tree.session.index.find(entry.get("targetId"))
        if kind not in ("label", "context_edit") or target is None:
            return NOTHING
        path = path_to(tree, target)
        if kind == "label" and any(name.startswith("b:") for name in path):
            level = _telling_of_branch(path)
            # Alternatives stand in the order of their labels.
            self.is_stale = self.is_stale or level is None
        else:
            if kind == "context_edit" and path and path[-1].startswith("w:"):
                # Its work says how many are out, and stands one level up.
                path.pop()
            level = path[-1] if path else None
        return RowsChange(stale=(level,))

    def _has_row(self, row: int) -> bool:
        return has_row(self._tree.session, self._tree.shapes, row, self._tree.filter)


def _feed(tree: Tree, cutter: Cutter, row: int) -> tuple[list[Segment], list[str]]:
    """Feed one entry: the segments that are new or other than before, and the rows gone by that."""
    before = cutter.last
    was_pending = before is not None and before.is_pending
    name = tree.id_of(before) if before is not None else None
    cutter.feed([row])
    last = cutter.last
    if last is None:
        return [], []
    if last is not before:
        return ([before, last] if before is not None and was_pending else [last]), []
    now = tree.id_of(last)
    return [last], [name] if name is not None and name != now else []


def _telling_of_branch(path: Sequence[str]) -> str | None:
    """The level with the row of the innermost branch on a path, or of the group that is in."""
    at = max(at for at, name in enumerate(path) if name.startswith("b:"))
    if at and path[at - 1].startswith("g:"):
        at -= 1
    return path[at - 1] if at else None
