"""What the session service answers: plain values, ready to be put on any wire.

Nothing here knows JSON-RPC. Sizes are in tokens, times are ISO 8601 strings as the entries
carry them, ids are entry ids as the file spells them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pisessiond.core.problems import Problem
from pisessiond.core.rows.row import Filter, Grade, RowsChange
from pisessiond.core.tokens import Part

if TYPE_CHECKING:
    from pisessiond.service.live.pi import LivePi

EntryId = str | int | float
"""An entry id. pi writes strings; a number read from a file works as in pi."""

ChangeKind = Literal[
    "append",
    "navigate",
    "compact",
    "fork",
    "label",
    "rename",
    "edit",
    "save",
    "problem",
    "leafConflict",
]


@dataclass(frozen=True, slots=True)
class Origin:
    """Who did it: a client of the daemon, or a running pi by its own user."""

    client: str
    """The client's name, for people."""
    client_id: str
    """The id the client keeps over reconnects."""
    request_id: str | None = None
    pid: int | None = None
    """Of a running pi, which is the client `pi`: its process."""
    through: int | None = None
    """The process of the pi that is to do it, where several have the session open."""
    when_idle: bool = False
    """It may wait until that pi is idle."""


EXTERNAL: Literal["external"] = "external"
"""The origin of what another program wrote."""

REPAIR: Literal["repair"] = "repair"
"""The origin of what the daemon writes on its own account, such as an anchor."""

AnyOrigin = Origin | Literal["external", "repair"]


@dataclass(frozen=True, slots=True)
class NodeSize:
    """The context size if one stood at a node."""

    tokens: int
    source: Literal["measured", "estimated"]


@dataclass(frozen=True, slots=True)
class Node:
    """One entry as trees show it; never its body."""

    id: EntryId
    parent: EntryId | None
    """The entry it hangs under in the tree; None for a root (an orphan or a cut cycle too)."""
    type: str
    role: str | None
    preview: str
    """One line of plain text, at most 200 UTF-16 units."""
    time: str | None
    children: int
    """How many children it has."""
    tokens: int | None
    """Its own estimate; None until known."""
    context_size: NodeSize | None
    """None until known."""
    label: str | None
    flags: tuple[str, ...] = ()
    """Any of: active, leaf, branchPoint, orphan, problem, unsaved, external."""
    visible_parent: EntryId | None = None
    """The nearest ancestor that the filter shows; in answers to `tree` only."""


@dataclass(frozen=True, slots=True)
class Largest:
    """One of the entries that take most of the context."""

    entry: EntryId
    title: str
    """One plain line that tells it from others, at most 80 UTF-16 units."""
    tokens: int
    """Its own estimate, edits applied."""
    time: str | None = None
    """Its time as the file has it; None when it has none."""


@dataclass(frozen=True, slots=True)
class ContextSize:
    """The context size at one entry (SESSION-RULES section 5)."""

    tokens: int
    """The figure to show: measured where there is one, else estimated."""
    source: Literal["measured", "estimated"]
    estimated: int | None
    """None while not every entry has been sized yet."""
    measured: int | None
    measured_at: str | None
    """Time of the assistant message that `measured` stands on."""
    before: int | None
    """The size before the newest compaction, until the next answer; else None."""
    window: int | None
    """The model's context window in tokens; None when unknown."""
    percent: float | None
    """Of the window; None when the window is unknown."""
    parts: dict[Part, int] | None = None
    """Estimated tokens by part (`core.tokens.PARTS`), which add up to `estimated`; None while
    they are not known."""
    model: str | None = None
    """The model whose window it is, as `provider/modelId`; None when none was named."""
    grade: Grade = "ok"
    """From the thresholds of the settings; `ok` when the window is unknown."""
    due_at: int | None = None
    """The size above which a compaction is due, in tokens; None when the window is unknown or
    compaction is turned off."""
    due: bool = False
    thinking_level: str | None = None
    """The thinking level in force there; None when none was chosen, or it has still to be read."""
    largest: tuple[Largest, ...] | None = None
    """The ten entries that take most of it, the largest first; None while they are not known."""

    @property
    def unexplained(self) -> int | None:
        """The shown figure less the sum of the parts, in tokens; None without parts."""
        return None if self.parts is None else self.tokens - sum(self.parts.values())


@dataclass(slots=True)
class Change:
    """One thing that happened to a session; its parts are upserts by entry id."""

    kind: ChangeKind
    origin: AnyOrigin
    nodes: tuple[Node, ...] = ()
    """New or changed nodes."""
    details: dict[str, Any] = field(default_factory=dict)
    """Members of the kind, in wire spelling: `from`/`to` of a navigate, `target`/`label`,
    `name`, `session`/`path` of a fork or save, `problems`."""


@dataclass(slots=True)
class SessionChange:
    """A contiguous step of one session's revisions, as its subscribers are told."""

    session: str
    """The handle."""
    epoch: str
    base: int
    rev: int
    changes: tuple[Change, ...]
    leaf: EntryId | None
    context_size: ContextSize | None
    """At the leaf; None while sizes are still being counted."""
    rows: Mapping[Filter, RowsChange] = field(default_factory=dict)
    """How the rows have changed, by each filter that somebody draws them under."""
    encoded: bytes | None = None
    """The wire form, filled by the first subscriber that encodes it."""
    encoded_rows: dict[Filter, bytes] = field(default_factory=dict)
    """The same for those who draw rows."""


