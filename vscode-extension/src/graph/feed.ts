/**
 * Lines of one session's graph: asks the daemon for stretches of them, and tells when they may be
 * others. The session need not be the one that the window shows. Nothing here knows an editor.
 */

import type { Daemon } from '../daemon/connection';
import type { Message } from '../rpc/peer';
import type { Change, GraphResult, OpenResult } from '../model/wire';
import { isSameSession, type Named } from '../model/identity';
import type { Wish } from './messages';

/** Milliseconds in which changes are joined. */
export const JOIN = 200;

/** What the window tells of the session that it shows. */
export interface Shown {
  /** Undefined while none is open. */
  which: () => Named | undefined;
  /** Whenever it was read, read anew, or another one took its place. */
  onRead: (listener: () => void) => () => void;
}

export class GraphFeed {
  /** What is known of the session, besides what the window knows of the one it shows. */
  info: OpenResult | undefined;
  private readonly unlisten: (() => void)[];
  private opening: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private isDue = false;
  private isClosed = false;

  constructor(
    private readonly daemon: Daemon,
    private readonly which: Named,
    private readonly shown: Shown,
    private readonly changed: () => void,
  ) {
    this.unlisten = [
      daemon.onTold((message) => this.hear(message)),
      daemon.onState((state) => {
        this.opening = undefined;
        if (state === 'ready' && !this.isShown) {
          this.changeSoon();
        }
      }),
      shown.onRead(() => {
        // The window ends its subscription when it goes on to another session.
        this.opening = undefined;
        this.changeSoon();
      }),
    ];
  }

  /** Whether it is the session that the window shows. */
  get isShown(): boolean {
    const shown = this.shown.which();
    return shown !== undefined && isSameSession(this.which, shown);
  }

  /** Its handle at the daemon of now. */
  private get handle(): string {
    const named = this.isShown ? this.shown.which() : this.info;
    return named?.session ?? this.which.session;
  }

  /**
   * A stretch of lines.
   * @throws {Failure} a refusal, or that there is no daemon to ask
   */
  async lines(wish: Wish): Promise<GraphResult> {
    await this.open();
    return this.daemon.request('session/graph', { session: this.handle, ...wish });
  }

  /** Nothing is asked or told any more. */
  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.unlisten.forEach((unlisten) => unlisten());
    if (this.opening && !this.isShown && this.daemon.state === 'ready') {
      this.daemon.request('session/close', { session: this.handle }).catch(() => undefined);
    }
  }

  private async open(): Promise<void> {
    if (this.isShown) {
      return;
    }
    this.opening ??= this.subscribe();
    try {
      await this.opening;
    } catch (error) {
      this.opening = undefined;
      throw error;
    }
  }

  private async subscribe(): Promise<void> {
    const { path, session } = this.which;
    this.info = await this.daemon.request('session/open', path === null ? { session } : { path });
  }

  private hear(message: Message): void {
    const isOurs = 'session' in message.params && message.params.session === this.handle;
    if (!isOurs) {
      return;
    }
    if (message.method === 'session/didReset') {
      this.opening = undefined;
      this.changeSoon();
    } else if (message.method === 'session/didChange') {
      this.takeName(message.params.changes);
      this.changeSoon();
    }
  }

  private takeName(changes: readonly Change[]): void {
    const renamed = changes.findLast(({ kind }) => kind === 'rename');
    if (this.info && renamed) {
      this.info.name = (renamed as Partial<OpenResult>).name ?? null;
    }
  }

  /** The first change is told at once, those that come close behind it together. */
  private changeSoon(): void {
    if (this.isClosed) {
      return;
    }
    if (this.timer) {
      this.isDue = true;
      return;
    }
    this.timer = setTimeout(() => {
      this.timer = undefined;
      if (this.isDue) {
        this.isDue = false;
        this.changeSoon();
      }
    }, JOIN);
    this.changed();
  }
}
