"""The daemon's answers as they come: the JSON objects of the wire, typed.

They stay plain dictionaries in the wire's spelling, so that members a newer daemon adds are not
lost and a script can print what it got. It is made from the protocol's models, which say what each
member means: change those, then run `python -m tests.client.generated`.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

EntryId: TypeAlias = str | int | float
"""An entry id. pi writes strings; a number read from a file works as in pi."""


class InitializeResult(TypedDict):
    """LSP's InitializeResult."""

    capabilities: dict[str, Any]
    serverInfo: dict[str, str]


class ConnectedClient(TypedDict):
    """One connection."""

    name: str
    id: str | None
    transport: str
    initialized: bool
    sessions: list[str]
    running: int
    queued: int
    queuedBytes: int


class ServedSession(TypedDict):
    """One session in memory."""

    session: str
    path: str | None
    epoch: str
    rev: int
    subscribers: int


class WatchStatus(TypedDict):
    """How the daemon notices what other programs write to open sessions."""

    how: str
    reason: str | None


class ConnectedPi(TypedDict):
    """One running pi with the bridge in it."""

    pid: int
    mode: Literal["tui", "rpc", "print", "json"]
    version: str
    state: Literal["idle", "turn", "compaction", "summary", "stalled"]
    waitingForUser: bool
    pending: int
    drives: bool
    why: NotRequired[str | None]
    owner: bool
    unseen: int
    leaf: EntryId | None
    nested: NotRequired[bool]
    session: str | None
    file: str | None


class Memory(TypedDict):
    """What the process holds."""

    rss: int


class StatusResult(TypedDict):
    """What the daemon is doing."""

    pid: int
    version: str
    protocolVersion: int
    started: str
    uptime: float
    clients: list[ConnectedClient]
    sessions: list[ServedSession]
    watch: WatchStatus | None
    pis: NotRequired[list[ConnectedPi]]
    memory: Memory
    log: str | None
    agentDir: str | None
    address: str | None
    tcp: str | None
    idle: float


class Nothing(TypedDict):
    """An empty object."""


class CreateResult(TypedDict):
    """The new session; nothing is on disk yet."""

    session: str
    path: str | None
    epoch: str
    rev: int
    leaf: EntryId | None


class LeafConflict(TypedDict):
    """Another program went on elsewhere than a client had moved to."""

    ours: EntryId | None
    theirs: EntryId | None


class ClientOrigin(TypedDict):
    """A client of the daemon, or a running pi, as the one who did something."""

    client: str
    clientId: str
    requestId: NotRequired[str | None]
    pid: NotRequired[int | None]


class NodeSize(TypedDict):
    """The context size if one stood at a node."""

    tokens: int
    source: Literal["measured", "estimated"]


class Node(TypedDict):
    """One entry as trees show it; never its body."""

    id: EntryId
    parent: EntryId | None
    type: str
    role: NotRequired[str | None]
    preview: str
    time: str | None
    children: int
    tokens: int | None
    contextSize: NodeSize | None
    label: NotRequired[str | None]
    flags: list[str]
    visibleParent: NotRequired[EntryId | None]


Change: TypeAlias = dict[str, Any]
"""One thing that happened."""


class Largest(TypedDict):
    """One of the entries that take most of the context."""

    entry: EntryId
    row: NotRequired[str | None]
    title: str
    tokens: int
    time: NotRequired[str | None]


class ContextSize(TypedDict):
    """The context size at one entry."""

    tokens: int
    source: Literal["measured", "estimated"]
    estimated: int | None
    measured: int | None
    measuredAt: str | None
    before: int | None
    window: int | None
    percent: float | None
    parts: NotRequired[
        dict[
            Literal[
                "system",
                "user",
                "assistant",
                "thinking",
                "toolCalls",
                "toolResults",
                "images",
                "summaries",
            ],
            int,
        ]
        | None
    ]
    unexplained: NotRequired[int | None]
    model: str | None
    thinkingLevel: NotRequired[str | None]
    grade: Literal["ok", "warn", "high"]
    dueAt: int | None
    due: bool
    largest: NotRequired[list[Largest] | None]


