"""The thinking level that is in force at an entry: what the nearest change of it names."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping

from pisessiond.core.index import NONE, Index
from pisessiond.core.projection import Entry
from pisessiond.core.session import Session


def level_of(entry: Entry) -> str | None:
    """The level that a change names; None where that is no text."""
    level = entry.get("thinkingLevel")
    return level if isinstance(level, str) else None


def recall_level(index: Index, row: int, known: Mapping[int, str | None]) -> str | None:
    """The level in force at a row, without reading; None where none was chosen.

    Args:
        known: by change, the level it names.

    Raises:
        KeyError: the change has to be read.
    """
    change = _change_at(index, row)
    return None if change == NONE else known[change]


def find_level(session: Session, row: int, known: MutableMapping[int, str | None]) -> str | None:
    """The same, reading what is not known and adding it to that."""
    change = _change_at(session.index, row)
    if change == NONE:
        return None
    if change not in known:
        (entry,) = session.entries([change])
        known[change] = level_of(entry)
    return known[change]


def _change_at(index: Index, row: int) -> int:
    return NONE if row == NONE else index.state_at(row).thinking
