"""The table of methods: the one place that says what can be asked and what comes back.

The server's dispatch, the client's typed calls, `docs/protocol.md` and the schemas are all made
from it. A method that is not here does not exist.
"""

from __future__ import annotations

from typing import Any, Final

from pisessiond.protocol import act_models as act
from pisessiond.protocol import asked_models as asked
from pisessiond.protocol import file_models as files
from pisessiond.protocol import graph_models as graph
from pisessiond.protocol import lifecycle_models as life
from pisessiond.protocol import live_models as live
from pisessiond.protocol import notification_models as told
from pisessiond.protocol import row_models as row
from pisessiond.protocol import search_models as find
from pisessiond.protocol import session_models as session
from pisessiond.protocol import values
from pisessiond.protocol import view_models as view
from pisessiond.protocol.errors import ErrorKind
from pisessiond.protocol.pi_methods import PI_ASKED, PI_METHODS
from pisessiond.protocol.table import Asked, Method, Notification

_LOADS: Final[tuple[ErrorKind, ...]] = (
    "SessionNotFound",
    "AmbiguousSession",
    "NotASession",
    "Unreadable",
    "FileChanged",
)
_READS: Final[tuple[ErrorKind, ...]] = ("SessionNotFound", "Unreadable", "FileChanged")
_WRITES: Final[tuple[ErrorKind, ...]] = (
    "SessionNotFound",
    "Busy",
    "ReadOnly",
    "Degraded",
    "FileChanged",
)
_PI: Final[tuple[ErrorKind, ...]] = (
    "AmbiguousOwner",
    "Unsupported",
    "SessionChanged",
    "PiUnknown",
)
"""Where a running pi has the session open and it is that pi which is asked."""
_MOVES: Final[tuple[ErrorKind, ...]] = (*_WRITES, "LeafMoved", *_PI)

INITIALIZE: Final = Method(
    "initialize",
    "lifecycle",
    life.InitializeParams,
    life.InitializeResult,
    "Begins the connection: agrees on a protocol version and says who the client is.",
    ("VersionUnsupported", "WrongAgentDir"),
)
INITIALIZED: Final[Method[life.NoParams, life.Nothing]] = Method(
    "initialized", "lifecycle", life.NoParams, None, "The client has the answer to initialize."
)
SHUTDOWN: Final = Method(
    "shutdown",
    "lifecycle",
    life.NoParams,
    life.Null,
    "Announces `exit`: answers null, then refuses everything else. The daemon runs on.",
)
EXIT: Final[Method[life.NoParams, life.Nothing]] = Method(
    "exit", "lifecycle", life.NoParams, None, "Ends this connection; the daemon runs on."
)
CANCEL: Final[Method[life.CancelParams, life.Nothing]] = Method(
    "$/cancelRequest",
    "lifecycle",
    life.CancelParams,
    None,
    "Cancels one of the client's own requests.",
)
STATUS: Final = Method(
    "daemon/status",
    "lifecycle",
    life.NoParams,
    life.StatusResult,
    "What the daemon is doing; answered before initialize too.",
)
DAEMON_SHUTDOWN: Final = Method(
    "daemon/shutdown",
    "lifecycle",
    life.ShutdownParams,
    life.Nothing,
    "Ends the daemon for everyone, or only if nobody else uses it; answered before initialize too.",
)

