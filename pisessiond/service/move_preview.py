"""What a move or a fork would do, worked out without doing it.

A preview stands on the same functions as the act: where it leads, what it leaves behind and what
a summary of that would be made from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pisessiond.core import kinds
from pisessiond.core.branch_summary import rows_left
from pisessiond.core.changes import destination, fork_point
from pisessiond.core.comparison import count_turns
from pisessiond.core.errors import BadSetting
from pisessiond.core.index import NONE
from pisessiond.core.lines import EntryId
from pisessiond.core.projection import Entry
from pisessiond.core.session import Session
from pisessiond.models.base import ModelName
from pisessiond.service.errors import InvalidRequest
from pisessiond.service.following import is_live
from pisessiond.service.looking import SizeAt, look
from pisessiond.service.moving import LeftBranch, tasks_for
from pisessiond.service.previewing import make_forecast
from pisessiond.service.previews import Forecast, MovePreview
from pisessiond.service.session_acts import SessionActs
from pisessiond.service.summarising import (
    Wishes,
    choose_writer,
    model_at,
    sound_settings,
    window_to_fill,
)
from pisessiond.summarizers.base import NoSummarizer

Position = Literal["before", "at"]


@dataclass(frozen=True, slots=True)
class _Way:
    """Where one would stand, and what one would leave."""

    row: int
    """The place; NONE is before the first entry."""
    text: str | None
    """What comes back for the prompt."""
    leaf: int
    """Where one stands now."""
    left: list[int]
    """Entries of the active branch that are not on the branch to the place."""
    leaves_words: bool = False
    """Whether there is something that a summary would tell of; never for a fork."""
    model: ModelName | None = None
    """The one the session stands at."""


async def preview_move(
    held: SessionActs,
    size_at: SizeAt,
    target: EntryId | None,
    *,
    exact: bool,
    summarizer: str | None,
) -> MovePreview:
    """What moving the leaf to an entry would do, and what a summary of what is left would cost.

    Raises:
        EntryNotFound: the target is not there.
    """
    session, way = await look(held, lambda session: _way_to(session, target, exact=exact))
    forecast = await _forecast(held, session.id_of(way.leaf), target, way, summarizer)
    return await _preview(held, size_at, session, way, session.id_of(way.row), forecast)


async def preview_fork(
    held: SessionActs,
    size_at: SizeAt,
    entry: EntryId | None,
    *,
    position: Position | None,
    cwd: str | None,
) -> MovePreview:
    """What a fork would hold: where it would stand, how large, what of the active branch not.

    Raises:
        EntryNotFound: the entry is not there.
        InvalidEntry, InvalidRequest: as the fork itself would be refused.
    """
    if entry is None and position == "before":
        raise InvalidRequest("position", "before needs an entry.")
    with_all = entry is None and cwd is not None

    def find(session: Session) -> _Way:
        return _way_of_fork(session, entry, position, with_all=with_all)

    session, way = await look(held, find)
    place = way.row if with_all else _last_that_comes_along(session, way.row)
    return await _preview(held, size_at, session, way, session.id_of(place), None)


# Ways


def _way_to(session: Session, target: EntryId | None, *, exact: bool) -> _Way:
    leaf, row = session.leaf, session.row_of(target)
    if exact or row == leaf:
        place, text = row, None
    else:
        to = destination(session, row, _body_of_prompt(session, row))
        place, text = session.row_of(to.leaf), to.editor_text
    return _Way(
        row=place,
        text=text,
        leaf=leaf,
        left=rows_left(session.index, leaf, place),
        leaves_words=bool(rows_left(session.index, leaf, row)),
        model=model_at(session, leaf),
    )


def _body_of_prompt(session: Session, row: int) -> Entry | None:
    """The body of what navigating goes in front of; None of anything else."""
    prompts = (kinds.USER, kinds.CUSTOM_MESSAGE)
    return session.entry(row) if row != NONE and session.index.kind[row] in prompts else None


def _way_of_fork(
    session: Session, entry: EntryId | None, position: Position | None, *, with_all: bool
) -> _Way:
    leaf = session.leaf
    place, text = leaf, None
    if with_all:
        place = session.file_place()
    elif entry is not None:
        row = session.row_of(entry)
        point = fork_point(session, row, _body_of_prompt(session, row), position or "before")
        place, text = point.row, point.editor_text
    return _Way(place, text, leaf, rows_left(session.index, leaf, place))


def _last_that_comes_along(session: Session, row: int) -> int:
    """The entry a fork ends at: labels are written anew, and stand for nothing themselves."""
    index = session.index
    while row != NONE and index.kind[row] == kinds.LABEL:
        row = index.parent[row]
    return row


# Figures


async def _preview(
    held: SessionActs,
    size_at: SizeAt,
    session: Session,
    way: _Way,
    leaf: EntryId | None,
    forecast: Forecast | None,
) -> MovePreview:
    last_external = held.last_external
    return MovePreview(
        leaf=leaf,
        left_entries=len(way.left),
        left_turns=count_turns(session.index, way.left),
        size_now=await size_at(session, way.leaf),
        size_after=await size_at(session, way.row),
        returns_text=way.text,
        outside=last_external if is_live(last_external, held.surroundings.now_iso()) else None,
        forecast=forecast,
    )


async def _forecast(
    held: SessionActs,
    left: EntryId | None,
    target: EntryId | None,
    way: _Way,
    summarizer: str | None,
) -> Forecast | None:
    """What summarising what is left comes to; None where there is nothing, or nobody could."""
    if not way.leaves_words:
        return None
    try:
        settings = await sound_settings(held)
        writer = await choose_writer(held, summarizer, way.model, None)
    except (BadSetting, NoSummarizer):
        return None
    window = await window_to_fill(held, writer, way.model)
    branch = LeftBranch(left, target, False, way.model, settings.branch_reserve_tokens)

    def count(session: Session) -> Forecast | None:
        _, tasks = tasks_for(session, branch, Wishes(summarizer=summarizer), writer, window)
        return make_forecast(writer, tasks) if tasks else None

    return await held.ask(count)
