"""Which entries are edited at the leaf, to be asked by entry or by stretch."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator


class Edited(dict[int, bool]):
    """By row edited at the leaf, whether the edit leaves it out (else replaces it)."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: list[int] = []
        """In order. One that was put back may stay among them."""

    def note(self, row: int, *, is_out: bool) -> None:
        """The newest edit of a row leaves it out, or replaces it."""
        at = bisect_left(self._rows, row)
        if at == len(self._rows) or self._rows[at] != row:
            insort(self._rows, row)
        self[row] = is_out

    def between(self, first: int, last: int) -> Iterator[int]:
        """The rows edited from one to another, both counted, on whatever branch they are."""
        at = bisect_left(self._rows, first)
        while at < len(self._rows) and self._rows[at] <= last:
            if self._rows[at] in self:
                yield self._rows[at]
            at += 1