class Problem(TypedDict):
    """Something in the file that could not be taken as it stands."""

    kind: str
    message: str
    consequence: str
    line: int | None
    offset: int | None
    entry: EntryId | None


class Progress(TypedDict):
    """Where a compaction or a move with a summary stands."""

    session: str
    operation: Literal["compact", "summarise", "fork", "navigate"]
    operationId: str
    origin: ClientOrigin | Literal["external", "repair"]
    reason: Literal["manual", "threshold"]
    state: Literal["begin", "report", "done", "failed", "cancelled"]
    received: int
    summarizer: str | None
    message: NotRequired[str | None]


class Present(TypedDict):
    """A client that has a session open."""

    client: str
    name: str


class LivePi(TypedDict):
    """A pi that has a session open now."""

    pid: int
    mode: Literal["tui", "rpc", "print", "json"]
    version: str
    state: Literal["idle", "turn", "compaction", "summary", "stalled"]
    waitingForUser: bool
    pending: int
    drives: bool
    why: NotRequired[str | None]
    owner: bool
    unseen: int
    leaf: EntryId | None
    nested: NotRequired[bool]


class RowCount(TypedDict):
    """How often a tool was called."""

    name: str
    n: int


class RowSize(TypedDict):
    """The context size if one stood at a row's last entry."""

    tokens: int
    percent: float | None
    source: Literal["measured", "estimated"]
    grade: Literal["ok", "warn", "high"]


class Row(TypedDict):
    """One painted line, standing for one or more entries."""

    id: str
    kind: Literal[
        "user",
        "answer",
        "work",
        "step",
        "bash",
        "note",
        "compaction",
        "summarised",
        "branchSummary",
        "alternative",
        "group",
        "ahead",
        "here",
        "meta",
    ]
    level: str | None
    after: str | None
    entry: EntryId | None
    first: EntryId | None
    last: EntryId | None
    entries: int
    title: str
    label: str | None
    counts: list[RowCount]
    failed: int
    out: NotRequired[int | None]
    outcome: Literal["ok", "failed", "error", "aborted", "running"] | None
    time: str | None
    duration: int | None
    tokens: int | None
    size: RowSize | None
    rows: int
    depth: int
    fold: Literal["none", "closed", "open"]
    flags: list[
        Literal[
            "active",
            "ahead",
            "summarised",
            "omitted",
            "replaced",
            "unsaved",
            "problem",
            "external",
            "notInContext",
        ]
    ]
    forks: list[str]
    by: str | None


class RowsResult(TypedDict):
    """Rows of one level in their order."""

    rev: int
    level: str | None
    total: int
    rows: list[Row]
    before: NotRequired[str | None]
    after: NotRequired[str | None]
    path: NotRequired[list[str] | None]


class OpenResult(TypedDict):
    """The session as it stands, in the same step as the subscription to what comes."""

    session: str
    path: str | None
    header: dict[str, Any]
    epoch: str
    rev: int
    leaf: EntryId | None
    unsaved: bool
    readOnly: str | None
    lastExternal: str | None
    leafConflict: NotRequired[LeafConflict | None]
    name: str | None
    entryCount: int
    mode: Literal["snapshot", "deltas"]
    base: NotRequired[int]
    changes: NotRequired[list[Change]]
    contextSize: ContextSize | None
    problems: list[Problem]
    operation: Progress | None
    clients: list[Present]
    pis: NotRequired[list[LivePi]]
    rows: NotRequired[RowsResult | None]
    skipBranchPrompt: bool


class ForkPoint(TypedDict):
    """Where a fork left the session it came from."""

    entry: EntryId | None
    preview: str | None
    firstMessage: str | None


