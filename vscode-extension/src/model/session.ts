/**
 * One open session as the daemon tells of it: what stands above the rows, and the rows.
 *
 * It is fed by `session/open` and `session/didChange` and asks for what is missing. Views are
 * functions of it; nothing here knows an editor.
 */

import type { Daemon } from '../daemon/connection';
import { asFailure, Failure } from '../rpc/failure';
import type { Message, Method, Params, Result } from '../rpc/peer';
import type {
  Change,
  ContextSize,
  DidChange,
  DidPresence,
  EntryId,
  LivePi,
  OpenParams,
  OpenResult,
  Origin,
  Progress,
  Row,
  RowsChange,
  TreeFilter,
} from './wire';
import { Emitter } from './events';
import { isSameSession, keyOf } from './identity';
import type { Level } from './level';
import { PAGE, RowLevels, type Found, type LevelKey } from './rows';
import { outsideRow, type Outside } from './outside';
import { standingOf } from './standing';
import { Running } from './running';

export type Wish = Pick<OpenParams, 'session' | 'path' | 'latest'>;

export type Happening =
  | { what: 'rows' }
  | { what: 'header' }
  /** A pi has come, gone, moved, or does something else. */
  | { what: 'pis' }
  /** Everything was read anew. */
  | { what: 'reset' }
  /** Others, or the user, have acted: what each change says. */
  | { what: 'acts'; changes: Change[] }
  | { what: 'progress'; progress: Progress }
  /** What runs has taken so long that it is to be said. */
  | { what: 'running' }
  | { what: 'lost'; reason: string };

export class SessionModel {
  handle: string | undefined;
  /** What `session/open` answered, brought up to date. */
  info: OpenResult | undefined;
  /** At the leaf. */
  size: ContextSize | null = null;
  /** Why there are no rows. */
  problem: Failure | undefined;
  /** Of the newest change by somebody else: what was done before cannot be undone alone. */
  foreignRev = 0;
  /** Who else moved the leaf last, by whatever act; undefined: nobody yet. */
  mover: Origin | undefined;
  /**
   * Asks which of several pi is meant; its process. Throws where none is.
   * Without it a request that does not say so is refused.
   */
  whichPi: ((choices: readonly unknown[]) => Promise<number>) | undefined;
  /** The one that was meant last; whoever begins something new forgets it. */
  chosenPi: number | undefined;
  /** Entries that another client or program has added, until they were seen. */
  readonly fresh = new Set<string>();

  private readonly happened = new Emitter<Happening>();
  private readonly rows: RowLevels;
  private readonly running = new Running(() => this.happened.emit({ what: 'running' }));
  private readonly unlisten: (() => void)[];
  private ticket = 0;
  /** While the daemon is asked to open the session. */
  private opening: Promise<unknown> | undefined;
  private shownFilter: TreeFilter | undefined;
  /** Since then nothing has been asked of a daemon, which is made up for when there is one. */
  private wasOffline: boolean;
  /** While a daemon that was begun anew has not opened it yet. */
  private isHandleOld = false;
  private isClosed = false;

  constructor(
    private readonly daemon: Daemon,
    private wish: Wish,
    private wishedFilter: TreeFilter = 'default',
    /** What the user opened and closed in this session before. */
    private readonly rememberedFolds: (info: OpenResult) => Iterable<[string, boolean]> = () => [],
  ) {
    this.rows = new RowLevels(
      (wish) => this.request('session/rows', { ...wish, filter: this.wishedFilter }),
      () => this.happened.emit({ what: 'rows' }),
      (failure) => {
        this.problem = failure;
      },
    );
    this.wasOffline = isAway(daemon.state);
    this.unlisten = [
      daemon.onState(() => this.connectionChanged()),
      daemon.onTold((message) => this.hear(message)),
    ];
  }

  on(listener: (happening: Happening) => void): () => void {
    return this.happened.on(listener);
  }

  get filter(): TreeFilter {
    return this.wishedFilter;
  }

  /** What it is called here; a daemon that was begun anew changes nothing of it. */
  get key(): string | undefined {
    return this.info && keyOf(this.info);
  }

  /** What runs now. */
  get operation(): Progress | null {
    return this.running.operation;
  }

  /** What runs, once it has taken a while: only that is worth saying. */
  get longOperation(): Progress | null {
    return this.running.long;
  }

  /** Running pi that have it open. */
  get pis(): readonly LivePi[] {
    return this.info?.pis ?? [];
  }

  /** The same by the ids of the rows they stand at. */
  get standing(): Map<string, LivePi[]> {
    return standingOf(this.pis, this.leaf, (entry) => this.rowOf(entry));
  }

  get leaf(): EntryId | null {
    return this.info?.leaf ?? null;
  }

  /** Hears and tells nothing more. */
  leave(): void {
    this.isClosed = true;
    this.running.take(null);
    for (const unlisten of this.unlisten) {
      unlisten();
    }
  }

  /** Leaves the session and ends the subscription; others go on. */
  close(): void {
    if (this.isClosed) {
      return;
    }
    this.leave();
    if (this.handle !== undefined && this.daemon.state === 'ready') {
      this.daemon.request('session/close', { session: this.handle }).catch(() => undefined);
    }
  }

