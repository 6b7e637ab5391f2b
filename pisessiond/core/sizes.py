"""The context size at any entry, in constant time (SESSION-RULES section 5).

Rows are sized once, in file order, as their lines are read (`extend`); running sums down each
branch then answer for every entry. What the newest compaction cuts off is a difference of two
sums, and a context edit is a correction computed once at the edit.

Sums leave out system messages, because the projection replays those into one, and compactions,
because only the newest counts.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pisessiond.core import kinds
from pisessiond.core.index import NONE, Index, State
from pisessiond.core.measuring import Own
from pisessiond.core.projection import Entry, project_entry
from pisessiond.core.system_state import EMPTY, SystemState, replay
from pisessiond.core.tokens import Part, estimate_tokens, message_parts

_SUMMED_APART = (kinds.SYSTEM, kinds.COMPACTION)


@dataclass(frozen=True, slots=True)
class Size:
    """The context size at one entry, in tokens."""

    tokens: int
    """The figure that counts: `measured` where there is one, else `estimated`
    (pi: `estimateProjectedContextTokens`)."""
    estimated: int
    """Every message estimated, the system part once, as replayed."""
    measured: int | None
    """The provider's count at the newest answer plus estimates after it; None when there is no
    answer since the newest compaction or context edit."""
    usage_row: int
    """The row of that answer; NONE without one."""


class Sizes:
    """Sizes of the rows of one index; complete when `known` equals the index's length."""

    def __init__(self, index: Index, read_entry: Callable[[int], Entry]) -> None:
        """`read_entry` reads a row's body: needed for the targets of context edits only."""
        self.index = index
        self._read_entry = read_entry
        self.own = array("q")
        """A row's own estimate in tokens."""
        self.thinking = array("i")
        """What of that an answer's thinking takes."""
        self.tool_calls = array("i")
        """What of that an answer's tool calls take."""
        self.images: dict[int, int] = {}
        """What of that images take, where there are any."""
        self._total = array("q")
        self._usage = array("i")
        self._measured: dict[int, int] = {}
        self._systems: dict[int, SystemState] = {}
        self._system_sums: dict[int, int] = {}
        self._system_bodies: dict[int, dict[str, Any]] = {}
        self._corrections: dict[int, int] = {NONE: 0}
        self._edited: dict[tuple[int, int], dict[Part, int]] = {}
        self._walked: dict[int, Size] = {}

    @property
    def known(self) -> int:
        """How many rows were sized so far, in file order."""
        return len(self.own)

    @property
    def is_complete(self) -> bool:
        """Whether every row's size can be asked for."""
        return len(self._total) == len(self.index)

    def extend(self, sized: Iterable[Own]) -> None:
        """Take in the own sizes of the next rows in file order."""
        index = self.index
        if index.order is not None and not self._total:
            for own in sized:
                self._keep(own)
            if self.known == len(index):
                self._sum_in_tree_order()
            return
        # `_keep` and `_sum` for rows whose parents were summed before them, written out: a large
        # file waits for this loop. The total comes last: readers in other threads take its length
        # for what is known.
        parents, kind_of, totals, usages = index.parent, index.kind, self._total, self._usage
        keep_own, keep_thinking = self.own.append, self.thinking.append
        keep_calls, apart = self.tool_calls.append, _SUMMED_APART
        for row, own in enumerate(sized, self.known):
            tokens = own.tokens
            keep_own(tokens)
            keep_thinking(own.thinking)
            keep_calls(own.tool_calls)
            if own.images:
                self.images[row] = own.images
            parent = parents[row]
            total, usage = (totals[parent], usages[parent]) if parent != NONE else (0, NONE)
            if own.usage:
                self._measured[row] = own.usage
                usage = row
            usages.append(usage)
            if kind_of[row] in apart:
                if own.parsed is not None:
                    self._system_bodies[row] = own.parsed
                self._enter_system(row, kind_of[row], parent)
                totals.append(total)
            else:
                totals.append(total + tokens)

    def _keep(self, own: Own) -> None:
        row = len(self.own)
        self.own.append(own.tokens)
        self.thinking.append(own.thinking)
        self.tool_calls.append(own.tool_calls)
        if own.images:
            self.images[row] = own.images
        if own.usage:
            self._measured[row] = own.usage
        if own.parsed is not None:
            self._system_bodies[row] = own.parsed

    def _sum_in_tree_order(self) -> None:
        count = self.known
        self._total = array("q", [0]) * count
        self._usage = array("i", [NONE]) * count
        for row in self.index.in_order():
            self._sum(row)

    def _sum(self, row: int) -> None:
        index = self.index
        kind = index.kind[row]
        parent = index.parent[row]
        above = self._total[parent] if parent != NONE else 0
        if kind in _SUMMED_APART:
            self._total[row] = above
            self._enter_system(row, kind, parent)
        else:
            self._total[row] = above + self.own[row]
        if row in self._measured:
            self._usage[row] = row
        elif parent != NONE:
            self._usage[row] = self._usage[parent]

    def _enter_system(self, row: int, kind: int, parent: int) -> None:
        body = self._system_bodies.pop(row, {})
        state = self.index.state_at(parent)
        if kind == kinds.COMPACTION:
            message = body.get("systemMessage")
            self._systems[row] = replay(EMPTY, message) if isinstance(message, dict) else EMPTY
        else:
            message = body.get("message")
            before = self._system_at(state)
            self._systems[row] = replay(before, message) if isinstance(message, dict) else before
            self._system_sums[row] = self._system_sum(state) + self.own[row]

    def _system_at(self, state: State) -> SystemState:
        row = self._deeper(state.system, state.compaction)
        return self._systems[row] if row != NONE else EMPTY

    def _system_sum(self, state: State) -> int:
        """The system messages on the whole branch, each estimated by itself."""
        return self._system_sums[state.system] if state.system != NONE else 0

    def _deeper(self, a: int, b: int) -> int:
        """Whichever of two rows on one branch is further down; NONE is above all."""
        if a == NONE or b == NONE:
            return max(a, b)
        return a if self.index.depth[a] >= self.index.depth[b] else b

    # Asking ------------------------------------------------------------------------------------

    def at(self, row: int) -> Size:
        """The context size if one stood at `row`; NONE is before the first entry."""
        if row == NONE:
            return Size(0, 0, None, NONE)
        index = self.index
        state = index.state_at(row)
        barrier = self._deeper(state.compaction, state.edit)
        if index.has_forward_edit and state.edit != NONE:
            if row not in self._walked:
                self._walked[row] = self._size_by_walking(row, barrier)
            return self._walked[row]
        estimated = self._estimate(row, state)
        usage_row = self._usage[row]
        if usage_row == NONE or self._deeper(usage_row, barrier) == barrier:
            return Size(estimated, estimated, None, NONE)
        after = self._total[row] - self._total[usage_row]
        after += self._system_sum(state) - self._system_sum(index.state_at(usage_row))
        measured = self._measured[usage_row] + after
        return Size(measured, estimated, measured, usage_row)

    def newest_answer(self, row: int) -> int:
        """The newest measured answer on the branch, whatever came after it; NONE without one."""
        return self._usage[row] if row != NONE else NONE

    def is_instant(self, row: int) -> bool:
        """Whether `at(row)` needs no body: no edit is on the branch, or it was asked before."""
        if row == NONE:
            return True
        state = self.index.state_at(row)
        if state.edit == NONE:
            return True
        if self.index.has_forward_edit:
            return row in self._walked
        return self._deeper(state.compaction, state.edit) in self._corrections

    def system_at(self, row: int) -> SystemState:
        """The system message as replayed at `row`."""
        return self._system_at(self.index.state_at(row))

    def _estimate(self, row: int, state: State) -> int:
        index = self.index
        compaction = state.compaction
        tokens = self._total[row] + self._system_at(state).tokens
        if compaction != NONE:
            tokens += self.own[compaction] - self._total_above(first_kept_row(index, compaction))
        if state.edit != NONE:
            tokens += self._correction(self._deeper(compaction, state.edit))
        return tokens

    def _total_above(self, row: int) -> int:
        """The sum down to the row above `row`; a compaction adds nothing to it itself."""
        if self.index.kind[row] == kinds.COMPACTION:
            return self._total[row]
        parent = self.index.parent[row]
        return self._total[parent] if parent != NONE else 0

    def _correction(self, row: int) -> int:
        """What the edits selected at `row` (a compaction or an edit) add or take, in tokens."""
        known = self._corrections.get(row)
        if known is None:
            known = sum(self._change(target, edit) for target, edit in self.edits_at(row).items())
            self._corrections[row] = known
        return known

    def edits_at(self, row: int) -> dict[int, int]:
        """Of the branch down to `row`, selected targets and the newest selected edit of each."""
        index = self.index
        compaction = index.state_at(row).compaction
        first = first_kept_row(index, compaction) if compaction != NONE else NONE
        floor = index.depth[first] if first != NONE else 0
        edits: dict[int, int] = {}
        edit = index.state_at(row).edit
        while edit != NONE and index.depth[edit] >= floor:
            target = index.find(index.notes.get(edit))
            if target is not None and index.depth[target] >= floor and target not in edits:
                edits[target] = edit
            above = index.parent[edit]
            edit = index.state_at(above).edit
        return edits

    def _change(self, target: int, edit: int) -> int:
        return sum(self.edited(target, edit).values()) - self.own[target]

    def edited(self, target: int, edit: int) -> dict[Part, int]:
        """What a row weighs under an edit of it, by part; their bodies are read the first time."""
        known = self._edited.get((target, edit))
        if known is None:
            messages = project_entry(self._read_entry(target), self._read_entry(edit))
            # What can be edited gives one message, or none where the edit takes it out.
            known = message_parts(messages[0]) if messages else {}
            self._edited[target, edit] = known
        return known

    def knows_edited(self, target: int, edit: int) -> bool:
        """Whether `edited` needs nothing read."""
        return (target, edit) in self._edited

    def read(self, row: int) -> Entry:
        """A row's body, for the sizes of files that have to be walked."""
        return self._read_entry(row)

    def _size_by_walking(self, row: int, barrier: int) -> Size:
        """The size the slow way, for edits whose target does not stand above them.

        Such an edit may even take out or change what comes after it, measured answers included.
        """
        index = self.index
        selected = select_rows(index, row)
        edits = {
            index.find(index.notes.get(at)): at
            for at in selected
            if index.kind[at] == kinds.CONTEXT_EDIT
        }
        tokens = after = 0
        usage_row = NONE
        system = EMPTY
        for position, at in enumerate(selected):
            kind, edit = index.kind[at], edits.get(at)
            own = self.own[at]
            if kind == kinds.COMPACTION and position > 0:
                continue
            if kind in (kinds.SYSTEM, kinds.COMPACTION) or edit is not None:
                change = self._read_entry(edit) if edit is not None else None
                messages = project_entry(self._read_entry(at), change)
                prompts = [one for one in messages if one.get("role") == "system"]
                for prompt in prompts:
                    system = replay(system, prompt)
                if not messages:
                    continue
                own = sum(map(estimate_tokens, messages))
                tokens -= sum(map(estimate_tokens, prompts))
            tokens += own
            after += own
            if at in self._measured:
                usage_row, after = at, 0
        estimated = tokens + system.tokens
        if usage_row == NONE or self._deeper(usage_row, barrier) == barrier:
            return Size(estimated, estimated, None, NONE)
        measured = self._measured[usage_row] + after
        return Size(measured, estimated, measured, usage_row)


def first_kept_row(index: Index, compaction: int) -> int:
    """The row from which a compaction keeps; the compaction itself when it keeps nothing."""
    kept = index.find(index.notes.get(compaction))
    if kept is None or not index.is_ancestor(kept, compaction):
        return compaction
    return kept


def select_rows(index: Index, row: int) -> list[int]:
    """The rows that the newest compaction leaves at `row`, it first (pi: `buildContextEntries`)."""
    if row == NONE:
        return []
    compaction = index.state_at(row).compaction
    if compaction == NONE:
        return index.branch(row)
    first = first_kept_row(index, compaction)
    selected = [compaction]
    if first != compaction:
        kept = index.branch(index.parent[compaction], above=index.parent[first])
        selected += [at for at in kept if index.kind[at] != kinds.SYSTEM]
    return selected + index.branch(row, above=compaction)
