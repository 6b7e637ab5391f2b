"""Titles of entries of an open session: read where they are not at hand, and remembered."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from pisessiond.core import kinds
from pisessiond.core.index import NONE, Index
from pisessiond.core.projection import Entry
from pisessiond.core.session import Session
from pisessiond.core.titles import call_title, calls_of, title

_CALLS_KEPT = 256
"""Tool calls remembered until their results come."""

_TITLES_KEPT = 512

_ANSWERS = 32
"""Answers above a tool result that are looked at for its call; it is in the nearest, ordinarily."""


class Titles:
    """What is known of the titles of the largest entries, and of calls whose results may come."""

    def __init__(self, index: Index) -> None:
        self.known: dict[int, str] = {}
        """By row."""
        self._index = index
        self._calls: dict[str, tuple[int, str]] = {}
        """By id: the row of the newest answer that makes it, and its title."""

    def note(self, row: int, entry: Entry, *, is_large: bool) -> None:
        """Remember what matters of an entry that was just appended."""
        if self._index.kind[row] == kinds.ASSISTANT:
            for call in calls_of(entry):
                if isinstance(call.get("id"), str):
                    self.keep_call(row, call["id"], call_title(call))
        if not is_large:
            return
        call_id = answered_call(entry)
        if call_id is None:
            self.known[row] = title(entry)
        elif (words := self.find_call(row, call_id)) is not None:
            self.known[row] = title(entry, words)

    def find_call(self, row: int, call_id: str) -> str | None:
        """The title of a call above (or at) a row; None where it has to be read."""
        if call_id not in self._calls:
            return None
        made_at, words = self._calls[call_id]
        return words if made_at == NONE or self._index.is_ancestor(made_at, row) else None

    def keep_call(self, row: int, call_id: str, words: str) -> None:
        """Remember a call that the answer at `row` makes; "" where none does at or above it."""
        self._calls.pop(call_id, None)
        self._calls[call_id] = (row, words)
        if len(self._calls) > _CALLS_KEPT:
            del self._calls[next(iter(self._calls))]

    def keep_only(self, rows: Collection[int]) -> None:
        """Forget the titles of other rows, once there are many."""
        if len(self.known) > _TITLES_KEPT:
            self.known = {row: self.known[row] for row in rows if row in self.known}


def answered_call(entry: Entry) -> str | None:
    """The id of the call that a tool result answers; None for anything else."""
    message = entry.get("message")
    if not isinstance(message, dict) or message.get("role") != "toolResult":
        return None
    call_id: Any = message.get("toolCallId")
    return call_id if isinstance(call_id, str) else None


def read_titles(session: Session, rows: Sequence[int]) -> dict[int, str]:
    """The titles of these rows; reads their bodies and those of the calls they answer."""
    index = session.index
    titles: dict[int, str] = {}
    for row, body in zip(rows, session.entries(rows), strict=True):
        call_id = answered_call(body)
        made = read_calls(session, index.parent[row], [call_id]) if call_id is not None else {}
        titles[row] = title(body, made[call_id][1]) if call_id in made else title(body)
    return titles


def read_calls(
    session: Session, row: int, call_ids: Iterable[str]
) -> dict[str | None, tuple[int, str]]:
    """Calls by id, as the answers nearest above (or at) a row make them: where, and their title."""
    index, wanted = session.index, set(call_ids)
    found: dict[str | None, tuple[int, str]] = {}
    at = index.assistant[row] if row != NONE else NONE
    for _ in range(_ANSWERS):
        if at == NONE or not wanted:
            break
        for call in calls_of(session.entry(at)):
            call_id = call.get("id")
            if isinstance(call_id, str) and call_id in wanted:
                # Of two calls under one id in one answer the last counts, as when it was noted.
                found[call_id] = (at, call_title(call))
        wanted -= found.keys()
        above = index.parent[at]
        at = index.assistant[above] if above != NONE else NONE
    return found
