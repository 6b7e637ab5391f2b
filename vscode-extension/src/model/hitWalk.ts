/**
 * The hits of a search, of which one is at hand; after the last one comes the first again. Of many
 * hits only the first page is there at first; the next one is read by whoever comes to its end.
 */

import type { EntryId, SearchHit, SearchResult } from './wire';

/** Hits before the end of those that are known at which the next page is read: keys come quickly. */
const AHEAD = 10;

/** Some hits, and where the search goes on. */
export type Hits = Pick<SearchResult, 'hits' | 'cursor'>;

export class HitWalk {
  readonly entries = new Set<string>();
  private readonly hits: SearchHit[] = [];
  private cursor: string | null = null;
  private at = 0;

  /**
   * @param more reads the hits behind a cursor
   * @throws {RangeError} when there is none
   */
  constructor(
    readonly query: string,
    first: Hits,
    private readonly more: (cursor: string) => Promise<Hits>,
  ) {
    if (first.hits.length === 0) {
      throw new RangeError('A walk needs a hit to begin with.');
    }
    this.take(first);
  }

  get length(): number {
    return this.hits.length;
  }

  get entry(): EntryId {
    return (this.hits[this.at] as SearchHit).entry;
  }

  /** `3 of 17`; `3 of 100+` where there are more. */
  get place(): string {
    return `${this.at + 1} of ${this.count}`;
  }

  /** `17`, or `100+`. */
  get count(): string {
    return `${this.hits.length}${this.cursor === null ? '' : '+'}`;
  }

  /** Goes on among the hits that have been read. */
  step(by: 1 | -1): void {
    this.at = (this.at + by + this.hits.length) % this.hits.length;
  }

  /** Reads the next page where the end of those that are known is near, so that steps lead there. */
  async readOn(): Promise<void> {
    if (this.cursor !== null && this.at >= this.hits.length - AHEAD) {
      this.take(await this.more(this.cursor));
    }
  }

  private take({ hits, cursor }: Hits): void {
    this.hits.push(...hits);
    hits.forEach((hit) => this.entries.add(String(hit.entry)));
    this.cursor = cursor;
  }
}