class ListedSize(TypedDict):
    """The context size at the end of a session of the list."""

    tokens: int
    source: Literal["measured", "estimated"]
    percent: float | None


class ListedSession(TypedDict):
    """One line of the list."""

    session: str
    path: str | None
    cwd: str
    name: str | None
    firstMessage: str | None
    messages: int
    created: str | None
    modified: str
    parentSession: str | None
    open: int
    unsaved: bool
    lastExternal: str | None
    live: bool
    fork: ForkPoint | None
    contextSize: ListedSize | None
    cwdMissing: bool
    root: str
    depth: int
    pis: NotRequired[list[LivePi]]


class LookedAt(TypedDict):
    """A folder in which sessions were looked for."""

    path: str
    shared: bool


class ListResult(TypedDict):
    """A stretch of the list."""

    sessions: list[ListedSession]
    cursor: str | None
    folders: list[LookedAt]
    unread: int


class MatchRange(TypedDict):
    """A stretch of a snippet."""

    start: int
    end: int


class SearchSnippet(TypedDict):
    """The piece of a text around what was found."""

    text: str
    matches: list[MatchRange]


class EntryCopy(TypedDict):
    """The same entry in another file: a fork or a clone."""

    session: str
    path: str


class SearchHit(TypedDict):
    """A text in which all that was looked for stands."""

    session: str
    path: str | None
    cwd: str
    name: str | None
    entry: EntryId
    role: str
    tool: str | None
    time: str | None
    snippet: SearchSnippet
    copies: list[EntryCopy]


class SearchResult(TypedDict):
    """Some of what was found."""

    hits: list[SearchHit]
    cursor: str | None
    pending: int


class TreeResult(TypedDict):
    """Nodes in preorder, the active branch first; flat, never nested."""

    rev: int
    total: int
    nodes: list[Node]
    before: NotRequired[EntryId | None]
    after: NotRequired[EntryId | None]


class Branch(TypedDict):
    """A branch by its end: the main line, or an alternative since it left the line it is on."""

    entry: EntryId
    active: bool
    label: str | None
    first: str
    last: str
    entries: int
    time: str | None
    size: RowSize | None


class BranchesResult(TypedDict):
    """Some branches."""

    rev: int
    branches: list[Branch]
    cursor: str | None


class GraphLane(TypedDict):
    """A lane beside a line: it passes the line by, or begins there."""

    lane: int
    tokens: int | None
    percent: float | None
    next: int | None
    count: NotRequired[int]
    leads: NotRequired[bool]


class GraphEnd(TypedDict):
    """What is told in the last line of a branch; the context size there is that of the line."""

    row: str | None
    entry: EntryId | None
    entries: int
    title: str
    label: str | None


class GraphLine(TypedDict):
    """One line of the graph; what it has in common with a row of the tree means the same there."""

    id: str
    kind: Literal[
        "user",
        "answer",
        "work",
        "step",
        "bash",
        "note",
        "compaction",
        "summarised",
        "branchSummary",
        "alternative",
        "group",
        "ahead",
        "here",
        "meta",
    ]
    entry: EntryId | None
    first: EntryId | None
    last: EntryId | None
    entries: int
    title: str
    label: str | None
    counts: list[RowCount]
    failed: int
    out: NotRequired[int | None]
    outcome: Literal["ok", "failed", "error", "aborted", "running"] | None
    time: str | None
    duration: int | None
    tokens: int | None
    size: RowSize | None
    flags: list[
        Literal[
            "active",
            "ahead",
            "summarised",
            "omitted",
            "replaced",
            "unsaved",
            "problem",
            "external",
            "notInContext",
        ]
    ]
    forks: list[str]
    by: str | None
    lane: int
    parent: int | None
    next: int | None
    comesOut: NotRequired[bool]
    passing: list[GraphLane]
    leaving: list[GraphLane]
    end: NotRequired[GraphEnd | None]


