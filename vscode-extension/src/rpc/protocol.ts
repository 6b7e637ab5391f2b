/**
 * The messages of pisessiond's protocol. Made from the daemon's method table; do not edit:
 * `python -m pisessiond.protocol.typescript > vscode-extension/src/rpc/protocol.ts`
 */

/** The newest version these types speak. */
export const PROTOCOL_VERSION = 1;

/** pi writes strings; a number read from a file stays a number. */
export type EntryId = string | number;

/** JSON whose members belong to somebody else. */
export type JsonObject = Record<string, unknown>;

/** What an error says it is, in `data.kind`. */
export type ErrorKind =
  | "ParseError"
  | "InvalidRequest"
  | "MethodNotFound"
  | "InvalidParams"
  | "InternalError"
  | "NotInitialized"
  | "Cancelled"
  | "EntryNotFound"
  | "SessionNotFound"
  | "AmbiguousSession"
  | "SessionExists"
  | "NotASession"
  | "InvalidEntry"
  | "DuplicateEntry"
  | "NotOnBranch"
  | "LeafMoved"
  | "Busy"
  | "NothingToCompact"
  | "CannotShrink"
  | "SummaryFailed"
  | "NoSummarizer"
  | "ReadOnly"
  | "Unreadable"
  | "Degraded"
  | "FileChanged"
  | "TooLarge"
  | "Overloaded"
  | "Unauthorized"
  | "VersionUnsupported"
  | "WrongAgentDir"
  | "BadSetting"
  | "AmbiguousOwner"
  | "Unsupported"
  | "SessionChanged"
  | "PiUnknown";

/** Who connects. */
export interface ClientInfo {
  /** Chosen by the client and kept over reconnects. */
  id: string;
  /** For people: shown to other clients as who did something. */
  name: string;
  /** The client's own version. */
  version?: string | null;
}

/** `initializationOptions.pisessiond.pi`: the client is the bridge of this process. */
export interface PiProcess {
  /** Process id; checked against the peer of the socket. */
  pid: number;
  /** When the process began, in seconds since 1970. */
  started: EntryId;
  /** How pi runs. */
  mode: "tui" | "rpc" | "print" | "json";
  /** Whether it can ask its user something. */
  hasUi: boolean;
  /** Another pi's shell began it. */
  nested?: boolean;
  /** pi's version. */
  version: string;
  /** Whether it lets itself be moved and prompted; else it is only watched. */
  drive: boolean;
  /** Why it is only watched, in a sentence. */
  why?: string | null;
}

/** `initializationOptions.pisessiond`. */
export interface ClientOptions {
  /** All versions the client speaks; the highest common one is used. */
  protocolVersions: number[];
  /** Who connects. */
  client: ClientInfo;
  /** Absolute folder of the client; relative paths in its requests start here. */
  cwd?: string | null;
  /** pi's agent folder as the client sees it; another daemon's is refused with WrongAgentDir. */
  agentDir?: string | null;
  /** The client's own session folder, before all settings. */
  sessionDir?: string | null;
  /** Needed on TCP only. */
  token?: string | null;
  /** Requests of the daemon that this client answers; unknown names mean nothing. */
  requests?: string[];
  /** The client is the bridge inside a running pi. */
  pi?: PiProcess | null;
}

/** LSP's `initializationOptions`, of which one member is ours. */
export interface InitializationOptions {
  /** Absent for a plain LSP client: it gets a passing id and the newest version. */
  pisessiond?: ClientOptions | null;
  [member: string]: unknown;
}

/** LSP's InitializeParams; only the members named here are looked at before the LSP half. */
export interface InitializeParams {
  /** LSP's client capabilities. */
  capabilities?: JsonObject;
  /** LSP's name and version of the client. */
  clientInfo?: JsonObject | null;
  /** Holds `pisessiond`. */
  initializationOptions?: InitializationOptions | null;
  [member: string]: unknown;
}

/** LSP's InitializeResult. */
export interface InitializeResult {
  /** LSP's server capabilities; `experimental.pisessiond` holds the announcement. */
  capabilities: JsonObject;
  /** Name and version. */
  serverInfo: Record<string, string>;
}

/** Nothing is needed. */
export type NoParams = Record<string, never>;

/** Null, as LSP wants it. */
export type Null = null;

/** Which request to cancel. */
export interface CancelParams {
  /** Id of the request. It is answered with -32800, unless its work was already done. */
  id: string | number;
}

/** One connection. */
export interface ConnectedClient {
  /** For people; `unknown` before initialize. */
  name: string;
  /** Null before initialize. */
  id: string | null;
  /** unix, tcp or stdio. */
  transport: string;
  /** Whether `initialize` was answered. */
  initialized: boolean;
  /** Handles of the sessions it is subscribed to. */
  sessions: string[];
  /** Requests at work. */
  running: number;
  /** Messages that wait to be sent to it. */
  queued: number;
  /** Waiting to be sent to it, in bytes. */
  queuedBytes: number;
}

/** One session in memory. */
export interface ServedSession {
  /** Its handle. */
  session: string;
  /** Real path; null for a session in memory only. */
  path: string | null;
  /** Names this loading of the session. */
  epoch: string;
  /** Its revision. */
  rev: number;
  /** How many listen to it. */
  subscribers: number;
}

/** How the daemon notices what other programs write to open sessions. */
export interface WatchStatus {
  /** `inotify` or `fsevents`; `polling` where the system tells nothing of at least one file. */
  how: string;
  /** Why it is polling; null when it is not. */
  reason: string | null;
}

/** One running pi with the bridge in it. */
export interface ConnectedPi {
  /** Names it in the member `pi` of a request. */
  pid: number;
  /** How it runs. */
  mode: "tui" | "rpc" | "print" | "json";
  /** pi's version. */
  version: string;
  /** What it is doing; stalled: it does not answer. */
  state: "idle" | "turn" | "compaction" | "summary" | "stalled";
  /** A dialog of pi's is open. */
  waitingForUser: boolean;
  /** Messages that wait for the end of its run. */
  pending: number;
  /** Whether it can be moved and prompted from here. */
  drives: boolean;
  /** Why it cannot, in a sentence. */
  why?: string | null;
  /** It alone has the session open, and everything is written by it. */
  owner: boolean;
  /** Entries in the file that it has not read; 0: none. */
  unseen: number;
  /** Where it stands. */
  leaf: EntryId | null;
  /** Another pi's shell began it. */
  nested?: boolean;
  /** Handle of the session it has open; null between two. */
  session: string | null;
  /** Its file; null where it is in memory only, or not known. */
  file: string | null;
}

/** What the process holds. */
export interface Memory {
  /** Resident set in bytes; 0 where the system does not say. */
  rss: number;
}

/** What the daemon is doing. */
export interface StatusResult {
  /** Process id. */
  pid: number;
  /** The daemon's version. */
  version: string;
  /** The newest protocol version it speaks. */
  protocolVersion: number;
  /** ISO time. */
  started: string;
  /** Seconds since it started. */
  uptime: number;
  /** Every connection, this one included. */
  clients: ConnectedClient[];
  /** Every session in memory. */
  sessions: ServedSession[];
  /** How changes by other programs are noticed; null: they are when something is asked. */
  watch: WatchStatus | null;
  /** Running pi that are connected; absent: none. */
  pis?: ConnectedPi[];
  /** What the process holds. */
  memory: Memory;
  /** Path of the log; null when it goes to standard error. */
  log: string | null;
  /** pi's agent folder that it serves. */
  agentDir: string | null;
  /** Path of its socket; null on stdio. */
  address: string | null;
  /** Host and port on loopback; null while it does not listen there. */
  tcp: string | null;
  /** Seconds without clients and work after which it ends; 0: never. */
  idle: number;
}

/** Parameters of daemon/shutdown. */
export interface ShutdownParams {
  /** Only if no other client is connected and no session has entries that are not on disk yet; else refused with Busy, and nothing ends. A newer client replaces an older daemon so. */
  ifIdle?: boolean;
}

/** An empty object. */
export type Nothing = Record<string, never>;

/** A new session. */
export interface CreateParams {
  /** Repeating it from the same `client.id` within ten minutes repeats the answer, not the act. */
  requestId?: string | null;
  /** The folder the session belongs to; relative to the client's `cwd`. */
  cwd: string;
  /** Session id; letters, digits, `.`, `_`, `-`, first and last a letter or digit. A UUIDv7 when absent. */
  id?: string | null;
  /** Its name. */
  name?: string | null;
  /** Where it lives: a file of pi's, or this daemon's memory only. */
  store?: "jsonl" | "memory";
}

/** The new session; nothing is on disk yet. */
export interface CreateResult {
  /** Its handle. */
  session: string;
  /** The planned path; null in memory. */
  path: string | null;
  /** Names this loading of the session. */
  epoch: string;
  /** Its revision. */
  rev: number;
  /** Where it stands. */
  leaf: EntryId | null;
}

/** The session that `pi --continue` would take. */
export interface Latest {
  /** Of this folder. */
  cwd: string;
}

/** What a client has seen already. */
export interface Position {
  /** The epoch it knows. */
  epoch: string;
  /** The revision it knows. */
  rev: number;
}

/** That rows are wanted, at `session/open`. */
export interface RowsWish {
  /** Which rows there are. */
  filter?: "default" | "no-tools" | "user-only" | "labeled-only" | "all";
  /** At most so many of the main line around `here` come with the answer. */
  count?: number;
}

/** Exactly one of `session`, `path` and `latest`. */
export interface OpenParams {
  /** Session id or handle. */
  session?: string | null;
  /** Path of the file; relative to the client's `cwd`. */
  path?: string | null;
  /** The newest session of a folder. */
  latest?: Latest | null;
  /** What the client has seen already; where the daemon still has all that came after it, it answers in mode `deltas`. */
  since?: Position | null;
  /** The client draws rows: the answer brings those around `here`, and each change then tells how the rows have changed. */
  rows?: RowsWish | null;
}

/** Another program went on elsewhere than a client had moved to. */
export interface LeafConflict {
  /** Where the session stands for the daemon's clients. */
  ours: EntryId | null;
  /** Where the other program went on. */
  theirs: EntryId | null;
}

/** A client of the daemon, or a running pi, as the one who did something. */
export interface ClientOrigin {
  /** Its name, for people. */
  client: string;
  /** The id it keeps over reconnects. */
  clientId: string;
  /** The `requestId` it gave, if any. */
  requestId?: string | null;
  /** Of a running pi, which is the client `pi`: its process. */
  pid?: number | null;
}

/** The context size if one stood at a node. */
export interface NodeSize {
  /** In tokens. */
  tokens: number;
  /** Measured by a provider, or estimated from characters. */
  source: "measured" | "estimated";
}