OperationName = Literal["compact", "summarise", "fork", "navigate"]
"""What can hold a session for long: a compaction, a move with a summary, a fork, and a move that
waits for a client's word."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where a compaction or a move with a summary stands."""

    session: str
    """The handle."""
    operation: OperationName
    operation_id: str
    """Tells one operation from the next."""
    origin: AnyOrigin
    """Who began it; `repair` where the daemon did."""
    reason: Literal["manual", "threshold"]
    state: Literal["begin", "report", "done", "failed", "cancelled"]
    received: int = 0
    """UTF-16 code units of summary that have come."""
    summarizer: str | None = None
    """Who writes; None until it is chosen."""
    message: str | None = None
    """What went wrong or who cancelled, in one sentence."""


@dataclass(frozen=True, slots=True)
class Present:
    """A client that has a session open."""

    client: str
    """The id the client keeps over reconnects."""
    name: str
    """For people."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What an opener gets, taken in the same step as the subscription."""

    session: str
    path: str | None
    """Real path; the planned one while unsaved; None for a memory session."""
    header: dict[str, Any]
    epoch: str
    rev: int
    leaf: EntryId | None
    unsaved: bool
    read_only: str | None
    """Why nothing can be written, in a sentence; None when it can."""
    last_external: str | None
    """ISO time of the last foreign append seen; None if none."""
    name: str | None
    entry_count: int
    context_size: ContextSize | None
    problems: tuple[Problem, ...]
    operation: Progress | None = None
    """What runs now; None when nothing does."""
    skip_branch_prompt: bool = False
    """pi's setting `branchSummary.skipPrompt`."""
    leaf_conflict: tuple[EntryId | None, EntryId | None] | None = None
    """Ours and theirs, while another program went on elsewhere and nobody has navigated since."""
    clients: tuple[Present, ...] = ()
    """Who has it open, in the order they came."""
    pis: tuple[LivePi, ...] = ()
    """Running pi that have it open."""
    missed: tuple[SessionChange, ...] | None = None
    """What happened since the revision the opener knows; None when only a whole will do."""


@dataclass(frozen=True, slots=True)
class Done:
    """The base of what every mutation answers."""

    rev: int
    leaf: EntryId | None


@dataclass(frozen=True, slots=True)
class Appended(Done):
    ids: tuple[EntryId, ...] = ()


@dataclass(frozen=True, slots=True)
class Navigated(Done):
    editor_text: str | None = None
    """Text of the user message navigated to, for the prompt."""
    summary_entry: EntryId | None = None


@dataclass(frozen=True, slots=True)
class Compacted(Done):
    entry: EntryId | None = None
    before: int = 0
    """The context size before, in tokens."""
    after: int = 0
    """After, by estimate."""


@dataclass(frozen=True, slots=True)
class Forked:
    session: str
    path: str | None
    unsaved: bool
    editor_text: str | None = None
    source_rev: int = 0
    """The revision of the source in which it is told of the fork."""


@dataclass(frozen=True, slots=True)
class ForkPoint:
    """Where a fork left the session it came from."""

    entry: EntryId | None
    """The last entry that came along and says something; None for none."""
    preview: str | None
    """What that entry says, one line."""
    first_message: str | None
    """The first user text after it, one line."""


@dataclass(frozen=True, slots=True)
class Exported:
    """An export: as text, or in the new file at `path`."""

    rev: int
    text: str | None
    path: str | None
    size: int
    """In bytes."""


@dataclass(frozen=True, slots=True)
class Imported:
    """A session file that was copied among pi's own."""

    session: str
    """Its id."""
    path: str


@dataclass(frozen=True, slots=True)
class Deleted:
    """A session that is no more."""

    session: str
    path: str | None
    trashed: bool
    """Whether its file went to the trash; else it had none."""


@dataclass(frozen=True, slots=True)
class ListedSession:
    """One line of the list of sessions."""

    session: str
    path: str | None
    cwd: str
    name: str | None
    first_message: str | None
    messages: int
    created: str | None
    modified: str
    parent_session: str | None
    open: int
    """By how many clients."""
    unsaved: bool
    last_external: str | None
    """ISO time; of a file that is not open here its last change, unless that was ours."""
    fork: ForkPoint | None = None
    """None when it is no fork."""
    context_size: NodeSize | None = None
    """At the end; None until known."""
    percent: float | None = None
    """The same of the window of its model, where that is known."""
    live: bool = False
    """A running pi has it open, or another program wrote to it in the last 15 minutes."""
    cwd_missing: bool = False
    """The folder it belongs to is gone."""
    root: str = ""
    """The path (or handle) of the session its family of forks began with."""
    depth: int = 0
    """How many forks it is away from there."""
    pis: tuple[LivePi, ...] = ()
    """Running pi that have it open now."""
