"""Every branch of a session in one list, for a picker.

A branch is a line of the tree by its end: the main line, and each alternative since it left the
line it is on. One without a row is none. It reads bodies, so it belongs in a worker; of branches
that nobody looks for it reads none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from pisessiond.core import kinds
from pisessiond.core.index import NONE
from pisessiond.core.lines import EntryId
from pisessiond.core.rows.building import Known, row_size
from pisessiond.core.rows.cutting import has_row
from pisessiond.core.rows.levels import Tree
from pisessiond.core.rows.row import TITLE, RowSize
from pisessiond.core.search_words import fold
from pisessiond.core.titles import title
from pisessiond.service.errors import InvalidRequest

_STEP: Final = 256
"""Branches whose texts are read in one go while one is looked for."""


@dataclass(frozen=True, slots=True)
class BranchWish:
    """Which branches somebody asks for."""

    query: str = ""
    """Words of which each has to be in the label, the first or the last text."""
    limit: int = 50
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch of a session."""

    entry: EntryId
    """Its end."""
    active: bool
    label: str | None
    """The newest on its line."""
    first: str
    """The first user text after it left the line, one line; else its first row."""
    last: str
    """What was said last, one line."""
    entries: int
    """Entries since it left the line."""
    time: str | None
    """ISO time of its end; None where that cannot be read."""
    size: RowSize | None
    """The context size at its end; None until known."""


@dataclass(frozen=True, slots=True)
class BranchPage:
    """Some branches: the active one, then the others, newest first."""

    epoch: str
    rev: int
    branches: tuple[Branch, ...]
    cursor: str | None


@dataclass(frozen=True, slots=True)
class _Line:
    """A branch in rows of the index."""

    end: int
    entries: int
    first: int
    """The entry it is called after."""
    last: int
    """The entry that says what was said last."""
    labelled: int
    """The newest entry of it that has a label; NONE without one."""
    active: bool


def branch_page(tree: Tree, known: Known, wish: BranchWish, at_rev: tuple[str, int]) -> BranchPage:
    """The branches asked for, as the tree stands.

    Args:
        tree: under the default filter.
        known: what sizes are held against.
        wish: which.
        at_rev: the epoch and the revision they are of.

    Raises:
        InvalidRequest: the cursor is none that an answer gave.
    """
    behind = _read_cursor(wish.cursor)
    lines = [line for line in _lines(tree) if behind is None or _is_behind(line, behind)]
    lines.sort(key=lambda line: (not line.active, -line.end))
    words = fold(wish.query).split()
    found: list[Branch] = []
    for line, texts in _told(tree, lines, wish.limit + 1 if not words else _STEP):
        if words and not _has((_label(tree, line) or "", *texts), words):
            continue
        if len(found) == wish.limit:
            return BranchPage(*at_rev, tuple(found), _cursor(tree, found[-1]))
        found.append(_branch(tree, known, line, texts))
    return BranchPage(*at_rev, tuple(found), None)


# Lines -----------------------------------------------------------------------------------------


def _lines(tree: Tree) -> Iterator[_Line]:
    """Every line that has a row, in no order; iterative, for lines hang on lines on lines."""
    labelled = {
        row for row in map(tree.session.index.find, list(tree.session.labels)) if row is not None
    }
    main = tree.lines.next(NONE)
    starts = list(tree.lines.children(NONE))
    while starts:
        start = starts.pop()
        line = _Walk(tree, labelled)
        row = start
        while row != NONE:
            line.take(row)
            children = tree.lines.children(row)
            if len(children) > 1:
                onwards = tree.lines.next(row)
                starts += [child for child in children if child != onwards]
                row = onwards
            else:
                row = children[0] if children else NONE
        if line.shown != NONE:
            yield line.line(active=start == main)


class _Walk:
    """What is found out on the way down a line."""

    def __init__(self, tree: Tree, labelled: set[int]) -> None:
        self._tree = tree
        self._labelled = labelled
        self._newest_label = NONE
        self._user = NONE
        self._last_said = NONE
        self._end = NONE
        self._count = 0
        self.shown = NONE
        """The first entry that has a row; NONE as long as there is none."""

    def take(self, row: int) -> None:
        """Go on to the next entry."""
        tree = self._tree
        self._end = row
        self._count += 1
        if row in self._labelled:
            self._newest_label = max(self._newest_label, row)
        if self._user == NONE and tree.session.index.kind[row] == kinds.USER:
            self._user = row
        if self.shown == NONE and has_row(tree.session, tree.shapes, row, "default"):
            self.shown = row
        if has_row(tree.session, tree.shapes, row, "no-tools"):
            self._last_said = row

    def line(self, *, active: bool) -> _Line:
        """The line, once its end is reached."""
        first = self._user if self._user != NONE else self.shown
        last = self._last_said if self._last_said != NONE else self.shown
        return _Line(self._end, self._count, first, last, self._newest_label, active)


def _told(tree: Tree, lines: Sequence[_Line], step: int) -> Iterator[tuple[_Line, tuple[str, str]]]:
    """Lines with their first and last text; bodies are read some lines at a time."""
    for at in range(0, len(lines), step):
        some = lines[at : at + step]
        rows = sorted({row for line in some for row in (line.first, line.last)})
        bodies = tree.session.entries(rows)
        titles = {row: title(body, limit=TITLE) for row, body in zip(rows, bodies, strict=True)}
        for line in some:
            yield line, (titles[line.first], titles[line.last])


def _branch(tree: Tree, known: Known, line: _Line, texts: tuple[str, str]) -> Branch:
    session = tree.session
    index = session.index
    time = index.times[line.end]
    return Branch(
        entry=index.ids[line.end],
        active=line.active,
        label=_label(tree, line),
        first=texts[0],
        last=texts[1],
        entries=line.entries,
        time=time if isinstance(time, str) else None,
        size=row_size(session, line.end, known),
    )


def _label(tree: Tree, line: _Line) -> str | None:
    session = tree.session
    if line.labelled == NONE:
        return None
    label, _ = session.labels.get(session.index.ids[line.labelled], (None, None))
    return label if isinstance(label, str) else None


def _has(texts: Iterable[str], words: Iterable[str]) -> bool:
    text = fold("\n".join(texts))
    return all(word in text for word in words)


# Cursors ---------------------------------------------------------------------------------------


def _cursor(tree: Tree, last: Branch) -> str:
    """Where to go on: behind the end of a branch, or behind the active one."""
    return "active" if last.active else str(tree.session.row_of(last.entry))


def _read_cursor(cursor: str | None) -> int | None:
    """The end that was told last; NONE for that of the active branch, None for no cursor."""
    if cursor is None:
        return None
    if cursor == "active":
        return NONE
    if not cursor.isascii() or not cursor.isdigit():
        raise InvalidRequest("cursor", "is not one that an earlier answer gave.")
    return int(cursor)


def _is_behind(line: _Line, told: int) -> bool:
    # By its end, so that a branch which grew in between is not told twice or left out.
    return not line.active and (told == NONE or line.end < told)
