"""Segments as rows: with titles, times, sizes and states. Reads the bodies that titles need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from pisessiond.core import kinds
from pisessiond.core.dates import date_ms
from pisessiond.core.export_text import format_tokens
from pisessiond.core.index import NONE
from pisessiond.core.lines import EntryId
from pisessiond.core.preview import clean_line
from pisessiond.core.projection import Entry
from pisessiond.core.rows.cutting import Segment, has_row
from pisessiond.core.rows.edits import Edited
from pisessiond.core.rows.levels import Tree
from pisessiond.core.rows.row import TITLE, Fold, Grade, Outcome, Row, RowSize, Source
from pisessiond.core.rows.shapes import ABORTED, ERROR, FAILED
from pisessiond.core.session import Session
from pisessiond.core.sizes import first_kept_row
from pisessiond.core.titles import call_title, calls_of, title

_MOST_TOOLS: Final = 3
"""Tools that a work's title names."""

_OPENED: Final = frozenset({"work", "summarised", "alternative", "group", "ahead"})
_HOLDS_OTHERS: Final = frozenset({"summarised", "alternative", "group", "ahead", "here"})
"""Rows whose entries have rows of their own, or which stand for none."""
_NO_FLAGS: Final[tuple[str, ...]] = ()


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a session beside its tree."""

    is_unsaved: bool = False
    forks: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """By row, the sessions forked there."""
    by: Callable[[int], str | None] = lambda _row: None
    """Who appended a row, where that is known."""
    window: int | None = None
    """The context window in tokens; None when unknown."""
    grade: Callable[[float | None], Grade] = lambda _percent: "ok"
    """How full a percentage of the window is."""
    edited: Edited = field(default_factory=Edited)


@dataclass(slots=True)
class Builder:
    """Makes the rows of one level."""

    tree: Tree
    known: Known
    level: str | None
    depth: int
    bodies: dict[int, Entry] = field(default_factory=dict)
    """Bodies at hand; what is missing is read in one go."""

    def rows(self, segments: Sequence[Segment], after: str | None) -> list[Row]:
        """The rows of segments that follow each other; `after` is the one before the first."""
        self.read(segments)
        made: list[Row] = []
        for segment in segments:
            made.append(self.row(segment, after))
            after = made[-1].id
        return made

    def row(self, segment: Segment, after: str | None) -> Row:
        """One row, for which all bodies are at hand."""
        index = self.tree.session.index
        told = _told(segment)
        time = index.times[told] if told != NONE else None
        is_here = segment.kind == "here"
        return Row(
            id=self.tree.id_of(segment),
            kind=segment.kind,
            level=self.level,
            after=after,
            entry=self._id(segment.act),
            first=None if is_here else self._id(segment.first),
            last=None if is_here else self._id(segment.last),
            entries=segment.entries,
            title=clean_line(self._title(segment), TITLE),
            label=self._label(segment),
            counts=segment.tools,
            failed=segment.failed,
            out=self._out(segment),
            outcome=self._outcome(segment),
            time=time if isinstance(time, str) and not is_here else None,
            duration=self._duration(segment),
            tokens=segment.tokens if self.tree.session.sizes.is_complete else None,
            size=row_size(self.tree.session, segment.last, self.known),
            rows=segment.rows,
            depth=self.depth,
            fold=self._fold(segment),
            flags=self._flags(segment),
            forks=self._forks(segment),
            by=None if is_here or segment.last == NONE else self.known.by(segment.last),
        )

    def _id(self, row: int) -> EntryId | None:
        return self.tree.session.id_of(row)

    # Bodies ------------------------------------------------------------------------------------

    def read(self, segments: Sequence[Segment]) -> None:
        """Have the bodies at hand that the rows of these segments need."""
        session = self.tree.session
        wanted = {row for segment in segments for row in self.wanted(segment)}
        missing = sorted(row for row in wanted if row not in self.bodies)
        self.bodies.update(zip(missing, session.entries(missing), strict=True))

    def wanted(self, segment: Segment) -> list[int]:
        """The entries that tell what a segment's row is called."""
        match segment.kind:
            case "here" | "group" | "summarised":
                return []
            case "work":
                return [self._caller(segment.last)] if segment.is_pending else []
            case "alternative":
                return [self._teller(segment)]
            case "ahead":
                return [self._end_teller(segment)]
            case "step":
                return [row for row in (segment.act, self._caller(segment.act)) if row != NONE]
            case "answer":
                return [segment.act, *self._changes(segment.act)]
            case _:
                return [segment.act]

    def _caller(self, row: int) -> int:
        """The answer whose call a result answers, as far as the tree tells."""
        return self.tree.session.index.assistant[row]

    def _teller(self, segment: Segment) -> int:
        """The entry an alternative is called after: its first user message, else its first row."""
        tree, index = self.tree, self.tree.session.index
        first_row = NONE
        for row in (segment.first, *tree.lines.onwards(segment.first)):
            if index.kind[row] == kinds.USER:
                return row
            if first_row == NONE and has_row(tree.session, tree.shapes, row, tree.filter):
                first_row = row
        return first_row if first_row != NONE else segment.first

    def _end_teller(self, segment: Segment) -> int:
        """The last entry of a line that has a row."""
        tree, index = self.tree, self.tree.session.index
        row = segment.last
        while row != segment.first and not has_row(tree.session, tree.shapes, row, tree.filter):
            row = index.parent[row]
        return row

    def _changes(self, row: int) -> list[int]:
        """Changes of model and thinking level since the answer before."""
        index = self.tree.session.index
        above = index.parent[row]
        before = index.assistant[above] if above != NONE else NONE
        depth = index.depth[before] if before != NONE else -1
        state = index.state_at(row)
        return [
            at for at in (state.model, state.thinking) if at != NONE and index.depth[at] > depth
        ]

    # Members -----------------------------------------------------------------------------------

    def _title(self, segment: Segment) -> str:
        match segment.kind:
            case "here":
                is_empty = self.tree.session.index.count == 0
                return "you are here, nothing yet" if is_empty else "you are here"
            case "work":
                return self._work_title(segment)
            case "summarised":
                return f"{_many(segment.entries)} summarised"
            case "group":
                return f"{segment.rows} alternatives"
            case "ahead":
                told = title(self.bodies[self._end_teller(segment)], limit=TITLE)
                return f'ahead: {_many(segment.entries)}, to "{told}"'
            case "alternative":
                told = title(self.bodies[self._teller(segment)], limit=TITLE - 16)
                return f"{told} · {segment.entries}"
            case "step":
                return title(self.bodies[segment.act], self._call(segment), TITLE)
            case "answer":
                return self._answer_title(segment)
            case "compaction":
                return title(self.bodies[segment.act], limit=TITLE) + self._shrunk_to(segment.act)
            case _:
                return title(self.bodies[segment.act], limit=TITLE)

    def _shrunk_to(self, compaction: int) -> str:
        session = self.tree.session
        if not session.sizes.is_complete:
            return ""
        return f" → ~{format_tokens(session.size_at(compaction).estimated)}"

    def _work_title(self, segment: Segment) -> str:
        steps = _calls(segment)
        steps += 1 if segment.is_pending else 0
        if segment.is_pending:
            calls = calls_of(self.bodies[self._caller(segment.last)])
            return f"{_steps(steps)} · {call_title(calls[-1] if calls else None, TITLE)}"
        named = ", ".join(f"{name} {count}" for name, count in segment.tools[:_MOST_TOOLS])
        return f"{_steps(steps)}: {named}" if named else _steps(segment.rows)

    def _call(self, segment: Segment) -> str:
        """The title of the call that a step's result answers; "" when it is not known."""
        caller = self.bodies.get(self._caller(segment.act))
        message = self.bodies[segment.act].get("message")
        wanted = message.get("toolCallId") if isinstance(message, dict) else None
        calls = calls_of(caller) if caller is not None else []
        for call in calls:
            if call.get("id") == wanted:
                return call_title(call, TITLE)
        return ""

    def _answer_title(self, segment: Segment) -> str:
        told = title(self.bodies[segment.act], limit=TITLE)
        changed = []
        for row in self._changes(segment.act):
            body = self.bodies[row]
            name = body.get("modelId") if body.get("type") == "model_change" else None
            changed.append(str(name or body.get("thinkingLevel") or ""))
        suffix = " ".join(filter(None, changed))
        return f"{told} ⇄ {suffix}" if suffix else told

    def _label(self, segment: Segment) -> str | None:
        session = self.tree.session
        ids, labels = session.index.ids, session.labels
        if segment.kind == "alternative":
            told = [segment.labelled]
        elif segment.kind in ("work", "summarised", "group", "ahead", "here"):
            return None
        else:
            # A call has no row beside that of its first result, which so carries its label.
            told = [segment.act, segment.first]
        for row in told:
            label, _ = labels.get(ids[row], (None, None)) if row != NONE else (None, None)
            if isinstance(label, str):
                return label
        return None

    def _outcome(self, segment: Segment) -> Outcome | None:
        if segment.kind in ("work", "step", "bash"):
            if segment.is_pending:
                return "running"
            if self.tree.session.index.kind[segment.act] == kinds.ASSISTANT:
                # It ends in a call that never had a result.
                return "aborted"
            return "failed" if segment.failed else "ok"
        if segment.kind != "answer":
            return None
        shape = self.tree.shapes.of[segment.act]
        if shape & (ERROR | ABORTED):
            return "error" if shape & ERROR else "aborted"
        return "failed" if shape & FAILED else "ok"

    def _duration(self, segment: Segment) -> int | None:
        if segment.kind != "work":
            return None
        times = self.tree.session.index.times
        first, last = date_ms(times[segment.first]), date_ms(times[_told(segment)])
        if first is None or last is None or last < first:
            return None
        return int(last - first)

    def _fold(self, segment: Segment) -> Fold:
        return "closed" if segment.kind in _OPENED and segment.rows else "none"

    def _flags(self, segment: Segment) -> tuple[str, ...]:
        if segment.kind == "here":
            return ("active",)
        session = self.tree.session
        flags = list(self._place_flags(segment))
        edited = self.known.edited.get(segment.act) if segment.kind not in _OPENED else None
        if edited is not None:
            flags.append("omitted" if edited else "replaced")
        elif segment.kind == "work" and 0 < _calls(segment) <= self._out(segment):
            flags.append("omitted")
        if self.known.is_unsaved:
            flags.append("unsaved")
        if session.flawed and self._is_flawed(segment):
            flags.append("problem")
        if segment.last != NONE and self.known.by(segment.last) == "external":
            flags.append("external")
        return tuple(flags)

    def _out(self, segment: Segment) -> int:
        """How many results of work are out of the context, or replaced in it."""
        if segment.kind != "work":
            return 0
        kind = self.tree.session.index.kind
        edited = self.known.edited.between(segment.first, segment.last)
        return sum(kind[row] == kinds.TOOL_RESULT and self._holds(segment, row) for row in edited)

    def _forks(self, segment: Segment) -> tuple[str, ...]:
        if segment.kind in _HOLDS_OTHERS:
            return ()
        here = [forks for row, forks in self.known.forks.items() if self._holds(segment, row)]
        return tuple(fork for forks in here for fork in forks)

    def _place_flags(self, segment: Segment) -> tuple[str, ...]:
        index = self.tree.session.index
        leaf, last = self.tree.leaf, segment.last
        if index.is_ancestor(last, leaf):
            compaction = index.state_at(leaf).compaction
            if compaction != NONE:
                first = first_kept_row(index, compaction)
                if index.depth[last] < index.depth[first]:
                    return ("active", "summarised", "notInContext")
            return ("active",)
        is_ahead = segment.kind == "ahead" or (
            segment.kind not in ("alternative", "group") and self._is_ahead(last)
        )
        return ("ahead",) if is_ahead else _NO_FLAGS

    def _is_ahead(self, row: int) -> bool:
        lines, leaf = self.tree.lines, self.tree.leaf
        if leaf != NONE and not self.tree.session.index.is_ancestor(leaf, row):
            return False
        return lines.start(row) == lines.next(NONE)

    def _is_flawed(self, segment: Segment) -> bool:
        return any(self._holds(segment, row) for row in list(self.tree.session.flawed))

    def _holds(self, segment: Segment, row: int) -> bool:
        """Whether a segment of a line stands for an entry."""
        index = self.tree.session.index
        return index.is_ancestor(segment.first, row) and index.is_ancestor(row, segment.last)


