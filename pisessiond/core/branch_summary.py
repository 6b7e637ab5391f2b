"""What a summary of a branch one navigates away from is made from.

The rules are those of pi 1.6.0's `collectEntriesForBranchSummary` and `prepareBranchEntries`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pisessiond.core import kinds
from pisessiond.core.file_operations import FileOperations
from pisessiond.core.index import Index
from pisessiond.core.javascript import date_ms
from pisessiond.core.projection import Entry, Message, entry_messages, project_entry
from pisessiond.core.session import Session
from pisessiond.core.tokens import estimate_tokens

_MARKS: Final = frozenset({kinds.BRANCH_SUMMARY, kinds.CONTEXT_EDIT})
"""What counts wherever on the branch it stands."""
_TELL: Final = (kinds.GIVES_MESSAGE | {kinds.HOOK}) - {kinds.TOOL_RESULT}
"""What may have words in a branch summary."""
_READ_AT_ONCE: Final = 128
"""Bodies; a branch may hold gigabytes, of which a window takes a few megabytes at most."""


@dataclass(frozen=True, slots=True)
class BranchSummaryPreparation:
    """All that a branch summary needs before it is written."""

    messages: tuple[Message, ...]
    """What fits the budget, oldest first; empty when there is nothing to summarise."""
    file_operations: FileOperations
    total_tokens: int
    """The estimate for `messages`."""
    rows: tuple[int, ...] = ()
    """Whose bodies it was made from."""


def rows_left(index: Index, leaf: int, target: int) -> list[int]:
    """The rows that are left behind, oldest first: those after the deepest one on both branches.

    Args:
        index: of the session.
        leaf: where one stands; NONE is before the first entry.
        target: the entry one goes to, also when the leaf moves to its parent.
    """
    return index.branch(leaf, above=index.common_ancestor(leaf, target))


def prepare_branch_summary(
    session: Session, rows: Sequence[int], token_budget: int
) -> BranchSummaryPreparation:
    """The messages of a branch to be summarised, the newest first to get a place in the budget.

    A summary that no longer fits is still taken, as the last, while less than nine tenths are
    full: it stands for much. Files are gathered from every branch summary, and from the messages
    looked at. A budget of 0 or less is no limit, as in pi. Few bodies are read that get no place.

    Args:
        session: whose bodies are read.
        rows: the branch, oldest first.
        token_budget: how much the messages may come to by estimate.
    """
    kind = session.index.kind
    marks = [row for row in rows if kind[row] in _MARKS]
    tell = [row for row in reversed(rows) if kind[row] in _TELL]
    operations, edits = _marks(session.entries(marks))
    taken: list[Message] = []
    total = looked_at = 0
    for entry in _read(session, tell):
        looked_at += 1
        message = _message(entry, edits.get(_key(entry["id"])))
        if message is None:
            continue
        operations.add_message(message)
        tokens = estimate_tokens(message)
        is_over = token_budget > 0 and total + tokens > token_budget
        is_summary = entry.get("type") in ("compaction", "branch_summary")
        if not is_over or (is_summary and total < token_budget * 0.9):
            taken.append(message)
            total += tokens
        if is_over:
            break
    made_from = tuple(sorted({*marks, *tell[:looked_at]}))
    return BranchSummaryPreparation(tuple(reversed(taken)), operations, total, made_from)


def _marks(entries: Iterable[Entry]) -> tuple[FileOperations, dict[Any, Entry]]:
    """The files that branch summaries name, and the newest edit by its target."""
    operations = FileOperations()
    edits: dict[Any, Entry] = {}
    for entry in entries:
        if entry.get("type") == "branch_summary":
            operations.add_details(entry)
        else:
            edits[_key(entry.get("targetId"))] = entry
    return operations, edits


def _read(session: Session, rows: Sequence[int]) -> Iterator[Entry]:
    for at in range(0, len(rows), _READ_AT_ONCE):
        yield from session.entries(rows[at : at + _READ_AT_ONCE])


def _message(entry: Entry, edit: Entry | None) -> Message | None:
    """What an entry tells of the branch; None for settings, marks and tool results.

    Tool results are left out since the calls tell enough. Edits hold, but not those of summaries.
    """
    kind = entry.get("type")
    if kind == "message":
        stored = entry.get("message")
        if not isinstance(stored, dict) or stored.get("role") == "toolResult":
            return None
        return next(iter(project_entry(entry, edit)), None)
    if kind == "custom_message":
        return next(iter(project_entry(entry, edit)), None)
    if kind == "compaction":
        return entry_messages(entry)[-1]
    if kind == "branch_summary" and isinstance(entry.get("summary"), str):
        return _summary_message(entry)
    return None


def _summary_message(entry: Entry) -> Message:
    # An empty branch summary is silent in the projection, but pi counts it as a message here.
    return next(
        iter(entry_messages(entry)),
        {
            "role": "branchSummary",
            "summary": "",
            "fromId": entry.get("fromId"),
            "timestamp": date_ms(entry.get("timestamp")),
        },
    )


def _key(entry_id: Any) -> Any:
    """An id as a key: Python takes True for 1, and an edit may name any value as its target."""
    return (type(entry_id) is bool, entry_id) if isinstance(entry_id, (str, int, float)) else None
