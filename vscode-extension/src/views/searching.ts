/** Walking the hits of a search: each is shown in its place, and folds are left as they were. */

import { Emitter } from '../model/events';
import type { HitWalk } from '../model/hitWalk';
import { wordsOf } from '../texts/hits';
import type { CurrentSession } from './current';
import type { BranchTree } from './tree';

export class Searching {
  walk: HitWalk | undefined;
  /** Which hit is shown: `3 of 17`. */
  place: string | undefined;
  private readonly changed = new Emitter<undefined>();
  private last: Promise<unknown> = Promise.resolve();
  private asked = 0;

  constructor(
    current: CurrentSession,
    private readonly tree: BranchTree,
  ) {
    current.on((happening) => {
      if (happening.what === 'switched') {
        this.set(undefined);
      }
    });
  }

  onChange(listener: () => void): () => void {
    return this.changed.on(listener);
  }

  /** Shows the first hit that has a row. */
  begin(walk: HitWalk): Promise<boolean> {
    this.set(walk);
    return this.show(walk, 1);
  }

  /** Shows the next hit, or the one before. */
  async step(by: 1 | -1): Promise<boolean> {
    const walk = this.walk;
    if (!walk) {
      return false;
    }
    await this.inTurn(() => (by === 1 ? walk.readOn() : Promise.resolve()));
    if (this.walk !== walk) {
      return false;
    }
    walk.step(by);
    return this.show(walk, by);
  }

  /** Closes the folds that it opened; what is selected gives way to the fold it is in. */
  async end(): Promise<void> {
    this.set(undefined);
    await this.inTurn(() => this.tree.selectAround());
  }

  /** @returns whether one of the hits has a row under the filter at hand */
  private show(walk: HitWalk, by: 1 | -1): Promise<boolean> {
    const mine = ++this.asked;
    return this.inTurn(async () => {
      // Names and settings are found too, and have no row under most filters.
      let passed = 0;
      while (passed < walk.length) {
        if (mine !== this.asked || this.walk !== walk) {
          // A later step is what is wanted by now.
          return true;
        }
        const path = await this.tree.pass(walk.entry);
        if (path) {
          this.tree.close(path);
          this.place = walk.place;
          this.changed.emit(undefined);
          return true;
        }
        walk.step(by);
        passed++;
      }
      return false;
    });
  }

  /** One at a time: VS Code tells of folds it opens while a row is being revealed. */
  private inTurn<T>(act: () => Promise<T>): Promise<T> {
    const done = this.last.then(act);
    this.last = done.catch(() => undefined);
    return done;
  }

  private set(walk: HitWalk | undefined): void {
    this.walk = walk;
    this.place = undefined;
    this.tree.showHits(walk && { words: wordsOf(walk.query), entries: walk.entries });
    this.changed.emit(undefined);
  }
}