CREATE: Final = Method(
    "session/create",
    "mutation",
    session.CreateParams,
    session.CreateResult,
    "Makes a new session; it is not on disk yet.",
    ("SessionExists", "ReadOnly", "Degraded"),
)
OPEN: Final = Method(
    "session/open",
    "read",
    session.OpenParams,
    session.OpenResult,
    "Loads a session if needed, answers how it stands and subscribes to what comes.",
    _LOADS,
)
CLOSE: Final = Method(
    "session/close",
    "read",
    session.CloseParams,
    life.Nothing,
    "Ends the subscription; closing what is not open is no error.",
)
SYNC: Final = Method(
    "session/sync",
    "read",
    session.SyncParams,
    life.Nothing,
    "A barrier: answers when all that was written before it, by pi too, has been sent here.",
    _READS,
)
LIST: Final = Method(
    "session/list",
    "read",
    session.ListParams,
    session.ListResult,
    "Sessions on disk and in memory, families of forks by their newest activity.",
)
SEARCH: Final = Method(
    "session/search",
    "read",
    find.SearchParams,
    find.SearchResult,
    "Words and phrases in all sessions, or some; the best and newest first.",
)
TREE: Final = Method(
    "session/tree",
    "read",
    view.TreeParams,
    view.TreeResult,
    "A stretch of the branch tree, flat, in preorder with the active branch first.",
    (*_READS, "EntryNotFound"),
)
ROWS: Final = Method(
    "session/rows",
    "read",
    row.RowsParams,
    row.RowsResult,
    "The tree as people see it, one level at a time; every client paints it alike.",
    (*_READS, "EntryNotFound"),
)
BRANCHES: Final = Method(
    "session/branches",
    "read",
    row.BranchesParams,
    row.BranchesResult,
    "Every branch by its end, or those with some words in them: for a picker.",
    _READS,
)
GRAPH: Final = Method(
    "session/graph",
    "read",
    graph.GraphParams,
    graph.GraphResult,
    "A whole session as a picture of lanes, a stretch of its lines at a time.",
    (*_READS, "EntryNotFound"),
)
ENTRIES: Final = Method(
    "session/entries",
    "read",
    view.EntriesParams,
    view.EntriesResult,
    "Bodies of entries as stored, at most 8 MiB an answer.",
    (*_READS, "EntryNotFound"),
)
CONTEXT: Final = Method(
    "session/context",
    "read",
    view.ContextParams,
    view.ContextResult,
    "What the model would be sent from the leaf or any entry.",
    (*_READS, "EntryNotFound"),
)
CONTEXT_SIZE: Final = Method(
    "session/contextSize",
    "read",
    view.ContextSizeParams,
    view.ContextSizeResult,
    "The context size at the leaf, or at some entries.",
    (*_READS, "EntryNotFound"),
)
STATS: Final = Method(
    "session/stats",
    "read",
    view.SessionParams,
    view.StatsResult,
    "Messages, tokens and cost of the active branch and of the file.",
    _READS,
)
CHECK: Final = Method(
    "session/check",
    "read",
    view.SessionParams,
    view.CheckResult,
    "What in the file could not be taken as it stands.",
    _READS,
)
EXPORT: Final = Method(
    "session/export",
    "read",
    files.ExportParams,
    files.ExportResult,
    "A branch as JSONL, Markdown or HTML, or the tree as HTML; as text or into a new file.",
    (*_READS, "EntryNotFound", "SessionExists", "ReadOnly", "Degraded", "TooLarge"),
)
IMPORT: Final = Method(
    "session/import",
    "mutation",
    files.ImportParams,
    files.ImportResult,
    "Copies a session file among pi's own; the source is only read.",
    ("SessionExists", "NotASession", "SessionNotFound", "Unreadable", "ReadOnly", "Degraded"),
)
DELETE: Final = Method(
    "session/delete",
    "mutation",
    files.DeleteParams,
    files.DeleteResult,
    "Moves a session's file to the trash; whoever has it open gets didReset with reason gone.",
    (*_LOADS, "Busy", "ReadOnly", "Degraded"),
)
APPEND: Final = Method(
    "session/append",
    "mutation",
    act.AppendParams,
    act.AppendResult,
    "Adds entries under the leaf and moves the leaf to the last.",
    (*_MOVES, "InvalidEntry", "DuplicateEntry", "EntryNotFound"),
)
NAVIGATE: Final = Method(
    "session/navigate",
    "mutation",
    act.NavigateParams,
    act.NavigateResult,
    "Moves the leaf to another entry, as pi's /tree does.",
    (*_MOVES, "EntryNotFound", "NoSummarizer", "SummaryFailed", "BadSetting"),
)
COMPACT: Final = Method(
    "session/compact",
    "mutation",
    act.CompactParams,
    act.CompactResult,
    "Writes a compaction, or says what it would do.",
    (
        *_MOVES,
        "NothingToCompact",
        "CannotShrink",
        "NoSummarizer",
        "SummaryFailed",
        "BadSetting",
    ),
)
CANCEL_OPERATION: Final = Method(
    "session/cancel",
    "mutation",
    act.CancelOperationParams,
    act.CancelOperationResult,
    "Ends the session's running operation, whoever began it; everyone is told who did.",
    ("SessionNotFound",),
)
COMPARE: Final = Method(
    "session/compare",
    "read",
    view.CompareParams,
    view.CompareResult,
    "Two branches side by side since they parted: entries, sizes, tokens, cost, time, files.",
    (*_READS, "EntryNotFound"),
)
SUMMARIZERS: Final = Method(
    "session/summarizers",
    "read",
    view.SessionParams,
    view.SummarizersResult,
    "Who can write summaries for this session, by the names to ask for.",
    _READS,
)
FORK: Final = Method(
    "session/fork",
    "mutation",
    act.ForkParams,
    act.ForkResult,
    "Makes a new session from the path to an entry.",
    (*_WRITES, "EntryNotFound", *_PI),
)
CLONE: Final = Method(
    "session/clone",
    "mutation",
    act.CloneParams,
    act.ForkResult,
    "Makes a new session holding the active branch.",
    _WRITES,
)
LABEL: Final = Method(
    "session/label",
    "mutation",
    act.LabelParams,
    values.Done,
    "Labels an entry, or clears its label.",
    (*_MOVES, "EntryNotFound"),
)
RENAME: Final = Method(
    "session/rename",
    "mutation",
    act.RenameParams,
    values.Done,
    "Names the session, or clears its name.",
    _MOVES,
)
EDIT_CONTEXT: Final = Method(
    "session/editContext",
    "mutation",
    act.EditContextParams,
    values.Done,
    "Changes, omits or restores what the model would be sent of an entry.",
    (*_MOVES, "EntryNotFound", "NotOnBranch", "InvalidEntry"),
)
PROMPT: Final = Method(
    "session/prompt",
    "mutation",
    live.PromptParams,
    live.PromptResult,
    "Gives the running pi that has the session open a prompt, as if it had been typed there.",
    ("SessionNotFound", "Busy", "ReadOnly", *_PI),
)
ABORT: Final = Method(
    "session/abort",
    "mutation",
    live.AbortParams,
    values.Done,
    "Stops what the running pi that has the session open is at.",
    ("SessionNotFound", "Busy", "ReadOnly", *_PI),
)
REREAD: Final = Method(
    "session/reread",
    "mutation",
    live.RereadParams,
    values.Done,
    "Has the running pi that has the session open read what others wrote to it (`unseen`).",
    ("SessionNotFound", "Busy", "ReadOnly", *_PI),
)

