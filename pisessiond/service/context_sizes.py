"""The context size as clients are told it: figures, parts, largest entries, and the window.

Pure functions over a session; what they read are bodies, so where bodies are not at hand they
belong in a worker.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pisessiond.core.composition import Composition
from pisessiond.core.index import NONE
from pisessiond.core.measuring import measure
from pisessiond.core.models_named import Named, find_model
from pisessiond.core.rows.row import Grade
from pisessiond.core.session import Session
from pisessiond.core.thinking_levels import find_level
from pisessiond.core.tokens import Part
from pisessiond.models.base import ModelName
from pisessiond.service.settings import FolderSettings
from pisessiond.service.titles import read_titles
from pisessiond.service.types import ContextSize, Largest

_LOOK_BACK = 64
"""Entries looked at in one go while the newest measured answer is searched for."""

_LOOK_BACK_LIMIT = 2_048
"""Entries after which that search is given up; sizing the file in order is then quicker."""

_GOES_ON = 4_096
"""Entries that a composition goes on over before it is quicker to count anew."""


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What a size is held against."""

    model: ModelName | None
    """The one whose window it is; None where none was named."""
    window: int | None
    """In tokens; None when unknown."""
    settings: FolderSettings

    def due_at(self) -> int | None:
        """The size above which pi would compact; None when it would not, or nobody can tell."""
        settings = self.settings
        if self.window is None or settings.problem_for(self.model) is not None:
            return None
        compaction = settings.compaction_for(self.model)
        return self.window - compaction.reserve_tokens if compaction.enabled else None

    def grade(self, percent: float | None) -> Grade:
        """How full that is."""
        thresholds = self.settings.thresholds
        if percent is None or percent < min(thresholds.warn, thresholds.high):
            return "ok"
        return "high" if percent >= thresholds.high else "warn"


def held_against(size: ContextSize, yardstick: Yardstick) -> ContextSize:
    """A size with its model, window and whether a compaction is due."""
    window, due_at = yardstick.window, yardstick.due_at()
    percent = None if window is None else size.tokens * 100 / window
    return replace(
        size,
        model=None if yardstick.model is None else str(yardstick.model),
        window=window,
        percent=percent,
        grade=yardstick.grade(percent),
        due_at=due_at,
        due=due_at is not None and size.tokens > due_at,
    )


def make_size(
    session: Session,
    row: int,
    parts: dict[Part, int] | None = None,
    largest: tuple[Largest, ...] | None = None,
    thinking_level: str | None = None,
) -> ContextSize:
    """The figures at a row, held against nothing yet; every row must have been sized."""
    size = session.size_at(row)
    measured_at = session.index.times[size.usage_row] if size.usage_row != NONE else None
    compaction = _unanswered_compaction(session, row)
    before = None
    if compaction != NONE:
        before = session.size_at(session.index.parent[compaction]).tokens
    return ContextSize(
        tokens=size.tokens,
        source="estimated" if size.measured is None else "measured",
        estimated=size.estimated,
        measured=size.measured,
        measured_at=measured_at if isinstance(measured_at, str) else None,
        before=before,
        window=None,
        percent=None,
        parts=parts,
        thinking_level=thinking_level,
        largest=largest,
    )


def is_at_hand(session: Session, row: int) -> bool:
    """Whether `make_size` needs nothing read."""
    if not session.can_size(row):
        return False
    compaction = _unanswered_compaction(session, row)
    return compaction == NONE or session.can_size(session.index.parent[compaction])


def _unanswered_compaction(session: Session, row: int) -> int:
    """The newest compaction, as long as no measured answer follows it; else NONE."""
    if row == NONE:
        return NONE
    index = session.index
    compaction = index.state_at(row).compaction
    answer = session.sizes.newest_answer(row)
    if compaction == NONE or answer == NONE:
        return compaction
    return compaction if index.depth[compaction] > index.depth[answer] else NONE


def name_of(named: Named | None) -> ModelName | None:
    """A model by the name the service has for it."""
    return None if named is None else ModelName(*named)


class SizeReader:
    """Reads whole sizes at any rows of one session, in a worker. Rows are best asked in order."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._cursor: Composition | None = None
        self._titles: dict[int, str] = {}
        self._models: dict[int, Named | None] = {}
        self._levels: dict[int, str | None] = {}

    def read(self, rows: Iterable[int]) -> dict[int, tuple[ContextSize, ModelName | None]]:
        """The size at each row, held against nothing yet, and the model there."""
        session = self.session
        counted = {row: self._count(row) for row in rows}
        wanted = {at for _, ranked in counted.values() for at, _ in ranked}
        missing = sorted(wanted - self._titles.keys())
        self._titles |= read_titles(session, missing)
        return {
            row: (
                make_size(
                    session,
                    row,
                    parts,
                    name_largest(session, ranked, self._titles),
                    find_level(session, row, self._levels),
                ),
                name_of(find_model(session, row, self._models)),
            )
            for row, (parts, ranked) in counted.items()
        }

    def _count(self, row: int) -> tuple[dict[Part, int], list[tuple[int, int]]]:
        session, cursor = self.session, self._cursor
        session.size_at(row)
        if cursor is None or not cursor.reach(row, _GOES_ON) or not cursor.can_spare(0):
            cursor = self._cursor = Composition(session.sizes, row)
        return cursor.parts(), cursor.largest()


def name_largest(
    session: Session, ranked: Sequence[tuple[int, int]], titles: dict[int, str]
) -> tuple[Largest, ...]:
    """The largest entries by id, title and time.

    Raises:
        KeyError: the title of one is not known.
    """
    ids, times = session.index.ids, session.index.times
    return tuple(
        Largest(
            ids[row], titles[row], tokens, time if isinstance(time := times[row], str) else None
        )
        for row, tokens in ranked
    )


@dataclass(frozen=True, slots=True)
class EarlySize:
    """What can be told of the leaf before the file is sized."""

    size: ContextSize
    model: ModelName | None


def read_early_size(session: Session) -> EarlySize | None:
    """The measured size at the leaf from its newest answer alone; reads a few entries.

    None when that answer is too far up, or when a compaction or an edit came after it: then only
    sizing the whole branch tells.
    """
    index, row = session.index, session.leaf
    state = index.state_at(row)
    barrier = max(
        state.compaction, state.edit, key=lambda at: index.depth[at] if at != NONE else -1
    )
    after = looked_at = 0
    while row not in (barrier, NONE) and looked_at < _LOOK_BACK_LIMIT:
        rows: list[int] = []
        while row not in (barrier, NONE) and len(rows) < _LOOK_BACK:
            rows.append(row)
            row = index.parent[row]
        looked_at += len(rows)
        for at, line in zip(rows, reversed(session.lines(rows[::-1])), strict=True):
            own = measure(index.kind[at], line)
            if own.usage:
                time = index.times[at]
                tokens = own.usage + after
                at_time = time if isinstance(time, str) else None
                size = ContextSize(tokens, "measured", None, tokens, at_time, None, None, None)
                size = replace(size, thinking_level=find_level(session, session.leaf, {}))
                return EarlySize(size, name_of(find_model(session, session.leaf, {})))
            after += own.tokens
    return None
