"""Beginning new sessions out of one: forks and clones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import anyio

from pisessiond.core import kinds
from pisessiond.core.changes import fork_point
from pisessiond.core.errors import InvalidEntry
from pisessiond.core.fork import GoOn, all_lines, branch_lines
from pisessiond.core.lines import EntryId
from pisessiond.core.session import Session
from pisessiond.service.errors import InvalidRequest
from pisessiond.service.session_acts import BaseLeaf, SessionActs
from pisessiond.service.types import Forked, Origin


@dataclass(frozen=True, slots=True)
class NewSession:
    """The contents of a session that a fork begins."""

    lines: list[bytes]
    cwd: str | None
    """None: the same as the source's."""
    parent_session: str | None
    folder: str | None
    """Where the source's file is; the new one goes beside it, unless it has another `cwd`."""


class _NotWanted(Exception):
    """Ends the work of a worker whose caller is gone; nobody hears of it."""


class Nursery(Protocol):
    """Whoever makes new sessions out of lines."""

    async def begin(self, new: NewSession) -> tuple[str, str | None, bool]:
        """Handle, path and whether it is unsaved, of the session made."""
        ...


async def fork(
    source: SessionActs,
    nursery: Nursery,
    entry: EntryId | None,
    *,
    position: Literal["before", "at"] | None,
    cwd: str | None,
    origin: Origin,
    base_leaf: BaseLeaf,
) -> Forked:
    """Begin a new session from the path to an entry, or of everything in another `cwd`.

    Cancelling ends it as long as nothing has been written; afterwards it is answered.

    Raises:
        InvalidEntry: it was to begin before something that is no user message.
        InvalidRequest: a position was given without an entry.
        LeafMoved: the leaf is not `base_leaf`.
        Busy: another long operation runs.
    """
    if entry is None and position == "before":
        raise InvalidRequest("position", "before needs an entry.")
    source.check_leaf(base_leaf)
    with source.operations.hold("fork", origin, is_told=False):
        if entry is None and cwd is not None:
            lines = await _copy(source, all_lines)
            return await _begin(source, nursery, lines, cwd, source.leaf, None, origin)
        end, text = await _fork_end(source, entry, position)

        def copy(session: Session, go_on: GoOn) -> list[bytes]:
            return branch_lines(session, session.row_of(end), _free_id(source), go_on)

        lines = await _copy(source, copy)
        return await _begin(source, nursery, lines, cwd, end, text, origin)


async def _copy(source: SessionActs, copy: Callable[[Session, GoOn], list[bytes]]) -> list[bytes]:
    """Lines for a new session. A cancelled caller does not wait, and the worker soon stops."""
    is_wanted = True

    def go_on() -> None:
        if not is_wanted:
            raise _NotWanted

    try:
        return await source.ask(lambda session: copy(session, go_on))
    finally:
        is_wanted = False


async def _fork_end(
    source: SessionActs, entry: EntryId | None, position: Literal["before", "at"] | None
) -> tuple[EntryId | None, str | None]:
    """The entry a fork ends at, and the text of the message it stands before."""
    if entry is None:
        return source.leaf, None
    row = source.session.row_of(entry)
    if position == "at":
        return entry, None
    if source.session.index.kind[row] != kinds.USER:
        raise InvalidEntry(
            "only user messages can be forked before; fork at this one instead", "position"
        )
    body = await source.ask(lambda session: session.entry(session.row_of(entry)))
    point = fork_point(source.session, source.session.row_of(entry), body, "before")
    return source.session.id_of(point.row), point.editor_text


def _free_id(source: SessionActs) -> Callable[[Any], str]:
    def free_id(is_taken: Any) -> str:
        while True:
            entry_id = source.surroundings.new_id()
            if not is_taken(entry_id):
                return entry_id

    return free_id


async def _begin(
    source: SessionActs,
    nursery: Nursery,
    lines: list[bytes],
    cwd: str | None,
    end: EntryId | None,
    text: str | None,
    origin: Origin,
) -> Forked:
    source_cwd = source.session.cwd
    new = NewSession(
        lines=lines,
        cwd=cwd or (source_cwd if isinstance(source_cwd, str) else None),
        parent_session=source.path,
        folder=None if cwd else source.path,
    )
    with anyio.CancelScope(shield=True):
        handle, path, unsaved = await nursery.begin(new)
    source.tell_fork(handle, path, end, origin)
    return Forked(handle, path, unsaved, text, source.rev)
