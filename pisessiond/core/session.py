"""One session: its header, its index, its leaf, and every question about them.

Bodies are not held; `read_lines` fetches them from wherever the store keeps them, so a question
that needs bodies may block and belongs in a worker. Nothing here writes: what a change would be
is decided in `changes`, carried out by a store, and taken in by `take_in`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pisessiond.core import kinds
from pisessiond.core.anchors import is_anchor_line
from pisessiond.core.compaction import (
    CompactionPreparation,
    CompactionSettings,
    prepare_compaction,
)
from pisessiond.core.errors import EntryNotFound, SessionFileError
from pisessiond.core.index import NONE, Index
from pisessiond.core.javascript import NotJson, is_truthy, parse_json, trim
from pisessiond.core.lines import EntryId, Head
from pisessiond.core.loading import Loader
from pisessiond.core.measuring import Own, measure
from pisessiond.core.migration import CURRENT_VERSION, migrate_line
from pisessiond.core.problems import Problem
from pisessiond.core.projection import Entry, Message, ProjectedEntry, project
from pisessiond.core.sizes import Size, Sizes, first_kept_row, select_rows
from pisessiond.core.tree import Tree

Locator = tuple[int, int]
"""Where a store keeps a line: position and length in bytes."""

_SLICE = 512
"""Rows sized in one go."""

ReadLines = Callable[[Sequence[Locator]], list[bytes]]


class BodyMismatch(SessionFileError):
    """The bytes at an entry's place are not that entry: the file was changed under us."""

    def __init__(self, entry_id: EntryId) -> None:
        super().__init__(f"Entry {entry_id!r} is no longer where it was read; the file changed.")
        self.entry_id = entry_id


@dataclass(frozen=True, slots=True)
class Settings:
    """Model, thinking level and tools as they stand at an entry (SESSION-RULES 4.2)."""

    thinking_level: Any
    model: dict[str, Any] | None
    """`{provider, modelId}`; None before any model was named."""
    active_tools: Any
    """None where all tools are active."""


@dataclass(frozen=True, slots=True)
class Projection:
    """What the model would be sent at an entry."""

    entries: list[ProjectedEntry]
    settings: Settings

    @property
    def messages(self) -> list[Message]:
        return [message for entry in self.entries for message in entry.messages]


def _weak_reader(session: Session) -> Callable[[int], Entry]:
    """Reads a row's body for the sizes, which are the session's own.

    Weakly: a session that is let go of is freed at once. In a cycle its arrays, which the collector
    does not count, would stay until it happens to come by.
    """
    weak = weakref.ref(session)

    def read(row: int) -> Entry:
        owner = weak()
        assert owner is not None, "sizes are asked through their session"
        return owner.entry(row)

    return read


