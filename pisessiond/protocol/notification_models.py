"""What the daemon tells its clients unasked."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SerializeAsAny

from pisessiond.protocol.live_models import LivePi
from pisessiond.protocol.session_models import ListedSession
from pisessiond.protocol.values import Change, ContextSize, Present, Progress
from pisessiond.protocol.wire import EntryId, ProgressToken, WireModel


class DidChange(WireModel):
    """A contiguous step of one session.

    Apply it only if `epoch` is yours and `base` your rev; ignore a lower base; at a higher one
    or another epoch open the session again.
    """

    session: str
    """The handle."""
    epoch: str
    """Names this loading of the session."""
    base: int
    """The revision before."""
    rev: int
    """The revision after; several changes may be joined, none is skipped."""
    changes: list[SerializeAsAny[Change]]
    """What happened, in order. Where only the sizes have become known, or another program has
    forked the session, `base` is `rev`, and there is nothing but a change of kind `rows` for those
    who draw them."""
    leaf: EntryId | None
    """The leaf after."""
    context_size: ContextSize | None
    """At the leaf; null while sizes are still being counted."""


class DidPresence(WireModel):
    """Who has a session open, running pi too; outside `rev`, at most ten a second.

    Told to everyone who has it open when that changes, or what a pi is doing. `session/open`
    answers it too.
    """

    session: str
    """The handle."""
    clients: list[Present]
    """Each once, in the order they came."""
    pis: list[LivePi] = Field(default_factory=list)
    """Running pi that have it open; absent: none."""


class DidProgress(Progress):
    """A compaction or a move with a summary begins, goes on or ends; outside `rev`.

    Told to everyone who has the session open, whoever began it.
    """


class WorkDone(WireModel):
    """How far a request is, as LSP tells it."""

    kind: Literal["begin", "report", "end"]
    """One begins, any number report, one ends; then comes the answer."""
    title: str | None = None
    """What runs; of `begin` only."""
    cancellable: bool | None = None
    """Whether `$/cancelRequest` ends it; of `begin` only."""
    message: str | None = None
    """How much has come (`1.2k received`), or how it ended."""


class ProgressParams(WireModel):
    """How far a request is that was sent with a `workDoneToken`; at most ten a second."""

    token: ProgressToken
    """The request's `workDoneToken`."""
    value: WorkDone
    """How far it is."""


class DidReset(WireModel):
    """What you know of this session no longer holds: open it again."""

    session: str
    """The handle."""
    reason: Literal["overflow", "rewritten", "evicted", "gone"]
    """overflow: you read too slowly and changes were dropped. rewritten: the file was replaced.
    evicted: it left memory. gone: the file vanished."""


class SessionsDidChange(WireModel):
    """The list of sessions is another one; sent to those who asked with `watch`."""

    sessions: list[ListedSession]
    """New or changed, whole, in no order."""
    gone: list[str]
    """Paths or handles of those that are no more; unknown ones are nothing to you."""


class Stopping(WireModel):
    """The daemon ends; the connection is closed next."""

    reason: str
    """Why, in a word: shutdown or signal."""
