/** The lines of a graph that are known: of one revision, stretch by stretch. */

import type { GraphLine, GraphResult } from '../../model/wire';
import type { Zoom } from '../messages';

/** More are not kept: what was scrolled past long ago is asked for again. */
const MOST = 6000;

/** `stale`: older than what is shown. `torn`: newer, so that all has to be asked for again. */
export type Taken = 'taken' | 'stale' | 'torn';

export class Lines {
  total = 0;
  lanes = 1;
  here = 0;
  window: number | null = null;
  /** The largest context size known, in tokens: what widths go by where the window is unknown. */
  largest = 0;
  zoom: Zoom | undefined;
  private rev = 0;
  private byNumber = new Map<number, GraphLine>();
  private numbers = new Map<string, number>();
  /** By the number behind a stretch, or of its first line, where branches leave next. */
  private pointsAfter = new Map<number, number | null>();
  private pointsBefore = new Map<number, number | null>();

  get isEmpty(): boolean {
    return this.byNumber.size === 0;
  }

  at(number: number): GraphLine | undefined {
    return this.byNumber.get(number);
  }

  /** The number of a line by its id, if it is known. */
  numberOf(id: string): number | undefined {
    return this.numbers.get(id);
  }

  /** Puts an answer in the place of all there was, unless it is older than that. */
  replace(result: GraphResult): Taken {
    if (this.zoom === result.zoom && result.rev < this.rev) {
      return 'stale';
    }
    this.forget();
    this.largest = 0;
    this.add(result);
    return 'taken';
  }

  /** Adds a stretch to what is known, if it is of the same revision. */
  merge(result: GraphResult): Taken {
    if (this.zoom !== result.zoom || result.rev < this.rev) {
      return 'stale';
    }
    if (result.rev > this.rev || result.total !== this.total || result.here !== this.here) {
      return 'torn';
    }
    if (this.byNumber.size + result.lines.length > MOST) {
      this.forget();
    }
    this.add(result);
    return 'taken';
  }

  /** The nearest line at which branches leave, behind a line or before it; undefined: none known. */
  point(from: number, step: 1 | -1): number | undefined {
    for (let number = from + step; ; number += step) {
      const line = this.byNumber.get(number);
      if (!line) {
        const told = step > 0 ? this.pointsAfter.get(number) : this.pointsBefore.get(number + 1);
        return told ?? undefined;
      }
      if (line.leaving.length > 0) {
        return number;
      }
    }
  }

  private forget(): void {
    this.byNumber.clear();
    this.numbers.clear();
    this.pointsAfter.clear();
    this.pointsBefore.clear();
  }

  private add(result: GraphResult): void {
    const { rev, zoom, total, lanes, here, window, start, lines } = result;
    Object.assign(this, { rev, zoom, total, lanes, here, window });
    lines.forEach((line, at) => {
      this.byNumber.set(start + at, line);
      this.numbers.set(line.id, start + at);
      for (const tokens of [line.size?.tokens, ...line.passing.map((lane) => lane.tokens)]) {
        this.largest = Math.max(this.largest, tokens ?? 0);
      }
    });
    this.pointsAfter.set(start + lines.length, result.pointAfter);
    this.pointsBefore.set(start, result.pointBefore);
  }
}
