/**
 * Rows by level: pages as they were read, brought up to date by what the daemon tells, and which
 * rows are open. What is missing is asked for; what is stale stays until it has been read anew.
 */

import { asFailure, type Failure } from '../rpc/failure';
import type { EntryId, Row, RowsChange, RowsParams, RowsResult } from './wire';
import { readLast } from './lastRows';
import { Level } from './level';

/** Rows of a page. */
export const PAGE = 500;
/** Rows of a page where many have to be read. */
const LARGE_PAGE = 2000;
/** Alternatives of a group are read in smaller pieces. */
const GROUP_PAGE = 50;
/** How the ids of groups begin. */
const GROUP = 'g:';
/** How often one page is asked for. */
const ATTEMPTS = 3;
/** Rows of a page in which one is looked for. */
const FOUND = 20;
/** Changes that are kept to be laid over a page that was made before them. */
const KEPT = 200;

/** The main line among levels; the others go by the row they are inside. */
export const MAIN = null;
export type LevelKey = string | null;

export type RowsWish = Omit<RowsParams, 'session' | 'filter'>;

/** The end of a level, where a long one has gone on last. */
const LAST = 'last';
type Piece = RowsWish | typeof LAST;

/** A row that was looked for. */
export interface Found {
  row: Row;
  /** The rows it is inside, the outermost first. */
  path: string[];
  /** Those of them that were closed before. */
  opened: string[];
}

export class RowLevels {
  private levels = new Map<LevelKey, Level>();
  /** What the user opened (true) or closed (false), by row. */
  private readonly folds = new Map<string, boolean>();
  /** Which question about a level counts: an older one counts no more. */
  private readonly asked = new Map<LevelKey, number>();
  private questions = 0;
  private readonly pending = new Map<LevelKey, Promise<void>>();
  /** Grows whenever everything is read anew; what was asked before counts no more. */
  private generation = 0;
  private late: { rev: number; change: RowsChange }[] = [];
  private isGathering = false;
  private isStale = false;

  constructor(
    private readonly ask: (wish: RowsWish) => Promise<RowsResult>,
    private readonly changed: () => void,
    /** Told why the main line could not be read, and undefined once it was. */
    private readonly failing: (failure: Failure | undefined) => void = () => undefined,
  ) {}

  level(key: LevelKey): Level | undefined {
    return this.levels.get(key);
  }

  /** A row wherever it is, if it has been read. */
  row(id: string): Row | undefined {
    for (const level of this.levels.values()) {
      const row = level.row(id);
      if (row) {
        return row;
      }
    }
    return undefined;
  }

  /** All rows that have been read, level by level. */
  *all(): Generator<Row> {
    for (const level of this.levels.values()) {
      yield* level.rows;
    }
  }

  /** The row that an entry is the end of, if it has been read; `here` is none. */
  rowOf(entry: EntryId): Row | undefined {
    for (const level of this.levels.values()) {
      const row = level.rows.findLast((one) => one.last === entry);
      if (row) {
        return row;
      }
    }
    return undefined;
  }

  /** Whether something has been asked for and has not come yet. */
  get isReading(): boolean {
    return this.isGathering || this.pending.size > 0;
  }

  isOpen(row: Row): boolean {
    return row.fold !== 'none' && (this.folds.get(row.id) ?? row.fold === 'open');
  }

  setOpen(id: string, isOpen: boolean): void {
    this.folds.set(id, isOpen);
  }

  setFolds(folds: Iterable<[string, boolean]>): void {
    this.folds.clear();
    for (const [id, isOpen] of folds) {
      this.folds.set(id, isOpen);
    }
  }

  // Reading.

  /**
   * Reads the main line and what is open inside, then takes all of it at once.
   * @param isSame whether rows that were read before are of the same session and filter
   * @returns whether it was taken; not where it was begun anew meanwhile
   */
  async readAll(page: RowsResult | undefined, isSame: boolean): Promise<boolean> {
    const mine = ++this.generation;
    this.late = [];
    this.isGathering = true;
    this.isStale = false;
    try {
      const main = page ?? (await this.ask({ around: 'here', count: PAGE }));
      const gathered = new Map<LevelKey, Level>();
      if (mine === this.generation) {
        const known = isSame ? this.levels.get(MAIN) : undefined;
        known?.replace(main);
        gathered.set(MAIN, known ?? new Level(main));
        await this.gather(main.rows, gathered);
      }
      if (mine !== this.generation) {
        return false;
      }
      this.levels = gathered;
      this.asked.clear();
      this.layOver(main.rev);
    } finally {
      if (mine === this.generation) {
        this.isGathering = false;
      }
    }
    if (this.isStale) {
      this.refresh(MAIN);
    } else {
      void this.readLeftOver(MAIN);
    }
    return true;
  }

