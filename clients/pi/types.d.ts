/**
 * What goes over the wire between the bridge and pisessiond, and what the modules share.
 *
 * The wire is the daemon's: its models `PiAttachParams` and so on say what each member means.
 */

import type {
  ExtensionAPI,
  ExtensionCommandContext,
  ExtensionContext,
  SessionEntry,
  SessionManager,
} from '@earendil-works/pi-coding-agent';

export type { ExtensionAPI, ExtensionCommandContext, ExtensionContext, SessionEntry };

/** The live object behind `ctx.sessionManager`; more of it is public than a context's type says. */
export type Manager = SessionManager;

export type Json = Record<string, unknown>;

export type Kind =
  | 'Busy'
  | 'Cancelled'
  | 'EntryNotFound'
  | 'InvalidEntry'
  | 'InvalidParams'
  | 'LeafMoved'
  | 'NotASession'
  | 'NotOnBranch'
  | 'NothingToCompact'
  | 'PiUnknown'
  | 'ReadOnly'
  | 'SessionChanged'
  | 'SessionNotFound'
  | 'SummaryFailed'
  | 'Unsupported';

export type Operation = 'turn' | 'compaction' | 'summary';

export interface PiUsage {
  tokens: number | null;
  window: number | null;
}

export interface PiSession {
  id: string;
  file?: string;
  onDisk: boolean;
  cwd: string;
  name?: string;
  parentSession?: string;
  timestamp?: string;
  leaf: string | null;
  count: number;
  lastId: string | null;
}

export interface PiState {
  idle: boolean;
  operation: Operation | null;
  waitingForUser: boolean;
  pending: number;
  usage: PiUsage | null;
  model: string | null;
  thinking: string | null;
  aborted: boolean;
}

export interface PiAttachResult {
  session: string;
  owner: boolean;
  unseen: number;
  position?: string | null;
}

/** What a hook of the daemon's clients wants; empty: nothing. */
export interface PiWord {
  cancel?: boolean;
  summary?: string | null;
  details?: Json | null;
}

/** What every request to the bridge carries, and all that some do. */
export interface DriveParams {
  gen: number;
  requestId: string;
  client: string;
  clientId: string;
  baseLeaf?: string | null;
  target?: string;
  summarize?: boolean;
  summary?: string | null;
  details?: Json | null;
  instructions?: string | null;
  label?: string | null;
  firstKept?: string | null;
  tokensBefore?: number | null;
  name?: string;
  entries?: Json[];
  replacement?: Json | null;
  entry?: string;
  position?: 'before' | 'at';
  file?: string;
  text?: string;
  deliverAs?: 'steer' | 'followUp';
}

export interface PiAnswer {
  refused?: Kind;
  message?: string;
  operation?: Operation;
  needs?: string;
  leaf?: string | null;
  ids?: string[];
  editorText?: string;
  queued?: boolean;
  file?: string;
  session?: PiSession;
  state?: PiState;
  entries?: SessionEntry[];
}

export type Reason = 'startup' | 'reload' | 'new' | 'resume' | 'fork' | 'reconnect';

/** Whoever uses the link now; replaced with each session of the process. */
export interface Party {
  /** `initializationOptions.pisessiond.pi`, and the folder. */
  introduce(): { pi: Json; cwd: string };
  /** The connection is up. */
  connected(isAgain: boolean): void;
  /** It is down; `why` in a sentence when nothing will change by itself. */
  lost(): void;
  /** Answers a request of the daemon's. */
  asked(method: string, params: DriveParams, signal: AbortSignal): Promise<PiAnswer>;
}

export type Level = 'off' | 'watch' | 'drive';

/** What this bridge may do in this process. */
export interface Standing {
  level: Level;
  /** Why it is not `drive`, in a sentence. */
  why?: string;
}
