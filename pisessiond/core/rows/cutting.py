"""A line cut into segments, each of which becomes one row. It reads no bodies.

A cutter is fed the entries of a line one after another and keeps what it has so far, so that an
entry that is appended later goes on where the last one ended. Its segments share the line out:
each begins behind the one before it, what has no row of its own counts with the row it follows,
or with the first one.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal, TypeAlias

from pisessiond.core import kinds
from pisessiond.core.index import NONE
from pisessiond.core.rows.row import Filter, RowKind
from pisessiond.core.rows.shapes import ABORTED, CALLS, ERROR, FAILED, SHOWN, TEXT, Shapes
from pisessiond.core.session import Session

Cut: TypeAlias = Filter | Literal["inside"]
"""How a line is cut: under a filter, or as the inside of a work is."""


@dataclass(slots=True)
class Segment:
    """A stretch of a line that is one row."""

    kind: RowKind
    act: int
    """The entry that acting on the row means; NONE before the first one."""
    first: int
    last: int
    entries: int = 0
    """Entries it stands for, those without a row of their own included."""
    tokens: int = 0
    """Their own sizes together, estimated; 0 as long as they are not known."""
    tools: tuple[tuple[str, int], ...] = ()
    """Tools and how often they were called, most used first."""
    failed: int = 0
    rows: int = 0
    """Rows inside."""
    branch_point: int = NONE
    """Of an alternative or a group: the entry it leaves the line at."""
    labelled: int = NONE
    """Of an alternative: the newest entry of its line that has a label."""
    compaction: int = NONE
    """Of the summarised part: the compaction that summarises it."""
    is_pending: bool = False
    """A call at the end of it has no result yet, and nothing else came."""


# What an entry does to the segments; from _ALONE on it is a row by itself, of a kind in _KINDS.

_SILENT: Final = 0
_STEP: Final = 1
"""A result goes on with the work, or begins one."""
_CALL: Final = 2
"""So does an answer that only calls: a row until its first result."""
_TOLD_CALL: Final = 3
"""So does an answer that says something before it calls: a row, and its results are more."""
_STEP_ALONE: Final = 4
"""A result is a row, together with the call in front of it."""
_CALL_ALONE: Final = 5
_ALONE: Final = 6

_KINDS: Final[tuple[RowKind, ...]] = (
    "user",
    "answer",
    "bash",
    "note",
    "compaction",
    "branchSummary",
    "meta",
)
_PLAIN: Final[dict[int, RowKind]] = {
    kinds.USER: "user",
    kinds.BASH: "bash",
    kinds.COMPACTION: "compaction",
    kinds.BRANCH_SUMMARY: "branchSummary",
}
_IN_USER_ONLY: Final = ("user", "compaction")
_KIND_BITS: Final = 6
"""Shapes take so many bits of a place in a table of actions."""
_KIND_COUNT: Final = 32


@cache
def _actions(cut: Cut) -> bytes:
    """What each kind and shape of an entry does, by `kind << _KIND_BITS | shape`."""
    shapes = range(1 << _KIND_BITS)
    return bytes(_action(cut, kind, shape) for kind in range(_KIND_COUNT) for shape in shapes)


def _action(cut: Cut, kind: int, shape: int) -> int:
    if cut == "labeled-only":
        # Labels alone decide there, and rows are placed one by one.
        return _SILENT
    if kind == kinds.ASSISTANT:
        return _answer_action(cut, shape)
    if kind == kinds.TOOL_RESULT:
        if cut == "default":
            return _STEP
        return _STEP_ALONE if cut in ("all", "inside") else _SILENT
    row_kind = _PLAIN.get(kind)
    if kind in (kinds.CUSTOM_MESSAGE, kinds.CUSTOM_ROLE) and shape & SHOWN:
        row_kind = "note"
    if cut == "all":
        return _alone(row_kind or "meta")
    if row_kind is None or cut == "inside":
        return _SILENT
    return _SILENT if cut == "user-only" and row_kind not in _IN_USER_ONLY else _alone(row_kind)


def _answer_action(cut: Cut, shape: int) -> int:
    if cut == "user-only":
        return _SILENT
    # An answer that failed or was stopped is always shown, whatever it began to call.
    if shape & (ERROR | ABORTED) or not shape & CALLS:
        return _alone("answer")
    if cut == "default":
        return _TOLD_CALL if shape & TEXT else _CALL
    if shape & TEXT:
        return _alone("answer")
    return _SILENT if cut == "no-tools" else _CALL_ALONE


def _alone(kind: RowKind) -> int:
    return _ALONE + _KINDS.index(kind)


class Cutter:
    """The segments of one line, as far as it was fed."""

    def __init__(self, session: Session, shapes: Shapes, cut: Cut) -> None:
        self.segments: list[Segment] = []
        """What there is so far, with what was placed between; the last one may still grow."""
        self._session = session
        self._shapes = shapes
        self._actions = _actions(cut)
        # Until there is a row, what has none is counted here.
        self._last = Segment("meta", NONE, NONE, NONE)
        self.is_work = False
        """The last segment of the line is work, to which more may be added."""
        self._waits = False
        """It ends in an answer that only calls, whose row becomes that of its first result."""
        self._inside = 0
        """Rows inside it."""
        self._tools: dict[str, int] = {}

    @property
    def last(self) -> Segment | None:
        """The last segment of the line itself; None before the first one."""
        return self._last if self._last.first != NONE else None

    def feed(self, rows: Iterable[int]) -> None:
        """Take the next entries of the line."""
        kind_of, shape_of, actions = self._session.index.kind, self._shapes.of, self._actions
        own = self._own()
        last = self._last
        for row in rows:
            action = actions[kind_of[row] << _KIND_BITS | shape_of[row]]
            if action:
                if self.is_work and action <= _TOLD_CALL:
                    self._go_on(row, action)
                elif action == _STEP_ALONE and self._waits:
                    self._answer(row)
                else:
                    last = self._begin(row, action)
            last.last = row
            last.entries += 1
            last.tokens += own[row]
        if self.is_work:
            last.tools = tuple(sorted(self._tools.items(), key=_by_use))

    def end_work(self) -> None:
        """End the work: what comes next is no part of it, and its last call waits no more."""
        if self.is_work:
            self._last.tools = tuple(sorted(self._tools.items(), key=_by_use))
        self.is_work = self._waits = False
        self._last.is_pending = False

    def place(self, segment: Segment) -> None:
        """Put a segment that is not of the line itself behind what there is."""
        self.end_work()
        self.segments.append(segment)

    def _own(self) -> Sequence[int]:
        """The own sizes of all rows, 0 where they are not known."""
        own, count = self._session.sizes.own, len(self._session.index)
        return own if len(own) >= count else own + array("q", [0]) * (count - len(own))

    def _begin(self, row: int, action: int) -> Segment:
        self.end_work()
        silent = self._last if self._last.first == NONE else None
        kind: RowKind = "step"
        if action >= _ALONE:
            kind = _KINDS[action - _ALONE]
        elif action == _TOLD_CALL:
            kind = "answer"
        new = Segment(kind, row, row, row)
        if silent is not None:
            new.entries, new.tokens = silent.entries, silent.tokens
        self._last = new
        self.segments.append(new)
        self.is_work = action <= _TOLD_CALL
        self._waits = new.is_pending = action in (_CALL, _CALL_ALONE)
        if action == _TOLD_CALL:
            new.is_pending = True
        self._inside = 1
        self._tools = {}
        if action in (_STEP, _STEP_ALONE):
            self._tell(row)
        elif self._shapes.of[row] & FAILED:
            new.failed = 1
        return new

    def _go_on(self, row: int, action: int) -> None:
        """Add a result or a call to the work."""
        last = self._last
        is_answer = action == _STEP and self._waits
        if not is_answer:
            self._inside += 1
            last.kind, last.rows = "work", self._inside
        self._waits = action == _CALL
        last.is_pending = action != _STEP
        last.act = row
        if action == _STEP:
            self._tell(row)

    def _answer(self, row: int) -> None:
        """The row of a call becomes that of its first result."""
        self._waits = self._last.is_pending = False
        self._last.act = row
        self._tell(row)

    def _tell(self, row: int) -> None:
        """Count the tool of a result, and whether it failed."""
        last = self._last
        tool = self._shapes.tool(row)
        if tool:
            self._tools[tool] = self._tools.get(tool, 0) + 1
            if not self.is_work:
                last.tools = ((tool, 1),)
        if self._shapes.of[row] & FAILED:
            last.failed += 1


def _by_use(tool: tuple[str, int]) -> int:
    return -tool[1]


def has_row(session: Session, shapes: Shapes, row: int, filter_name: Filter) -> bool:
    """Whether an entry, taken by itself, gives a row under a filter."""
    if filter_name == "labeled-only":
        return session.index.ids[row] in session.labels
    return _actions(filter_name)[session.index.kind[row] << _KIND_BITS | shapes.of[row]] != _SILENT