/** One entry as trees show it; never its body. */
export interface Node {
  id: EntryId;
  /** The entry it hangs under; null for a root (an orphan or a cut cycle too). */
  parent: EntryId | null;
  /** The entry's type as the file spells it. */
  type: string;
  /** The message's role; absent where the entry is no message. */
  role?: string | null;
  /** One line of plain text, at most 200 UTF-16 units. */
  preview: string;
  /** ISO 8601 as the entry carries it; null when it carries none. */
  time: string | null;
  /** How many children it has. */
  children: number;
  /** Its own estimate in tokens; null until known. */
  tokens: number | null;
  /** Null until known. */
  contextSize: NodeSize | null;
  /** Its label; null when cleared, absent when it has none. */
  label?: string | null;
  /** Any of active, leaf, branchPoint, orphan, problem, unsaved, external. */
  flags: string[];
  /** The nearest ancestor that the filter shows; in answers to session/tree only. */
  visibleParent?: EntryId | null;
}

/** One thing that happened. Its parts are upserts by entry id: absent means unchanged, null means cleared, and applying one twice changes nothing. */
export interface Change {
  /** append, navigate, compact, fork, label, rename, edit, save, problem or leafConflict; at an unknown kind a client fetches again. Further members belong to the kind. */
  kind: string;
  /** Who did it. */
  origin: ClientOrigin | "external" | "repair";
  /** New or changed nodes. */
  nodes?: Node[];
  [member: string]: unknown;
}

/** One of the entries that take most of the context. */
export interface Largest {
  /** Which. */
  entry: EntryId;
  /** The row of the main line that shows it under the default filter: its own, or the work it is in. Only in answers to `session/contextSize` for the leaf, once somebody has asked for rows. */
  row?: string | null;
  /** One plain line, at most 80 UTF-16 units. */
  title: string;
  /** Its own estimate in tokens, edits applied. */
  tokens: number;
  /** ISO time of the entry; absent when it has none. */
  time?: string | null;
}

/** The context size at one entry. */
export interface ContextSize {
  /** The figure to show, in tokens: measured where there is one, else estimated. */
  tokens: number;
  /** What `tokens` stands on. */
  source: "measured" | "estimated";
  /** Estimate from characters, in tokens; null while not every entry has been sized yet. */
  estimated: number | null;
  /** In tokens; null when no usage counts here, as right after a compaction. */
  measured: number | null;
  /** ISO time of the assistant message that `measured` stands on. */
  measuredAt: string | null;
  /** The size before the newest compaction in tokens, until the next answer; else null. */
  before: number | null;
  /** The model's context window in tokens; null when unknown. */
  window: number | null;
  /** Of the window, 0 to 100 and above; null when the window is unknown. */
  percent: number | null;
  /** Estimated tokens by part, which add up to `estimated`; custom messages and shell output count as user. Absent where they were not counted. */
  parts?: Partial<Record<"system" | "user" | "assistant" | "thinking" | "toolCalls" | "toolResults" | "images" | "summaries", number>> | null;
  /** `tokens` less the sum of the parts; absent without parts. */
  unexplained?: number | null;
  /** The model whose window it is, as `provider/modelId`; null when none was named. */
  model: string | null;
  /** The thinking level in force there; absent when none was chosen. */
  thinkingLevel?: string | null;
  /** By the thresholds of the settings; `ok` when the window is unknown. */
  grade: "ok" | "warn" | "high";
  /** The size above which a compaction is due, in tokens; null when the window is unknown or compaction is turned off. */
  dueAt: number | null;
  /** Whether a compaction is due. */
  due: boolean;
  /** The ten entries that take most of it, the largest first; absent where not counted. */
  largest?: Largest[] | null;
}

/** Something in the file that could not be taken as it stands. */
export interface Problem {
  /** A stable word: badLine, noId, orphan, cycle, duplicateId, … */
  kind: string;
  /** What was found, in one sentence. */
  message: string;
  /** What it means for whoever reads the session, in one sentence; empty for an unknown kind. */
  consequence: string;
  /** Counted from 1; null when it is about no line. */
  line: number | null;
  /** Byte offset of that line from the beginning of the file. */
  offset: number | null;
  /** The entry it is about; null when there is none. */
  entry: EntryId | null;
}

/** Where a compaction or a move with a summary stands. */
export interface Progress {
  /** The handle. */
  session: string;
  /** What runs: a compaction, a move with a summary, a fork, a move that waits for a client. */
  operation: "compact" | "summarise" | "fork" | "navigate";
  /** Tells one operation from the next. */
  operationId: string;
  /** Who began it; `repair` where the daemon did by itself. */
  origin: ClientOrigin | "external" | "repair";
  /** Asked for, or because the context had become too large. */
  reason: "manual" | "threshold";
  /** The last three end it. */
  state: "begin" | "report" | "done" | "failed" | "cancelled";
  /** UTF-16 code units of summary that have come. */
  received: number;
  /** Who writes; null until it is chosen. */
  summarizer: string | null;
  /** What went wrong, or who cancelled, in one sentence. */
  message?: string | null;
}

/** A client that has a session open. */
export interface Present {
  /** The id it keeps over reconnects. */
  client: string;
  /** Its name, for people. */
  name: string;
}

/** A pi that has a session open now. */
export interface LivePi {
  /** Names it in the member `pi` of a request. */
  pid: number;
  /** How it runs. */
  mode: "tui" | "rpc" | "print" | "json";
  /** pi's version. */
  version: string;
  /** What it is doing; stalled: it does not answer. */
  state: "idle" | "turn" | "compaction" | "summary" | "stalled";
  /** A dialog of pi's is open. */
  waitingForUser: boolean;
  /** Messages that wait for the end of its run. */
  pending: number;
  /** Whether it can be moved and prompted from here. */
  drives: boolean;
  /** Why it cannot, in a sentence. */
  why?: string | null;
  /** It alone has the session open, and everything is written by it. */
  owner: boolean;
  /** Entries in the file that it has not read; 0: none. */
  unseen: number;
  /** Where it stands. */
  leaf: EntryId | null;
  /** Another pi's shell began it. */
  nested?: boolean;
}

/** How often a tool was called. */
export interface RowCount {
  /** The tool. */
  name: string;
  /** How often. */
  n: number;
}

/** The context size if one stood at a row's last entry. */
export interface RowSize {
  /** In tokens. */
  tokens: number;
  /** Of the window; null when the window is unknown. */
  percent: number | null;
  /** Measured by a provider, or estimated from characters. */
  source: "measured" | "estimated";
  /** By the thresholds of the settings. */
  grade: "ok" | "warn" | "high";
}

/** One painted line, standing for one or more entries. */
export interface Row {
  /** `e:` entry, `w:` first of the work, `b:` first of the branch, `g:` branch point, `s:` compaction, `ahead`, `here`; it stays when the tree grows. */
  id: string;
  /** What it stands for. */
  kind: "user" | "answer" | "work" | "step" | "bash" | "note" | "compaction" | "summarised" | "branchSummary" | "alternative" | "group" | "ahead" | "here" | "meta";
  /** The row it is inside; null: the main line. */
  level: string | null;
  /** The row of its level it stands behind; null: the first. */
  after: string | null;
  /** What acting on it means; of an alternative and of `ahead` its end. Null: before the first entry. */
  entry: EntryId | null;
  /** The first entry it stands for; null for `here`. */
  first: EntryId | null;
  /** The last entry it stands for; null for `here`. */
  last: EntryId | null;
  /** How many entries it stands for. */
  entries: number;
  /** One plain line, at most 200 UTF-16 units. */
  title: string;
  /** The label of its entry; null without one. */
  label: string | null;
  /** Tools, most used first; of work and steps. */
  counts: RowCount[];
  /** Failed steps in it. */
  failed: number;
  /** Of work: results in it that are out of the context, or replaced in it; absent where none is. Where all are, the row is flagged `omitted`. */
  out?: number | null;
  /** How it ended; null where nothing can fail. */
  outcome: "ok" | "failed" | "error" | "aborted" | "running" | null;
  /** ISO 8601 of `entry`, of its last entry where it stands for others that have rows; null where it cannot be read. */
  time: string | null;
  /** Milliseconds from its first entry to `entry`; of work only. */
  duration: number | null;
  /** Its own size, estimated, in tokens; null until known. */
  tokens: number | null;
  /** Null until known. */
  size: RowSize | null;
  /** Rows inside it; 0 where it cannot be opened. */
  rows: number;
  /** Levels it is away from the main line. */
  depth: number;
  /** How it is at first. */
  fold: "none" | "closed" | "open";
  /** States, none of which is told by colour alone. */
  flags: ("active" | "ahead" | "summarised" | "omitted" | "replaced" | "unsaved" | "problem" | "external" | "notInContext")[];
  /** Handles or paths of sessions forked here. */
  forks: string[];
  /** Who appended it, where that is known: a client's name, or `external`. */
  by: string | null;
}

/** Rows of one level in their order. */
export interface RowsResult {
  /** The revision they are of; a page of another one is merged by id. */
  rev: number;
  /** The row they are inside; null: the main line. */
  level: string | null;
  /** Rows of the whole level. */
  total: number;
  /** The stretch. */
  rows: Row[];
  /** Goes on in front of here; absent at the beginning. */
  before?: string | null;
  /** Goes on behind here; absent at the end. */
  after?: string | null;
  /** With `around`: the rows to open on the way, the outermost first. */
  path?: string[] | null;
}

/** The session as it stands, in the same step as the subscription to what comes. */
export interface OpenResult {
  /** Its handle at this daemon: the session id, or the path where another open file has that id. The next daemon may call it otherwise, and another session so: after a loss ask nothing by it before the session is open again, by its path. */
  session: string;
  /** Real path; the planned one while unsaved; null in memory. */
  path: string | null;
  /** The header as the file has it. */
  header: JsonObject;
  /** Names this loading of the session; another one after a restart or a rewrite of the file. */
  epoch: string;
  /** Starts at 1 in each epoch and grows by one per entry or move. */
  rev: number;
  /** Where it stands; null is before the first entry. */
  leaf: EntryId | null;
  /** Nothing on disk yet. */
  unsaved: boolean;
  /** Why nothing can be written, in a sentence; null when it can. */
  readOnly: string | null;
  /** ISO time of the last append by another program seen; null if none. */
  lastExternal: string | null;
  /** Absent, or another program went on elsewhere and nobody has navigated since. */
  leafConflict?: LeafConflict | null;
  /** Its name. */
  name: string | null;
  /** Entries in the tree. */
  entryCount: number;
  /** snapshot: read the session anew. deltas: apply `changes` to what you have; `base` is the revision of `since`. */
  mode: "snapshot" | "deltas";
  /** In mode `deltas`: the revision before `changes`. */
  base?: number;
  /** In mode `deltas`: what happened since, in order. */
  changes?: Change[];
  /** At the leaf; null while sizes are still being counted. */
  contextSize: ContextSize | null;
  /** What in the file could not be taken as it stands. */
  problems: Problem[];
  /** What runs now; null when nothing does. */
  operation: Progress | null;
  /** Who has it open, the asking client included; `session/didPresence` tells of changes. */
  clients: Present[];
  /** Running pi that have it open, told of the same way; absent: none. */
  pis?: LivePi[];
  /** With `rows`: the main line around `here`. Absent where the session changed meanwhile; then ask with `session/rows`. */
  rows?: RowsResult | null;
  /** pi's setting `branchSummary.skipPrompt`: moves are not to ask whether to summarise. */
  skipBranchPrompt: boolean;
}