  // Rows.

  /** A level as far as it is known. */
  level(key: LevelKey): Level | undefined {
    return this.rows.level(key);
  }

  /** A row wherever it is, if it has been read. */
  row(id: string): Row | undefined {
    return this.rows.row(id);
  }

  /** The row that an entry is the end of, if it has been read. */
  rowOf(entry: EntryId): Row | undefined {
    return this.rows.rowOf(entry);
  }

  /**
   * The row that another program wrote last, as long as that was a short while ago. Where a pi says
   * where it stands, nothing has to be guessed.
   */
  outside(now = Date.now()): Outside | undefined {
    if (this.pis.length > 0) {
      return undefined;
    }
    return outsideRow(this.rows.all(), this.info?.lastExternal, now);
  }

  /** Whether rows have been asked for and have not come yet. */
  get isReading(): boolean {
    return this.rows.isReading;
  }

  isOpen(row: Row): boolean {
    return this.rows.isOpen(row);
  }

  /** Says that a row was opened or closed by whoever shows it. */
  setOpen(id: string, isOpen: boolean): void {
    this.rows.setOpen(id, isOpen);
  }

  /** Rows inside one, read where they are not known. */
  inside(key: LevelKey): Promise<Level | undefined> {
    return this.rows.inside(key);
  }

  /** Reads one more page in front of, or behind, what is known of a level. */
  more(key: LevelKey, side: 'before' | 'after'): Promise<void> {
    return this.rows.more(key, side);
  }

  /** The row of an entry, with all on the way to it read; undefined where it has none. */
  find(entry: EntryId | 'here'): Promise<Found | undefined> {
    return this.rows.find(entry);
  }

  // Reading anew.

  /** Asks anew for everything. What is shown stays until all of it, open levels too, has come. */
  async fetch(): Promise<void> {
    const mine = ++this.ticket;
    const filter = this.wishedFilter;
    try {
      const wish = { ...this.wish, rows: { filter, count: PAGE } };
      const opened = this.daemon.request('session/open', wish).then((answer) => {
        if (!this.isOver(mine)) {
          // Before anybody goes on who waited for it.
          this.handle = answer.session;
          this.isHandleOld = false;
        }
        return answer;
      });
      this.opening = opened.catch(() => undefined);
      const answer = await opened.finally(() => {
        if (mine === this.ticket) {
          this.opening = undefined;
        }
      });
      if (!this.isOver(mine)) {
        await this.take(answer, filter, mine);
      }
    } catch (error) {
      if (!this.isOver(mine)) {
        this.cannotOpen(asFailure(error));
      }
    }
  }

  /** Shows rows by another filter. */
  async setFilter(filter: TreeFilter): Promise<void> {
    this.wishedFilter = filter;
    await this.fetch();
  }

  private cannotOpen(failure: Failure): void {
    // Without a daemon nothing is known of the session; that there is none is told elsewhere.
    if (failure.kind !== 'Offline' && failure.kind !== 'NotInstalled') {
      this.problem = failure;
    }
    this.happened.emit({ what: 'header' });
  }

  private async take(answer: OpenResult, filter: TreeFilter, mine: number): Promise<void> {
    const isAnother = this.info === undefined || !isSameSession(this.info, answer);
    const isSame = !isAnother && this.shownFilter === filter;
    if (isAnother) {
      this.rows.setFolds(this.rememberedFolds(answer));
    }
    this.problem = undefined;
    this.info = answer;
    // A session that was the newest once stays the one at hand until another is asked for.
    this.wish =
      answer.path !== null && !answer.unsaved ? { path: answer.path } : { session: answer.session };
    this.size = answer.contextSize;
    this.running.take(answer.operation);
    // Without rows in the answer it changed while it was read.
    const isTaken = await this.rows.readAll(answer.rows ?? undefined, isSame);
    if (isTaken && !this.isOver(mine)) {
      this.shownFilter = filter;
      this.happened.emit({ what: 'reset' });
    }
  }

  private isOver(mine: number): boolean {
    return this.isClosed || mine !== this.ticket;
  }

  private connectionChanged(): void {
    if (this.daemon.state === 'ready' && this.wasOffline) {
      this.wasOffline = false;
      void this.fetch();
    } else if (isAway(this.daemon.state)) {
      this.wasOffline = this.isHandleOld = true;
      this.running.take(null);
    }
    this.happened.emit({ what: 'header' });
  }

  /**
   * Asks the daemon something about this session.
   * @throws {Failure} the refusal, or that no session is open
   */
  async request<M extends Method>(
    method: M,
    params: Omit<Params<M>, 'session'>,
    signal?: AbortSignal,
  ): Promise<Result<M>> {
    try {
      return await this.ask(method, params, signal);
    } catch (error) {
      const { kind, data } = asFailure(error);
      if (kind !== 'AmbiguousOwner' || !this.whichPi) {
        throw error;
      }
      const choices = (Array.isArray(data.choices) ? data.choices : []) as { pid?: unknown }[];
      const isThere = choices.some(({ pid }) => pid === this.chosenPi);
      const pi = isThere ? this.chosenPi : await this.whichPi(choices);
      this.chosenPi = pi;
      return this.ask(method, { ...params, pi }, signal);
    }
  }