class GraphResult(TypedDict):
    """A stretch of the graph, oldest line first."""

    rev: int
    zoom: Literal["branches", "turns", "entries"]
    total: int
    lanes: int
    window: int | None
    here: int
    start: int
    lines: list[GraphLine]
    found: NotRequired[int | None]
    pointBefore: int | None
    pointAfter: int | None


class EntriesResult(TypedDict):
    """Entries as stored."""

    rev: int
    entries: list[dict[str, Any]]
    cursor: str | None


class Omitted(TypedDict):
    """An entry on the branch that gives no message."""

    id: EntryId
    reason: Literal["compacted", "edited", "noMessage"]


class ContextResult(TypedDict):
    """What the model would be sent."""

    rev: int
    messages: list[dict[str, Any]]
    sources: list[EntryId]
    model: dict[str, Any] | None
    thinkingLevel: Any
    activeTools: Any
    omitted: list[Omitted]
    cursor: str | None


class ContextSizes(TypedDict):
    """Sizes at the entries asked for."""

    sizes: dict[str, ContextSize]


class TokenTotals(TypedDict):
    """Tokens as the entries themselves say."""

    input: int
    output: int
    cacheRead: int
    cacheWrite: int


class ModelTotals(TypedDict):
    """Totals of one model."""

    model: str
    tokens: TokenTotals
    cost: float


class StatsPart(TypedDict):
    """Totals of a branch or of the whole file."""

    messages: dict[str, int]
    toolCalls: int
    tokens: TokenTotals
    cost: float
    models: list[ModelTotals]


class StatsResult(TypedDict):
    """Totals."""

    rev: int
    branch: StatsPart
    file: StatsPart


class FileLists(TypedDict):
    """Files by what the tool calls did to them."""

    read: list[str]
    modified: list[str]


class ComparedSide(TypedDict):
    """One branch since the common ancestor."""

    entries: int
    turns: int
    size: ContextSize
    tokens: TokenTotals
    cost: float
    seconds: float
    files: FileLists


class CompareResult(TypedDict):
    """Both branches since they parted."""

    rev: int
    ancestor: EntryId | None
    ancestorSize: ContextSize | None
    a: ComparedSide
    b: ComparedSide


class SummarizerChoice(TypedDict):
    """A summarizer that can be named in session/compact and session/navigate."""

    name: str
    model: str | None
    ready: bool
    reason: str | None
    default: bool


class SummarizersResult(TypedDict):
    """Who can write summaries for this session."""

    summarizers: list[SummarizerChoice]


class CheckResult(TypedDict):
    """What in the file could not be taken as it stands."""

    problems: list[Problem]


class ExportResult(TypedDict):
    """The export."""

    rev: int
    text: NotRequired[str | None]
    path: NotRequired[str | None]
    bytes: int


class ImportResult(TypedDict):
    """The copy; it is not opened."""

    session: str
    path: str


class DeleteResult(TypedDict):
    """The session that is no more."""

    session: str
    path: str | None
    trashed: bool


class AppendResult(TypedDict):
    """The entries are on disk, or held back by the flush rule."""

    rev: int
    leaf: EntryId | None
    ids: list[EntryId]


class LeftBehind(TypedDict):
    """What leaves the active branch."""

    entries: int
    turns: int


class Forecast(TypedDict):
    """What asking a summarizer comes to."""

    summarizer: str
    model: str | None
    tokensIn: int
    cost: float | None


class MovePreview(TypedDict):
    """What a move or a fork would do."""

    leaf: EntryId | None
    leaves: LeftBehind
    sizeNow: ContextSize
    sizeAfter: ContextSize
    returnsText: str | None
    outside: str | None
    summary: Forecast | None


class NavigateResult(TypedDict):
    """Where the session stands now."""

    rev: int
    leaf: EntryId | None
    editorText: NotRequired[str | None]
    summaryEntry: NotRequired[EntryId | None]
    preview: NotRequired[MovePreview | None]