/** Which session is left. */
export interface CloseParams {
  /** Its handle. */
  session: string;
}

/** Which session to catch up with. */
export interface SyncParams {
  /** A handle; absent: every session this connection is subscribed to. */
  session?: string | null;
}

/** Which sessions; those asked for by several members have to fit all of them. */
export interface ListParams {
  /** Of this folder; absent: of all. */
  cwd?: string | null;
  /** Only those with all words of this text in name, id, path or first message (of a fork the first after its point too). */
  query?: string | null;
  /** Only those with all words of this text in their name. */
  name?: string | null;
  /** Only those that a client has open. */
  open?: boolean;
  /** Only those with nothing on disk yet. */
  unsaved?: boolean;
  /** Only those that a running pi has open, or another program wrote to in the last 15 minutes. */
  live?: boolean;
  /** At most so many. */
  limit?: number;
  /** Goes on where an answer ended. */
  cursor?: string | null;
  /** Tells this connection from now on, by `sessions/didChange`, of sessions (of `cwd`, if given) that come, change or go. The last request that sets it counts. */
  watch?: boolean;
}

/** Where a fork left the session it came from. */
export interface ForkPoint {
  /** The last entry that came along and says something; null for none. */
  entry: EntryId | null;
  /** What that entry says, one line. */
  preview: string | null;
  /** The first user text after it, one line: what tells a fork from its family. */
  firstMessage: string | null;
}

/** The context size at the end of a session of the list. */
export interface ListedSize {
  /** In tokens. */
  tokens: number;
  /** Measured by a provider, or estimated from characters. */
  source: "measured" | "estimated";
  /** Of the window of the model there; null when that is not known. A list has no model looked up: a window is known once a session with its model was opened, or where a file names it. */
  percent: number | null;
}

/** One line of the list. */
export interface ListedSession {
  /** Session id or handle, to open it by. */
  session: string;
  /** Its file, the real path; the planned one while unsaved; null in memory. */
  path: string | null;
  /** The folder it belongs to. */
  cwd: string;
  /** Its name. */
  name: string | null;
  /** Text of the first user message, one line. */
  firstMessage: string | null;
  /** How many messages, those of all branches. */
  messages: number;
  /** ISO time of the header. */
  created: string | null;
  /** ISO time of the newest user message or answer; without one, of the header. */
  modified: string;
  /** The session it was forked from: the real path of what its header says. */
  parentSession: string | null;
  /** By how many clients. */
  open: number;
  /** Nothing on disk yet. */
  unsaved: boolean;
  /** ISO time of the last append by another program; null if none is known. */
  lastExternal: string | null;
  /** A running pi has it open, or another program wrote to it in the last 15 minutes. */
  live: boolean;
  /** Null when it is no fork. */
  fork: ForkPoint | null;
  /** At the end of the session; null until known. */
  contextSize: ListedSize | null;
  /** The folder it belongs to is gone; a fork with another `cwd` goes on elsewhere. */
  cwdMissing: boolean;
  /** Path (or handle) of the session its family of forks began with, as far as it is there. */
  root: string;
  /** How many forks it is away from that one. */
  depth: number;
  /** Running pi that have it open now; absent: none. */
  pis?: LivePi[];
}

/** A folder in which sessions were looked for. */
export interface LookedAt {
  /** Its path; it need not be there. */
  path: string;
  /** It holds the sessions of all folders side by side. */
  shared: boolean;
}

/** A stretch of the list. */
export interface ListResult {
  /** Families of forks by their newest activity, each member before its forks. While files have yet to be read, these may be fewer than `limit`. */
  sessions: ListedSession[];
  /** Goes on here; null at the end. */
  cursor: string | null;
  /** Where it was looked. */
  folders: LookedAt[];
  /** How many files in them have not been read yet. */
  unread: number;
}

/** What is looked for, and where. */
export interface SearchParams {
  /** Words, all of which must stand in one text of an entry, in whatever case and with whatever accents; in double quotes a phrase. Words of one identifier (`getUserName`, `max_size`) and the whole are found, of scripts without spaces any piece. There are no operators. */
  query: string;
  /** In this session only: handle, id or path. */
  session?: string | null;
  /** Said by: a message's role (`user`, `assistant`, `toolResult`, `bashExecution`, `system`, `custom`), or `summary`, `label` or `name`. */
  role?: string | null;
  /** Calls and results of this tool only. */
  tool?: string | null;
  /** Entries with this label only, in whatever case. */
  label?: string | null;
  /** Sessions of this folder only; relative to the client's `cwd`. */
  cwd?: string | null;
  /** Not older than this ISO time. */
  since?: string | null;
  /** At most so many. */
  limit?: number;
  /** Goes on where an answer ended. */
  cursor?: string | null;
}

/** A stretch of a snippet. */
export interface MatchRange {
  /** In UTF-16 code units. */
  start: number;
  /** Just behind it. */
  end: number;
}

/** The piece of a text around what was found. */
export interface SearchSnippet {
  /** One plain line. */
  text: string;
  /** What was found in it, in order. */
  matches: MatchRange[];
}

/** The same entry in another file: a fork or a clone. */
export interface EntryCopy {
  /** Session id, to open it by. */
  session: string;
  /** Its file. */
  path: string;
}

/** A text in which all that was looked for stands. */
export interface SearchHit {
  /** Handle or session id, to open it by. */
  session: string;
  /** Its file; null in memory. */
  path: string | null;
  /** The folder the session belongs to. */
  cwd: string;
  /** The session's name. */
  name: string | null;
  /** The entry it stands in. */
  entry: EntryId;
  /** Who said it; see the parameter. */
  role: string;
  /** The tool that is called or answers. */
  tool: string | null;
  /** ISO time of the entry; null when it has none that can be read. */
  time: string | null;
  snippet: SearchSnippet;
  /** Where else the entry stands. */
  copies: EntryCopy[];
}

/** Some of what was found. */
export interface SearchResult {
  /** The best and newest first. */
  hits: SearchHit[];
  /** Goes on here; null at the end. */
  cursor: string | null;
  /** Session files that were not searched to their end, since they are still being read; ask again a little later. */
  pending: number;
}

/** A stretch of the tree: around an entry, or after or before one, or from the beginning. */
export interface TreeParams {
  /** Handle of an open session. */
  session: string;
  /** An entry in the middle of the stretch, or the leaf. */
  around?: EntryId | "leaf" | null;
  /** The stretch behind this entry. */
  after?: EntryId | null;
  /** The stretch in front of this entry. */
  before?: EntryId | null;
  /** At most so many nodes. */
  count?: number;
  /** Which entries are shown, in pi's words. */
  filter?: "default" | "no-tools" | "user-only" | "labeled-only" | "all";
}

/** Nodes in preorder, the active branch first; flat, never nested. */
export interface TreeResult {
  /** The revision they are of; a page of another one is merged by id. */
  rev: number;
  /** Nodes in the whole tree under this filter. */
  total: number;
  /** The stretch. */
  nodes: Node[];
  /** Goes on in front of here; absent at the beginning. */
  before?: EntryId | null;
  /** Goes on behind here; absent at the end. */
  after?: EntryId | null;
}

/** One level of the rows, or the part of it around an entry. */
export interface RowsParams {
  /** Handle of an open session. */
  session: string;
  /** The row whose inside is wanted; absent: the main line. */
  level?: string | null;
  /** An entry to be found: the answer is of its level, and `path` names those to open. */
  around?: EntryId | "here" | null;
  /** The stretch behind this row. */
  after?: string | null;
  /** The stretch in front of this row. */
  before?: string | null;
  /** At most so many rows. */
  count?: number;
  /** Which rows there are. */
  filter?: "default" | "no-tools" | "user-only" | "labeled-only" | "all";
}

/** Branches of a session, all or some. */
export interface BranchesParams {
  /** Handle of an open session. */
  session: string;
  /** Words of which each has to be in the label, the first or the last text; case and accents do not count. */
  query?: string;
  /** At most so many. */
  limit?: number;
  /** Goes on where an answer ended. */
  cursor?: string | null;
}

/** A branch by its end: the main line, or an alternative since it left the line it is on. */
export interface Branch {
  /** Its end: where to navigate to. */
  entry: EntryId;
  /** Whether it is the one the session stands on. */
  active: boolean;
  /** The newest label on it; null without one. */
  label: string | null;
  /** Its first user text, one line; else what its first row says. */
  first: string;
  /** What was said last, one line. */
  last: string;
  /** How many entries it has since it left the line. */
  entries: number;
  /** ISO time of its end; null where it cannot be read. */
  time: string | null;
  /** The context size at its end; null until known. */
  size: RowSize | null;
}

/** Some branches. */
export interface BranchesResult {
  /** The revision they are of. */
  rev: number;
  /** The active one, then the others, newest first; only those that have a row under the default filter. */
  branches: Branch[];
  /** Goes on here; null at the end. */
  cursor: string | null;
}

/** A stretch of the graph: from a line on, or around an entry. */
export interface GraphParams {
  /** Handle of an open session. */
  session: string;
  /** `turns`: a line for each row of the tree under the default filter, but those that only fold others away. `entries`: the same under `all`. `branches`: branch points, compactions, entries that sessions were forked from, `here`, and a line for the end of each branch. */
  zoom?: "branches" | "turns" | "entries";
  /** The number of the first line, from 0; past the end there are none. */
  start?: number;
  /** An entry to be found instead: its line stands in the middle, and `found` says which it is. */
  around?: EntryId | "here" | null;
  /** At most so many lines. */
  count?: number;
}

/** A lane beside a line: it passes the line by, or begins there. */
export interface GraphLane {
  /** Its number: 0 is the main line, 9 the bundle. */
  lane: number;
  /** The context size there, which is how wide it is; null until known, and for the bundle. */
  tokens: number | null;
  /** Of the window; null when the window or the size is unknown, and for the bundle. */
  percent: number | null;
  /** The number of the next line in it. */
  next: number | null;
  /** How many branches are in it: more than one in the bundle only, and absent for one. */
  count?: number;
  /** Its branch has no line above: the lane only leads from the branch point to the first. Absent where it does not. */
  leads?: boolean;
}