  private async ask<M extends Method>(
    method: M,
    params: Omit<Params<M>, 'session'>,
    signal?: AbortSignal,
  ): Promise<Result<M>> {
    // A daemon that has just been started knows of no session before it is opened there.
    if (this.opening || (this.wasOffline && this.daemon.state === 'connecting')) {
      await this.reopened();
    }
    if (this.handle === undefined) {
      throw new Failure('SessionNotFound', 'No session is open here; choose one under Sessions.');
    }
    // By then its handle of before may be another session's.
    if (this.isHandleOld && this.daemon.state === 'ready') {
      throw this.problem ?? new Failure('SessionNotFound', 'It was not opened again; reload it.');
    }
    return this.daemon.request(method, { ...params, session: this.handle }, signal);
  }

  private async reopened(): Promise<void> {
    if (this.daemon.state === 'connecting') {
      await new Promise<void>((resolve) => {
        const unlisten = this.daemon.onState((state) => {
          if (state !== 'connecting') {
            unlisten();
            resolve();
          }
        });
      });
    }
    await this.opening;
  }

  // What the daemon tells.

  private hear(message: Message): void {
    if (
      this.handle === undefined ||
      !('session' in message.params) ||
      message.params.session !== this.handle
    ) {
      return;
    }
    switch (message.method) {
      case 'session/didChange':
        this.apply(message.params);
        break;
      case 'session/didReset':
        this.happened.emit({ what: 'lost', reason: message.params.reason });
        void this.fetch();
        break;
      case 'session/didProgress':
        this.running.take(isRunning(message.params) ? message.params : null);
        this.happened.emit({ what: 'progress', progress: message.params });
        break;
      case 'session/didPresence':
        this.hearPresence(message.params);
        break;
      default:
        break;
    }
  }

  private hearPresence({ clients, pis = [] }: DidPresence): void {
    const before = isWatchedOnly(this.pis);
    if (this.info) {
      this.info.clients = clients;
      this.info.pis = pis;
    }
    this.happened.emit({ what: 'pis' });
    if (isWatchedOnly(pis) !== before) {
      // Whether it can be written is told with the session alone.
      void this.fetch();
    }
  }

  private apply(delta: DidChange): void {
    const info = this.info;
    if (!info || delta.epoch !== info.epoch || delta.base > info.rev) {
      void this.fetch();
      return;
    }
    if (delta.base < info.rev) {
      return;
    }
    const hasMoved = info.leaf !== delta.leaf;
    info.rev = delta.rev;
    info.leaf = delta.leaf;
    this.size = delta.contextSize ?? this.size;
    const acts: Change[] = [];
    for (const change of delta.changes) {
      if (change.kind === 'rows') {
        this.rows.hear(change satisfies RowsChange, delta.rev);
      } else {
        acts.push(change);
        this.applyChange(change, info, delta.rev);
        if (hasMoved && change.origin !== 'repair') {
          this.mover = this.isOther(change.origin) ? change.origin : undefined;
        }
      }
    }
    this.happened.emit({ what: 'rows' });
    if (acts.length > 0) {
      this.happened.emit({ what: 'acts', changes: acts });
    }
  }

  /** Whether somebody else did something. */
  isOther(origin: Origin): boolean {
    return typeof origin === 'string' || origin.clientId !== this.daemon.clientId;
  }

  private applyChange(change: Change, info: OpenResult, rev: number): void {
    const nodes = change.nodes ?? [];
    info.entryCount += nodes.length;
    if (change.origin === 'external') {
      info.lastExternal = new Date().toISOString();
    }
    if (this.isOther(change.origin) && change.origin !== 'repair') {
      this.foreignRev = rev;
      if (change.kind === 'append') {
        nodes.forEach((node) => this.fresh.add(String(node.id)));
      }
    }
    applyToHeader(change, info);
  }
}

function applyToHeader(change: Change, info: OpenResult): void {
  const members = change as Partial<OpenResult> & {
    ours?: EntryId | null;
    theirs?: EntryId | null;
  };
  switch (change.kind) {
    case 'rename':
      info.name = members.name ?? null;
      break;
    case 'save':
      info.unsaved = false;
      info.path = members.path ?? info.path;
      break;
    case 'leafConflict':
      info.leafConflict = { ours: members.ours ?? null, theirs: members.theirs ?? null };
      break;
    case 'navigate':
      info.leafConflict = null;
      break;
    case 'problem':
      info.problems = [...info.problems, ...(members.problems ?? [])];
      break;
  }
}

function isAway(state: Daemon['state']): boolean {
  return state === 'offline' || state === 'missing';
}

function isWatchedOnly(pis: readonly LivePi[]): boolean {
  return pis.length === 1 && pis[0]?.drives === false;
}

function isRunning(progress: Progress): boolean {
  return progress.state === 'begin' || progress.state === 'report';
}
