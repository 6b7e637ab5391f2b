"""Orders and walks over the tree of an index: siblings, preorder, chains.

Every walk is iterative; a branch may be 100,000 entries deep and an entry have 5,000 children.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cmp_to_key
from typing import Any

from pisessiond.core.dates import date_ms
from pisessiond.core.index import NONE, Index

Chain = list[Any]
"""`[id, id, …, [chain, chain, …]?]`: an unbranched stretch, then the branches that follow it."""


class Tree:
    """The display order of one index. Sorted children are kept until an append changes them."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._sorted: dict[int, tuple[int, list[int]]] = {}

    def children(self, row: int) -> list[int]:
        """Children by time, oldest first; not to be changed. NONE gives the roots, in file order.

        Ties, and pairs in which a time is unreadable, keep the file's order (pi: `getTree`).
        """
        if row == NONE:
            return self._index.roots
        rows = self._index.children_in_file_order(row)
        if len(rows) < 2:
            return rows
        known = self._sorted.get(row)
        if known is not None and known[0] == len(rows):
            return known[1]
        ordered = self._sort(rows)
        self._sorted[row] = (len(rows), ordered)
        return ordered

    def _sort(self, rows: list[int]) -> list[int]:
        times = {row: date_ms(self._index.times[row]) for row in rows}
        readable = {row: time for row, time in times.items() if time is not None}
        if len(readable) == len(times):
            return sorted(rows, key=readable.__getitem__)

        def compare(a: int, b: int) -> int:
            time_a, time_b = times[a], times[b]
            return 0 if time_a is None or time_b is None else time_a - time_b

        return sorted(rows, key=cmp_to_key(compare))

    def siblings(self, row: int, leaf: int) -> list[int]:
        """The children of `row` as trees show them: the one towards the leaf first."""
        rows = self.children(row)
        if len(rows) < 2:
            return rows
        active = self.towards(row, leaf)
        if active == NONE or rows[0] == active:
            return rows
        return [active, *(other for other in rows if other != active)]

    def towards(self, row: int, leaf: int) -> int:
        """The child of `row` (a root, for NONE) towards the leaf; NONE if there is none."""
        index = self._index
        if leaf == NONE or leaf == row:
            return NONE
        if row == NONE:
            return index.ancestor_at(leaf, 0)
        if not index.is_ancestor(row, leaf):
            return NONE
        return index.ancestor_at(leaf, index.depth[row] + 1)

    def preorder(self, leaf: int, start: int = NONE) -> Iterator[int]:
        """Rows in preorder, the active branch first; after `start` if it is given."""
        yield from self._down(self.siblings(start, leaf), leaf)
        if start != NONE:
            for rest in self._rest_after(start, leaf):
                yield from self._down(rest, leaf)

    def _down(self, rows: list[int], leaf: int) -> Iterator[int]:
        """These siblings, each with everything below it, in preorder."""
        stack = [iter(rows)]
        while stack:
            row = next(stack[-1], None)
            if row is None:
                stack.pop()
                continue
            yield row
            stack.append(iter(self.siblings(row, leaf)))

    def _rest_after(self, row: int, leaf: int) -> Iterator[list[int]]:
        """For `row` and each ancestor, deepest first, the siblings that come after it.

        A page rarely needs more than the first few, and the way up may be 100,000 entries long.
        """
        index = self._index
        while row != NONE:
            row = index.only_child_top(row)
            parent = index.parent[row]
            siblings = self.siblings(parent, leaf)
            yield siblings[siblings.index(row) + 1 :]
            row = parent

    def before(self, row: int, leaf: int) -> Iterator[int]:
        """Rows that precede `row` in preorder, nearest first."""
        while row != NONE:
            parent = self._index.parent[row]
            siblings = self.siblings(parent, leaf)
            for other in reversed(siblings[: siblings.index(row)]):
                yield from self._upwards(other, leaf)
            row = parent
            if row != NONE:
                yield row

    def _upwards(self, row: int, leaf: int) -> Iterator[int]:
        """Everything below a row and last the row itself: preorder read backwards."""
        stack = [(row, reversed(self.siblings(row, leaf)))]
        while stack:
            at, children = stack[-1]
            child = next(children, None)
            if child is None:
                stack.pop()
                yield at
            else:
                stack.append((child, reversed(self.siblings(child, leaf))))

    def chains(self) -> list[Chain]:
        """The whole tree as chains of ids, in file and time order, whatever the leaf."""
        index = self._index
        top: list[Chain] = []
        stack = [(root, top) for root in reversed(index.roots)]
        while stack:
            row, into = stack.pop()
            chain: Chain = []
            into.append(chain)
            while True:
                chain.append(index.ids[row])
                children = self.children(row)
                if len(children) != 1:
                    break
                row = children[0]
            if children:
                branches: list[Chain] = []
                chain.append(branches)
                stack.extend((child, branches) for child in reversed(children))
        return top