/** What is told in the last line of a branch; the context size there is that of the line. */
export interface GraphEnd {
  /** The row of the branch in the tree (`b:`); null for the main line. */
  row: string | null;
  /** The last entry of it: where to navigate to; null in a session without entries. */
  entry: EntryId | null;
  /** How many entries it has since it left the line it is on. */
  entries: number;
  /** What its row in the tree is called; empty for the main line. */
  title: string;
  /** The newest label on it; null without one. */
  label: string | null;
}

/** One line of the graph; what it has in common with a row of the tree means the same there. */
export interface GraphLine {
  /** The id of the row of the tree that it is; no two lines have the same. */
  id: string;
  /** What it stands for; never `summarised`, `group`; `alternative` and `ahead` only where the zoom is `branches`, as the end of a branch. */
  kind: "user" | "answer" | "work" | "step" | "bash" | "note" | "compaction" | "summarised" | "branchSummary" | "alternative" | "group" | "ahead" | "here" | "meta";
  /** What acting on it means; null: before the first entry. */
  entry: EntryId | null;
  /** The first entry it stands for; null for `here`. */
  first: EntryId | null;
  /** The last entry it stands for; null for `here`. */
  last: EntryId | null;
  /** How many entries its row stands for. */
  entries: number;
  /** One plain line, at most 200 UTF-16 units. */
  title: string;
  /** The label of its entry; null without one. */
  label: string | null;
  /** Tools, most used first; of work and steps. */
  counts: RowCount[];
  /** Failed steps in it. */
  failed: number;
  /** Of work: results in it that are out of the context; absent where none is. */
  out?: number | null;
  /** How it ended; null where nothing can fail. */
  outcome: "ok" | "failed" | "error" | "aborted" | "running" | null;
  /** ISO 8601 of `entry`; null where it cannot be read. */
  time: string | null;
  /** Milliseconds from its first entry to `entry`; of work only. */
  duration: number | null;
  /** Its own size, estimated, in tokens; null until known. */
  tokens: number | null;
  /** The context size if one stood there, which is how wide its lane is; null until known. */
  size: RowSize | null;
  /** States, none of which is told by colour alone. */
  flags: ("active" | "ahead" | "summarised" | "omitted" | "replaced" | "unsaved" | "problem" | "external" | "notInContext")[];
  /** Handles or paths of sessions forked here. */
  forks: string[];
  /** Who appended it, where that is known: a client's name, or `external`. */
  by: string | null;
  /** Its lane: 0 is the main line, 1 to 8 those beside it, 9 the bundle of all the rest. */
  lane: number;
  /** The number of the line it stands under, always smaller than its own; null for a root. */
  parent: number | null;
  /** The number of the next line of its branch; null at its end. */
  next: number | null;
  /** Its branch leaves the bundle here, so that a connection leads from lane 9 to its own; absent where it does not. */
  comesOut?: boolean;
  /** The lanes that come from above and go on below, by number; its own is among them only where it is the bundle and others are in that. */
  passing: GraphLane[];
  /** The lanes that begin here, led to their places from its own lane. */
  leaving: GraphLane[];
  /** Where a branch ends; absent elsewhere. */
  end?: GraphEnd | null;
}

/** A stretch of the graph, oldest line first. Lines are numbered from the top. A change of the session may number them anew: who draws asks again for what is in sight, at most every 200 ms, by `around` and what it holds on to, and merges by id. */
export interface GraphResult {
  /** The revision they are of. */
  rev: number;
  /** As asked for. */
  zoom: "branches" | "turns" | "entries";
  /** Lines of the whole graph. */
  total: number;
  /** Lanes of the whole graph, 10 at most; the bundle is the tenth. */
  lanes: number;
  /** The context window in tokens that percents are of; null when unknown. */
  window: number | null;
  /** The number of the line `here`. */
  here: number;
  /** The number of the first line below. */
  start: number;
  /** The stretch. */
  lines: GraphLine[];
  /** With `around`: the number of the line that stands for the entry; where none does, of the nearest one. */
  found?: number | null;
  /** The number of the last line before the stretch at which branches leave; null for none. */
  pointBefore: number | null;
  /** The number of the first line behind the stretch at which branches leave; null for none. */
  pointAfter: number | null;
}

/** Bodies of entries: of some, of a branch, or since one; of the active branch by default. */
export interface EntriesParams {
  /** Handle of an open session. */
  session: string;
  /** These, in this order. */
  ids?: EntryId[] | null;
  /** Those on the path to this entry. */
  branch?: EntryId | "leaf" | null;
  /** Those behind this one. */
  since?: EntryId | null;
  /** From the root on, or as the file has them (the append log, moves included). */
  order?: "branch" | "file";
  /** At most so many. */
  limit?: number;
  /** Goes on where an answer ended. */
  cursor?: string | null;
}

/** Entries as stored. */
export interface EntriesResult {
  /** The revision they are of. */
  rev: number;
  /** Each as the file has it, byte for byte; an old file's as migrated. */
  entries: JsonObject[];
  /** Goes on here; null at the end. */
  cursor: string | null;
}

/** Where to look from. */
export interface ContextParams {
  /** Handle of an open session. */
  session: string;
  /** The projection at this entry; null: before the first one; absent: at the leaf. */
  entry?: EntryId | null;
  /** At most so many messages. */
  limit?: number | null;
  /** Goes on where an answer ended. */
  cursor?: string | null;
}

/** An entry on the branch that gives no message. */
export interface Omitted {
  /** Which. */
  id: EntryId;
  /** Why. */
  reason: "compacted" | "edited" | "noMessage";
}

/** What the model would be sent. */
export interface ContextResult {
  /** The revision it is of. */
  rev: number;
  /** In the order they would be sent. */
  messages: JsonObject[];
  /** The entry each message comes from. */
  sources: EntryId[];
  /** Provider and model as they stand; null when none was chosen. */
  model: JsonObject | null;
  /** As it stands. */
  thinkingLevel: unknown;
  /** As they stand; null when the session does not say. */
  activeTools: unknown;
  /** Entries on the branch that give no message. */
  omitted: Omitted[];
  /** Goes on here; null at the end. */
  cursor: string | null;
}

/** The size at the leaf, or at some entries. */
export interface ContextSizeParams {
  /** Handle of an open session. */
  session: string;
  /** Which entries; absent: the leaf. */
  entries?: EntryId[] | null;
  /** The context window to count by, in tokens; absent: that of the model. */
  window?: number | null;
}

/** Sizes at the entries asked for. */
export interface ContextSizes {
  /** By entry id (a number as its text). */
  sizes: Record<string, ContextSize>;
}

/** One size, or with `entries` one for each. */
export type ContextSizeResult = ContextSize | ContextSizes;

/** Which session. */
export interface SessionParams {
  /** Handle of an open session. */
  session: string;
}

/** Tokens as the entries themselves say. */
export interface TokenTotals {
  /** Sent, in tokens. */
  input: number;
  /** Written by the model, in tokens. */
  output: number;
  /** Read from the provider's cache, in tokens. */
  cacheRead: number;
  /** Written to it, in tokens. */
  cacheWrite: number;
}

/** Totals of one model. */
export interface ModelTotals {
  /** Provider and model. */
  model: string;
  /** What it used. */
  tokens: TokenTotals;
  /** In US dollars, as the entries say. */
  cost: number;
}

/** Totals of a branch or of the whole file. */
export interface StatsPart {
  /** How many, by role. */
  messages: Record<string, number>;
  /** How many. */
  toolCalls: number;
  /** Over all models. */
  tokens: TokenTotals;
  /** In US dollars, as the entries say. */
  cost: number;
  /** By model. */
  models: ModelTotals[];
}

/** Totals. */
export interface StatsResult {
  /** The revision they are of. */
  rev: number;
  /** Of the active branch. */
  branch: StatsPart;
  /** Of all entries. */
  file: StatsPart;
}

/** Two branches, each named by its end. */
export interface CompareParams {
  /** Handle of an open session. */
  session: string;
  /** The end of one; `leaf`: the active branch. */
  a: EntryId | "leaf";
  /** The end of the other. */
  b: EntryId | "leaf";
}

/** Files by what the tool calls did to them. */
export interface FileLists {
  /** Read and not modified. */
  read: string[];
  /** Written or edited. */
  modified: string[];
}

/** One branch since the common ancestor. */
export interface ComparedSide {
  /** How many. */
  entries: number;
  /** How many of them are user messages. */
  turns: number;
  /** The context size at its end. */
  size: ContextSize;
  /** What its answers used. */
  tokens: TokenTotals;
  /** In US dollars, as the entries say. */
  cost: number;
  /** From its first to its last entry. */
  seconds: number;
  /** As its tool calls tell. */
  files: FileLists;
}

/** Both branches since they parted. */
export interface CompareResult {
  /** The revision they are of. */
  rev: number;
  /** The deepest entry on both; null when they share none. */
  ancestor: EntryId | null;
  /** The context size there; null without one. */
  ancestorSize: ContextSize | null;
  /** The one. */
  a: ComparedSide;
  /** The other. */
  b: ComparedSide;
}

/** A summarizer that can be named in session/compact and session/navigate. */
export interface SummarizerChoice {
  /** What to name. */
  name: string;
  /** Who would write, as `provider/modelId`; null where it is no model, or not known. */
  model: string | null;
  /** Whether it could be asked now. */
  ready: boolean;
  /** Why not, in a sentence with the next step; null when it could. */
  reason: string | null;
  /** The one that is taken when none is named. */
  default: boolean;
}

/** Who can write summaries for this session. */
export interface SummarizersResult {
  /** The default first; empty when nothing is set up. */
  summarizers: SummarizerChoice[];
}

/** What in the file could not be taken as it stands. */
export interface CheckResult {
  /** In file order; empty when all is well. */
  problems: Problem[];
}

/** What of a session, in which form, and where to. */
export interface ExportParams {
  /** Handle of an open session. */
  session: string;
  /** jsonl: a session of its own, as pi exports one. markdown: to be read, tool output folded. html: a page that needs nothing else. */
  format: "jsonl" | "markdown" | "html";
  /** The branch down to this entry; absent: to the leaf. */
  entry?: EntryId | null;
  /** html only: the tree with all its branches. */
  whole?: boolean;
  /** A new file to write to, relative to the client's `cwd`; it is never written over. Absent: the answer holds the text, up to 8 MiB. */
  path?: string | null;
}

/** The export. */
export interface ExportResult {
  /** The revision it is of. */
  rev: number;
  /** The text; absent when it went to a file. */
  text?: string | null;
  /** The file that was written; absent with `text`. */
  path?: string | null;
  /** How large it is. */
  bytes: number;
}

