"""The context size at an entry, and what a page says of a session as a whole."""

from __future__ import annotations

from pisessiond.core.export_text import format_tokens, plain
from pisessiond.core.index import NONE
from pisessiond.core.session import Session


def size_text(session: Session, row: int) -> str:
    """`84k`, with `~` where it is estimated; every row must have been sized."""
    size = session.size_at(row)
    tilde = "~" if size.measured is None else ""
    return tilde + format_tokens(size.tokens)


def size_words(session: Session, row: int) -> str:
    """`84k tokens, measured`."""
    how = "estimated" if session.size_at(row).measured is None else "measured"
    return f"{size_text(session, row)} tokens, {how}"


def title_of(session: Session) -> str:
    """The session's name, else its id."""
    return plain(session.name) or plain(session.id)


def label_of(session: Session, row: int) -> str:
    """The label of an entry as one clean line; "" without one."""
    found = session.labels.get(session.index.ids[row]) if row != NONE else None
    return plain(found[0]) if found is not None else ""


def facts_of(session: Session, row: int, *, whole: bool = False) -> list[str]:
    """What stands under the title: id, folder, beginning, entries, size."""
    shown = session.index.depth[row] + 1 if row != NONE else 0
    count = session.index.count
    is_all = whole or shown == count
    entries = f"{count:,} entries" if is_all else f"{shown:,} of {count:,} entries"
    began = session.header.get("timestamp")
    facts = [
        f"session {plain(session.id)}",
        plain(session.cwd),
        plain(began)[:16].replace("T", " ") + " UTC" if isinstance(began, str) else "",
        entries,
        f"context {size_words(session, row)}" if row != NONE else "",
    ]
    return [fact for fact in facts if fact]
