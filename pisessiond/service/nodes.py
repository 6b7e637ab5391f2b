"""Entries as trees show them, and the context size as clients are told it."""

from __future__ import annotations

from collections.abc import Sequence

from pisessiond.core import kinds
from pisessiond.core.index import NONE
from pisessiond.core.measuring import measure
from pisessiond.core.preview import preview
from pisessiond.core.projection import Entry
from pisessiond.core.session import Session
from pisessiond.service.types import ContextSize, Node, NodeSize

_LOOK_BACK = 64
"""Entries looked at in one go while the newest measured answer is searched for."""

_LOOK_BACK_LIMIT = 2_048
"""Entries after which that search is given up; sizing the file in order is then quicker."""


def make_node(
    session: Session,
    row: int,
    entry: Entry,
    visible_parent: int | None = None,
    *,
    may_read: bool = False,
) -> Node:
    """The node of a row whose body is at hand.

    Args:
        visible_parent: the nearest ancestor that the filter shows; None when there is no filter.
        may_read: whether its size may cost reading bodies; never on the event loop.
    """
    index = session.index
    label = session.labels.get(index.ids[row])
    message = entry.get("message")
    role = message.get("role") if isinstance(message, dict) else None
    time = index.times[row]
    sized = row < session.sizes.known
    return Node(
        id=index.ids[row],
        parent=session.id_of(index.parent[row]),
        type=str(entry.get("type", "")),
        role=role if isinstance(role, str) else None,
        preview=preview(entry),
        time=time if isinstance(time, str) else None,
        children=index.child_count(row),
        tokens=session.sizes.own[row] if sized else None,
        context_size=node_size(session, row, may_read=may_read),
        label=label[0] if label and isinstance(label[0], str) else None,
        flags=_flags(session, row),
        visible_parent=session.id_of(visible_parent) if visible_parent is not None else None,
    )


def make_nodes(session: Session, rows: Sequence[int]) -> tuple[Node, ...]:
    """The nodes of rows; reads their bodies."""
    bodies = session.entries(rows)
    return tuple(
        make_node(session, row, body, may_read=True) for row, body in zip(rows, bodies, strict=True)
    )


def node_size(session: Session, row: int, *, may_read: bool) -> NodeSize | None:
    """The context size if one stood at `row`; None until it is known."""
    if not session.sizes.is_complete or not (may_read or session.sizes.is_instant(row)):
        return None
    size = session.size_at(row)
    return NodeSize(size.tokens, "estimated" if size.measured is None else "measured")


def _flags(session: Session, row: int) -> tuple[str, ...]:
    index = session.index
    flags = []
    if index.is_ancestor(row, session.leaf):
        flags.append("active")
    if row == session.leaf:
        flags.append("leaf")
    if index.child_count(row) > 1:
        flags.append("branchPoint")
    if row in session.flawed:
        flags.append("problem")
    return tuple(flags)


def make_size(session: Session, row: int) -> ContextSize:
    """The context size at a row; every row must have been sized."""
    size = session.size_at(row)
    measured_at = session.index.times[size.usage_row] if size.usage_row != NONE else None
    before = None
    compaction = session.index.state_at(row).compaction
    if size.measured is None and compaction != NONE:
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
    )


def early_size(session: Session, row: int) -> ContextSize | None:
    """The measured size at a row before the file is sized, from its newest answer alone.

    None when that answer is too far up, or when a compaction or an edit came after it: then only
    sizing the whole branch tells.
    """
    index = session.index
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
                return ContextSize(tokens, "measured", None, tokens, at_time, None, None, None)
            after += own.tokens
    return None


FILTERS = ("default", "no-tools", "user-only", "labeled-only", "all")
"""pi's five filters of the tree, by the names it gives them."""

_NO_DEFAULT = frozenset(
    {
        kinds.LABEL,
        kinds.CUSTOM,
        kinds.MODEL_CHANGE,
        kinds.THINKING_LEVEL,
        kinds.ACTIVE_TOOLS,
        kinds.SESSION_INFO,
        kinds.USAGE,
        kinds.LEAF,
        kinds.CONTEXT_EDIT,
        kinds.SYSTEM,
    }
)
_SHOWN = {
    "all": frozenset(range(256)),
    "default": frozenset(range(256)) - _NO_DEFAULT,
    "no-tools": frozenset(range(256)) - _NO_DEFAULT - {kinds.TOOL_RESULT},
    "user-only": frozenset({kinds.USER}),
}


def is_shown(session: Session, row: int, filter_name: str) -> bool:
    """Whether a filter shows a row."""
    if filter_name == "labeled-only":
        return session.index.ids[row] in session.labels
    return session.index.kind[row] in _SHOWN[filter_name]


def count_shown(session: Session, filter_name: str) -> int:
    """How many rows a filter shows."""
    if filter_name == "labeled-only":
        return sum(session.index.find(target) is not None for target in session.labels)
    counts = session.index.kind_counts
    return sum(counts[kind] for kind in _SHOWN[filter_name] if kind != kinds.REPLACED)
