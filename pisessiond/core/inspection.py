"""Everything about one session at its leaf, in the shape of the corpus oracle.

`pisessiond inspect` prints it, and tests compare it with what real pi answers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from pisessiond.core.compaction import CompactionPreparation, CompactionSettings
from pisessiond.core.errors import NothingToCompact
from pisessiond.core.javascript import canonical_json
from pisessiond.core.migration import CURRENT_VERSION
from pisessiond.core.projection import Message
from pisessiond.core.session import Projection, Session
from pisessiond.core.tokens import estimate_tokens, usage_tokens

_KEEP = {"default": 20_000, "keep2000": 2_000, "keep200": 200}
"""`keepRecentTokens` of the compaction preparations shown."""


def inspect_session(session: Session, opener_cwd: str) -> dict[str, Any]:
    """The members of the oracle's `pi160.open`, plus `problems`.

    Args:
        opener_cwd: where a session belongs whose header names no `cwd`.
    """
    session.measure_rest()
    row = session.leaf_as_pi
    projection = session.projection(row)
    messages = projection.messages
    settings = projection.settings
    cwd = session.cwd
    return {
        "sessionId": session.id,
        "cwd": cwd if isinstance(cwd, str) else opener_cwd,
        "header": _header(session),
        "entryCount": session.index.count,
        "leafId": session.id_of(row),
        "tree": session.tree.chains(),
        "branchLength": len(session.index.branch(row)),
        "contextEntryIds": [item.entry["id"] for item in projection.entries],
        "context": describe_context(messages),
        "thinkingLevel": settings.thinking_level,
        "model": settings.model,
        "labels": _labels(session),
        "name": session.name,
        "estimateContextTokens": estimate_context(messages),
        "estimateProjectedContextTokens": _projected_estimate(session, projection),
        "prepareCompaction": {
            name: _preparation(session, projection, keep) for name, keep in _KEEP.items()
        },
        "problems": [
            {**asdict(problem), "consequence": problem.consequence} for problem in session.problems
        ],
    }


def _header(session: Session) -> dict[str, Any]:
    """The header as the current version has it, as is said of all entries too."""
    if session.needs_migration:
        return {**session.header, "version": CURRENT_VERSION}
    return session.header


def describe_context(messages: Sequence[Message]) -> dict[str, Any]:
    """Count, roles as run lengths, and digests over canonical JSON of a projection's messages."""
    texts = [canonical_json(message).encode() for message in messages]
    return {
        "count": len(messages),
        "roles": _role_runs(messages),
        "sha256": hashlib.sha256(b"[" + b",".join(texts) + b"]").hexdigest(),
        "messageSha12": [hashlib.sha256(text).hexdigest()[:12] for text in texts],
    }


def estimate_context(messages: Sequence[Message]) -> dict[str, Any]:
    """The newest measured usage plus estimates after it (pi: `estimateContextTokens`).

    Older usage than the newest compaction or edit is trusted here; `Sizes` does not.
    """
    for position in range(len(messages) - 1, -1, -1):
        usage = usage_tokens(messages[position])
        if usage is not None:
            trailing = sum(map(estimate_tokens, messages[position + 1 :]))
            return _estimate(usage, trailing, position)
    return _estimate(0, sum(map(estimate_tokens, messages)), None)


def _estimate(usage: int, trailing: int, position: int | None) -> dict[str, Any]:
    return {
        "tokens": usage + trailing,
        "usageTokens": usage,
        "trailingTokens": trailing,
        "lastUsageIndex": position,
    }


def _projected_estimate(session: Session, projection: Projection) -> dict[str, Any]:
    size = session.size_at(session.leaf_as_pi)
    if size.measured is None:
        return _estimate(0, size.estimated, None)
    usage_id = session.id_of(size.usage_row)
    position = 0
    for item in projection.entries:
        if item.entry["id"] == usage_id:
            break
        position += len(item.messages)
    usage = usage_tokens(projection.messages[position]) or 0
    return _estimate(usage, size.measured - usage, position)


def _labels(session: Session) -> dict[str, Any]:
    find = session.index.find
    return {
        str(target): label
        for target, (label, _) in session.labels.items()
        if find(target) is not None
    }


def _preparation(
    session: Session, projection: Projection, keep_recent_tokens: int
) -> dict[str, Any] | None:
    settings = CompactionSettings(keep_recent_tokens=keep_recent_tokens)
    try:
        return describe_preparation(
            session.prepare_compaction(session.leaf_as_pi, settings, projection)
        )
    except NothingToCompact:
        return None


def describe_preparation(preparation: CompactionPreparation) -> dict[str, Any]:
    """A preparation in figures."""
    previous = preparation.previous_summary
    files = preparation.file_operations
    summarised = preparation.messages_to_summarize
    return {
        "firstKeptEntryId": preparation.first_kept_entry_id,
        "isSplitTurn": preparation.is_split_turn,
        "tokensBefore": preparation.tokens_before,
        "messagesToSummarize": len(summarised),
        "turnPrefixMessages": len(preparation.turn_prefix_messages),
        "previousSummary": None if previous is None else _digest(previous)[:16],
        "readFiles": len(files.read),
        "written": len(files.written),
        "edited": len(files.edited),
        "summarizeRoleRuns": len(_role_runs(summarised)),
    }


def _digest(text: str) -> str:
    # A lone surrogate becomes U+FFFD, as everywhere where JavaScript makes bytes of a string.
    data = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()
    return hashlib.sha256(data).hexdigest()


def _role_runs(messages: Sequence[Message]) -> list[list[Any]]:
    return [[role, len(list(run))] for role, run in groupby(m.get("role") for m in messages)]
