/** The sessions of a folder, or of all folders: read page by page and kept up to date. */

import type { Daemon } from '../daemon/connection';
import { asFailure, type Failure } from '../rpc/failure';
import type { Message } from '../rpc/peer';
import type { ListedSession, SessionsDidChange } from './wire';
import { Emitter } from './events';

/** Sessions of a page. */
const PAGE = 200;

export class SessionList {
  private listed: ListedSession[] = [];
  private cursor: string | null = null;
  private ticket = 0;
  private readonly changed = new Emitter<undefined>();
  private readonly came = new Emitter<ListedSession[]>();
  private readonly unlisten: (() => void)[];
  /** Why there is no list. */
  problem: Failure | undefined;
  isRead = false;

  constructor(
    private readonly daemon: Daemon,
    /** Absolute; undefined: all folders. */
    readonly cwd: string | undefined,
    private readonly isWatched: boolean,
  ) {
    this.unlisten = [
      daemon.onTold((message) => this.hear(message)),
      daemon.onState((state) => {
        // A new connection knows nothing of what the old one asked.
        if (state === 'ready' && this.isRead) {
          void this.read();
        }
      }),
    ];
  }

  get sessions(): readonly ListedSession[] {
    return this.listed;
  }

  get hasMore(): boolean {
    return this.cursor !== null;
  }

  onChange(listener: () => void): () => void {
    return this.changed.on(listener);
  }

  /** Sessions that were not in the list before. */
  onCame(listener: (sessions: ListedSession[]) => void): () => void {
    return this.came.on(listener);
  }

  close(): void {
    this.ticket++;
    this.unlisten.forEach((unlisten) => unlisten());
  }

  /** Reads the list anew, as long as it was. */
  async read(): Promise<void> {
    await this.ask(null, Math.min(Math.max(PAGE, this.listed.length), 500));
  }

  async more(): Promise<void> {
    if (this.cursor !== null) {
      await this.ask(this.cursor, PAGE);
    }
  }

  private async ask(cursor: string | null, limit: number): Promise<void> {
    const mine = ++this.ticket;
    try {
      const answer = await this.daemon.request('session/list', {
        cwd: this.cwd ?? null,
        limit,
        cursor,
        ...(this.isWatched ? { watch: true } : {}),
      });
      if (mine === this.ticket) {
        this.listed = cursor === null ? answer.sessions : [...this.listed, ...answer.sessions];
        this.cursor = answer.cursor;
        this.problem = undefined;
        this.isRead = true;
        this.changed.emit(undefined);
      }
    } catch (error) {
      if (mine === this.ticket) {
        this.problem = asFailure(error);
        this.isRead = true;
        this.changed.emit(undefined);
      }
    }
  }

  private hear(message: Message): void {
    if (message.method === 'sessions/didChange' && this.isRead && this.isWatched) {
      this.take(message.params);
    }
  }

  /** What is known keeps its place, so that no row moves from under the mouse. */
  private take(told: SessionsDidChange): void {
    const fresh: ListedSession[] = [];
    for (const session of told.sessions) {
      const at = this.listed.findIndex((one) => isSame(one, session));
      if (at >= 0) {
        this.listed[at] = session;
      } else if (this.cwd === undefined || session.cwd === this.cwd) {
        fresh.push(session);
        this.listed.splice(this.placeFor(session), 0, session);
      }
    }
    const gone = new Set(told.gone);
    this.listed = this.listed.filter(
      (one) => !gone.has(one.session) && !(one.path !== null && gone.has(one.path)),
    );
    this.changed.emit(undefined);
    if (fresh.length > 0) {
      this.came.emit(fresh);
    }
  }

  /** A fork goes under what it was forked from, any other on top. */
  private placeFor(session: ListedSession): number {
    return session.depth === 0
      ? 0
      : 1 + this.listed.findIndex((one) => one.path !== null && one.path === session.parentSession);
  }
}

function isSame(one: ListedSession, other: ListedSession): boolean {
  return one.path !== null && other.path !== null
    ? one.path === other.path
    : one.session === other.session;
}
