"""Parameters and results of finding, making, opening and leaving sessions."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SerializeAsAny, StrictBool, StrictStr, model_validator

from pisessiond.protocol.live_models import LivePi
from pisessiond.protocol.row_models import RowsResult, RowsWish
from pisessiond.protocol.values import (
    Change,
    ContextSize,
    LeafConflict,
    Present,
    Problem,
    Progress,
    SizeSource,
)
from pisessiond.protocol.wire import (
    MAX_LISTED,
    EntryId,
    JsonObject,
    MutationParams,
    ReadParams,
    WireModel,
)


class CreateParams(MutationParams):
    """A new session."""

    cwd: StrictStr = Field(min_length=1)
    """The folder the session belongs to; relative to the client's `cwd`."""
    id: StrictStr | None = None
    """Session id; letters, digits, `.`, `_`, `-`, first and last a letter or digit. A UUIDv7 when
    absent."""
    name: StrictStr | None = None
    """Its name."""
    store: Literal["jsonl", "memory"] = "jsonl"
    """Where it lives: a file of pi's, or this daemon's memory only."""


class CreateResult(WireModel):
    """The new session; nothing is on disk yet."""

    session: str
    """Its handle."""
    path: str | None
    """The planned path; null in memory."""
    epoch: str
    """Names this loading of the session."""
    rev: int
    """Its revision."""
    leaf: EntryId | None
    """Where it stands."""


class Latest(WireModel):
    """The session that `pi --continue` would take."""

    cwd: StrictStr = Field(min_length=1)
    """Of this folder."""


class Position(WireModel):
    """What a client has seen already."""

    epoch: StrictStr
    """The epoch it knows."""
    rev: int
    """The revision it knows."""


class OpenParams(ReadParams):
    """Exactly one of `session`, `path` and `latest`."""

    session: StrictStr | None = None
    """Session id or handle."""
    path: StrictStr | None = None
    """Path of the file; relative to the client's `cwd`."""
    latest: Latest | None = None
    """The newest session of a folder."""
    since: Position | None = None
    """What the client has seen already; where the daemon still has all that came after it, it
    answers in mode `deltas`."""
    rows: RowsWish | None = None
    """The client draws rows: the answer brings those around `here`, and each change then tells
    how the rows have changed."""

    @model_validator(mode="after")
    def _exactly_one(self) -> OpenParams:
        if sum(value is not None for value in (self.session, self.path, self.latest)) != 1:
            raise ValueError("give exactly one of session, path and latest")
        return self


class OpenResult(WireModel):
    """The session as it stands, in the same step as the subscription to what comes."""

    session: str
    """Its handle at this daemon: the session id, or the path where another open file has that id.
    The next daemon may call it otherwise, and another session so: after a loss ask nothing by it
    before the session is open again, by its path."""
    path: str | None
    """Real path; the planned one while unsaved; null in memory."""
    header: JsonObject
    """The header as the file has it."""
    epoch: str
    """Names this loading of the session; another one after a restart or a rewrite of the file."""
    rev: int
    """Starts at 1 in each epoch and grows by one per entry or move."""
    leaf: EntryId | None
    """Where it stands; null is before the first entry."""
    unsaved: bool
    """Nothing on disk yet."""
    read_only: str | None
    """Why nothing can be written, in a sentence; null when it can."""
    last_external: str | None
    """ISO time of the last append by another program seen; null if none."""
    leaf_conflict: LeafConflict | None = None
    """Absent, or another program went on elsewhere and nobody has navigated since."""
    name: str | None
    """Its name."""
    entry_count: int
    """Entries in the tree."""
    mode: Literal["snapshot", "deltas"]
    """snapshot: read the session anew. deltas: apply `changes` to what you have; `base` is the
    revision of `since`."""
    base: int = 0
    """In mode `deltas`: the revision before `changes`."""
    changes: list[SerializeAsAny[Change]] = Field(default_factory=list)
    """In mode `deltas`: what happened since, in order."""
    context_size: ContextSize | None
    """At the leaf; null while sizes are still being counted."""
    problems: list[Problem]
    """What in the file could not be taken as it stands."""
    operation: Progress | None
    """What runs now; null when nothing does."""
    clients: list[Present]
    """Who has it open, the asking client included; `session/didPresence` tells of changes."""
    pis: list[LivePi] = Field(default_factory=list)
    """Running pi that have it open, told of the same way; absent: none."""
    rows: RowsResult | None = None
    """With `rows`: the main line around `here`. Absent where the session changed meanwhile; then
    ask with `session/rows`."""
    skip_branch_prompt: bool
    """pi's setting `branchSummary.skipPrompt`: moves are not to ask whether to summarise."""


