"""A line cut into segments, each of which becomes one row. It reads no bodies.

A cutter is fed the entries of a line one after another and keeps what it has so far, so that an
entry that is appended later goes on where the last one ended.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Final

from pisessiond.core import kinds
from pisessiond.core.index import NONE
from pisessiond.core.rows.row import Filter, RowKind
from pisessiond.core.rows.shapes import ABORTED, CALLS, ERROR, FAILED, SHOWN, TEXT, Shapes
from pisessiond.core.session import Session

_PLAIN: Final[dict[int, RowKind]] = {
    kinds.USER: "user",
    kinds.BASH: "bash",
    kinds.COMPACTION: "compaction",
    kinds.BRANCH_SUMMARY: "branchSummary",
}
_IN_USER_ONLY: Final = frozenset({kinds.USER, kinds.COMPACTION, kinds.BRANCH_SUMMARY})


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a line that is one row."""

    kind: RowKind
    act: int
    """The entry that acting on the row means; NONE before the first one."""
    first: int
    last: int
    entries: int = 1
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
    compaction: int = NONE
    """Of the summarised part: the compaction that summarises it."""
    is_pending: bool = False
    """A call in it has no result yet."""


@dataclass(slots=True)
class _Run:
    """Work that is not ended yet."""

    inner: list[Segment] = field(default_factory=list)
    tools: Counter[str] = field(default_factory=Counter)
    failed: int = 0
    entries: int = 0
    tokens: int = 0
    first: int = NONE
    last: int = NONE


