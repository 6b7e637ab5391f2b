/** What is told of without being looked at: the newest sentence, at most one in two seconds. */

/** Milliseconds between two sentences. */
export const PAUSE = 2000;

export class Announcer {
  private waiting: string | undefined;
  private last = -Infinity;
  private isTimed = false;

  constructor(
    private readonly tell: (sentence: string) => void,
    /** Milliseconds since whenever. */
    private readonly now: () => number,
    private readonly later: (run: () => void, milliseconds: number) => void,
  ) {}

  /** Tells it now, or when it is time; a newer sentence takes the place of one that waits. */
  say(sentence: string): void {
    this.waiting = sentence;
    const pause = this.last + PAUSE - this.now();
    if (pause <= 0) {
      this.speak();
    } else if (!this.isTimed) {
      this.isTimed = true;
      this.later(() => {
        this.isTimed = false;
        this.speak();
      }, pause);
    }
  }

  private speak(): void {
    if (this.waiting !== undefined) {
      this.last = this.now();
      this.tell(this.waiting);
      this.waiting = undefined;
    }
  }
}
