/** What runs in a session, and whether it has run for long enough to be worth saying. */

import type { Progress } from './wire';

/** Milliseconds after which something that runs is said: what is over at once would only blink. */
const CALM = 300;

export class Running {
  operation: Progress | null = null;
  private isCalm = false;
  private timer: NodeJS.Timeout | undefined;

  /** Calls `said` when what runs is to be said from now on. */
  constructor(private readonly said: () => void) {}

  /** What runs, once it has run for a while. */
  get long(): Progress | null {
    return this.isCalm ? null : this.operation;
  }

  /** Takes what the daemon tells of it; null: nothing runs. */
  take(operation: Progress | null): void {
    const isSame = this.operation?.operationId === operation?.operationId;
    this.operation = operation;
    if (isSame) {
      return;
    }
    clearTimeout(this.timer);
    this.isCalm = operation !== null;
    if (operation) {
      this.timer = setTimeout(() => {
        this.isCalm = false;
        this.said();
      }, CALM);
    }
  }
}
