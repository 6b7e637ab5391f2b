"""What a running pi and the daemon say to each other: the bridge inside pi is the client.

Methods `pi/…` are for bridges only; editors are never offered them. A bridge serves one pi process,
over all sessions that process opens one after another: `gen` counts them, so that a word about
a session that pi has left is told from one about the session it has now.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from pisessiond.protocol.errors import ErrorKind
from pisessiond.protocol.wire import EntryId, JsonObject, ReadParams, WireModel

PiMode: TypeAlias = Literal["tui", "rpc", "print", "json"]
PiOperation: TypeAlias = Literal["turn", "compaction", "summary"]
"""What a pi is at: a run of the model, a compaction, a summary of a branch it leaves."""


class PiProcess(WireModel):
    """`initializationOptions.pisessiond.pi`: the client is the bridge of this process."""

    pid: StrictInt
    """Process id; checked against the peer of the socket."""
    started: StrictFloat | StrictInt
    """When the process began, in seconds since 1970."""
    mode: PiMode
    """How pi runs."""
    has_ui: StrictBool
    """Whether it can ask its user something."""
    nested: StrictBool = False
    """Another pi's shell began it."""
    version: StrictStr
    """pi's version."""
    drive: StrictBool
    """Whether it lets itself be moved and prompted; else it is only watched."""
    why: StrictStr | None = None
    """Why it is only watched, in a sentence."""


class PiUsage(WireModel):
    """pi's own figure of its context."""

    tokens: StrictInt | None = None
    """Null right after a compaction."""
    window: StrictInt | None = None
    """Of its model, in tokens."""


class PiSession(WireModel):
    """The session a pi has open."""

    id: StrictStr
    """The session id."""
    file: StrictStr | None = None
    """Absolute path, planned or there; absent for a session in memory only."""
    on_disk: StrictBool
    """Whether the file is there."""
    cwd: StrictStr
    """Its folder."""
    name: StrictStr | None = None
    """Its name, if it has one."""
    parent_session: StrictStr | None = None
    """Of a fork: what it was forked from."""
    timestamp: StrictStr | None = None
    """ISO time of its header."""
    leaf: EntryId | None
    """Where pi stands; null: before the first entry."""
    count: StrictInt
    """Entries in pi's memory."""
    last_id: EntryId | None
    """The newest of them in the order they were appended; null when there is none."""


class PiState(WireModel):
    """What a pi is doing."""

    idle: StrictBool
    """Nothing runs, so that it may be moved."""
    operation: PiOperation | None = None
    """What runs; null when idle."""
    waiting_for_user: StrictBool = False
    """A dialog of pi's is open."""
    pending: StrictInt = 0
    """Messages that wait for the end of the run."""
    usage: PiUsage | None = None
    """Its own figure of its context, told when a run ends."""
    model: StrictStr | None = None
    """As `provider/modelId`."""
    thinking: StrictStr | None = None
    """Its thinking level."""
    aborted: StrictBool = False
    """The run that has just ended was stopped."""


class PiAttachParams(ReadParams):
    """A pi has this session open: after each start, replacement, reload and reconnection."""

    gen: StrictInt
    """Counts the sessions of this process."""
    reason: Literal["startup", "reload", "new", "resume", "fork", "reconnect"]
    """Why now."""
    previous_file: StrictStr | None = None
    """What it had open before."""
    session: PiSession
    """What it has open."""
    state: PiState
    """What it is doing."""
    entries: list[JsonObject] | None = None
    """All entries, whole, in the order they were appended; where they are not on disk."""


class PiAttachResult(WireModel):
    """How the daemon sees that pi."""

    session: str
    """The handle."""
    owner: bool
    """It alone has the session open: it writes, the daemon does not."""
    unseen: int
    """Entries in the file that this pi has not read."""
    position: EntryId | None = None
    """Where the daemon's clients had left the leaf, for pi to go there; absent when pi stands
    there already, or its own place counts."""


class PiDetachedParams(ReadParams):
    """A pi has left its session."""

    gen: StrictInt
    """Which."""
    reason: Literal["quit", "reload", "new", "resume", "fork", "off"]
    """Why."""
    target: StrictStr | None = None
    """The file it opens instead."""


class PiEntry(WireModel):
    """An entry that is on disk."""

    model_config = ConfigDict(extra="allow")

    id: EntryId
    """Its id."""
    parent_id: EntryId | None = None
    """What it hangs under."""
    type: StrictStr
    """Its type."""


class PiDidChangeParams(ReadParams):
    """Entries came, or the leaf moved. Of a file: a hint that its bytes are there."""

    gen: StrictInt
    """Which session of the process."""
    seq: StrictInt
    """Counts from 1 after each attach, without gaps."""
    leaf: EntryId | None
    """Where pi stands now."""
    count: StrictInt
    """Entries in pi's memory now."""
    entries: list[JsonObject] = Field(default_factory=list)
    """New ones in order: id, parentId and type of those on disk, else whole."""
    on_disk: StrictBool
    """Whether the session is in its file now; the first word that it is tells of the flush."""
    why: StrictStr = "append"
    """append, navigate, compact, label, edit, poll, …: for the log."""


class PiDidStateParams(PiState, ReadParams):
    """What that pi is doing has changed."""

    gen: StrictInt
    """Which session of the process."""
    name: StrictStr | None = None
    """The session's name."""


