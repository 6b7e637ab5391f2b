"""Answers to questions about a session. They read bodies, so they run in workers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal

from pisessiond.core import kinds
from pisessiond.core.index import NONE
from pisessiond.core.lines import EntryId
from pisessiond.core.projection import Entry, Message, entry_messages
from pisessiond.core.rows.row import FILTERS
from pisessiond.core.session import Session
from pisessiond.core.totals import Tally, Totals, tally
from pisessiond.service.errors import InvalidRequest
from pisessiond.service.nodes import count_shown, is_shown, make_node
from pisessiond.service.types import Node
from pisessiond.service.views import (
    ContextPage,
    EntriesPage,
    ModelTotals,
    Stats,
    StatsPart,
    TokenTotals,
    TreePage,
)

_ANSWER_BYTES = 8 << 20
"""Bodies in one answer at most; the rest comes by cursor."""

_STEP = 512

Omitted = Literal["compacted", "edited", "noMessage"]


# The tree


def tree_page(
    session: Session,
    rev: int,
    *,
    around: EntryId | None,
    after: EntryId | None,
    before: EntryId | None,
    count: int,
    filter_name: str,
) -> TreePage:
    """A run of nodes in preorder. `around` puts its entry in the middle; None begins at the top.

    Raises:
        EntryNotFound: a cursor names no entry.
        InvalidRequest: the filter is not one of pi's five.
    """
    if filter_name not in FILTERS:
        raise InvalidRequest("filter", f"is none of {', '.join(FILTERS)}.")
    rows, more_before, more_after = _page_rows(session, around, after, before, count, filter_name)
    nodes = _page_nodes(session, rows, filter_name)
    return TreePage(
        rev=rev,
        total=count_shown(session, filter_name),
        nodes=nodes,
        before=session.id_of(rows[0]) if rows and more_before else None,
        after=session.id_of(rows[-1]) if rows and more_after else None,
    )


def _page_rows(
    session: Session,
    around: EntryId | None,
    after: EntryId | None,
    before: EntryId | None,
    count: int,
    filter_name: str,
) -> tuple[list[int], bool, bool]:
    leaf, tree = session.leaf, session.tree

    def shown(rows: Iterable[int]) -> Iterator[int]:
        return (row for row in rows if is_shown(session, row, filter_name))

    if before is not None:
        start = session.row_of(before)
        found = list(islice(shown(tree.before(start, leaf)), count + 1))
        return found[:count][::-1], len(found) > count, True
    start = session.row_of(after if after is not None else around)
    ahead = list(islice(shown(tree.preorder(leaf, start)), count + 1))
    if after is not None or around is None:
        return ahead[:count], after is not None, len(ahead) > count
    half = count // 2
    behind = list(islice(shown(tree.before(start, leaf)), count + 1))
    own = [start] if start != NONE and is_shown(session, start, filter_name) else []
    taken_behind = behind[: max(half, count - len(own) - len(ahead))]
    taken_ahead = ahead[: count - len(own) - len(taken_behind)]
    rows = taken_behind[::-1] + own + taken_ahead
    return rows, len(behind) > len(taken_behind), len(ahead) > len(taken_ahead)


def _page_nodes(session: Session, rows: Sequence[int], filter_name: str) -> tuple[Node, ...]:
    parent = session.index.parent
    nearest: dict[int, int] = {}
    nodes = []
    for row, body in zip(rows, session.entries(rows), strict=True):
        above = parent[row]
        climbed = []
        while above != NONE and above not in nearest and not is_shown(session, above, filter_name):
            climbed.append(above)
            above = parent[above]
        found = nearest.get(above, above)
        nearest.update(dict.fromkeys(climbed, found))
        nodes.append(make_node(session, row, body, found, may_read=True))
    return tuple(nodes)


# Bodies


def entries_page(
    session: Session,
    rev: int,
    *,
    ids: Sequence[EntryId] | None,
    branch: EntryId | None,
    since: EntryId | None,
    order: Literal["branch", "file"],
    limit: int,
    cursor: str | None,
) -> EntriesPage:
    """Bodies as stored: of these ids, of a branch (root first), or of the file's order.

    `since` leaves out everything up to and with that entry.

    Raises:
        EntryNotFound: an id names no entry.
        InvalidRequest: the cursor is not one of ours, or `since` is not in that run of entries.
    """
    rows = _wanted_rows(session, ids, branch, order)
    if since is not None:
        start = session.row_of(since)
        if start not in rows:
            raise InvalidRequest("since", "is not among the entries asked for.")
        rows = rows[rows.index(start) + 1 :]
    start = _position(cursor)
    lines: list[bytes] = []
    size = 0
    position = start
    stop = min(len(rows), start + limit)
    while position < stop and (not lines or size < _ANSWER_BYTES):
        for line in session.lines(rows[position : min(position + _STEP, stop)]):
            if lines and size + len(line) > _ANSWER_BYTES:
                size = _ANSWER_BYTES
                break
            lines.append(_as_utf8(line))
            size += len(line)
        position = start + len(lines)
    return EntriesPage(rev, tuple(lines), str(position) if position < len(rows) else None)


def _wanted_rows(
    session: Session,
    ids: Sequence[EntryId] | None,
    branch: EntryId | None,
    order: Literal["branch", "file"],
) -> Sequence[int]:
    if ids is not None:
        return [session.row_of(entry_id) for entry_id in ids]
    if order == "branch":
        return session.index.branch(session.row_of(branch))
    kind = session.index.kind
    return [row for row in range(len(kind)) if kind[row] != kinds.REPLACED]


def _position(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit():
        raise InvalidRequest("cursor", "is not one that an earlier answer gave.")
    return int(cursor)


def _as_utf8(line: bytes) -> bytes:
    """The line as JSON that may travel: bytes that are no UTF-8 read as U+FFFD."""
    line = line.strip(b" \t\r\n")
    try:
        line.decode()
    except UnicodeDecodeError:
        return line.decode("utf-8", "replace").encode()
    return line


# The projection


def context_page(
    session: Session, rev: int, row: int, *, limit: int | None, cursor: str | None
) -> ContextPage:
    """The projection at a row, and why each other entry of the branch gives nothing."""
    projection = session.projection(row)
    messages: list[Message] = []
    sources: list[EntryId] = []
    omitted: list[tuple[EntryId, Omitted]] = []
    selected = set()
    for item in projection.entries:
        entry_id = item.entry["id"]
        selected.add(entry_id)
        messages.extend(item.messages)
        sources.extend([entry_id] * len(item.messages))
        if not item.messages:
            omitted.append((entry_id, _why_silent(item.entry)))
    index = session.index
    for at in index.branch(row):
        entry_id = index.ids[at]
        if entry_id not in selected:
            gives = index.kind[at] in kinds.GIVES_MESSAGE
            omitted.append((entry_id, "compacted" if gives else "noMessage"))
    start = _position(cursor)
    stop = len(messages) if limit is None else min(len(messages), start + limit)
    settings = projection.settings
    return ContextPage(
        rev=rev,
        messages=tuple(messages[start:stop]),
        sources=tuple(sources[start:stop]),
        model=settings.model,
        thinking_level=settings.thinking_level,
        active_tools=settings.active_tools,
        omitted=tuple(omitted),
        cursor=str(stop) if stop < len(messages) else None,
    )


def _why_silent(entry: Entry) -> Omitted:
    """Why a selected entry gives nothing: only an edit can take away what it would give."""
    if entry.get("type") == "compaction":
        return "compacted"
    return "edited" if entry_messages(entry) else "noMessage"


# Totals


def stats(session: Session, rev: int, leaf: int) -> Stats:
    """Totals of the active branch and of the whole file."""
    kind = session.index.kind
    whole = [row for row in range(len(kind)) if kind[row] != kinds.REPLACED]
    branch = session.index.branch(leaf)
    file_part = _stats_part(tally(_lines(session, whole)))
    if len(branch) == len(whole):
        return Stats(rev, file_part, file_part)
    return Stats(rev, _stats_part(tally(_lines(session, branch))), file_part)


def _lines(session: Session, rows: Sequence[int]) -> Iterator[bytes]:
    for start in range(0, len(rows), _STEP):
        yield from session.lines(rows[start : start + _STEP])


def _stats_part(total: Tally) -> StatsPart:
    return StatsPart(
        messages=dict(total.messages),
        tool_calls=total.tool_calls,
        tokens=token_totals(total.all),
        cost=total.all.cost,
        models=tuple(
            ModelTotals(model, token_totals(part), part.cost)
            for model, part in total.by_model.items()
        ),
    )


def token_totals(total: Totals) -> TokenTotals:
    """Sums as they are told."""
    return TokenTotals(
        int(total.input), int(total.output), int(total.cache_read), int(total.cache_write)
    )
