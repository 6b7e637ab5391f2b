/** My last acts and how to undo them: by acting again, so that nothing is erased. */

import type { Method, Params } from '../rpc/peer';

/** One request, without the session it goes to. */
export type Act = {
  [M in Method]: { method: M; params: Omit<Params<M>, 'session'> };
}[Method];

export interface Undoable {
  /** In this order. */
  acts: Act[];
  /** The session's revision after what is to be undone. */
  rev: number;
  /** Said when it is undone. */
  sentence: string;
}

/** Acts that are remembered. */
const KEPT = 50;

export class UndoStack {
  private readonly done: Undoable[] = [];

  get isEmpty(): boolean {
    return this.done.length === 0;
  }

  remember(undoable: Undoable): void {
    this.done.push(undoable);
    if (this.done.length > KEPT) {
      this.done.shift();
    }
  }

  clear(): void {
    this.done.length = 0;
  }

  /** The last act; a reason, in a sentence, where it cannot be undone. */
  last(foreignRev: number): Undoable | string {
    const last = this.done.at(-1);
    if (!last) {
      return 'There is nothing of mine to undo.';
    }
    return last.rev < foreignRev ? 'Others came between; undo would touch what they did.' : last;
  }

  forget(undoable: Undoable): void {
    const at = this.done.lastIndexOf(undoable);
    if (at >= 0) {
      this.done.splice(at, 1);
    }
  }
}