class PiWillNavigateParams(ReadParams):
    """A person moves the leaf in pi itself. No answer within five seconds counts as none."""

    gen: StrictInt
    """Which session of the process."""
    target: EntryId
    """Where to."""
    left: EntryId | None
    """Where pi stands."""
    summarize: StrictBool
    """Whether a summary of what is left is wanted."""
    entries: StrictInt
    """How many entries are left behind."""


class PiWillCompactParams(ReadParams):
    """pi is about to compact. No answer within five seconds counts as none."""

    gen: StrictInt
    """Which session of the process."""
    reason: StrictStr
    """pi's word: manual, threshold, overflow."""
    first_kept: EntryId
    """Where pi cuts."""
    tokens_before: StrictInt
    """pi's figure of the context now."""
    instructions: StrictStr | None = None
    """What the person asked the summary to mind."""


class PiWord(WireModel):
    """What pi is to do about it; empty: what it would."""

    cancel: bool = False
    """It is not to happen."""
    summary: str | None = None
    """Stands instead of what pi's model would write."""
    details: JsonObject | None = None
    """Stored beside it."""


# What the daemon asks of a bridge.


class PiDriveParams(WireModel):
    """What every request to a bridge carries."""

    gen: int
    """Which session of the process is meant; another one by now: refused, SessionChanged."""
    request_id: str
    """Repeating it repeats the answer, not the act; the last 256 are remembered."""
    client: str
    """Who wants it, for people; what the user allowed is remembered by it."""
    client_id: str
    """The same over reconnects: names one window of that program."""
    base_leaf: EntryId | None = None
    """Compare-and-set in pi; absent: no comparison. Entries of type label, session_info, usage and
    custom in between do not count."""


class PiNavigateParams(PiDriveParams):
    """Moves the leaf as pi's /tree does; only when idle."""

    target: EntryId
    """Where to. Of a user message pi takes the parent."""
    summarize: bool = False
    """With a summary of what is left: the one given here, or pi's own."""
    summary: str | None = None
    """Stands instead of what pi's model would write."""
    details: JsonObject | None = None
    """Stored beside it."""
    instructions: str | None = None
    """For pi's model."""
    label: str | None = None
    """Put on the summary, or without one on the target."""


class PiCompactParams(PiDriveParams):
    """Compacts; only when idle. Without `summary` pi's own model writes it."""

    summary: str | None = None
    """The text, already written."""
    first_kept: EntryId | None = None
    """Where to cut; with `summary`."""
    tokens_before: int | None = None
    """The size before; with `summary`."""
    details: JsonObject | None = None
    """Stored beside it."""
    instructions: str | None = None
    """For pi's model."""


class PiLabelParams(PiDriveParams):
    """Labels an entry; at any time."""

    target: EntryId
    """Which."""
    label: str | None
    """Null clears it."""


class PiNameParams(PiDriveParams):
    """Names the session; at any time."""

    name: str
    """Empty clears it."""


class PiAppendParams(PiDriveParams):
    """Appends entries that start no run.

    Those of type `custom` at any time, `custom_message` and `message` when idle.
    """

    entries: list[JsonObject]
    """As in `session/append`, without id, parentId and timestamp, which pi gives."""


class PiContextEditParams(PiDriveParams):
    """Takes an entry out of the context, changes it, or puts it back; only when idle."""

    target: EntryId
    """Which."""
    replacement: JsonObject | None
    """`{content}` stands instead; null leaves it out."""


class PiForkParams(PiDriveParams):
    """A fork made by pi, which goes there; of sessions in memory only, when idle."""

    entry: EntryId
    """From where."""
    position: Literal["before", "at"]
    """Before a user message, or at any entry."""


class PiSwitchParams(PiDriveParams):
    """Opens another session in that pi; only when idle. Its draft is kept."""

    file: str
    """Absolute path of a session file that is there."""


class PiRereadParams(PiDriveParams):
    """Has pi read its file anew and stand where it stood; only when idle."""


class PiPromptParams(PiDriveParams):
    """Gives pi a prompt, as if it had been typed. The user is asked once for each client."""

    text: str
    """The words."""
    deliver_as: Literal["steer", "followUp"] = "followUp"
    """While a run is on: between its steps, or behind it. Means nothing when idle."""


class PiAbortParams(PiDriveParams):
    """Stops what runs. Messages that wait go back to the user's editor in a terminal."""


class PiSnapshotParams(PiDriveParams):
    """Asks for all entries and the state, as in an attach."""


class PiAnswer(WireModel):
    """What a bridge answers to all of these. A refusal has changed nothing in pi."""

    refused: ErrorKind | None = None
    """Why not; absent when it was done. PiUnknown: it may have been done."""
    message: StrictStr | None = None
    """The same in a sentence, with the next step."""
    operation: PiOperation | None = None
    """Of Busy: what runs."""
    needs: StrictStr | None = None
    """Of Unsupported: what would be needed."""
    leaf: EntryId | None = None
    """Where pi stands now."""
    ids: list[EntryId] = Field(default_factory=list)
    """Entries that were appended by it, in order."""
    editor_text: StrictStr | None = None
    """Text of the user message navigated to."""
    queued: StrictBool = False
    """Of a prompt: it waits for the end of the run, or its next step."""
    file: StrictStr | None = None
    """The session file pi has open now, where it is another one."""
    session: PiSession | None = None
    """Of a snapshot, and of SessionChanged: what it has open."""
    state: PiState | None = None
    """Of a snapshot."""
    entries: list[JsonObject] | None = None
    """Of a snapshot: all, whole."""
