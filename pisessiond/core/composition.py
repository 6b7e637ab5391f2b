"""What the context at an entry is made of: tokens by part, and the entries that take most of it.

The parts add up to the estimate of `Sizes`. They are counted once along the branch, as far as the
newest compaction keeps it, and then go on with each entry that is appended, in constant time: sums
for every row would cost each open session eight numbers a row, while only the leaf's are told.
"""

from __future__ import annotations

import heapq
from bisect import insort

from pisessiond.core import kinds
from pisessiond.core.index import NONE
from pisessiond.core.projection import Message, project
from pisessiond.core.sizes import Sizes, first_kept_row, select_rows
from pisessiond.core.system_state import EMPTY, replay
from pisessiond.core.tokens import PARTS, Part, message_parts

LARGEST = 10
"""How many of the largest entries are told."""

_IN_RESERVE = 64
"""How many are remembered, since an edit may take one of them out."""

_PART_OF_KIND: dict[int, Part] = {
    kinds.USER: "user",
    kinds.BASH: "user",
    kinds.CUSTOM_ROLE: "user",
    kinds.CUSTOM_MESSAGE: "user",
    kinds.ASSISTANT: "assistant",
    kinds.TOOL_RESULT: "toolResults",
    # Of roles that are not listed only stored summaries weigh anything.
    kinds.OTHER_ROLE: "summaries",
    kinds.BRANCH_SUMMARY: "summaries",
}

Parts = dict[Part, int]
Ranked = tuple[int, int]
"""Minus the tokens, and the row: the largest come first, of equals the oldest."""