  private async gather(rows: readonly Row[], into: Map<LevelKey, Level>): Promise<void> {
    await Promise.all(
      rows.map(async (row) => {
        if (!this.isOpen(row) || into.has(row.id)) {
          return;
        }
        try {
          const inside = new Level(await this.readLast(row.id, row));
          into.set(row.id, inside);
          await this.gather(inside.rows, into);
        } catch {
          // It is read when it is opened again.
        }
      }),
    );
  }

  /** Rows inside one, read where they are not known; undefined where that fails. */
  async inside(key: LevelKey): Promise<Level | undefined> {
    if (!this.levels.has(key) && key !== MAIN && !this.pending.has(key)) {
      void this.askLevel(key, LAST, (page) => {
        this.levels.set(key, new Level(page));
      });
    }
    // Another question about it may take the place of the one that is waited for.
    while (!this.levels.has(key) && this.pending.has(key)) {
      await this.pending.get(key);
    }
    return this.levels.get(key);
  }

  /** Reads one more page in front of, or behind, what is known of a level. */
  async more(key: LevelKey, side: 'before' | 'after', count = pageOf(key)): Promise<void> {
    let isTaken = false;
    // A stale level that is asked for again takes the place of the question about one page.
    for (let attempt = 0; attempt < ATTEMPTS && !isTaken; attempt++) {
      await this.pending.get(key);
      const level = this.levels.get(key);
      const from = level?.[side];
      if (!level || from === undefined) {
        return;
      }
      await this.askLevel(key, { [side]: from, count }, (page) => {
        isTaken = true;
        if (side === 'before') {
          level.extendBefore(page);
        } else {
          level.extendAfter(page);
        }
      });
    }
  }

  /** Reads a level on until it holds a row. */
  private async reach(key: LevelKey, id: string): Promise<void> {
    for (const side of ['before', 'after'] as const) {
      let from: string | undefined;
      for (;;) {
        const level = this.levels.get(key);
        const next = level?.[side];
        // No step forward is a failure, which has been dealt with.
        if (!level || level.position(id) >= 0 || next === undefined || next === from) {
          break;
        }
        from = next;
        await this.more(key, side, LARGE_PAGE);
      }
    }
  }

  /** Reads again what was left over from before in front of and behind a page. */
  private async readLeftOver(key: LevelKey): Promise<void> {
    let from: string | undefined;
    for (;;) {
      const level = this.levels.get(key);
      const side = level?.leftOver;
      const next = side && level?.[side];
      if (side === undefined || next === undefined || next === from) {
        return;
      }
      from = next;
      await this.more(key, side, LARGE_PAGE);
    }
  }

  /**
   * The row of an entry and the rows to open on the way to it, the outermost first, all of them
   * read; undefined where the entry has no row.
   */
  async find(entry: EntryId | 'here'): Promise<Found | undefined> {
    const page = await this.ask({ around: entry, count: FOUND });
    const row = page.rows.find((one) => standsFor(one, entry));
    if (!row) {
      return undefined;
    }
    const path = page.path ?? [];
    const opened: string[] = [];
    for (const [at, key] of [MAIN, ...path].entries()) {
      const around = key === MAIN ? undefined : this.row(key);
      if (key !== MAIN && !(around && this.isOpen(around))) {
        opened.push(key);
        this.folds.set(key, true);
      }
      await this.inside(key);
      await this.reach(key, path[at] ?? row.id);
    }
    this.changed();
    const known = this.row(row.id);
    return known && { row: known, path, opened };
  }

  /** The last rows of a level; of a group, which has the newest in front, the first. */
  private readLast(key: string, around: Row | undefined): Promise<RowsResult> {
    const count = pageOf(key);
    return key.startsWith(GROUP)
      ? this.ask({ level: key, count })
      : readLast(this.ask, key, around?.last ?? null, count);
  }

  private askLevel(key: LevelKey, wish: Piece, take: (page: RowsResult) => void): Promise<void> {
    const answered = this.answer(key, wish, take).then((hasChanged) => {
      if (this.pending.get(key) === answered) {
        this.pending.delete(key);
      }
      if (hasChanged) {
        this.changed();
      }
    });
    this.pending.set(key, answered);
    return answered;
  }

