"""What a session's notifications mean from where the client stands: the whole client algorithm.

Apply a delta only if its epoch is mine and its base is my rev; ignore a lower one; for a higher
one, another epoch or a reset open the session again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pisessiond.client import answers
from pisessiond.client.answers import EntryId
from pisessiond.client.inbox import SESSION_RESET

Verdict = Literal["apply", "ignore", "reopen"]

DID_CHANGE = "session/didChange"
DID_PROGRESS = "session/didProgress"
DID_PRESENCE = "session/didPresence"


@dataclass(frozen=True, slots=True)
class Update:
    """One step of a session, as its readers are told."""

    rev: int
    changes: tuple[answers.Change, ...]
    """What happened, in order. Applying one twice changes nothing; at an unknown kind, fetch."""
    leaf: EntryId | None
    """The leaf after it."""
    context_size: answers.ContextSize | None
    """At the leaf; None while sizes are still being counted. Once they are known an update comes
    that holds no changes, but of rows where those are drawn, and the rev before it."""
    snapshot: answers.OpenResult | None = None
    """Set when changes were lost or the session was loaded anew: forget what you drew and fetch the
    tree again. `changes` is empty then."""
    progress: answers.DidProgress | None = None
    """Set when a compaction or a move with a summary begins, goes on or ends: nothing changed, and
    the rest is as before. Only for readers that ask for it; what runs at the time of a `snapshot`
    says its `operation`."""
    presence: answers.DidPresence | None = None
    """Set when programs open the session or leave it, and when a running pi comes, goes, moves or
    does something else: nothing changed, and the rest is as before. Only for readers that ask."""

    @classmethod
    def of(cls, delta: dict[str, Any]) -> Update:
        """The step in the parameters of a `session/didChange`."""
        changes = tuple(delta["changes"])
        return cls(delta["rev"], changes, delta["leaf"], delta["contextSize"])

    @classmethod
    def of_opening(cls, opened: answers.OpenResult) -> Update:
        """The step that opening again made: the changes since then, or a snapshot."""
        is_delta = opened["mode"] == "deltas"
        changes = tuple(opened.get("changes", ()))
        snapshot = None if is_delta else opened
        return cls(opened["rev"], changes, opened["leaf"], opened["contextSize"], snapshot)


def judge(method: str, params: dict[str, Any], epoch: str, rev: int) -> Verdict:
    """Says what to do with a notification of a session whose position is `epoch` and `rev`."""
    if method == SESSION_RESET:
        return "reopen"
    if method != DID_CHANGE:
        return "ignore"
    if params["epoch"] != epoch:
        return "reopen"
    if params["base"] == rev:
        return "apply"
    # One that begins below and ends above would come only from a faulty daemon: opening the
    # session again is right there too.
    return "ignore" if params["rev"] <= rev else "reopen"
