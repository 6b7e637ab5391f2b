/** The hits of a search, of which one is at hand; after the last one comes the first again. */

import type { EntryId, SearchHit } from './wire';

export class HitWalk {
  readonly entries: ReadonlySet<string>;
  private at = 0;

  /**
   * @param isMore whether there are more than these
   * @throws {RangeError} when there is none
   */
  constructor(
    readonly query: string,
    private readonly hits: readonly SearchHit[],
    private readonly isMore: boolean,
  ) {
    if (hits.length === 0) {
      throw new RangeError('A walk needs a hit to begin with.');
    }
    this.entries = new Set(hits.map((hit) => String(hit.entry)));
  }

  get length(): number {
    return this.hits.length;
  }

  get entry(): EntryId {
    return (this.hits[this.at] as SearchHit).entry;
  }

  /** `3 of 17`. */
  get place(): string {
    return `${this.at + 1} of ${this.hits.length}${this.isMore ? '+' : ''}`;
  }

  step(by: 1 | -1): void {
    this.at = (this.at + by + this.hits.length) % this.hits.length;
  }
}