METHODS: Final[dict[str, Method[Any, Any]]] = {
    method.name: method
    for method in (
        INITIALIZE,
        INITIALIZED,
        SHUTDOWN,
        EXIT,
        CANCEL,
        STATUS,
        DAEMON_SHUTDOWN,
        CREATE,
        OPEN,
        CLOSE,
        SYNC,
        LIST,
        SEARCH,
        TREE,
        ROWS,
        BRANCHES,
        GRAPH,
        ENTRIES,
        CONTEXT,
        CONTEXT_SIZE,
        STATS,
        COMPARE,
        SUMMARIZERS,
        CHECK,
        EXPORT,
        IMPORT,
        DELETE,
        APPEND,
        NAVIGATE,
        COMPACT,
        CANCEL_OPERATION,
        FORK,
        CLONE,
        LABEL,
        RENAME,
        EDIT_CONTEXT,
        PROMPT,
        ABORT,
        REREAD,
        *PI_METHODS,
    )
}
"""Every method by name, in the order they are documented."""

DID_CHANGE: Final = Notification(
    "session/didChange", told.DidChange, "A session the client opened has changed."
)
DID_PROGRESS: Final = Notification(
    "session/didProgress",
    told.DidProgress,
    "A compaction or a move with a summary begins, goes on or ends.",
)
PROGRESS: Final = Notification(
    "$/progress",
    told.ProgressParams,
    "How far a request is that gave a workDoneToken; to its sender alone.",
)
DID_PRESENCE: Final = Notification(
    "session/didPresence",
    told.DidPresence,
    "A client opened or left a session that the client has open.",
)
DID_RESET: Final = Notification(
    "session/didReset", told.DidReset, "A session the client opened has to be opened again."
)
SESSIONS_DID_CHANGE: Final = Notification(
    "sessions/didChange", told.SessionsDidChange, "Sessions came, changed or went."
)
STOPPING: Final = Notification("daemon/stopping", told.Stopping, "The daemon ends.")

NOTIFICATIONS: Final[dict[str, Notification[Any]]] = {
    notification.name: notification
    for notification in (
        DID_CHANGE,
        DID_PROGRESS,
        DID_PRESENCE,
        PROGRESS,
        DID_RESET,
        SESSIONS_DID_CHANGE,
        STOPPING,
    )
}
"""Everything the daemon tells unasked, by name."""


WILL_COMPACT: Final = Asked(
    "session/willCompact",
    asked.WillCompactParams,
    asked.WillResult,
    5.0,
    "A compaction is about to be made: cancel it, or give the summary.",
)
WILL_NAVIGATE: Final = Asked(
    "session/willNavigate",
    asked.WillNavigateParams,
    asked.WillResult,
    5.0,
    "The leaf is about to move: cancel it, or give the summary.",
)
SUMMARIZE: Final = Asked(
    "session/summarize",
    asked.SummarizeParams,
    asked.SummarizeResult,
    600.0,
    "A text for the client's own model to answer.",
)

ASKED: Final[dict[str, Asked[Any, Any]]] = {
    one.name: one for one in (WILL_COMPACT, WILL_NAVIGATE, SUMMARIZE, *PI_ASKED)
}
"""Everything the daemon asks of clients that announced it in `requests`, by name."""