/** Exactly one of `path` and `text`: a session to be copied among pi's own. */
export interface ImportParams {
  /** Repeating it from the same `client.id` within ten minutes repeats the answer, not the act. */
  requestId?: string | null;
  /** A session file; relative to the client's `cwd`. It is only read. */
  path?: string | null;
  /** The lines of one. */
  text?: string | null;
  /** The copy's id; absent: the session's own. */
  id?: string | null;
  /** Give it a new UUIDv7. */
  newId?: boolean;
  /** The folder it is to belong to; absent: what its header says. Nothing else of it changes. */
  cwd?: string | null;
}

/** The copy; it is not opened. */
export interface ImportResult {
  /** Its id. */
  session: string;
  /** Its file. */
  path: string;
}

/** Exactly one of `session` and `path`. */
export interface DeleteParams {
  /** Repeating it from the same `client.id` within ten minutes repeats the answer, not the act. */
  requestId?: string | null;
  /** Session id or handle. */
  session?: string | null;
  /** Path of the file; relative to the client's `cwd`. */
  path?: string | null;
  /** Needed for a session that is on no disk: nothing brings it back. */
  discard?: boolean;
}

/** The session that is no more. */
export interface DeleteResult {
  /** Its handle. */
  session: string;
  /** Where its file was or would have been; null in memory. */
  path: string | null;
  /** Whether a file went to the trash; else there was none. */
  trashed: boolean;
}

/** Exactly one of `entry` and `entries`. */
export interface AppendParams {
  /** Repeating it from the same `client.id` within ten minutes repeats the answer, not the act. */
  requestId?: string | null;
  /** Handle of an open session. */
  session: string;
  /** Compare-and-set: refused with LeafMoved if the leaf is another one. Null: before the first entry. Absent: no comparison. */
  baseLeaf?: EntryId | null;
  /** Pid of the running pi that is to do it, where several have the session open. */
  pi?: number | null;
  /** While the pi that has it open is at work: wait until it is idle, then decide anew. One request a session waits so. */
  whenIdle?: boolean;
  /** Any type; id, parentId and timestamp may be left out. A known id with the same body repeats the answer, with another body it is DuplicateEntry. */
  entry?: JsonObject | null;
  /** Several, appended as one change: all or none. */
  entries?: JsonObject[] | null;
  /** Allows a parent other than the leaf. */
  detached?: boolean;
}

/** The entries are on disk, or held back by the flush rule. */
export interface AppendResult {
  /** The session's revision after the change. */
  rev: number;
  /** The leaf after the change; null is before the first entry. */
  leaf: EntryId | null;
  /** Of the entries appended, in their order. */
  ids: EntryId[];
}

/** Where to move the leaf. */
export interface NavigateParams {
  /** Repeating it from the same `client.id` within ten minutes repeats the answer, not the act. */
  requestId?: string | null;
  /** Handle of an open session. */
  session: string;
  /** Compare-and-set: refused with LeafMoved if the leaf is another one. Null: before the first entry. Absent: no comparison. */
  baseLeaf?: EntryId | null;
  /** Pid of the running pi that is to do it, where several have the session open. */
  pi?: number | null;
  /** While the pi that has it open is at work: wait until it is idle, then decide anew. One request a session waits so. */
  whenIdle?: boolean;
  /** The entry to go to; null: before the first one. */
  target: EntryId | null;
  /** Stand at that very entry, also when it is a user message (else its parent, as in pi). */
  exact?: boolean;
  /** Have the branch that is left summarised. */
  summarize?: boolean;
  /** A summary of the branch that is left, already written. */
  summary?: string | null;
  /** For the summarizer; with `summarize` only. */
  customInstructions?: string | null;
  /** The instructions stand instead of the usual ones; with `summarize` only. */
  replaceInstructions?: boolean;
  /** Who is to write, by name (session/summarizers); with `summarize` only. */
  summarizer?: string | null;
  /** Put on the summary, or without one on the target. */
  label?: string | null;
  /** Change nothing and say what the move would do, in `preview`. */
  dryRun?: boolean;
  /** With `summarize`: under which `$/progress` tells how far it is. */
  workDoneToken?: string | number | null;
}

/** What leaves the active branch. */
export interface LeftBehind {
  /** How many. */
  entries: number;
  /** How many of them are user messages. */
  turns: number;
}

/** What asking a summarizer comes to. */
export interface Forecast {
  /** Its name. */
  summarizer: string;
  /** As `provider/modelId`; null where it is no model. */
  model: string | null;
  /** Estimate of what it reads, in tokens. */
  tokensIn: number;
  /** In US dollars, with a summary half as long as it may get; null when the price is unknown. */
  cost: number | null;
}

/** What a move or a fork would do. */
export interface MovePreview {
  /** Where one would stand. */
  leaf: EntryId | null;
  /** What leaves the active branch; it stays in the tree. */
  leaves: LeftBehind;
  /** The context size now. */
  sizeNow: ContextSize;
  /** The context size there. */
  sizeAfter: ContextSize;
  /** The text that would come back for the prompt; null without one. */
  returnsText: string | null;
  /** ISO time of another program's newest write in the last 15 minutes: what runs there will not follow. Null without one. */
  outside: string | null;
  /** Of summarising what is left; null when nothing is left, or nobody could. */
  summary: Forecast | null;
}

/** Where the session stands now. */
export interface NavigateResult {
  /** The session's revision after the change. */
  rev: number;
  /** The leaf after the change; null is before the first entry. */
  leaf: EntryId | null;
  /** Text of the user message navigated to, for the prompt. */
  editorText?: string | null;
  /** The summary that was written. */
  summaryEntry?: EntryId | null;
  /** With `dryRun`. */
  preview?: MovePreview | null;
}

/** With `dryRun` nothing is written; with `summary` that is; else a summarizer is asked. */
export interface CompactParams {
  /** Repeating it from the same `client.id` within ten minutes repeats the answer, not the act. */
  requestId?: string | null;
  /** Handle of an open session. */
  session: string;
  /** Compare-and-set: refused with LeafMoved if the leaf is another one. Null: before the first entry. Absent: no comparison. */
  baseLeaf?: EntryId | null;
  /** Pid of the running pi that is to do it, where several have the session open. */
  pi?: number | null;
  /** While the pi that has it open is at work: wait until it is idle, then decide anew. One request a session waits so. */
  whenIdle?: boolean;
  /** For the summarizer. */
  customInstructions?: string | null;
  /** A summary already written. */
  summary?: string | null;
  /** True: what would be cut and kept. `summary`: the written summary too, unstored. */
  dryRun?: true | "summary" | null;
  /** Who is to write, by name (session/summarizers). */
  summarizer?: string | null;
  /** With `summary`: the `draft` that `dryRun: "summary"` answered, so that what writing it cost and the files it tells of are stored too. */
  draft?: string | null;
  /** With `dryRun: true`: `preview.inputs` holds what the summarizer would read. */
  withInput?: boolean;
  /** Under which `$/progress` tells how far the summary is. */
  workDoneToken?: string | number | null;
}

/** What one call of a summarizer reads. */
export interface SummaryInput {
  /** The history cut off, the beginning of the turn that is split, or a branch that is left. */
  kind: "history" | "turnPrefix" | "branch";
  /** The messages in plain text. */
  text: string;
  /** The summary that is brought up to date; null without one. */
  previousSummary: string | null;
}

/** What a compaction would do. */
export interface CompactionPreview {
  /** The entry where the retained part begins. */
  firstKept: EntryId;
  /** The cut lies inside a turn, whose beginning is summarised apart. */
  isSplitTurn: boolean;
  /** Entries the summary would stand for. */
  summarised: EntryId[];
  /** Entries of the turn that is split, up to the cut. */
  turnPrefix: EntryId[];
  /** Entries that stay. */
  kept: EntryId[];
  /** Context size now, in tokens. */
  tokensBefore: number;
  /** Estimate of what stays besides the summary, in tokens. */
  tokensKept: number;
  /** An earlier summary would be updated. */
  previousSummary: boolean;
  /** Files that were read only. */
  readFiles: string[];
  /** Files that were written or edited. */
  modifiedFiles: string[];
  /** How long the summary may get, in tokens. */
  summaryAtMost: number;
  /** Estimate of the size after it with a summary of that length, in tokens. */
  tokensAfter: number;
  /** What asking the summarizer comes to; null when there is none. */
  forecast: Forecast | null;
  /** Why there is none, in a sentence; absent when there is one. */
  noSummarizer?: string | null;
  /** What the summarizer would read; with `withInput` only. */
  inputs?: SummaryInput[] | null;
}

/** Where the session stands now; with `dryRun` as before. */
export interface CompactResult {
  /** The session's revision after the change. */
  rev: number;
  /** The leaf after the change; null is before the first entry. */
  leaf: EntryId | null;
  /** The compaction that was written. */
  entry?: EntryId | null;
  /** The context size before it, in tokens; where one was written. */
  tokensBefore?: number | null;
  /** After it, by estimate, in tokens; where one was written. */
  tokensAfter?: number | null;
  /** With `dryRun`. */
  preview?: CompactionPreview | null;
  /** With `dryRun: "summary"`: the text, which is stored nowhere. */
  summary?: string | null;
  /** With `dryRun: "summary"`: what writing it used; absent where that is not known. */
  usage?: JsonObject | null;
  /** With `dryRun: "summary"`: names the text in the compaction that stores it. */
  draft?: string | null;
}

/** Which session's operation is to end. */
export interface CancelOperationParams {
  /** Repeating it from the same `client.id` within ten minutes repeats the answer, not the act. */
  requestId?: string | null;
  /** Handle of an open session. */
  session: string;
  /** Only this one; absent: whatever runs. */
  operationId?: string | null;
}

/** What was ended. */
export interface CancelOperationResult {
  /** The operation as it stood; null when nothing ran, or another one. Answered when it is over (within a second); how it ended is told, for where its entry was being written it is done. */
  cancelled: Progress | null;
}

/** A new session from the path to an entry, or with `cwd` and no `entry` from all entries. */
export interface ForkParams {
  /** Repeating it from the same `client.id` within ten minutes repeats the answer, not the act. */
  requestId?: string | null;
  /** Handle of an open session. */
  session: string;
  /** Compare-and-set: refused with LeafMoved if the leaf is another one. Null: before the first entry. Absent: no comparison. */
  baseLeaf?: EntryId | null;
  /** Pid of the running pi that is to do it, where several have the session open. */
  pi?: number | null;
  /** While the pi that has it open is at work: wait until it is idle, then decide anew. One request a session waits so. */
  whenIdle?: boolean;
  /** Absent: the leaf, `at`. */
  entry?: EntryId | null;
  /** `before` (a user message, its text comes back) or `at` any entry; `before` by default. */
  position?: "before" | "at" | null;
  /** The folder the new session belongs to; relative to the client's `cwd`. */
  cwd?: string | null;
  /** The running pi that has the session open goes to the new one; only when it is idle. A session that it keeps in memory it forks itself. */
  takePi?: boolean;
  /** Change nothing and say what the fork would hold, in `preview`. */
  dryRun?: boolean;
}

