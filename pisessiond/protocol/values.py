"""Values that several methods answer: nodes, sizes, problems, changes."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import ConfigDict, Field

from pisessiond.protocol.wire import EntryId, WireModel

SizeSource: TypeAlias = Literal["measured", "estimated"]


class NodeSize(WireModel):
    """The context size if one stood at a node."""

    tokens: int
    """In tokens."""
    source: SizeSource
    """Measured by a provider, or estimated from characters."""


class Node(WireModel):
    """One entry as trees show it; never its body."""

    id: EntryId
    parent: EntryId | None
    """The entry it hangs under; null for a root (an orphan or a cut cycle too)."""
    type: str
    """The entry's type as the file spells it."""
    role: str | None = None
    """The message's role; absent where the entry is no message."""
    preview: str
    """One line of plain text, at most 200 UTF-16 units."""
    time: str | None
    """ISO 8601 as the entry carries it; null when it carries none."""
    children: int
    """How many children it has."""
    tokens: int | None
    """Its own estimate in tokens; null until known."""
    context_size: NodeSize | None
    """Null until known."""
    label: str | None = None
    """Its label; null when cleared, absent when it has none."""
    flags: list[str]
    """Any of active, leaf, branchPoint, orphan, problem, unsaved, external."""
    visible_parent: EntryId | None = None
    """The nearest ancestor that the filter shows; in answers to session/tree only."""


Part: TypeAlias = Literal[
    "system",
    "user",
    "assistant",
    "thinking",
    "toolCalls",
    "toolResults",
    "images",
    "summaries",
]
"""What a context is made of."""


class Largest(WireModel):
    """One of the entries that take most of the context."""

    entry: EntryId
    """Which."""
    row: str | None = None
    """The row of the main line that shows it under the default filter: its own, or the work it is
    in. Only in answers to `session/contextSize` for the leaf, once somebody has asked for rows."""
    title: str
    """One plain line, at most 80 UTF-16 units."""
    tokens: int
    """Its own estimate in tokens, edits applied."""
    time: str | None = None
    """ISO time of the entry; absent when it has none."""


class ContextSize(WireModel):
    """The context size at one entry."""

    tokens: int
    """The figure to show, in tokens: measured where there is one, else estimated."""
    source: SizeSource
    """What `tokens` stands on."""
    estimated: int | None
    """Estimate from characters, in tokens; null while not every entry has been sized yet."""
    measured: int | None
    """In tokens; null when no usage counts here, as right after a compaction."""
    measured_at: str | None
    """ISO time of the assistant message that `measured` stands on."""
    before: int | None
    """The size before the newest compaction in tokens, until the next answer; else null."""
    window: int | None
    """The model's context window in tokens; null when unknown."""
    percent: float | None
    """Of the window, 0 to 100 and above; null when the window is unknown."""
    parts: dict[Part, int] | None = None
    """Estimated tokens by part, which add up to `estimated`; custom messages and shell output
    count as user. Absent where they were not counted."""
    unexplained: int | None = None
    """`tokens` less the sum of the parts; absent without parts."""
    model: str | None
    """The model whose window it is, as `provider/modelId`; null when none was named."""
    thinking_level: str | None = None
    """The thinking level in force there; absent when none was chosen."""
    grade: Literal["ok", "warn", "high"]
    """By the thresholds of the settings; `ok` when the window is unknown."""
    due_at: int | None
    """The size above which a compaction is due, in tokens; null when the window is unknown or
    compaction is turned off."""
    due: bool
    """Whether a compaction is due."""
    largest: list[Largest] | None = None
    """The ten entries that take most of it, the largest first; absent where not counted."""


class Problem(WireModel):
    """Something in the file that could not be taken as it stands."""

    kind: str
    """A stable word: badLine, noId, orphan, cycle, duplicateId, …"""
    message: str
    """What was found, in one sentence."""
    consequence: str
    """What it means for whoever reads the session, in one sentence; empty for an unknown kind."""
    line: int | None
    """Counted from 1; null when it is about no line."""
    offset: int | None
    """Byte offset of that line from the beginning of the file."""
    entry: EntryId | None
    """The entry it is about; null when there is none."""


class ClientOrigin(WireModel):
    """A client of the daemon, or a running pi, as the one who did something."""

    client: str
    """Its name, for people."""
    client_id: str
    """The id it keeps over reconnects."""
    request_id: str | None = None
    """The `requestId` it gave, if any."""
    pid: int | None = None
    """Of a running pi, which is the client `pi`: its process."""


Origin: TypeAlias = ClientOrigin | Literal["external", "repair"]
"""`external`: another program wrote. `repair`: the daemon put something right."""


class Progress(WireModel):
    """Where a compaction or a move with a summary stands."""

    session: str
    """The handle."""
    operation: Literal["compact", "summarise", "fork", "navigate"]
    """What runs: a compaction, a move with a summary, a fork, a move that waits for a client."""
    operation_id: str
    """Tells one operation from the next."""
    origin: Origin
    """Who began it; `repair` where the daemon did by itself."""
    reason: Literal["manual", "threshold"]
    """Asked for, or because the context had become too large."""
    state: Literal["begin", "report", "done", "failed", "cancelled"]
    """The last three end it."""
    received: int
    """UTF-16 code units of summary that have come."""
    summarizer: str | None
    """Who writes; null until it is chosen."""
    message: str | None = None
    """What went wrong, or who cancelled, in one sentence."""


class Present(WireModel):
    """A client that has a session open."""

    client: str
    """The id it keeps over reconnects."""
    name: str
    """Its name, for people."""


class LeafConflict(WireModel):
    """Another program went on elsewhere than a client had moved to."""

    ours: EntryId | None
    """Where the session stands for the daemon's clients."""
    theirs: EntryId | None
    """Where the other program went on."""


class Change(WireModel):
    """One thing that happened.

    Its parts are upserts by entry id: absent means unchanged, null means cleared, and applying
    one twice changes nothing.
    """

    model_config = ConfigDict(extra="allow")

    kind: str
    """append, navigate, compact, fork, label, rename, edit, save, problem or leafConflict; at an
    unknown kind a client fetches again. Further members belong to the kind."""
    origin: Origin
    """Who did it."""
    nodes: list[Node] = Field(default_factory=list)
    """New or changed nodes."""


class Done(WireModel):
    """What every change to a session answers."""

    rev: int
    """The session's revision after the change."""
    leaf: EntryId | None
    """The leaf after the change; null is before the first entry."""
