"""Lines through the tree: where one goes on from an entry, and what leaves the line there."""

from __future__ import annotations

from collections.abc import Iterator

from pisessiond.core import kinds
from pisessiond.core.index import NONE
from pisessiond.core.session import Session


class Ways:
    """Where one last came from at each branch point of a session."""

    def __init__(self, session: Session) -> None:
        """Everything is as a file tells it: one came by the branch with the newest message.

        Entries without one are no way one came by: an anchor is written under the place one went
        back to, where the line goes on as before.
        """
        self._index = index = session.index
        self._way: dict[int, int] = {}
        parent, kind = index.parent, index.kind
        newest = [row if kind[row] in kinds.GIVES_MESSAGE else NONE for row in range(len(index))]
        for row in reversed(index.in_order()):
            above = parent[row]
            if above != NONE and newest[row] > newest[above]:
                newest[above] = newest[row]
        for row in index.in_order():
            if index.child_count(row) > 1:
                children = index.children_in_file_order(row)
                self._way[row] = max(children, key=lambda child: (newest[child], child))
        if len(index.roots) > 1:
            self._way[NONE] = max(index.roots, key=lambda root: (newest[root], root))

    def at(self, row: int) -> int:
        """The child of the way last taken from a branch point (NONE: the root); NONE if unknown."""
        return self._way.get(row, NONE)

    def left(self, row: int) -> None:
        """Remember the way to a row, which one is about to leave."""
        while row != NONE:
            row = self._index.only_child_top(row)
            above = self._index.parent[row]
            self._way[above] = row
            row = above

    def appended(self, row: int) -> None:
        """Remember the last step to an entry that was added, where that is a message.

        The steps above it are known. Beside what says nothing the line goes on as before.
        """
        index = self._index
        if index.kind[row] not in kinds.GIVES_MESSAGE:
            siblings = self._siblings(row)
            if len(siblings) > 1:
                self._way.setdefault(index.parent[row], siblings[-2])
            return
        while True:
            above = index.parent[row]
            if len(self._siblings(row)) > 1:
                self._way[above] = row
            # Entries without a message above it were no step yet.
            if above == NONE or index.kind[above] in kinds.GIVES_MESSAGE:
                return
            row = above

    def _siblings(self, row: int) -> list[int]:
        above = self._index.parent[row]
        return self._index.roots if above == NONE else self._index.children_in_file_order(above)


class Lines:
    """The lines of a session as it stands at one leaf."""

    def __init__(self, session: Session, ways: Ways, leaf: int, count: int | None = None) -> None:
        """See what there is now, or no more than the first rows.

        Args:
            session: whose lines.
            ways: where one came from.
            leaf: the row one stands at.
            count: how many rows are seen, by a reader while others are added; None: all.
        """
        self._session = session
        self._ways = ways
        self.count = count
        """How many rows are seen; None: all."""
        self.leaf = leaf
        """The row one stands at; NONE before the first entry."""

    def sees(self, row: int) -> bool:
        """Whether a row is among those that are seen."""
        return self.count is None or row < self.count

    def children(self, row: int) -> list[int]:
        """A row's children in file order; the roots for NONE."""
        index = self._session.index
        found = index.roots if row == NONE else index.children_in_file_order(row)
        if not found or self.sees(found[-1]):
            return found
        return [child for child in found if self.sees(child)]

    def next(self, row: int) -> int:
        """Where the line through a row goes on; NONE at its end. For NONE: where it begins."""
        children = self.children(row)
        if len(children) < 2:
            return children[0] if children else NONE
        towards = self._session.tree.towards(row, self.leaf)
        if towards != NONE:
            return towards
        way = self._ways.at(row)
        return way if way in children else children[-1]

    def onwards(self, row: int) -> Iterator[int]:
        """The rest of the line behind a row."""
        first_child, points = self._session.index.first_child, self._session.index.branch_points
        while True:
            row = self.next(row) if row == NONE or row in points else first_child[row]
            if row == NONE or not self.sees(row):
                return
            yield row

    def end(self, row: int) -> int:
        """The last row of the line through a row."""
        for at in self.onwards(row):
            row = at
        return row

    def leaving(self, row: int) -> list[int]:
        """The children of a row with which its line does not go on."""
        children = self.children(row)
        if len(children) < 2:
            return []
        onwards = self.next(row)
        return [child for child in children if child != onwards]

    def start(self, row: int) -> int:
        """The first row of the line a row is on: a root, or what leaves another line."""
        index = self._session.index
        while True:
            row = index.only_child_top(row)
            above = index.parent[row]
            if above == NONE or self.next(above) != row:
                return row
            row = above