/** The new session; `rev` and `leaf` are its own. Its file follows the flush rule. */
export interface ForkResult {
  /** The session's revision after the change. */
  rev: number;
  /** The leaf after the change; null is before the first entry. */
  leaf: EntryId | null;
  /** Its handle. */
  session: string;
  /** Its path, planned while unsaved; null in memory. */
  path: string | null;
  /** Nothing on disk yet. */
  unsaved: boolean;
  /** Text of the user message forked before, for the prompt. */
  editorText?: string | null;
  /** The source's revision in which its subscribers are told of the fork. */
  sourceRev?: number;
  /** With `takePi`: why pi is where it was all the same, in a sentence; absent when it came. */
  piStayed?: string | null;
  /** With `dryRun`; `session` and `path` are then the source's. */
  preview?: MovePreview | null;
}

/** A new session holding the active branch. */
export interface CloneParams {
  /** Repeating it from the same `client.id` within ten minutes repeats the answer, not the act. */
  requestId?: string | null;
  /** Handle of an open session. */
  session: string;
  /** Compare-and-set: refused with LeafMoved if the leaf is another one. Null: before the first entry. Absent: no comparison. */
  baseLeaf?: EntryId | null;
  /** Pid of the running pi that is to do it, where several have the session open. */
  pi?: number | null;
  /** While the pi that has it open is at work: wait until it is idle, then decide anew. One request a session waits so. */
  whenIdle?: boolean;
}

/** Labels an entry. */
export interface LabelParams {
  /** Repeating it from the same `client.id` within ten minutes repeats the answer, not the act. */
  requestId?: string | null;
  /** Handle of an open session. */
  session: string;
  /** Compare-and-set: refused with LeafMoved if the leaf is another one. Null: before the first entry. Absent: no comparison. */
  baseLeaf?: EntryId | null;
  /** Pid of the running pi that is to do it, where several have the session open. */
  pi?: number | null;
  /** While the pi that has it open is at work: wait until it is idle, then decide anew. One request a session waits so. */
  whenIdle?: boolean;
  /** Which entry. */
  target: EntryId;
  /** Null or empty clears it. */
  label: string | null;
}

/** What every change to a session answers. */
export interface Done {
  /** The session's revision after the change. */
  rev: number;
  /** The leaf after the change; null is before the first entry. */
  leaf: EntryId | null;
}

/** Names the session. */
export interface RenameParams {
  /** Repeating it from the same `client.id` within ten minutes repeats the answer, not the act. */
  requestId?: string | null;
  /** Handle of an open session. */
  session: string;
  /** Compare-and-set: refused with LeafMoved if the leaf is another one. Null: before the first entry. Absent: no comparison. */
  baseLeaf?: EntryId | null;
  /** Pid of the running pi that is to do it, where several have the session open. */
  pi?: number | null;
  /** While the pi that has it open is at work: wait until it is idle, then decide anew. One request a session waits so. */
  whenIdle?: boolean;
  /** Null or empty clears it. */
  name: string | null;
}

/** Changes what the model would be sent of an entry, on this branch only. */
export interface EditContextParams {
  /** Repeating it from the same `client.id` within ten minutes repeats the answer, not the act. */
  requestId?: string | null;
  /** Handle of an open session. */
  session: string;
  /** Compare-and-set: refused with LeafMoved if the leaf is another one. Null: before the first entry. Absent: no comparison. */
  baseLeaf?: EntryId | null;
  /** Pid of the running pi that is to do it, where several have the session open. */
  pi?: number | null;
  /** While the pi that has it open is at work: wait until it is idle, then decide anew. One request a session waits so. */
  whenIdle?: boolean;
  /** Which entry. */
  target: EntryId;
  /** `{content}` stands instead of the entry's; null leaves the entry out; `restore` takes it back as it was. */
  replacement: JsonObject | "restore" | null;
}

/** A prompt for the pi that has the session open. */
export interface PromptParams {
  /** Repeating it from the same `client.id` within ten minutes repeats the answer, not the act. */
  requestId?: string | null;
  /** Handle of an open session. */
  session: string;
  /** The words. */
  text: string;
  /** While a run is on: between its steps, or behind it; absent: behind it. */
  deliverAs?: "steer" | "followUp" | null;
  /** Pid of the one that is meant, where several have it open. */
  pi?: number | null;
}

/** pi has taken it. */
export interface PromptResult {
  /** The session's revision. */
  rev: number;
  /** The leaf now. */
  leaf: EntryId | null;
  /** The user message; absent while it waits. */
  entry?: EntryId | null;
  /** It waits for the end of the run, or its next step. */
  queued: boolean;
}

/** Stops what a pi runs in this session. */
export interface AbortParams {
  /** Repeating it from the same `client.id` within ten minutes repeats the answer, not the act. */
  requestId?: string | null;
  /** Handle of an open session. */
  session: string;
  /** Pid of the one that is meant, where several have it open. */
  pi?: number | null;
}

/** A pi is to read what others have written to its session's file; only when it is idle. */
export interface RereadParams {
  /** Repeating it from the same `client.id` within ten minutes repeats the answer, not the act. */
  requestId?: string | null;
  /** Handle of an open session. */
  session: string;
  /** Pid of the one that is meant, where several have it open. */
  pi?: number | null;
}

/** The session a pi has open. */
export interface PiSession {
  /** The session id. */
  id: string;
  /** Absolute path, planned or there; absent for a session in memory only. */
  file?: string | null;
  /** Whether the file is there. */
  onDisk: boolean;
  /** Its folder. */
  cwd: string;
  /** Its name, if it has one. */
  name?: string | null;
  /** Of a fork: what it was forked from. */
  parentSession?: string | null;
  /** ISO time of its header. */
  timestamp?: string | null;
  /** Where pi stands; null: before the first entry. */
  leaf: EntryId | null;
  /** Entries in pi's memory. */
  count: number;
  /** The newest of them in the order they were appended; null when there is none. */
  lastId: EntryId | null;
}

/** pi's own figure of its context. */
export interface PiUsage {
  /** Null right after a compaction. */
  tokens?: number | null;
  /** Of its model, in tokens. */
  window?: number | null;
}

/** What a pi is doing. */
export interface PiState {
  /** Nothing runs, so that it may be moved. */
  idle: boolean;
  /** What runs; null when idle. */
  operation?: "turn" | "compaction" | "summary" | null;
  /** A dialog of pi's is open. */
  waitingForUser?: boolean;
  /** Messages that wait for the end of the run. */
  pending?: number;
  /** Its own figure of its context, told when a run ends. */
  usage?: PiUsage | null;
  /** As `provider/modelId`. */
  model?: string | null;
  /** Its thinking level. */
  thinking?: string | null;
  /** The run that has just ended was stopped. */
  aborted?: boolean;
}

/** A pi has this session open: after each start, replacement, reload and reconnection. */
export interface PiAttachParams {
  /** Counts the sessions of this process. */
  gen: number;
  /** Why now. */
  reason: "startup" | "reload" | "new" | "resume" | "fork" | "reconnect";
  /** What it had open before. */
  previousFile?: string | null;
  /** What it has open. */
  session: PiSession;
  /** What it is doing. */
  state: PiState;
  /** All entries, whole, in the order they were appended; where they are not on disk. */
  entries?: JsonObject[] | null;
}

/** How the daemon sees that pi. */
export interface PiAttachResult {
  /** The handle. */
  session: string;
  /** It alone has the session open: it writes, the daemon does not. */
  owner: boolean;
  /** Entries in the file that this pi has not read. */
  unseen: number;
  /** Where the daemon's clients had left the leaf, for pi to go there; absent when pi stands there already, or its own place counts. */
  position?: EntryId | null;
}

/** A pi has left its session. */
export interface PiDetachedParams {
  /** Which. */
  gen: number;
  /** Why. */
  reason: "quit" | "reload" | "new" | "resume" | "fork" | "off";
  /** The file it opens instead. */
  target?: string | null;
}

/** Entries came, or the leaf moved. Of a file: a hint that its bytes are there. */
export interface PiDidChangeParams {
  /** Which session of the process. */
  gen: number;
  /** Counts from 1 after each attach, without gaps. */
  seq: number;
  /** Where pi stands now. */
  leaf: EntryId | null;
  /** Entries in pi's memory now. */
  count: number;
  /** New ones in order: id, parentId and type of those on disk, else whole. */
  entries?: JsonObject[];
  /** Whether the session is in its file now; the first word that it is tells of the flush. */
  onDisk: boolean;
  /** append, navigate, compact, label, edit, poll, …: for the log. */
  why?: string;
}

/** What that pi is doing has changed. */
export interface PiDidStateParams {
  /** Nothing runs, so that it may be moved. */
  idle: boolean;
  /** What runs; null when idle. */
  operation?: "turn" | "compaction" | "summary" | null;
  /** A dialog of pi's is open. */
  waitingForUser?: boolean;
  /** Messages that wait for the end of the run. */
  pending?: number;
  /** Its own figure of its context, told when a run ends. */
  usage?: PiUsage | null;
  /** As `provider/modelId`. */
  model?: string | null;
  /** Its thinking level. */
  thinking?: string | null;
  /** The run that has just ended was stopped. */
  aborted?: boolean;
  /** Which session of the process. */
  gen: number;
  /** The session's name. */
  name?: string | null;
}

/** A person moves the leaf in pi itself. No answer within five seconds counts as none. */
export interface PiWillNavigateParams {
  /** Which session of the process. */
  gen: number;
  /** Where to. */
  target: EntryId;
  /** Where pi stands. */
  left: EntryId | null;
  /** Whether a summary of what is left is wanted. */
  summarize: boolean;
  /** How many entries are left behind. */
  entries: number;
}

/** What pi is to do about it; empty: what it would. */
export interface PiWord {
  /** It is not to happen. */
  cancel?: boolean;
  /** Stands instead of what pi's model would write. */
  summary?: string | null;
  /** Stored beside it. */
  details?: JsonObject | null;
}

/** pi is about to compact. No answer within five seconds counts as none. */
export interface PiWillCompactParams {
  /** Which session of the process. */
  gen: number;
  /** pi's word: manual, threshold, overflow. */
  reason: string;
  /** Where pi cuts. */
  firstKept: EntryId;
  /** pi's figure of the context now. */
  tokensBefore: number;
  /** What the person asked the summary to mind. */
  instructions?: string | null;
}