class SummaryInput(TypedDict):
    """What one call of a summarizer reads."""

    kind: Literal["history", "turnPrefix", "branch"]
    text: str
    previousSummary: str | None


class CompactionPreview(TypedDict):
    """What a compaction would do."""

    firstKept: EntryId
    isSplitTurn: bool
    summarised: list[EntryId]
    turnPrefix: list[EntryId]
    kept: list[EntryId]
    tokensBefore: int
    tokensKept: int
    previousSummary: bool
    readFiles: list[str]
    modifiedFiles: list[str]
    summaryAtMost: int
    tokensAfter: int
    forecast: Forecast | None
    noSummarizer: NotRequired[str | None]
    inputs: NotRequired[list[SummaryInput] | None]


class CompactResult(TypedDict):
    """Where the session stands now; with `dryRun` as before."""

    rev: int
    leaf: EntryId | None
    entry: NotRequired[EntryId | None]
    tokensBefore: NotRequired[int | None]
    tokensAfter: NotRequired[int | None]
    preview: NotRequired[CompactionPreview | None]
    summary: NotRequired[str | None]
    usage: NotRequired[dict[str, Any] | None]
    draft: NotRequired[str | None]


class CancelOperationResult(TypedDict):
    """What was ended."""

    cancelled: Progress | None


class ForkResult(TypedDict):
    """The new session; `rev` and `leaf` are its own. Its file follows the flush rule."""

    rev: int
    leaf: EntryId | None
    session: str
    path: str | None
    unsaved: bool
    editorText: NotRequired[str | None]
    sourceRev: NotRequired[int]
    piStayed: NotRequired[str | None]
    preview: NotRequired[MovePreview | None]


class Done(TypedDict):
    """What every change to a session answers."""

    rev: int
    leaf: EntryId | None


class PromptResult(TypedDict):
    """pi has taken it."""

    rev: int
    leaf: EntryId | None
    entry: NotRequired[EntryId | None]
    queued: bool


class PiAttachResult(TypedDict):
    """How the daemon sees that pi."""

    session: str
    owner: bool
    unseen: int
    position: NotRequired[EntryId | None]


class PiWord(TypedDict):
    """What pi is to do about it; empty: what it would."""

    cancel: NotRequired[bool]
    summary: NotRequired[str | None]
    details: NotRequired[dict[str, Any] | None]


class DidChange(TypedDict):
    """A contiguous step of one session."""

    session: str
    epoch: str
    base: int
    rev: int
    changes: list[Change]
    leaf: EntryId | None
    contextSize: ContextSize | None


class DidProgress(TypedDict):
    """A compaction or a move with a summary begins, goes on or ends; outside `rev`."""

    session: str
    operation: Literal["compact", "summarise", "fork", "navigate"]
    operationId: str
    origin: ClientOrigin | Literal["external", "repair"]
    reason: Literal["manual", "threshold"]
    state: Literal["begin", "report", "done", "failed", "cancelled"]
    received: int
    summarizer: str | None
    message: NotRequired[str | None]


class DidPresence(TypedDict):
    """Who has a session open, running pi too; outside `rev`, at most ten a second."""

    session: str
    clients: list[Present]
    pis: NotRequired[list[LivePi]]


class WorkDone(TypedDict):
    """How far a request is, as LSP tells it."""

    kind: Literal["begin", "report", "end"]
    title: NotRequired[str | None]
    cancellable: NotRequired[bool | None]
    message: NotRequired[str | None]


class ProgressParams(TypedDict):
    """How far a request is that was sent with a `workDoneToken`; at most ten a second."""

    token: str | int
    value: WorkDone


class DidReset(TypedDict):
    """What you know of this session no longer holds: open it again."""

    session: str
    reason: Literal["overflow", "rewritten", "evicted", "gone"]


