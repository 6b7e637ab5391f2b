"""Anchors: how a file remembers where the conversation was moved to (SESSION-RULES section 3).

pi reopens a file at its last entry. After a move back, one `custom` entry under the place moved to
makes that entry the last one: pi stands at it, which gives the same context, settings and size as
the place itself, and its tree hides it. For our clients an anchor is never the leaf; it stands for
its parent, and the next append hangs under that parent.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from pisessiond.core.javascript import NotJson, parse_json
from pisessiond.core.lines import EntryId

ANCHOR_TYPE: Final = "pisessiond.leaf"
"""The `customType` of an anchor."""

Persist = Literal["anchor", "leaf", "memory"]
"""How a move is kept: by an anchor, by agent-core's `leaf` entry, or not at all, as pi does."""

_MARK: Final = ANCHOR_TYPE.encode()


def is_anchor_line(line: bytes) -> bool:
    """Whether a line is an anchor; cheap for every other line."""
    if _MARK not in line:
        return False
    try:
        entry = parse_json(line)
    except NotJson:
        return False
    return (
        isinstance(entry, dict)
        and entry.get("type") == "custom"
        and entry.get("customType") == ANCHOR_TYPE
    )


def place_entry(persist: Persist, place: EntryId | None, stood: EntryId | None) -> dict[str, Any]:
    """What is appended, under its own parent, so that a file reopens at `place`.

    Args:
        persist: `anchor` or `leaf`.
        place: the entry moved to; None is before the first entry.
        stood: the place at which the file reopens until then.
    """
    if persist == "leaf":
        return {"type": "leaf", "parentId": stood, "targetId": place}
    return {"type": "custom", "parentId": place, "customType": ANCHOR_TYPE}