/** A contiguous step of one session. Apply it only if `epoch` is yours and `base` your rev; ignore a lower base; at a higher one or another epoch open the session again. */
export interface DidChange {
  /** The handle. */
  session: string;
  /** Names this loading of the session. */
  epoch: string;
  /** The revision before. */
  base: number;
  /** The revision after; several changes may be joined, none is skipped. */
  rev: number;
  /** What happened, in order. Where only the sizes have become known, or another program has forked the session, `base` is `rev`, and there is nothing but a change of kind `rows` for those who draw them. */
  changes: Change[];
  /** The leaf after. */
  leaf: EntryId | null;
  /** At the leaf; null while sizes are still being counted. */
  contextSize: ContextSize | null;
}

/** A compaction or a move with a summary begins, goes on or ends; outside `rev`. Told to everyone who has the session open, whoever began it. */
export interface DidProgress {
  /** The handle. */
  session: string;
  /** What runs: a compaction, a move with a summary, a fork, a move that waits for a client. */
  operation: "compact" | "summarise" | "fork" | "navigate";
  /** Tells one operation from the next. */
  operationId: string;
  /** Who began it; `repair` where the daemon did by itself. */
  origin: ClientOrigin | "external" | "repair";
  /** Asked for, or because the context had become too large. */
  reason: "manual" | "threshold";
  /** The last three end it. */
  state: "begin" | "report" | "done" | "failed" | "cancelled";
  /** UTF-16 code units of summary that have come. */
  received: number;
  /** Who writes; null until it is chosen. */
  summarizer: string | null;
  /** What went wrong, or who cancelled, in one sentence. */
  message?: string | null;
}

/** Who has a session open, running pi too; outside `rev`, at most ten a second. Told to everyone who has it open when that changes, or what a pi is doing. `session/open` answers it too. */
export interface DidPresence {
  /** The handle. */
  session: string;
  /** Each once, in the order they came. */
  clients: Present[];
  /** Running pi that have it open; absent: none. */
  pis?: LivePi[];
}

/** How far a request is, as LSP tells it. */
export interface WorkDone {
  /** One begins, any number report, one ends; then comes the answer. */
  kind: "begin" | "report" | "end";
  /** What runs; of `begin` only. */
  title?: string | null;
  /** Whether `$/cancelRequest` ends it; of `begin` only. */
  cancellable?: boolean | null;
  /** How much has come (`1.2k received`), or how it ended. */
  message?: string | null;
}

/** How far a request is that was sent with a `workDoneToken`; at most ten a second. */
export interface ProgressParams {
  /** The request's `workDoneToken`. */
  token: string | number;
  /** How far it is. */
  value: WorkDone;
}

/** What you know of this session no longer holds: open it again. */
export interface DidReset {
  /** The handle. */
  session: string;
  /** overflow: you read too slowly and changes were dropped. rewritten: the file was replaced. evicted: it left memory. gone: the file vanished. */
  reason: "overflow" | "rewritten" | "evicted" | "gone";
}

/** The list of sessions is another one; sent to those who asked with `watch`. */
export interface SessionsDidChange {
  /** New or changed, whole, in no order. */
  sessions: ListedSession[];
  /** Paths or handles of those that are no more; unknown ones are nothing to you. */
  gone: string[];
}

/** The daemon ends; the connection is closed next. */
export interface Stopping {
  /** Why, in a word: shutdown or signal. */
  reason: string;
}

/** A compaction is about to be made. No answer within five seconds counts as none. */
export interface WillCompactParams {
  /** The handle. */
  session: string;
  /** Of `session/didProgress`. */
  operationId: string;
  /** Asked for, or because the context had become too large. */
  reason: "manual" | "threshold";
  /** What would be cut and kept. */
  preparation: CompactionPreview;
}

/** A client's word on what is about to happen; every member may be left out. */
export interface WillResult {
  /** It is not to happen. */
  cancel?: boolean;
  /** Stands instead of what the summarizer would write. */
  summary?: string | null;
  /** Stored beside that summary. */
  details?: JsonObject | null;
  /** What writing that summary used, as pi writes it. */
  usage?: JsonObject | null;
  /** Stands instead of those of the request. */
  customInstructions?: string | null;
  /** Stands instead of that of the request; of a move only. */
  label?: string | null;
}

/** The leaf is about to move. No answer within five seconds counts as none. */
export interface WillNavigateParams {
  /** The handle. */
  session: string;
  /** Of `session/didProgress`. */
  operationId: string;
  /** What was asked for; null: before the first entry. */
  target: EntryId | null;
  /** Whether the branch that is left will be summarised. */
  summarize: boolean;
  /** What the move would do. */
  preparation: MovePreview;
}

/** A text for the client's model to answer. Ten minutes; then it is cancelled. */
export interface SummarizeParams {
  /** The handle. */
  session: string;
  /** Of `session/didProgress`. */
  operationId: string;
  /** What is summarised. */
  kind: "history" | "turnPrefix" | "branch";
  /** What the model is, for its system prompt. */
  system: string;
  /** What it is asked, as the user's word. */
  prompt: string;
  /** How long its answer may get, in tokens. */
  maxTokens: number;
}

/** What the client's model answered. */
export interface SummarizeResult {
  /** The text; empty counts as a failure. */
  summary: string;
  /** As pi writes it; absent where it is not known. */
  usage?: JsonObject | null;
  /** Who wrote it, as `provider/modelId`. */
  model?: string | null;
}

/** Moves the leaf as pi's /tree does; only when idle. */
export interface PiNavigateParams {
  /** Which session of the process is meant; another one by now: refused, SessionChanged. */
  gen: number;
  /** Repeating it repeats the answer, not the act; the last 256 are remembered. */
  requestId: string;
  /** Who wants it, for people; what the user allowed is remembered by it. */
  client: string;
  /** The same over reconnects: names one window of that program. */
  clientId: string;
  /** Compare-and-set in pi; absent: no comparison. Entries of type label, session_info, usage and custom in between do not count. */
  baseLeaf?: EntryId | null;
  /** Where to. Of a user message pi takes the parent. */
  target: EntryId;
  /** With a summary of what is left: the one given here, or pi's own. */
  summarize?: boolean;
  /** Stands instead of what pi's model would write. */
  summary?: string | null;
  /** Stored beside it. */
  details?: JsonObject | null;
  /** For pi's model. */
  instructions?: string | null;
  /** Put on the summary, or without one on the target. */
  label?: string | null;
}

/** What a bridge answers to all of these. A refusal has changed nothing in pi. */
export interface PiAnswer {
  /** Why not; absent when it was done. PiUnknown: it may have been done. */
  refused?: "ParseError" | "InvalidRequest" | "MethodNotFound" | "InvalidParams" | "InternalError" | "NotInitialized" | "Cancelled" | "EntryNotFound" | "SessionNotFound" | "AmbiguousSession" | "SessionExists" | "NotASession" | "InvalidEntry" | "DuplicateEntry" | "NotOnBranch" | "LeafMoved" | "Busy" | "NothingToCompact" | "CannotShrink" | "SummaryFailed" | "BadSetting" | "NoSummarizer" | "AmbiguousOwner" | "Unsupported" | "SessionChanged" | "PiUnknown" | "ReadOnly" | "Unreadable" | "Degraded" | "FileChanged" | "TooLarge" | "Overloaded" | "Unauthorized" | "VersionUnsupported" | "WrongAgentDir" | null;
  /** The same in a sentence, with the next step. */
  message?: string | null;
  /** Of Busy: what runs. */
  operation?: "turn" | "compaction" | "summary" | null;
  /** Of Unsupported: what would be needed. */
  needs?: string | null;
  /** Where pi stands now. */
  leaf?: EntryId | null;
  /** Entries that were appended by it, in order. */
  ids?: EntryId[];
  /** Text of the user message navigated to. */
  editorText?: string | null;
  /** Of a prompt: it waits for the end of the run, or its next step. */
  queued?: boolean;
  /** The session file pi has open now, where it is another one. */
  file?: string | null;
  /** Of a snapshot, and of SessionChanged: what it has open. */
  session?: PiSession | null;
  /** Of a snapshot. */
  state?: PiState | null;
  /** Of a snapshot: all, whole. */
  entries?: JsonObject[] | null;
}

/** Compacts; only when idle. Without `summary` pi's own model writes it. */
export interface PiCompactParams {
  /** Which session of the process is meant; another one by now: refused, SessionChanged. */
  gen: number;
  /** Repeating it repeats the answer, not the act; the last 256 are remembered. */
  requestId: string;
  /** Who wants it, for people; what the user allowed is remembered by it. */
  client: string;
  /** The same over reconnects: names one window of that program. */
  clientId: string;
  /** Compare-and-set in pi; absent: no comparison. Entries of type label, session_info, usage and custom in between do not count. */
  baseLeaf?: EntryId | null;
  /** The text, already written. */
  summary?: string | null;
  /** Where to cut; with `summary`. */
  firstKept?: EntryId | null;
  /** The size before; with `summary`. */
  tokensBefore?: number | null;
  /** Stored beside it. */
  details?: JsonObject | null;
  /** For pi's model. */
  instructions?: string | null;
}

/** Labels an entry; at any time. */
export interface PiLabelParams {
  /** Which session of the process is meant; another one by now: refused, SessionChanged. */
  gen: number;
  /** Repeating it repeats the answer, not the act; the last 256 are remembered. */
  requestId: string;
  /** Who wants it, for people; what the user allowed is remembered by it. */
  client: string;
  /** The same over reconnects: names one window of that program. */
  clientId: string;
  /** Compare-and-set in pi; absent: no comparison. Entries of type label, session_info, usage and custom in between do not count. */
  baseLeaf?: EntryId | null;
  /** Which. */
  target: EntryId;
  /** Null clears it. */
  label: string | null;
}

/** Names the session; at any time. */
export interface PiNameParams {
  /** Which session of the process is meant; another one by now: refused, SessionChanged. */
  gen: number;
  /** Repeating it repeats the answer, not the act; the last 256 are remembered. */
  requestId: string;
  /** Who wants it, for people; what the user allowed is remembered by it. */
  client: string;
  /** The same over reconnects: names one window of that program. */
  clientId: string;
  /** Compare-and-set in pi; absent: no comparison. Entries of type label, session_info, usage and custom in between do not count. */
  baseLeaf?: EntryId | null;
  /** Empty clears it. */
  name: string;
}

/** Appends entries that start no run. Those of type `custom` at any time, `custom_message` and `message` when idle. */
export interface PiAppendParams {
  /** Which session of the process is meant; another one by now: refused, SessionChanged. */
  gen: number;
  /** Repeating it repeats the answer, not the act; the last 256 are remembered. */
  requestId: string;
  /** Who wants it, for people; what the user allowed is remembered by it. */
  client: string;
  /** The same over reconnects: names one window of that program. */
  clientId: string;
  /** Compare-and-set in pi; absent: no comparison. Entries of type label, session_info, usage and custom in between do not count. */
  baseLeaf?: EntryId | null;
  /** As in `session/append`, without id, parentId and timestamp, which pi gives. */
  entries: JsonObject[];
}

