"""Which texts a summary is put together from, and how.

The structure is that of pi 1.6.0's `compact` and `generateBranchSummary`; the words are our own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pisessiond.core.branch_summary import BranchSummaryPreparation
from pisessiond.core.compaction import CompactionPreparation
from pisessiond.core.file_operations import (
    FileOperations,
    compute_file_lists,
    format_file_lists,
)
from pisessiond.core.javascript import utf16_length
from pisessiond.core.projection import Message
from pisessiond.core.summary_prompts import make_prompt
from pisessiond.core.summary_task import SummaryTask, TaskKind

LEAST_TOKENS: Final = 1024
"""A summary may always get this long, however little the settings reserve: below it nearly every
text would be cut off, and a model that has no room left says so itself."""

_SHARES: Final[dict[TaskKind, float]] = {"history": 0.8, "turnPrefix": 0.5, "branch": 0.8}
"""How much of the reserved tokens a text may take; the rest is for prompt and answer."""

_PREFIX_HEADING: Final = "\n\n---\n\n**Beginning of the turn that goes on below:**\n\n"
_NO_HISTORY: Final = "Nothing came before this turn."
_BRANCH_PREAMBLE: Final = (
    "Before coming back here, the user followed another branch of this session. What happened "
    "there:\n\n"
)

_LIST_TAGS: Final = ("modified-files", "read-files")


# What is asked


def compaction_tasks(
    preparation: CompactionPreparation,
    instructions: str | None = None,
    replaces: bool = False,
    *,
    window: int | None = None,
    max_output: int | None = None,
) -> tuple[SummaryTask, ...]:
    """The texts that a compaction needs: history first, then the beginning of a split turn.

    Args:
        preparation: What is cut off.
        instructions: The user's own wishes; they reach every text.
        replaces: The wishes stand instead of the usual sections.
        window: The context window of the writer in tokens; None is unknown.
        max_output: What the writer can write at most, in tokens; None is unknown.
    """
    reserve = preparation.settings.reserve_tokens
    kinds: list[tuple[TaskKind, tuple[Message, ...]]] = []
    if preparation.messages_to_summarize or not preparation.turn_prefix_messages:
        kinds.append(("history", preparation.messages_to_summarize))
    if preparation.turn_prefix_messages:
        kinds.append(("turnPrefix", preparation.turn_prefix_messages))
    return tuple(
        _bounded(
            SummaryTask(
                kind,
                messages,
                _previous_summary(preparation) if kind == "history" else None,
                instructions,
                replaces,
            ),
            reserve,
            window,
            max_output,
        )
        for kind, messages in kinds
    )


def branch_tasks(
    preparation: BranchSummaryPreparation,
    reserve_tokens: int,
    instructions: str | None = None,
    replaces: bool = False,
    *,
    window: int | None = None,
    max_output: int | None = None,
) -> tuple[SummaryTask, ...]:
    """The one text that a branch summary needs; none when nothing on the branch says anything.

    `reserve_tokens` is the room left in the window (pi: `branchSummary.reserveTokens`); the other
    arguments are those of `compaction_tasks`.
    """
    if not preparation.messages:
        return ()
    task = SummaryTask("branch", preparation.messages, None, instructions, replaces)
    return (_bounded(task, reserve_tokens, window, max_output),)


def _previous_summary(preparation: CompactionPreparation) -> str | None:
    """The summary to be updated, without lists of files that the new one will carry anyway."""
    previous = preparation.previous_summary
    if not previous:
        return None
    bare, paths = _split_file_lists(previous)
    operations = preparation.file_operations
    return bare if paths <= operations.read | operations.modified else previous


def _bounded(
    task: SummaryTask, reserve: int, window: int | None, max_output: int | None
) -> SummaryTask:
    limit = int(reserve * _SHARES[task.kind])
    floor = LEAST_TOKENS
    if max_output is not None:
        limit, floor = min(limit, max_output), min(floor, max_output)
    if window is not None:
        prompt = make_prompt(task)
        units = utf16_length(prompt.system) + utf16_length(prompt.user)
        limit = min(limit, window - (units + 3) // 4)
    return replace(task, max_tokens=max(limit, floor))


# What is made of it


def assemble_compaction(preparation: CompactionPreparation, texts: Sequence[str]) -> str:
    """The summary of a compaction, from one text for each of its tasks and in their order."""
    bodies = [_split_file_lists(text)[0] for text in texts]
    if preparation.turn_prefix_messages:
        history = (
            bodies[0]
            if preparation.messages_to_summarize
            else preparation.previous_summary or _NO_HISTORY
        )
        bodies = [f"{history}{_PREFIX_HEADING}{bodies[-1]}"]
    return bodies[0] + format_file_lists(compute_file_lists(preparation.file_operations))


def assemble_branch_summary(preparation: BranchSummaryPreparation, texts: Sequence[str]) -> str:
    """The summary of a branch, from the text for its one task."""
    body = _split_file_lists(texts[0])[0]
    lists = compute_file_lists(preparation.file_operations)
    return f"{_BRANCH_PREAMBLE}{body}{format_file_lists(lists)}"


def summary_details(operations: FileOperations, *, is_extract: bool) -> dict[str, Any]:
    """The member `details` of the entry: its files, and that no model wrote it where none did."""
    details = compute_file_lists(operations).details()
    return {**details, "summarizer": "extract"} if is_extract else details


def _split_file_lists(text: str) -> tuple[str, set[str]]:
    """A text without the lists of files at its end, and the paths that stood in them."""
    paths: set[str] = set()
    bare = text
    for tag in _LIST_TAGS:
        end = bare.rstrip()
        start = bare.rfind(f"<{tag}>\n")
        if start >= 0 and end.endswith(f"</{tag}>"):
            paths.update(end[start:].split("\n")[1:-1])
            bare = bare[:start].rstrip()
    return bare, paths


# What it cost

_COUNTS: Final = ("input", "output", "cacheRead", "cacheWrite")
_OPTIONAL_COUNTS: Final = ("cacheWrite1h", "reasoning")
_COSTS: Final = (*_COUNTS, "total")


def sum_usage(usages: Iterable[Mapping[str, Any] | None]) -> dict[str, Any] | None:
    """What several calls used together, as pi writes it; None where none of them tells.

    Two calls of which one does not tell are counted as what the other tells.
    """
    told = [usage for usage in usages if usage is not None]
    if len(told) < 2:
        return dict(told[0]) if told else None
    total: dict[str, Any] = {name: _sum(told, name) for name in _COUNTS}
    for name in _OPTIONAL_COUNTS:
        if any(name in usage for usage in told):
            total[name] = _sum(told, name)
    total["totalTokens"] = _sum(told, "totalTokens")
    costs = [cost for usage in told if isinstance(cost := usage.get("cost"), dict)]
    total["cost"] = {name: _sum(costs, name) for name in _COSTS}
    # A sum is the provider's own only where each of its parts is.
    is_reported = [usage for usage in costs if usage.get("totalFromProvider") is True]
    total["cost"]["totalFromProvider"] = len(is_reported) == len(told)
    return total


def _sum(parts: Iterable[Mapping[str, Any]], name: str) -> float:
    # A client or a program may tell anything.
    values = (part.get(name) for part in parts)
    return sum(v for v in values if isinstance(v, (int, float)) and not isinstance(v, bool))
