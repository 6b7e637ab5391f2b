/** For how long something has been so: what is over at once is not worth a word. */

import type { Waited } from '../texts/waiting';

/** Milliseconds before anything says that it takes a while, and before it offers the log. */
const CALM = 300;
const SLOW = 5000;

/** Tells when it becomes worth a word, and more. */
export class Waiting {
  waited: Waited = 'calm';
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly changed: () => void) {}

  /** Begins with the first true, and ends with the first false. */
  take(isSo: boolean): void {
    if (!isSo) {
      clearTimeout(this.timer);
      this.timer = undefined;
      this.waited = 'calm';
    } else if (this.timer === undefined) {
      this.wait('long', CALM);
    }
  }

  private wait(next: Waited, after: number): void {
    this.timer = setTimeout(() => {
      this.waited = next;
      if (next === 'long') {
        this.wait('slow', SLOW - CALM);
      }
      this.changed();
    }, after);
  }
}