class Session:
    """A loaded session. Rows (see `Index`) name entries here; ids do so outside."""

    def __init__(self, loaded: Loader, read_lines: ReadLines) -> None:
        assert loaded.header is not None
        self.header = loaded.header
        self.header_line = loaded.header_line
        self.version = loaded.version
        self.index: Index = loaded.index
        self.tree = Tree(self.index)
        self.sizes = Sizes(self.index, _weak_reader(self))
        self.problems: list[Problem] = loaded.problems
        self.line_count = loaded.line_count
        self.labels: dict[Any, tuple[Any, Any]] = {}
        """By target id: the label and the time it was given, in the order of first labelling."""
        self.name: str | None = None
        self.leaf: int = NONE
        """The row the session stands at; NONE before the first entry."""
        self.anchor: int = NONE
        """The newest anchor that was the file's last entry when it was taken in; NONE without."""
        self._kept: dict[int, Entry] = {}
        self._read_lines = read_lines
        for row, note in self.index.notes.items():
            self._note(row, note)
        self.leaf = self._leaf_of_file()
        self._report_compactions()
        self.flawed = {
            at for problem in self.problems if (at := self._problem_row(problem)) is not None
        }
        """Rows that a problem is about."""

    @property
    def id(self) -> str:
        """The session id of the header."""
        return str(self.header["id"])

    @property
    def cwd(self) -> Any:
        """The header's `cwd` as it stands; None when missing."""
        return self.header.get("cwd")

    @property
    def leaf_id(self) -> EntryId | None:
        return self.id_of(self.leaf)

    @property
    def needs_migration(self) -> bool:
        """Whether the file is older than the format we write."""
        return self.version < CURRENT_VERSION

    @property
    def is_current_format(self) -> bool:
        """Whether the file is of the format version that we write."""
        return self.version == CURRENT_VERSION

    @property
    def is_newer(self) -> bool:
        """Whether a newer pi wrote the file, so that we must not write to it."""
        return self.version > CURRENT_VERSION

    def _problem_row(self, problem: Problem) -> int | None:
        return self.index.find(problem.entry) if problem.entry is not None else None

    def _note(self, row: int, note: Any) -> None:
        kind = self.index.kind[row]
        if kind == kinds.SESSION_INFO:
            self.name = trim(note) or None if isinstance(note, str) else None
        elif kind == kinds.LABEL:
            target, label = note
            if not isinstance(target, str | int | float):
                return
            if is_truthy(label):
                self.labels[target] = (label, self.index.times[row])
            else:
                self.labels.pop(target, None)

    def _leaf_of_file(self) -> int:
        """Where the file reopens; reports what makes its end hard to read."""
        index = self.index
        row: int = len(index) - 1
        if row >= 0 and index.kind[row] == kinds.CUSTOM and self.is_current_format:
            self._note_anchor(row, self._read_lines([(index.at[row], index.length[row])])[0])
        while row >= 0 and index.kind[row] == kinds.LEAF:
            place, offset, entry = index.line[row], index.at[row], index.ids[row]
            if self.stands_at(row) is not None:
                message = "pi 1.6 would stand at this leaf entry itself, not at its target."
                self.problems.append(Problem("leafReadings", message, place, offset, entry))
                break
            message = "The entry to which the leaf was moved is not in the file."
            self.problems.append(Problem("leafTarget", message, place, offset, entry))
            row -= 1
        return self.file_place()

    def file_place(self) -> int:
        """The row at which the file, as it is now, would reopen; NONE before the first entry.

        That is its last entry; a `leaf` entry there stands for its target (agent-core 0.80.2), an
        anchor for its parent.
        """
        row = len(self.index) - 1
        while row >= 0:
            place = self.stands_at(row)
            if place is not None:
                return place
            row -= 1
        return NONE

    def stands_at(self, row: int) -> int | None:
        """Where a file stands whose last entry is `row`; None when that tells nothing."""
        index = self.index
        if row == self.anchor:
            return index.parent[row]
        if index.kind[row] != kinds.LEAF:
            return row
        target = index.notes.get(row)
        return NONE if target is None else index.find(target)

    @property
    def leaf_as_pi(self) -> int:
        """The leaf as pi names it: the anchor itself where one stands for the leaf."""
        stands_for_it = self.anchor == len(self.index) - 1 and self.anchor != NONE
        return self.anchor if stands_for_it and self.leaf == self.file_place() else self.leaf

    def _note_anchor(self, row: int, line: bytes) -> None:
        if is_anchor_line(line):
            self.anchor = row

    def _report_compactions(self) -> None:
        kind = self.index.kind
        row = kind.find(kinds.COMPACTION)
        while row >= 0:
            self._report_compaction(row)
            row = kind.find(kinds.COMPACTION, row + 1)

    def _report_compaction(self, row: int) -> None:
        index = self.index
        kept = index.notes.get(row)
        if index.kind[row] != kinds.COMPACTION or kept == index.ids[row]:
            return
        if first_kept_row(index, row) != row:
            return
        message = "The first entry this compaction keeps is not before it; it keeps nothing."
        if kept is None:
            message = "This compaction names no first entry that it keeps; it keeps nothing."
        place, offset, entry = index.line[row], index.at[row], index.ids[row]
        self.problems.append(Problem("firstKept", message, place, offset, entry))

    # Rows and bodies ---------------------------------------------------------------------------

    def id_of(self, row: int) -> EntryId | None:
        """The id of a row; None for NONE."""
        return self.index.ids[row] if row != NONE else None

    def row_of(self, entry_id: EntryId | None) -> int:
        """The row of an id; NONE for None.

        Raises:
            EntryNotFound: no entry has that id.
        """
        if entry_id is None:
            return NONE
        row = self.index.find(entry_id)
        if row is None:
            raise EntryNotFound(entry_id)
        return row

    def lines(self, rows: Sequence[int]) -> list[bytes]:
        """The stored lines of rows, as the current format version spells them."""
        found = self.stored_lines(rows)
        if self.needs_migration:
            return [self.migrated(row, line) for row, line in zip(rows, found, strict=True)]
        return found

    def stored_lines(self, rows: Sequence[int]) -> list[bytes]:
        """The lines of rows byte for byte, whatever version they are of."""
        at, length = self.index.at.__getitem__, self.index.length.__getitem__
        return self._read_lines(list(zip(map(at, rows), map(length, rows), strict=True)))

    def migrated(self, row: int, line: bytes) -> bytes:
        """A row's line in the current format version."""
        if not self.needs_migration:
            return line
        index = self.index
        parent = self.id_of(index.parent[row])
        return migrate_line(line, self.version, index.ids[row], parent, index.notes.get(row))

    def entry(self, row: int) -> Entry:
        """The body of one row; see `entries`."""
        kept = self._kept.get(row)
        return kept if kept is not None else self.entries([row])[0]

    def keep(self, bodies: Iterable[tuple[int, Entry]]) -> None:
        """Hold the bodies of rows that `entry` will be asked for; meant for targets of edits."""
        self._kept.update(bodies)

    def can_size(self, row: int) -> bool:
        """Whether `size_at(row)` needs nothing read: every body it looks at is held."""
        sizes = self.sizes
        if not sizes.is_complete or self.index.has_forward_edit:
            return sizes.is_complete and sizes.is_instant(row)
        return sizes.is_instant(row) or all(
            target in self._kept and edit in self._kept
            for target, edit in sizes.edits_at(row).items()
        )

    def entries(self, rows: Sequence[int]) -> list[Entry]:
        """The bodies of rows.

        Raises:
            BodyMismatch: what is stored there now is not that entry.
        """
        bodies = []
        for row, line in zip(rows, self.lines(rows), strict=True):
            entry_id = self.index.ids[row]
            try:
                body = parse_json(line)
            except NotJson as error:
                raise BodyMismatch(entry_id) from error
            if not isinstance(body, dict) or body.get("id") != entry_id:
                raise BodyMismatch(entry_id)
            bodies.append(body)
        return bodies

    # Questions ---------------------------------------------------------------------------------

    def settings_at(self, row: int) -> Settings:
        """Settings over the whole path to `row`, whatever was compacted."""
        index = self.index
        state = index.state_at(row)
        assistant = index.assistant[row] if row != NONE else NONE
        thinking: Any = "off"
        if state.thinking != NONE:
            thinking = self.entry(state.thinking).get("thinkingLevel")
        tools = None
        if state.tools != NONE:
            tools = self.entry(state.tools).get("activeToolNames")
        return Settings(thinking, self._model_at(state.model, assistant), tools)

    def _model_at(self, changed: int, assistant: int) -> dict[str, Any] | None:
        depth = self.index.depth
        if changed == NONE and assistant == NONE:
            return None
        if assistant == NONE or (changed != NONE and depth[changed] > depth[assistant]):
            source, names = self.entry(changed), {"provider": "provider", "modelId": "modelId"}
        else:
            source = self.entry(assistant)["message"]
            names = {"provider": "provider", "modelId": "model"}
        return {ours: source[theirs] for ours, theirs in names.items() if theirs in source}

    def projection(self, row: int) -> Projection:
        """What the model would be sent if one stood at `row`."""
        selected = self.entries(select_rows(self.index, row))
        return Projection(project(selected), self.settings_at(row))

    def size_at(self, row: int) -> Size:
        """The context size at `row`; every row must have been sized (`measure_rest`)."""
        return self.sizes.at(row)

    def prepare_compaction(
        self, row: int, settings: CompactionSettings, projection: Projection | None = None
    ) -> CompactionPreparation:
        """What compacting at `row` would summarise and keep.

        Args:
            row: where one stands.
            settings: how much is kept.
            projection: the one at `row`, from those who have it; else the branch is read.

        Raises:
            NothingToCompact: there is nothing to summarise.
        """
        if projection is None:
            projection = self.projection(row)
        return prepare_compaction(projection.entries, self.size_at(row).tokens, settings)

    # Growing -----------------------------------------------------------------------------------

    def measure_next(self, count: int) -> list[Own]:
        """The own sizes of the next rows that have none, in file order, for `sizes.extend`."""
        start = self.sizes.known
        rows = range(start, min(start + count, len(self.index)))
        kind = self.index.kind
        lines = self.lines(rows)
        return [measure(kind[row], line) for row, line in zip(rows, lines, strict=True)]

    def measure_rest(self) -> None:
        """Size every row that was not sized yet; reads the file once, in order."""
        while not self.sizes.is_complete:
            self.sizes.extend(self.measure_next(_SLICE))

    def take_in(self, head: Head, line: bytes, at: int) -> int:
        """Add one line that is stored now, in constant time; the leaf stays. Returns its row.

        Raises:
            NeedsRebuild: the line changes what older rows mean; load the session anew.
        """
        index = self.index
        was_sized = self.sizes.is_complete
        if head.kind == kinds.CONTEXT_EDIT:
            body = parse_json(line)
            if isinstance(body, dict):
                self._kept[len(index)] = body
        flaws = len(index.flaws)
        self.line_count += 1
        row = index.append(head, at, len(line), self.line_count)
        if was_sized:
            self.sizes.extend([measure(head.kind, line)])
        if head.kind == kinds.CUSTOM:
            self._note_anchor(row, line)
        if head.note is not None:
            self._note(row, head.note)
        self._report_compaction(row)
        for flaw in index.flaws[flaws:]:
            self.problems.append(Loader.problem_of(index, flaw))
            self.flawed.add(flaw.row)
        return row


def load_session(chunks: Iterable[tuple[int, list[bytes]]], read_lines: ReadLines) -> Session:
    """A session out of runs of lines `(offset, lines)` in file order.

    Raises:
        NotASession: there is no header, or something else stands in its place.
    """
    loader = Loader()
    for offset, lines in chunks:
        loader.feed(lines, offset)
    loader.finish()
    return Session(loader, read_lines)
