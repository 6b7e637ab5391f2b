/** A refusal of what a client asked: an answer, not a fault. Nothing in pi has changed by then. */

import { plain } from './session.js';

export class Refusal extends Error {
  /**
   * @param {import('./types.js').Kind} kind
   * @param {string} message what a person reads, with the next step
   * @param {Partial<import('./types.js').PiAnswer>} [more]
   */
  constructor(kind, message, more = {}) {
    super(message);
    this.kind = kind;
    this.more = more;
  }

  /** @returns {import('./types.js').PiAnswer} */
  answer() {
    return plain({ refused: this.kind, message: this.message, ...this.more });
  }
}

/**
 * @param {import('./types.js').Operation | null | undefined} operation
 * @returns {Refusal}
 */
export function busy(operation) {
  const what = { turn: 'answers', compaction: 'compacts', summary: 'summarises a branch' };
  return new Refusal('Busy', `pi ${what[operation ?? 'turn']} now; try again when it is idle.`, {
    operation: operation ?? 'turn',
  });
}