def _told(segment: Segment) -> int:
    """The entry whose time is a row's.

    What came later and has no row, a label above all, is not when a message was written, nor how
    long work took.
    """
    if segment.kind in _HOLDS_OTHERS or segment.act == NONE:
        return segment.last
    return segment.act


def _calls(segment: Segment) -> int:
    return sum(count for _, count in segment.tools)


def row_size(session: Session, row: int, known: Known) -> RowSize | None:
    """The context size if one stood at an entry; None while the session is not sized."""
    if not session.sizes.is_complete:
        return None
    size = session.size_at(row)
    source: Source = "estimated" if size.measured is None else "measured"
    percent = None if known.window is None else size.tokens * 100 / known.window
    return RowSize(size.tokens, source, percent, known.grade(percent))


def edited_at(session_edits: Mapping[int, int], entry_of: Callable[[int], Entry]) -> Edited:
    """By row edited, whether the edit leaves it out; reads the edits and what they are of.

    An entry that was put back stands in the context as if it had never been edited, and is not
    among them.

    Args:
        session_edits: by target, the edit that counts (`Sizes.edits_at`).
        entry_of: gives a row's body.
    """
    edited = Edited()
    for target, edit in session_edits.items():
        note_edit(edited, target, entry_of(edit), entry_of)
    return edited


def note_edit(edited: Edited, target: int, edit: Entry, entry_of: Callable[[int], Entry]) -> None:
    """Brings what `edited_at` tells up to date with a newer edit of a row."""
    replacement = edit.get("replacement")
    if replacement is not None and _is_original(replacement, entry_of(target)):
        edited.pop(target, None)
    else:
        edited.note(target, is_out=replacement is None)


def _is_original(replacement: Any, entry: Entry) -> bool:
    holder = entry.get("message") if entry.get("type") == "message" else entry
    if not isinstance(replacement, dict) or not isinstance(holder, dict):
        return False
    return "content" in holder and replacement.get("content") == holder["content"]


def _steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count:,} steps"


def _many(entries: int) -> str:
    return "1 entry" if entries == 1 else f"{entries:,} entries"