class Composition:
    """What the context at one row is made of. Rows must have been sized."""

    def __init__(self, sizes: Sizes, row: int) -> None:
        """Count what stands at `row`; may read the bodies that context edits are about."""
        self.row = row
        """Where it stands now."""
        self._sizes = sizes
        self._parts: Parts = dict.fromkeys(PARTS, 0)
        """Without the system part, which `Sizes` knows at any row."""
        self._ranked: list[Ranked] = []
        self._knows_all = True
        """Nothing that weighs anything is missing from `_ranked`."""
        self._edits: dict[int, int] = {}
        self._floor = 0
        """The depth from which on entries are selected."""
        self._system: int | None = None
        """The system part, where walking told it."""
        if is_walked(sizes, row):
            self._walk()
        elif row != NONE:
            self._count()

    # Asking ------------------------------------------------------------------------------------

    def parts(self) -> Parts:
        """Estimated tokens by part; they add up to `Size.estimated`."""
        parts = self._parts.copy()
        system = self._system
        parts["system"] = self._sizes.system_at(self.row).tokens if system is None else system
        return parts

    def largest(self, count: int = LARGEST) -> list[tuple[int, int]]:
        """Rows and their tokens, edits applied, the largest first.

        Neither system messages, which are replayed into one, nor what weighs nothing.
        """
        return [(row, -negative) for negative, row in self._ranked[:count]]

    @property
    def least(self) -> int:
        """An entry smaller than this is none of the largest; in tokens."""
        return -self._ranked[LARGEST - 1][0] if len(self._ranked) >= LARGEST else 1

    def can_spare(self, count: int) -> bool:
        """Whether the largest are still known when so many of them are edited."""
        return self._knows_all or len(self._ranked) >= LARGEST + count

    # Counting ----------------------------------------------------------------------------------

    def _count(self) -> None:
        sizes, row = self._sizes, self.row
        index = sizes.index
        compaction = index.state_at(row).compaction
        first = first_kept_row(index, compaction) if compaction != NONE else NONE
        self._floor = index.depth[first] if first != NONE else 0
        self._edits = sizes.edits_at(row)
        ranked: list[Ranked] = []
        parent, depth, kind, own = index.parent, index.depth, index.kind, sizes.own
        part_of, edits, floor, at = _PART_OF_KIND, self._edits, self._floor, row
        while at != NONE and depth[at] >= floor:
            if at in edits:
                tokens = self._add(sizes.edited(at, edits[at]))
            elif kind[at] in part_of:
                tokens = self._add_own(at)
            elif at == compaction:
                tokens = own[at]
                self._parts["summaries"] += tokens
            else:
                tokens = 0
            if tokens:
                ranked.append((-tokens, at))
            at = parent[at]
        self._keep_largest(ranked)

    def _keep_largest(self, ranked: list[Ranked]) -> None:
        self._knows_all = len(ranked) <= _IN_RESERVE
        self._ranked = heapq.nsmallest(_IN_RESERVE, ranked)

    def _add_own(self, row: int, sign: int = 1) -> int:
        """Count a row as it was sized; its tokens."""
        sizes, parts = self._sizes, self._parts
        kind = sizes.index.kind[row]
        tokens = rest = sizes.own[row]
        if kind == kinds.ASSISTANT:
            thinking, calls = sizes.thinking[row], sizes.tool_calls[row]
            parts["thinking"] += sign * thinking
            parts["toolCalls"] += sign * calls
            rest -= thinking + calls
        elif row in sizes.images:
            parts["images"] += sign * sizes.images[row]
            rest -= sizes.images[row]
        parts[_PART_OF_KIND[kind]] += sign * rest
        return tokens

    def _add(self, counted: Parts, sign: int = 1) -> int:
        """Count a message whose parts are known; its tokens."""
        for part, tokens in counted.items():
            self._parts[part] += sign * tokens
        return sum(counted.values())

    # Going on ----------------------------------------------------------------------------------

    def go_on(self, row: int) -> bool:
        """Count a child of the row it stands at, in constant time; False where that cannot be done.

        Then it stands where it stood, and has to be counted anew: below a compaction, where an
        edit was not sized yet, and in files whose sizes are walked.
        """
        sizes = self._sizes
        kind = sizes.index.kind[row]
        if kind == kinds.COMPACTION or is_walked(sizes, row) or self._system is not None:
            return False
        if kind == kinds.CONTEXT_EDIT:
            if not self._edit(row):
                return False
        elif kind in _PART_OF_KIND:
            tokens = self._add_own(row)
            if tokens:
                self._rank(tokens, row)
        self.row = row
        return True

    def _edit(self, edit: int) -> bool:
        index, sizes = self._sizes.index, self._sizes
        target = index.find(index.notes.get(edit))
        if target is None or index.depth[target] < self._floor:
            return True
        if not sizes.knows_edited(target, edit):
            return False
        after = sizes.edited(target, edit)
        if target in self._edits:
            before = self._add(sizes.edited(target, self._edits[target]), -1)
        elif index.kind[target] in _PART_OF_KIND:
            before = self._add_own(target, -1)
        else:
            before = 0
        self._edits[target] = edit
        if (-before, target) in self._ranked:
            self._ranked.remove((-before, target))
        tokens = self._add(after)
        if tokens:
            self._rank(tokens, target)
        return True

    def reach(self, row: int, at_most: int) -> bool:
        """Go on to a row so many below at most; False where that cannot be done.

        It may then stand in between.
        """
        index = self._sizes.index
        above = index.depth[self.row] if self.row != NONE else -1
        if row == NONE or not 0 <= index.depth[row] - above <= at_most:
            return row == self.row
        way = []
        while row not in (self.row, NONE) and index.depth[row] > above:
            way.append(row)
            row = index.parent[row]
        return row == self.row and all(map(self.go_on, reversed(way)))

    def _rank(self, tokens: int, row: int) -> None:
        """Put a row among the largest, if it belongs there.

        Behind the last one that is known there may be others, unless all are known.
        """
        ranked = self._ranked
        one = (-tokens, row)
        if not self._knows_all and (not ranked or one > ranked[-1]):
            return
        insort(ranked, one)
        if len(ranked) > _IN_RESERVE:
            ranked.pop()
            self._knows_all = False

    # Walking -----------------------------------------------------------------------------------

    def _walk(self) -> None:
        """Count the projection itself, where an edit is not below its target; reads all bodies."""
        sizes = self._sizes
        selected = select_rows(sizes.index, self.row)
        system = EMPTY
        ranked: list[Ranked] = []
        projected = project([sizes.read(at) for at in selected])
        for at, item in zip(selected, projected, strict=True):
            tokens = 0
            for message in item.messages:
                if is_system(message):
                    system = replay(system, message)
                else:
                    tokens += self._add(message_parts(message))
            if tokens:
                ranked.append((-tokens, at))
        self._system = system.tokens
        self._keep_largest(ranked)


def is_system(message: Message) -> bool:
    """Whether a message counts for the system part, which is told apart."""
    return message.get("role") == "system"


def is_walked(sizes: Sizes, row: int) -> bool:
    """Whether an edit above `row` may change what is not above it (`Index.has_forward_edit`)."""
    index = sizes.index
    return row != NONE and index.has_forward_edit and index.state_at(row).edit != NONE


def span(sizes: Sizes, row: int) -> int:
    """How many rows counting at `row` looks at."""
    if row == NONE:
        return 0
    index = sizes.index
    compaction = index.state_at(row).compaction
    first = first_kept_row(index, compaction) if compaction != NONE else NONE
    return index.depth[row] + 1 - (index.depth[first] if first != NONE else 0)
