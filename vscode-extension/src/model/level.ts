/**
 * The rows of one level, in order: a stretch that was read as it is now, and in front of and behind
 * it what is left over from before, shown until that is read again.
 */

import type { Row, RowsResult } from '../rpc/protocol';

export class Level {
  private shown: Row[];
  /** The stretch that was read: from `first` up to, and without, `end`. */
  private first = 0;
  private end: number;
  /** The stretch goes on in front of, or behind, this row; undefined where it does not. */
  before: string | undefined;
  after: string | undefined;
  /** Rows of the whole level. */
  total: number;

  constructor(page: RowsResult) {
    this.shown = [...page.rows];
    this.end = page.rows.length;
    this.before = page.before ?? undefined;
    this.after = page.after ?? undefined;
    this.total = page.total;
  }

  get rows(): readonly Row[] {
    return this.shown;
  }

  /** How many rows stand in front of those that are known. */
  get earlier(): number {
    return this.before === undefined ? 0 : Math.max(this.total - this.shown.length - this.later, 1);
  }

  /** How many stand behind them; as many as there are where it goes on in front too. */
  get later(): number {
    if (this.after === undefined) {
      return 0;
    }
    return this.before === undefined ? Math.max(this.total - this.shown.length, 1) : 1;
  }

  /** On which side rows are left over from before, to be read again; undefined: on none. */
  get leftOver(): 'before' | 'after' | undefined {
    if (this.first > 0 && this.before !== undefined) {
      return 'before';
    }
    return this.end < this.shown.length && this.after !== undefined ? 'after' : undefined;
  }

  /** Where a row stands, or -1. Most changes are near the end, so it is looked for from there. */
  position(id: string): number {
    for (let at = this.shown.length - 1; at >= 0; at--) {
      if (this.shown[at]?.id === id) {
        return at;
      }
    }
    return -1;
  }

  row(id: string): Row | undefined {
    return this.shown[this.position(id)];
  }

  /** Takes a page as the stretch that was read. */
  replace(page: RowsResult): void {
    this.set(this.leftInFront(page), page.rows, this.leftBehind(page));
    this.before = page.before ?? undefined;
    this.after = page.after ?? undefined;
    this.total = page.total;
  }

  /** Takes the page that goes on in front of the stretch. */
  extendBefore(page: RowsResult): void {
    const known = this.shown.slice(this.first, this.end);
    const back = this.shown.slice(this.end);
    this.set(this.leftInFront(page), [...page.rows, ...known], back);
    this.before = page.before ?? undefined;
    this.total = page.total;
  }

  /** Takes the page that goes on behind the stretch. */
  extendAfter(page: RowsResult): void {
    const front = this.shown.slice(0, this.first);
    const known = this.shown.slice(this.first, this.end);
    this.set(front, [...known, ...page.rows], this.leftBehind(page));
    this.after = page.after ?? undefined;
    this.total = page.total;
  }

  /** Removes a row; not having it is no error. */
  remove(id: string): void {
    const at = this.position(id);
    if (at >= 0) {
      this.takeOut(at);
      this.total--;
    }
  }

  /**
   * Puts a row behind the one it stands after; twice is as good as once. Where that one has not
   * been read, the row comes with its page.
   */
  upsert(row: Row): void {
    const at = this.position(row.id);
    if (at >= 0 && (this.shown[at - 1]?.id ?? null) === row.after) {
      this.shown[at] = row;
      return;
    }
    if (at >= 0) {
      this.takeOut(at);
    } else {
      this.total++;
    }
    const behind = row.after === null ? -1 : this.position(row.after);
    if (behind >= 0) {
      this.putIn(row, behind + 1);
    } else if (row.after === null && this.before === undefined) {
      this.putIn(row, 0);
    }
  }

  private set(front: Row[], middle: Row[], back: Row[]): void {
    // What moved from one part into another stands in the one that was just read.
    const read = new Set(middle.map((row) => row.id));
    const before = front.filter((row) => !read.has(row.id));
    this.shown = [...before, ...middle, ...back.filter((row) => !read.has(row.id))];
    this.first = before.length;
    this.end = before.length + middle.length;
  }

  /** What stood in front of a page before it came; nothing where the page begins the level. */
  private leftInFront(page: RowsResult): Row[] {
    const first = page.before == null ? undefined : page.rows[0];
    const at = first ? this.position(first.id) : -1;
    return at < 0 ? [] : this.shown.slice(0, at);
  }

  private leftBehind(page: RowsResult): Row[] {
    const last = page.after == null ? undefined : page.rows.at(-1);
    const at = last ? this.position(last.id) : -1;
    return at < 0 ? [] : this.shown.slice(at + 1);
  }

  private takeOut(at: number): void {
    this.shown.splice(at, 1);
    if (at < this.first) {
      this.first--;
    }
    if (at < this.end) {
      this.end--;
    }
  }

  private putIn(row: Row, at: number): void {
    this.shown.splice(at, 0, row);
    if (at < this.first) {
      this.first++;
    }
    if (at <= this.end) {
      this.end++;
    }
  }
}