class SyncParams(ReadParams):
    """Which session to catch up with."""

    session: StrictStr | None = None
    """A handle; absent: every session this connection is subscribed to."""


class CloseParams(ReadParams):
    """Which session is left."""

    session: StrictStr
    """Its handle."""


class ListParams(ReadParams):
    """Which sessions; those asked for by several members have to fit all of them."""

    cwd: StrictStr | None = None
    """Of this folder; absent: of all."""
    query: StrictStr | None = None
    """Only those with all words of this text in name, id, path or first message (of a fork the
    first after its point too)."""
    name: StrictStr | None = None
    """Only those with all words of this text in their name."""
    open: StrictBool = False
    """Only those that a client has open."""
    unsaved: StrictBool = False
    """Only those with nothing on disk yet."""
    live: StrictBool = False
    """Only those that a running pi has open, or another program wrote to in the last 15 minutes."""
    limit: int = Field(default=50, ge=1, le=MAX_LISTED, strict=True)
    """At most so many."""
    cursor: StrictStr | None = None
    """Goes on where an answer ended."""
    watch: StrictBool = False
    """Tells this connection from now on, by `sessions/didChange`, of sessions (of `cwd`, if given)
    that come, change or go. The last request that sets it counts."""


class ForkPoint(WireModel):
    """Where a fork left the session it came from."""

    entry: EntryId | None
    """The last entry that came along and says something; null for none."""
    preview: str | None
    """What that entry says, one line."""
    first_message: str | None
    """The first user text after it, one line: what tells a fork from its family."""


class ListedSize(WireModel):
    """The context size at the end of a session of the list."""

    tokens: int
    """In tokens."""
    source: SizeSource
    """Measured by a provider, or estimated from characters."""
    percent: float | None
    """Of the window of the model there; null when that is not known. A list has no model looked up:
    a window is known once a session with its model was opened, or where a file names it."""


class ListedSession(WireModel):
    """One line of the list."""

    session: str
    """Session id or handle, to open it by."""
    path: str | None
    """Its file, the real path; the planned one while unsaved; null in memory."""
    cwd: str
    """The folder it belongs to."""
    name: str | None
    """Its name."""
    first_message: str | None
    """Text of the first user message, one line."""
    messages: int
    """How many messages, those of all branches."""
    created: str | None
    """ISO time of the header."""
    modified: str
    """ISO time of the newest user message or answer; without one, of the header."""
    parent_session: str | None
    """The session it was forked from: the real path of what its header says."""
    open: int
    """By how many clients."""
    unsaved: bool
    """Nothing on disk yet."""
    last_external: str | None
    """ISO time of the last append by another program; null if none is known."""
    live: bool
    """A running pi has it open, or another program wrote to it in the last 15 minutes."""
    fork: ForkPoint | None
    """Null when it is no fork."""
    context_size: ListedSize | None
    """At the end of the session; null until known."""
    cwd_missing: bool
    """The folder it belongs to is gone; a fork with another `cwd` goes on elsewhere."""
    root: str
    """Path (or handle) of the session its family of forks began with, as far as it is there."""
    depth: int
    """How many forks it is away from that one."""
    pis: list[LivePi] = Field(default_factory=list)
    """Running pi that have it open now; absent: none."""


class LookedAt(WireModel):
    """A folder in which sessions were looked for."""

    path: str
    """Its path; it need not be there."""
    shared: bool
    """It holds the sessions of all folders side by side."""


class ListResult(WireModel):
    """A stretch of the list."""

    sessions: list[ListedSession]
    """Families of forks by their newest activity, each member before its forks. While files have
    yet to be read, these may be fewer than `limit`."""
    cursor: str | None
    """Goes on here; null at the end."""
    folders: list[LookedAt]
    """Where it was looked."""
    unread: int
    """How many files in them have not been read yet."""
