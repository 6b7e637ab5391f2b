/** What the user of pi sees of us: one line in the status area, gone after a while. */

import { after } from './guard.js';

const KEY = 'pisessiond';
const SHOWN_FOR = 5_000;

export class Showing {
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  #isShown = false;
  #isEnded = false;

  /** @param {import('./types.js').ExtensionContext} ctx */
  constructor(ctx) {
    this.ctx = ctx;
  }

  /**
   * Says who did something.
   *
   * @param {string} text
   */
  did(text) {
    this.hold(text);
    this.#timer = after('showing.end', SHOWN_FOR, () => this.release());
  }

  /**
   * The same until `release`.
   *
   * @param {string} text
   */
  hold(text) {
    clearTimeout(this.#timer);
    if (!this.#isEnded && this.ctx.hasUI) {
      this.ctx.ui.setStatus(KEY, oneLine(text));
      this.#isShown = true;
    }
  }

  release() {
    clearTimeout(this.#timer);
    if (this.#isShown) {
      this.#isShown = false;
      this.ctx.ui.setStatus(KEY, undefined);
    }
  }

  /** The session ends: from then on pi throws at whoever asks its context for anything. */
  end() {
    this.#isEnded = true;
    try {
      this.release();
    } catch {
      // It has ended already, and its line with it.
    }
  }
}

/**
 * Names come from outside: no control characters, no length without end.
 *
 * @param {string} text
 */
export function oneLine(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ').slice(0, 120);
}
