"""The index of a session: one row per entry in parallel arrays, never the entries themselves.

A row is a small integer, given in file order. Everything that is asked of a tree all day is a
few array reads away: parent, depth, children, the nearest compaction above, whether one entry
is an ancestor of another. Bodies stay where the store keeps them and are read by `at`/`length`.

Appending a row takes constant time. Three things make an older row change and are therefore
not done by appending: a repeated id, a parent that arrives after its child, and a cycle. While
loading they are settled by `finish`; later they raise `NeedsRebuild`.

Ancestors: `jump` is the skip pointer of Myers' "applicative random-access stack" (1983). It makes
the ancestor at a depth, the common ancestor of two rows and the ancestor test logarithmic, and
costs one integer a row and constant time an append.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pisessiond.core import kinds
from pisessiond.core.lines import EntryId, Head

NONE = -1
"""No row."""


class NeedsRebuild(Exception):
    """The new line changes what older rows mean; the session must be loaded again."""


class State(NamedTuple):
    """The nearest row of each deciding kind on a branch; NONE where there is none."""

    compaction: int = NONE
    edit: int = NONE
    system: int = NONE
    thinking: int = NONE
    model: int = NONE
    tools: int = NONE


_FIELD_OF_KIND = {
    kinds.COMPACTION: "compaction",
    kinds.CONTEXT_EDIT: "edit",
    kinds.SYSTEM: "system",
    kinds.THINKING_LEVEL: "thinking",
    kinds.MODEL_CHANGE: "model",
    kinds.ACTIVE_TOOLS: "tools",
}
_NO_STATE = State()


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something about an entry's place in the tree that is not as it should be."""

    kind: str
    """`duplicateId`, `orphan` or `cycle`."""
    row: int


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive ordinary lines, column by column: string ids, nothing to be noted."""

    ids: list[str]
    parent_ids: list[str | None]
    kinds: bytes
    times: list[str]
    at: list[int]
    lengths: list[int]
    first_line: int


class Index:
    """Rows of one session. Readers in other threads are safe up to the length they saw."""

    def __init__(self) -> None:
        self.ids: list[EntryId] = []
        self.times: list[Any] = []
        """The `timestamp` members as they stand; UNSET where there is none."""
        self.kind = bytearray()
        self.parent = array("i")
        self.depth = array("i")
        self.jump = array("i")
        self.state = array("i")
        """The nearest row, itself included, whose kind is in `kinds.STATE`."""
        self.assistant = array("i")
        """The nearest assistant message, itself included."""
        self.at = array("q")
        """Where the store keeps the line."""
        self.length = array("q")
        """The line's length in bytes."""
        self.line = array("i")
        """The line's number in the file, counted from 1."""
        self.row_of: dict[EntryId, int] = {}
        self.notes: dict[int, Any] = {}
        """By row, what `Head.note` holds."""
        self.roots: list[int] = []
        self.flaws: list[Flaw] = []
        self.kind_counts = [0] * 256
        self.first_child = array("i")
        self.order: list[int] | None = None
        """Rows with parents before children; None while file order is such an order."""
        self.has_forward_edit = False
        """An edit's target is not above the edit, or is a system message or a compaction: such
        files (pi writes none) have their sizes computed by walking."""
        self._states: dict[int, State] = {NONE: _NO_STATE}
        self._siblings: dict[int, list[int]] = {}
        self._awaited: dict[Any, list[int]] = {}
        self._replaced: list[tuple[int, int]] = []

    def __len__(self) -> int:
        """How many rows there are, those of repeated ids included."""
        return len(self.ids)

    @property
    def count(self) -> int:
        """How many distinct entries there are."""
        return len(self.row_of)

    # Building ----------------------------------------------------------------------------------

    def load(self, head: Head, at: int, length: int, line: int) -> int:
        """Take in a line while the file is being read; `finish` must follow. Returns its row."""
        row = len(self.ids)
        older = self.row_of.get(head.id)
        if older is not None:
            self._replaced.append((older, row))
        self.row_of[head.id] = row
        parent_id = head.parent_id
        parent = NONE
        if parent_id:
            parent = self._find_parent(parent_id, row)
        self._add(head, parent, at, length, line)
        return row

    def load_run(self, run: Run) -> None:
        """Take in many ordinary lines at once: `load` for each, at a fifth of its cost."""
        ids, kind_run = run.ids, run.kinds
        first, stop = len(self.ids), len(self.ids) + len(ids)
        rows = dict(zip(ids, range(first, stop), strict=True))
        if len(rows) < len(ids) or not self.row_of.keys().isdisjoint(ids):
            self._load_singly(run)
            return
        self.row_of.update(rows)
        self.ids += ids
        self.times += run.times
        self.kind += kind_run
        self.at.extend(run.at)
        self.length.extend(run.lengths)
        self.line.extend(range(run.first_line, run.first_line + len(ids)))
        self.first_child.extend(array("i", [NONE]) * len(ids))
        for kind, times in Counter(kind_run).items():
            self.kind_counts[kind] += times
        self._place_run(first, run)

    def _load_singly(self, run: Run) -> None:
        columns = zip(run.ids, run.parent_ids, run.kinds, run.times, strict=True)
        for number, (entry_id, parent_id, kind, time) in enumerate(columns):
            head = Head(entry_id, parent_id, kind, time)
            self.load(head, run.at[number], run.lengths[number], run.first_line + number)

    def _place_run(self, first: int, run: Run) -> None:
        """Give the rows of a run their place in the tree.

        `_below` and `_link`, written out: this is the loop a large file waits for. Where a row
        stands under the one before it, as most do, what that one has is still at hand.
        """
        parents, depths, jumps = self.parent, self.depth, self.jump
        states, assistants = self.state, self.assistant
        first_child = self.first_child
        state_kinds, is_assistant = kinds.STATE, kinds.ASSISTANT
        depth, jump, state, assistant, last = 0, NONE, NONE, NONE, NONE
        row_of = self.row_of.get
        found = [row_of(parent_id, NONE) if parent_id else NONE for parent_id in run.parent_ids]
        for row, (parent, kind) in enumerate(zip(found, run.kinds, strict=True), first):
            if parent == NONE or parent >= row:
                # A root, an orphan, or the child of a line that is still to come.
                parent = NONE
                if parent_id := run.parent_ids[row - first]:
                    self._awaited.setdefault(parent_id, []).append(row)
                self.roots.append(row)
                depth, jump, state, assistant = 0, row, NONE, NONE
            else:
                if parent == last:
                    first_child[parent] = row
                else:
                    depth, jump = depths[parent], jumps[parent]
                    state, assistant = states[parent], assistants[parent]
                    self._link(parent, row)
                jumped_depth = depths[jump]
                far = jumps[jump]
                jump = far if depth - jumped_depth == jumped_depth - depths[far] else parent
                depth += 1
            if kind in state_kinds:
                state = self._enter_state(row, kind, state)
            elif kind == is_assistant:
                assistant = row
            parents.append(parent)
            depths.append(depth)
            jumps.append(jump)
            states.append(state)
            assistants.append(assistant)
            last = row

    def _find_parent(self, parent_id: Any, row: int) -> int:
        found = self.find(parent_id)
        if found is None or found == row:
            key = parent_id if is_key(parent_id) else repr(parent_id)
            self._awaited.setdefault(key, []).append(row)
            return NONE
        return found

    def find(self, entry_id: Any) -> int | None:
        """The row of an id; None when no entry has it."""
        return self.row_of.get(entry_id) if is_key(entry_id) else None

    def append(self, head: Head, at: int, length: int, line: int) -> int:
        """Add the newest line of a finished index, in constant time. Returns its row.

        Raises:
            NeedsRebuild: the id is taken, or rows already wait for an entry of this id.
        """
        if head.id in self.row_of or head.id in self._awaited:
            raise NeedsRebuild
        row = len(self.ids)
        parent_id = head.parent_id
        parent = NONE
        if parent_id:
            parent = self._find_parent(parent_id, row)
            if parent == NONE:
                self.flaws.append(Flaw("cycle" if parent_id == head.id else "orphan", row))
        self.row_of[head.id] = row
        self._add(head, parent, at, length, line)
        if self.order is not None:
            self.order.append(row)
        if head.kind == kinds.CONTEXT_EDIT:
            self._check_edit(row)
        return row

    def _add(self, head: Head, parent: int, at: int, length: int, line: int) -> None:
        row = len(self.ids)
        kind = head.kind
        self.ids.append(head.id)
        self.times.append(head.time)
        self.kind.append(kind)
        self.kind_counts[kind] += 1
        self.at.append(at)
        self.length.append(length)
        self.line.append(line)
        self.parent.append(parent)
        self.first_child.append(NONE)
        if head.note is not None:
            self.notes[row] = head.note
        depth, jump, state, assistant = self._below(parent, row)
        self.depth.append(depth)
        self.jump.append(jump)
        self.state.append(self._enter_state(row, kind, state) if kind in kinds.STATE else state)
        self.assistant.append(row if kind == kinds.ASSISTANT else assistant)
        self._link(parent, row)

    def _below(self, parent: int, row: int) -> tuple[int, int, int, int]:
        """Depth, jump, state and assistant of a row under `parent`."""
        if parent == NONE:
            return 0, row, NONE, NONE
        depth = self.depth
        jumped = self.jump[parent]
        far = self.jump[jumped]
        even = depth[parent] - depth[jumped] == depth[jumped] - depth[far]
        jump = far if even else parent
        return depth[parent] + 1, jump, self.state[parent], self.assistant[parent]

    def _enter_state(self, row: int, kind: int, above: int) -> int:
        self._states[row] = self._states[above]._replace(**{_FIELD_OF_KIND[kind]: row})
        return row

    def _link(self, parent: int, row: int) -> None:
        if parent == NONE:
            self.roots.append(row)
        elif self.first_child[parent] == NONE:
            self.first_child[parent] = row
        else:
            self._siblings.setdefault(parent, [self.first_child[parent]]).append(row)

    def finish(self) -> None:
        """Settle what only the whole file can tell: late parents, repeated ids, cycles."""
        late = self._adopt_late_children()
        if self._replaced:
            self._retire_replaced()
            late = True
        if late:
            self._relink()
        for parent_id, rows in self._awaited.items():
            for row in rows:
                own = self.ids[row] == parent_id
                self.flaws.append(Flaw("cycle" if own else "orphan", row))
        self.flaws.sort(key=lambda flaw: flaw.row)
        for row, kind in enumerate(self.kind):
            if kind == kinds.CONTEXT_EDIT:
                self._check_edit(row)

    def _adopt_late_children(self) -> bool:
        late = False
        for parent_id in list(self._awaited):
            found = self.row_of.get(parent_id)
            if found is None:
                continue
            rows = self._awaited.pop(parent_id)
            for row in rows:
                if row == found:
                    self._awaited.setdefault(parent_id, []).append(row)
                else:
                    self.parent[row] = found
                    late = True
        return late

    def _retire_replaced(self) -> None:
        heirs = dict(self._replaced)
        for older, _ in self._replaced:
            self.kind_counts[self.kind[older]] -= 1
            self.kind[older] = kinds.REPLACED
            self.flaws.append(Flaw("duplicateId", older))
        for row, parent in enumerate(self.parent):
            while parent in heirs:
                parent = heirs[parent]
            self.parent[row] = parent
        for rows in self._awaited.values():
            rows[:] = [row for row in rows if self.kind[row] != kinds.REPLACED]
        self._awaited = {key: rows for key, rows in self._awaited.items() if rows}

    def _relink(self) -> None:
        """Compute every derived column again, parents before children, cutting cycles."""
        children = self._children_from_parents()
        cut = self._cut_cycles(children)
        self.flaws.extend(Flaw("cycle", row) for row in cut)
        count = len(self.ids)
        self.roots = []
        self.first_child = array("i", [NONE]) * count
        self._siblings = {}
        self._states = {NONE: _NO_STATE}
        for row in range(count):
            if self.kind[row] != kinds.REPLACED:
                self._link(self.parent[row], row)
        order = []
        stack = self.roots[::-1]
        while stack:
            row = stack.pop()
            order.append(row)
            kind = self.kind[row]
            depth, jump, state, assistant = self._below(self.parent[row], row)
            self.depth[row], self.jump[row] = depth, jump
            self.state[row] = self._enter_state(row, kind, state) if kind in kinds.STATE else state
            self.assistant[row] = row if kind == kinds.ASSISTANT else assistant
            stack.extend(self.children_in_file_order(row)[::-1])
        self.order = order

    def _children_from_parents(self) -> dict[int, list[int]]:
        children: dict[int, list[int]] = {}
        for row, parent in enumerate(self.parent):
            if self.kind[row] != kinds.REPLACED:
                children.setdefault(parent, []).append(row)
        return children

    def _cut_cycles(self, children: dict[int, list[int]]) -> list[int]:
        """Make the first member of each cycle a root; rows hanging off one keep their place."""
        reached = bytearray(len(self.ids))
        self._reach(children.get(NONE, []), children, reached)
        cut = []
        for start in range(len(self.ids)):
            if reached[start] or self.kind[start] == kinds.REPLACED:
                continue
            seen = set()
            row = start
            while row not in seen:
                seen.add(row)
                row = self.parent[row]
            cycle = {row}
            member = self.parent[row]
            while member != row:
                cycle.add(member)
                member = self.parent[member]
            first = min(cycle)
            self.parent[first] = NONE
            cut.append(first)
            self._reach([first], children, reached)
        return cut

    def _reach(self, rows: list[int], children: dict[int, list[int]], reached: bytearray) -> None:
        stack = list(rows)
        while stack:
            row = stack.pop()
            if not reached[row]:
                reached[row] = 1
                stack.extend(children.get(row, ()))

    def _check_edit(self, row: int) -> None:
        target = self.find(self.notes.get(row))
        whole = target is not None and self.kind[target] in (kinds.SYSTEM, kinds.COMPACTION)
        if whole or target is None or not self.is_ancestor(target, row):
            self.has_forward_edit = True

    # Asking ------------------------------------------------------------------------------------

    def state_at(self, row: int) -> State:
        """The deciding rows above `row`, itself included; all NONE for no row."""
        return self._states[self.state[row]] if row != NONE else _NO_STATE

    def children_in_file_order(self, row: int) -> list[int]:
        """A row's children as the file has them; a fresh or shared list, not to be changed."""
        siblings = self._siblings.get(row)
        if siblings is not None:
            return siblings
        only = self.first_child[row]
        return [only] if only != NONE else []

    def child_count(self, row: int) -> int:
        """How many children a row has."""
        siblings = self._siblings.get(row)
        if siblings is not None:
            return len(siblings)
        return int(self.first_child[row] != NONE)

    @property
    def branch_points(self) -> Collection[int]:
        """The rows that have several children; not to be walked while rows are added."""
        return self._siblings.keys()

    def only_child_top(self, row: int) -> int:
        """The first row at or above `row` that has siblings or is a root."""
        parents, siblings = self.parent, self._siblings
        parent = parents[row]
        while parent != NONE and parent not in siblings:
            row = parent
            parent = parents[row]
        return row

    def ancestor_at(self, row: int, depth: int) -> int:
        """The ancestor of `row` (or itself) at `depth`, in logarithmic time."""
        depths, jump, parent = self.depth, self.jump, self.parent
        while depths[row] > depth:
            far = jump[row]
            row = far if depths[far] >= depth else parent[row]
        return row

    def is_ancestor(self, ancestor: int, row: int) -> bool:
        """Whether `ancestor` is on the branch down to `row`, `row` itself included."""
        if ancestor == NONE or row == NONE or self.depth[ancestor] > self.depth[row]:
            return False
        return self.ancestor_at(row, self.depth[ancestor]) == ancestor

    def common_ancestor(self, a: int, b: int) -> int:
        """The deepest row on both branches; NONE when they have no root in common."""
        if a == NONE or b == NONE:
            return NONE
        depths, jump, parent = self.depth, self.jump, self.parent
        a = self.ancestor_at(a, depths[b])
        b = self.ancestor_at(b, depths[a])
        while a != b:
            # A root's jump is the root itself; from two of them there is no way up.
            if depths[a] == 0:
                return NONE
            if jump[a] != jump[b]:
                a, b = jump[a], jump[b]
            else:
                a, b = parent[a], parent[b]
        return a

    def branch(self, row: int, above: int = NONE) -> list[int]:
        """Rows from below `above` (an ancestor; NONE for the root's side) down to `row`."""
        rows = []
        parent = self.parent
        while row not in (above, NONE):
            rows.append(row)
            row = parent[row]
        rows.reverse()
        return rows

    def in_order(self) -> Sequence[int]:
        """All rows in a tree, parents before children."""
        return self.order if self.order is not None else range(len(self.ids))


def is_key(value: Any) -> bool:
    """Whether a JSON value can equal an entry id (True would equal 1 in a dict)."""
    return isinstance(value, str | int | float) and not isinstance(value, bool)
