"""The members of the two summary entries, in the order in which pi writes them.

Without `type`, `id`, `parentId` and `timestamp`, which stand before them and are given by whoever
appends.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final


class Absent(Enum):
    """The mark for a member that was not given; a null that was given is written."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT


def compaction_entry(
    summary: str,
    first_kept_entry_id: Any,
    tokens_before: int,
    *,
    details: Any = ABSENT,
    usage: Any = ABSENT,
    from_hook: Any = ABSENT,
    system_message: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The members of a compaction.

    Args:
        summary: The summary with its file lists.
        first_kept_entry_id: The entry's own id when nothing is kept.
        tokens_before: The context size before it.
        details: What files it tells of, for the next compaction.
        usage: What the summarizer's calls cost.
        from_hook: Whether an extension wrote the summary; pi's own summarizer gives false.
        system_message: The replayed system message, dated with the entry; None without one.
    """
    members: dict[str, Any] = {
        "summary": summary,
        "firstKeptEntryId": first_kept_entry_id,
        "tokensBefore": tokens_before,
        **_given(details=details, usage=usage, fromHook=from_hook),
    }
    if system_message is not None:
        members["systemMessage"] = dict(system_message)
    return members


def branch_summary_entry(
    from_id: Any,
    summary: str,
    *,
    details: Any = ABSENT,
    usage: Any = ABSENT,
    from_hook: Any = ABSENT,
) -> dict[str, Any]:
    """The members of a branch summary.

    Args:
        from_id: The leaf one came from; None, before the first entry, is written as "root".
        summary: The summary with its file lists.
        details: What files it tells of.
        usage: What the summarizer's call cost.
        from_hook: Whether an extension wrote the summary; pi's own summarizer gives false.
    """
    return {
        "fromId": "root" if from_id is None else from_id,
        "summary": summary,
        **_given(details=details, usage=usage, fromHook=from_hook),
    }


def _given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not ABSENT}