class SessionsDidChange(TypedDict):
    """The list of sessions is another one; sent to those who asked with `watch`."""

    sessions: list[ListedSession]
    gone: list[str]


class Stopping(TypedDict):
    """The daemon ends; the connection is closed next."""

    reason: str


class WillCompactParams(TypedDict):
    """A compaction is about to be made. No answer within five seconds counts as none."""

    session: str
    operationId: str
    reason: Literal["manual", "threshold"]
    preparation: CompactionPreview


class WillResult(TypedDict):
    """A client's word on what is about to happen; every member may be left out."""

    cancel: NotRequired[bool]
    summary: NotRequired[str | None]
    details: NotRequired[dict[str, Any] | None]
    usage: NotRequired[dict[str, Any] | None]
    customInstructions: NotRequired[str | None]
    label: NotRequired[str | None]


class WillNavigateParams(TypedDict):
    """The leaf is about to move. No answer within five seconds counts as none."""

    session: str
    operationId: str
    target: EntryId | None
    summarize: bool
    preparation: MovePreview


class SummarizeParams(TypedDict):
    """A text for the client's model to answer. Ten minutes; then it is cancelled."""

    session: str
    operationId: str
    kind: Literal["history", "turnPrefix", "branch"]
    system: str
    prompt: str
    maxTokens: int


class SummarizeResult(TypedDict):
    """What the client's model answered."""

    summary: str
    usage: NotRequired[dict[str, Any] | None]
    model: NotRequired[str | None]


class PiNavigateParams(TypedDict):
    """Moves the leaf as pi's /tree does; only when idle."""

    gen: int
    requestId: str
    client: str
    clientId: str
    baseLeaf: NotRequired[EntryId | None]
    target: EntryId
    summarize: NotRequired[bool]
    summary: NotRequired[str | None]
    details: NotRequired[dict[str, Any] | None]
    instructions: NotRequired[str | None]
    label: NotRequired[str | None]


class PiSession(TypedDict):
    """The session a pi has open."""

    id: str
    file: NotRequired[str | None]
    onDisk: bool
    cwd: str
    name: NotRequired[str | None]
    parentSession: NotRequired[str | None]
    timestamp: NotRequired[str | None]
    leaf: EntryId | None
    count: int
    lastId: EntryId | None


class PiUsage(TypedDict):
    """pi's own figure of its context."""

    tokens: NotRequired[int | None]
    window: NotRequired[int | None]


class PiState(TypedDict):
    """What a pi is doing."""

    idle: bool
    operation: NotRequired[Literal["turn", "compaction", "summary"] | None]
    waitingForUser: NotRequired[bool]
    pending: NotRequired[int]
    usage: NotRequired[PiUsage | None]
    model: NotRequired[str | None]
    thinking: NotRequired[str | None]
    aborted: NotRequired[bool]


class PiAnswer(TypedDict):
    """What a bridge answers to all of these. A refusal has changed nothing in pi."""

    refused: NotRequired[
        Literal[
            "ParseError",
            "InvalidRequest",
            "MethodNotFound",
            "InvalidParams",
            "InternalError",
            "NotInitialized",
            "Cancelled",
            "EntryNotFound",
            "SessionNotFound",
            "AmbiguousSession",
            "SessionExists",
            "NotASession",
            "InvalidEntry",
            "DuplicateEntry",
            "NotOnBranch",
            "LeafMoved",
            "Busy",
            "NothingToCompact",
            "CannotShrink",
            "SummaryFailed",
            "BadSetting",
            "NoSummarizer",
            "AmbiguousOwner",
            "Unsupported",
            "SessionChanged",
            "PiUnknown",
            "ReadOnly",
            "Unreadable",
            "Degraded",
            "FileChanged",
            "TooLarge",
            "Overloaded",
            "Unauthorized",
            "VersionUnsupported",
            "WrongAgentDir",
        ]
        | None
    ]
    message: NotRequired[str | None]
    operation: NotRequired[Literal["turn", "compaction", "summary"] | None]
    needs: NotRequired[str | None]
    leaf: NotRequired[EntryId | None]
    ids: NotRequired[list[EntryId]]
    editorText: NotRequired[str | None]
    queued: NotRequired[bool]
    file: NotRequired[str | None]
    session: NotRequired[PiSession | None]
    state: NotRequired[PiState | None]
    entries: NotRequired[list[dict[str, Any]] | None]