  /**
   * Asks, and takes what comes; never fails. An older question about a level counts no more.
   * @returns whether something may look different now
   */
  private async answer(
    key: LevelKey,
    wish: Piece,
    take: (page: RowsResult) => void,
  ): Promise<boolean> {
    const mine = ++this.questions;
    const generation = this.generation;
    this.asked.set(key, mine);
    const counts = () => this.asked.get(key) === mine && generation === this.generation;
    try {
      const page = await this.read(key, wish);
      if (!counts()) {
        return false;
      }
      this.asked.delete(key);
      take(page);
      if (key === MAIN) {
        this.failing(undefined);
      }
      this.layOver(page.rev);
      return true;
    } catch (error) {
      if (!counts()) {
        return false;
      }
      this.asked.delete(key);
      return this.failed(key, error);
    }
  }

  private read(key: LevelKey, wish: Piece): Promise<RowsResult> {
    if (key !== MAIN) {
      return wish === LAST ? this.readLast(key, this.row(key)) : this.ask({ ...wish, level: key });
    }
    return this.ask(wish === LAST ? { around: 'here', count: PAGE } : wish);
  }

  private failed(key: LevelKey, error: unknown): boolean {
    const failure = asFailure(error);
    if (failure.kind === 'Offline') {
      return false;
    }
    if (key === MAIN) {
      // What is shown stays, and is said to be old.
      this.failing(failure);
    } else {
      // There is no such row any more, or nothing inside.
      this.levels.delete(key);
    }
    return true;
  }

  // What the daemon tells.

  /** Takes a change of rows; `rev` is the session's revision after it. */
  hear(change: RowsChange, rev: number): void {
    this.late.push({ rev, change });
    if (this.late.length > KEPT) {
      this.late.shift();
    }
    this.apply(change);
    const stale = change.stale ?? [];
    if (this.isGathering && stale.length > 0) {
      // What is on its way may have been made before.
      this.isStale = true;
    } else if (stale.includes(MAIN)) {
      this.refresh(MAIN);
    } else {
      stale.forEach((key) => this.refresh(key));
    }
  }

  /** Lays changes over a page that was made before they came; twice is as good as once. */
  private layOver(rev: number): void {
    for (const one of this.late) {
      if (one.rev >= rev) {
        this.apply(one.change);
      }
    }
  }

  /**
   * Takes rows of levels that are not stale: of a stale one, whose page is on its way, a change
   * may tell of rows that have moved on since, and what is shown stays until the page is there.
   */
  private apply(change: RowsChange): void {
    const stale = new Set(change.stale ?? []);
    if (stale.has(MAIN)) {
      return;
    }
    for (const id of change.gone ?? []) {
      for (const [key, level] of this.levels) {
        if (!stale.has(key)) {
          level.remove(id);
        }
      }
      this.levels.delete(id);
    }
    for (const row of (change.upsert ?? []).filter((one) => !stale.has(one.level))) {
      const home = this.levels.get(row.level);
      for (const [key, level] of this.levels) {
        if (level !== home && !stale.has(key)) {
          level.remove(row.id);
        }
      }
      home?.upsert(row);
    }
  }

  /** Asks again for a level that is stale, and for what is open inside. */
  private refresh(key: LevelKey): void {
    for (const known of [...this.levels.keys()]) {
      if (known !== key && known !== MAIN && (key === MAIN || this.isInside(known, key))) {
        this.refreshOne(known);
      }
    }
    if (this.levels.has(key)) {
      this.refreshOne(key);
    }
  }

  private refreshOne(key: LevelKey): void {
    const row = key === MAIN ? undefined : this.row(key);
    if (key !== MAIN && !(row && this.isOpen(row))) {
      // It is read when it is opened.
      this.levels.delete(key);
      this.asked.delete(key);
      return;
    }
    void this.askLevel(key, LAST, (page) => {
      const level = this.levels.get(key);
      if (level) {
        level.replace(page);
      } else {
        this.levels.set(key, new Level(page));
      }
    }).then(() => this.readLeftOver(key));
  }

  private isInside(key: string, outer: string): boolean {
    let row = this.row(key);
    while (row && row.level !== null) {
      if (row.level === outer) {
        return true;
      }
      row = this.row(row.level);
    }
    return false;
  }
}

function pageOf(key: LevelKey): number {
  return key?.startsWith(GROUP) ? GROUP_PAGE : PAGE;
}

/** Whether acting on a row means this entry, or the row stands for it. */
function standsFor(row: Row, entry: EntryId | 'here'): boolean {
  return row.id === entry || [row.entry, row.last, row.first].includes(entry);
}