class Cutter:
    """The segments of one line, as far as it was fed."""

    def __init__(self, session: Session, shapes: Shapes, filter_name: Filter) -> None:
        self.segments: list[Segment] = []
        """Those that are ended."""
        self._session = session
        self._shapes = shapes
        self._filter = filter_name
        self._run = _Run()
        self._silent = (0, 0)
        """Entries and tokens before the first row, which count with it."""

    def feed(self, row: int) -> None:
        """Take the next entry of the line."""
        kind = self._session.index.kind[row]
        if self._filter == "all":
            self._feed_all(row, kind)
        elif kind in _PLAIN:
            is_left_out = self._filter == "user-only" and kind not in _IN_USER_ONLY
            self._silence(row) if is_left_out else self._single(row, _PLAIN[kind])
        elif kind == kinds.ASSISTANT:
            self._feed_answer(row)
        elif kind == kinds.TOOL_RESULT and self._filter == "default":
            self._step(row)
        elif self._is_note(row, kind) and self._filter != "user-only":
            self._single(row, "note")
        else:
            self._silence(row)

    def open_segments(self) -> list[Segment]:
        """What the end of the line is now: one segment, or none."""
        run = self._run
        if not run.inner:
            return []
        if len(run.inner) == 1:
            return [replace(run.inner[0], entries=run.entries, tokens=run.tokens, last=run.last)]
        pending = run.inner[-1].is_pending
        work = Segment(
            "work",
            act=run.last,
            first=run.first,
            last=run.last,
            entries=run.entries,
            tokens=run.tokens,
            tools=tuple(run.tools.most_common()),
            failed=run.failed,
            rows=len(run.inner),
            is_pending=pending,
        )
        return [work]

    def open_inside(self) -> list[Segment]:
        """What is inside the work at the end of the line; empty where there is none."""
        return list(self._run.inner) if len(self._run.inner) > 1 else []

    def end_run(self) -> None:
        """End the work: what comes next is no part of it."""
        self.segments += self.open_segments()
        self._run = _Run()

    def place(self, segment: Segment) -> None:
        """Put a segment that is not of the line itself behind what there is."""
        self.end_run()
        self.segments.append(segment)

    # Entries -----------------------------------------------------------------------------------

    def _feed_all(self, row: int, kind: int) -> None:
        shape = self._shapes.of[row]
        if kind == kinds.ASSISTANT:
            has_row = shape & (TEXT | ERROR | ABORTED) or not shape & CALLS
            self._single(row, "answer") if has_row else self._pending_step(row)
        elif kind == kinds.TOOL_RESULT:
            self._single_step(row)
        elif self._is_note(row, kind):
            self._single(row, "note")
        else:
            self._single(row, _PLAIN.get(kind, "meta"))

    def _pending_step(self, row: int) -> None:
        """An answer that only calls: one row until its first result, with which it then counts."""
        self._single(row, "step", is_pending=True)

    def _single_step(self, row: int) -> None:
        before = self.segments[-1] if self.segments else None
        index = self._session.index
        if before is not None and before.is_pending and before.last == index.parent[row]:
            self.segments.pop()
            self._silent = (before.entries, before.tokens)
        self._single(row, "step")

    def _feed_answer(self, row: int) -> None:
        shape = self._shapes.of[row]
        stopped = shape & (ERROR | ABORTED)
        if self._filter == "user-only":
            self._silence(row)
        elif self._filter == "no-tools":
            says = shape & TEXT or stopped or not shape & CALLS
            self._single(row, "answer") if says else self._silence(row)
        elif stopped or not shape & CALLS:
            self._single(row, "answer")
        else:
            # Text before calls is said on the way: it is a row inside the work, as a call that
            # still waits for its result is.
            kind: RowKind = "answer" if shape & TEXT else "step"
            self._work(row, Segment(kind, row, row, row, is_pending=True))

    def _is_note(self, row: int, kind: int) -> bool:
        is_custom = kind in (kinds.CUSTOM_MESSAGE, kinds.CUSTOM_ROLE)
        return is_custom and bool(self._shapes.of[row] & SHOWN)

    def _single(self, row: int, kind: RowKind, *, is_pending: bool = False) -> None:
        self.end_run()
        entries, tokens = self._silent
        self._silent = (0, 0)
        shape = self._shapes.of[row]
        segment = Segment(
            kind,
            row,
            row,
            row,
            entries=entries + 1,
            tokens=tokens + self._tokens(row),
            failed=1 if shape & FAILED else 0,
            tools=self._tools(row, kind),
            is_pending=is_pending,
        )
        self.segments.append(segment)

    def _tools(self, row: int, kind: RowKind) -> tuple[tuple[str, int], ...]:
        tool = self._shapes.tool(row) if kind == "step" else ""
        return ((tool, 1),) if tool else ()

    def _step(self, row: int) -> None:
        run, shape = self._run, self._shapes.of[row]
        failed = 1 if shape & FAILED else 0
        # The call that waited is answered: its row, if it had one of its own, becomes the result's.
        if run.inner and run.inner[-1].is_pending:
            waiting = run.inner.pop()
            if waiting.kind == "answer":
                run.inner.append(replace(waiting, is_pending=False))
        tool = self._shapes.tool(row)
        if tool:
            run.tools[tool] += 1
        run.failed += failed
        self._work(
            row, Segment("step", row, row, row, tools=self._tools(row, "step"), failed=failed)
        )

    def _work(self, row: int, inner: Segment) -> None:
        run = self._run
        if run.first == NONE:
            run.first = row
            run.entries, run.tokens = self._silent
            self._silent = (0, 0)
        run.inner.append(replace(inner, tokens=self._tokens(row)))
        self._count(row)

    def _count(self, row: int) -> None:
        run = self._run
        run.last = row
        run.entries += 1
        run.tokens += self._tokens(row)

    def _silence(self, row: int) -> None:
        """An entry without a row counts with the row it follows, or with the first one."""
        if self._run.inner:
            self._count(row)
        elif self.segments and self.segments[-1].branch_point == NONE:
            last = self.segments[-1]
            tokens = last.tokens + self._tokens(row)
            self.segments[-1] = replace(last, last=row, entries=last.entries + 1, tokens=tokens)
        else:
            entries, tokens = self._silent
            self._silent = (entries + 1, tokens + self._tokens(row))

    def _tokens(self, row: int) -> int:
        own = self._session.sizes.own
        return own[row] if row < len(own) else 0


def has_row(session: Session, shapes: Shapes, row: int, filter_name: Filter) -> bool:
    """Whether an entry, taken by itself, gives a row under a filter."""
    if filter_name == "labeled-only":
        return session.index.ids[row] in session.labels
    cutter = Cutter(session, shapes, filter_name)
    cutter.feed(row)
    return bool(cutter.segments or cutter.open_segments())