class PiCompactParams(TypedDict):
    """Compacts; only when idle. Without `summary` pi's own model writes it."""

    gen: int
    requestId: str
    client: str
    clientId: str
    baseLeaf: NotRequired[EntryId | None]
    summary: NotRequired[str | None]
    firstKept: NotRequired[EntryId | None]
    tokensBefore: NotRequired[int | None]
    details: NotRequired[dict[str, Any] | None]
    instructions: NotRequired[str | None]


class PiLabelParams(TypedDict):
    """Labels an entry; at any time."""

    gen: int
    requestId: str
    client: str
    clientId: str
    baseLeaf: NotRequired[EntryId | None]
    target: EntryId
    label: str | None


class PiNameParams(TypedDict):
    """Names the session; at any time."""

    gen: int
    requestId: str
    client: str
    clientId: str
    baseLeaf: NotRequired[EntryId | None]
    name: str


class PiAppendParams(TypedDict):
    """Appends entries that start no run."""

    gen: int
    requestId: str
    client: str
    clientId: str
    baseLeaf: NotRequired[EntryId | None]
    entries: list[dict[str, Any]]


class PiContextEditParams(TypedDict):
    """Takes an entry out of the context, changes it, or puts it back; only when idle."""

    gen: int
    requestId: str
    client: str
    clientId: str
    baseLeaf: NotRequired[EntryId | None]
    target: EntryId
    replacement: dict[str, Any] | None


class PiForkParams(TypedDict):
    """A fork made by pi, which goes there; of sessions in memory only, when idle."""

    gen: int
    requestId: str
    client: str
    clientId: str
    baseLeaf: NotRequired[EntryId | None]
    entry: EntryId
    position: Literal["before", "at"]


class PiSwitchParams(TypedDict):
    """Opens another session in that pi; only when idle. Its draft is kept."""

    gen: int
    requestId: str
    client: str
    clientId: str
    baseLeaf: NotRequired[EntryId | None]
    file: str


class PiRereadParams(TypedDict):
    """Has pi read its file anew and stand where it stood; only when idle."""

    gen: int
    requestId: str
    client: str
    clientId: str
    baseLeaf: NotRequired[EntryId | None]


class PiPromptParams(TypedDict):
    """Gives pi a prompt, as if it had been typed. The user is asked once for each client."""

    gen: int
    requestId: str
    client: str
    clientId: str
    baseLeaf: NotRequired[EntryId | None]
    text: str
    deliverAs: NotRequired[Literal["steer", "followUp"]]


class PiAbortParams(TypedDict):
    """Stops what runs. Messages that wait go back to the user's editor in a terminal."""

    gen: int
    requestId: str
    client: str
    clientId: str
    baseLeaf: NotRequired[EntryId | None]


class PiSnapshotParams(TypedDict):
    """Asks for all entries and the state, as in an attach."""

    gen: int
    requestId: str
    client: str
    clientId: str
    baseLeaf: NotRequired[EntryId | None]


class Limits(TypedDict):
    """What a client should not exceed."""

    message: int
    header: int
    inFlight: int
    clients: int
    answer: int
    treeNodes: int


class Announcement(TypedDict):
    """`capabilities.experimental.pisessiond` in the answer to `initialize`."""

    protocolVersion: int
    build: str
    limits: Limits
    methods: list[str]