/** Takes an entry out of the context, changes it, or puts it back; only when idle. */
export interface PiContextEditParams {
  /** Which session of the process is meant; another one by now: refused, SessionChanged. */
  gen: number;
  /** Repeating it repeats the answer, not the act; the last 256 are remembered. */
  requestId: string;
  /** Who wants it, for people; what the user allowed is remembered by it. */
  client: string;
  /** The same over reconnects: names one window of that program. */
  clientId: string;
  /** Compare-and-set in pi; absent: no comparison. Entries of type label, session_info, usage and custom in between do not count. */
  baseLeaf?: EntryId | null;
  /** Which. */
  target: EntryId;
  /** `{content}` stands instead; null leaves it out. */
  replacement: JsonObject | null;
}

/** A fork made by pi, which goes there; of sessions in memory only, when idle. */
export interface PiForkParams {
  /** Which session of the process is meant; another one by now: refused, SessionChanged. */
  gen: number;
  /** Repeating it repeats the answer, not the act; the last 256 are remembered. */
  requestId: string;
  /** Who wants it, for people; what the user allowed is remembered by it. */
  client: string;
  /** The same over reconnects: names one window of that program. */
  clientId: string;
  /** Compare-and-set in pi; absent: no comparison. Entries of type label, session_info, usage and custom in between do not count. */
  baseLeaf?: EntryId | null;
  /** From where. */
  entry: EntryId;
  /** Before a user message, or at any entry. */
  position: "before" | "at";
}

/** Opens another session in that pi; only when idle. Its draft is kept. */
export interface PiSwitchParams {
  /** Which session of the process is meant; another one by now: refused, SessionChanged. */
  gen: number;
  /** Repeating it repeats the answer, not the act; the last 256 are remembered. */
  requestId: string;
  /** Who wants it, for people; what the user allowed is remembered by it. */
  client: string;
  /** The same over reconnects: names one window of that program. */
  clientId: string;
  /** Compare-and-set in pi; absent: no comparison. Entries of type label, session_info, usage and custom in between do not count. */
  baseLeaf?: EntryId | null;
  /** Absolute path of a session file that is there. */
  file: string;
}

/** Has pi read its file anew and stand where it stood; only when idle. */
export interface PiRereadParams {
  /** Which session of the process is meant; another one by now: refused, SessionChanged. */
  gen: number;
  /** Repeating it repeats the answer, not the act; the last 256 are remembered. */
  requestId: string;
  /** Who wants it, for people; what the user allowed is remembered by it. */
  client: string;
  /** The same over reconnects: names one window of that program. */
  clientId: string;
  /** Compare-and-set in pi; absent: no comparison. Entries of type label, session_info, usage and custom in between do not count. */
  baseLeaf?: EntryId | null;
}

/** Gives pi a prompt, as if it had been typed. The user is asked once for each client. */
export interface PiPromptParams {
  /** Which session of the process is meant; another one by now: refused, SessionChanged. */
  gen: number;
  /** Repeating it repeats the answer, not the act; the last 256 are remembered. */
  requestId: string;
  /** Who wants it, for people; what the user allowed is remembered by it. */
  client: string;
  /** The same over reconnects: names one window of that program. */
  clientId: string;
  /** Compare-and-set in pi; absent: no comparison. Entries of type label, session_info, usage and custom in between do not count. */
  baseLeaf?: EntryId | null;
  /** The words. */
  text: string;
  /** While a run is on: between its steps, or behind it. Means nothing when idle. */
  deliverAs?: "steer" | "followUp";
}

/** Stops what runs. Messages that wait go back to the user's editor in a terminal. */
export interface PiAbortParams {
  /** Which session of the process is meant; another one by now: refused, SessionChanged. */
  gen: number;
  /** Repeating it repeats the answer, not the act; the last 256 are remembered. */
  requestId: string;
  /** Who wants it, for people; what the user allowed is remembered by it. */
  client: string;
  /** The same over reconnects: names one window of that program. */
  clientId: string;
  /** Compare-and-set in pi; absent: no comparison. Entries of type label, session_info, usage and custom in between do not count. */
  baseLeaf?: EntryId | null;
}

/** Asks for all entries and the state, as in an attach. */
export interface PiSnapshotParams {
  /** Which session of the process is meant; another one by now: refused, SessionChanged. */
  gen: number;
  /** Repeating it repeats the answer, not the act; the last 256 are remembered. */
  requestId: string;
  /** Who wants it, for people; what the user allowed is remembered by it. */
  client: string;
  /** The same over reconnects: names one window of that program. */
  clientId: string;
  /** Compare-and-set in pi; absent: no comparison. Entries of type label, session_info, usage and custom in between do not count. */
  baseLeaf?: EntryId | null;
}

/** What a client should not exceed. */
export interface Limits {
  /** Bytes of one message's body. */
  message: number;
  /** Bytes of one message's header block. */
  header: number;
  /** Requests of one client at work at once. Beyond it the daemon reads no further, except for the client's answers to its own requests. */
  inFlight: number;
  /** Clients served at once; the next one's `initialize` gets Overloaded. */
  clients: number;
  /** Bytes of entry bodies in one answer. */
  answer: number;
  /** Nodes in one answer of session/tree. */
  treeNodes: number;
}

/** `capabilities.experimental.pisessiond` in the answer to `initialize`. */
export interface Announcement {
  /** The version both will use. */
  protocolVersion: number;
  /** The daemon's version. */
  build: string;
  /** What a client should not exceed. */
  limits: Limits;
  /** Every method this daemon answers beside LSP's own. */
  methods: string[];
}

/** The change of kind `rows`; only for clients that asked for rows at `session/open`. */
export interface RowsChange {
  /** append, navigate, compact, fork, label, rename, edit, save, problem or leafConflict; at an unknown kind a client fetches again. Further members belong to the kind. */
  kind: string;
  /** Who did it. */
  origin: ClientOrigin | "external" | "repair";
  /** New or changed nodes. */
  nodes?: Node[];
  /** New or changed rows, whole; each stands behind its `after` on its `level`. */
  upsert?: Row[];
  /** Rows that are no more. */
  gone?: string[];
  /** Levels to be asked for again, and with them whatever is open inside; null: the main line. */
  stale?: (string | null)[];
  [member: string]: unknown;
}

/** What a client asks. */
export interface Requests {
  "initialize": { params: InitializeParams; result: InitializeResult };
  "shutdown": { params: NoParams; result: Null };
  "daemon/status": { params: NoParams; result: StatusResult };
  "daemon/shutdown": { params: ShutdownParams; result: Nothing };
  "session/create": { params: CreateParams; result: CreateResult };
  "session/open": { params: OpenParams; result: OpenResult };
  "session/close": { params: CloseParams; result: Nothing };
  "session/sync": { params: SyncParams; result: Nothing };
  "session/list": { params: ListParams; result: ListResult };
  "session/search": { params: SearchParams; result: SearchResult };
  "session/tree": { params: TreeParams; result: TreeResult };
  "session/rows": { params: RowsParams; result: RowsResult };
  "session/branches": { params: BranchesParams; result: BranchesResult };
  "session/graph": { params: GraphParams; result: GraphResult };
  "session/entries": { params: EntriesParams; result: EntriesResult };
  "session/context": { params: ContextParams; result: ContextResult };
  "session/contextSize": { params: ContextSizeParams; result: ContextSizeResult };
  "session/stats": { params: SessionParams; result: StatsResult };
  "session/compare": { params: CompareParams; result: CompareResult };
  "session/summarizers": { params: SessionParams; result: SummarizersResult };
  "session/check": { params: SessionParams; result: CheckResult };
  "session/export": { params: ExportParams; result: ExportResult };
  "session/import": { params: ImportParams; result: ImportResult };
  "session/delete": { params: DeleteParams; result: DeleteResult };
  "session/append": { params: AppendParams; result: AppendResult };
  "session/navigate": { params: NavigateParams; result: NavigateResult };
  "session/compact": { params: CompactParams; result: CompactResult };
  "session/cancel": { params: CancelOperationParams; result: CancelOperationResult };
  "session/fork": { params: ForkParams; result: ForkResult };
  "session/clone": { params: CloneParams; result: ForkResult };
  "session/label": { params: LabelParams; result: Done };
  "session/rename": { params: RenameParams; result: Done };
  "session/editContext": { params: EditContextParams; result: Done };
  "session/prompt": { params: PromptParams; result: PromptResult };
  "session/abort": { params: AbortParams; result: Done };
  "session/reread": { params: RereadParams; result: Done };
  "pi/attach": { params: PiAttachParams; result: PiAttachResult };
  "pi/willNavigate": { params: PiWillNavigateParams; result: PiWord };
  "pi/willCompact": { params: PiWillCompactParams; result: PiWord };
}

/** What a client tells. */
export interface Notices {
  "initialized": NoParams;
  "exit": NoParams;
  "$/cancelRequest": CancelParams;
  "pi/detached": PiDetachedParams;
  "pi/didChange": PiDidChangeParams;
  "pi/didState": PiDidStateParams;
}

/** What the daemon tells unasked. */
export interface Told {
  "session/didChange": DidChange;
  "session/didProgress": DidProgress;
  "session/didPresence": DidPresence;
  "$/progress": ProgressParams;
  "session/didReset": DidReset;
  "sessions/didChange": SessionsDidChange;
  "daemon/stopping": Stopping;
}

/** What the daemon asks clients that offer to answer. */
export interface Asked {
  "session/willCompact": { params: WillCompactParams; result: WillResult };
  "session/willNavigate": { params: WillNavigateParams; result: WillResult };
  "session/summarize": { params: SummarizeParams; result: SummarizeResult };
  "pi/navigate": { params: PiNavigateParams; result: PiAnswer };
  "pi/compact": { params: PiCompactParams; result: PiAnswer };
  "pi/label": { params: PiLabelParams; result: PiAnswer };
  "pi/name": { params: PiNameParams; result: PiAnswer };
  "pi/append": { params: PiAppendParams; result: PiAnswer };
  "pi/contextEdit": { params: PiContextEditParams; result: PiAnswer };
  "pi/fork": { params: PiForkParams; result: PiAnswer };
  "pi/switch": { params: PiSwitchParams; result: PiAnswer };
  "pi/reread": { params: PiRereadParams; result: PiAnswer };
  "pi/prompt": { params: PiPromptParams; result: PiAnswer };
  "pi/abort": { params: PiAbortParams; result: PiAnswer };
  "pi/snapshot": { params: PiSnapshotParams; result: PiAnswer };
}
