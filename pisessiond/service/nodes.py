"""Entries as trees show them."""

from __future__ import annotations

from collections.abc import Sequence

from pisessiond.core import kinds
from pisessiond.core.preview import preview
from pisessiond.core.projection import Entry
from pisessiond.core.session import Session
from pisessiond.service.types import Node, NodeSize


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
