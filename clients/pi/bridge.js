/**
 * One session of pi, from its start to its end: what stands between the link, which outlives it, and
 * the parts that watch and drive.
 */

import { VERSION } from '@earendil-works/pi-coding-agent';
import { Drive } from './drive.js';
import { begin } from './guard.js';
import { decideStanding } from './modes.js';
import { describeSession, plain, processStart } from './session.js';
import { shared } from './shared.js';
import { Showing } from './showing.js';
import { Watch } from './watch.js';

/** @typedef {import('./types.js').Json} Json */

export const COMMAND = 'pisessiond';
const ATTACH_PATIENCE = 30_000;
/** A larger message the daemon would not take; sessions in memory come whole. */
const MOST_ENTRIES = 48 << 20;

export class Bridge {
  isEnded = false;
  /** A client has moved the leaf, and nobody since. */
  wasMoved = false;
  /** Told of every prompt on its way. @type {((text: string) => void) | undefined} */
  onInput;
  /** How the daemon sees this pi. @type {import('./types.js').PiAttachResult | undefined} */
  seen;

  #previousFile = shared().file;
  #isAttached = false;
  #attaches = 0;

  /**
   * @param {import('./types.js').ExtensionAPI} api
   * @param {import('./types.js').ExtensionContext} ctx
   * @param {import('./link.js').Link} link
   * @param {import('./types.js').Reason} reason
   */
  constructor(api, ctx, link, reason) {
    this.api = api;
    this.ctx = ctx;
    this.link = link;
    this.reason = reason;
    this.gen = ++shared().gen;
    // A context's type promises to read only; what stands there is the session itself.
    this.manager = /** @type {import('./types.js').Manager} */ (
      /** @type {unknown} */ (ctx.sessionManager)
    );
    this.showing = new Showing(ctx);
    this.watch = new Watch({
      api,
      ctx,
      manager: this.manager,
      gen: this.gen,
      tell: (method, params) => link.tell(method, params),
    });
    this.drive = new Drive(this);
    this.standing = this.stand();
  }

  /** What it may do, from what is known now. */
  stand() {
    const flag = this.api.getFlag(COMMAND);
    return decideStanding({
      version: VERSION,
      mode: this.ctx.mode,
      isNested: shared().isNested,
      wish: shared().wish ?? (flag || undefined) ?? process.env.PISESSIOND_BRIDGE,
      isCommandOurs: this.isCommandOurs(),
    });
  }

  /** Whether `/pisessiond` leads here: of two extensions that have it, neither gets the plain name. */
  isCommandOurs() {
    const theirs = this.api.getCommands().filter((one) => one.name.split(':')[0] === COMMAND);
    return theirs.length === 1 && theirs[0]?.name === COMMAND && theirs[0].source === 'extension';
  }

  start() {
    if (this.standing.level === 'off') {
      this.link.stop();
      return;
    }
    this.watch.start();
    this.link.party = this;
    this.link.restart();
    if (this.link.isUp) {
      this.#attachSoon(this.reason);
    }
  }

  /**
   * @param {'quit' | 'reload' | 'new' | 'resume' | 'fork' | 'off'} reason
   * @param {string} [target] the file it opens instead
   */
  end(reason, target) {
    if (this.isEnded) {
      return;
    }
    this.isEnded = true;
    shared().file = this.manager.getSessionFile();
    this.watch.stop();
    this.drive.end();
    this.showing.end();
    if (this.#isAttached) {
      this.link.tell('pi/detached', plain({ gen: this.gen, reason, target }));
    }
    this.#isAttached = false;
    if (this.link.party === this) {
      this.link.party = undefined;
    }
    if (reason === 'quit' || reason === 'off') {
      this.link.stop();
    }
  }

  /** The leaf was moved, by a client or by the user. */
  moved() {
    this.wasMoved = this.drive.running?.method === 'pi/navigate';
  }

  /** Takes everything back that stands in pi, without a word to anyone. */
  close() {
    this.isEnded = true;
    this.watch.stop();
    this.drive.end();
    this.showing.end();
    if (this.ctx.hasUI) {
      this.ctx.ui.notify(
        'pisessiond: after several faults the bridge has taken itself out.',
        'warning',
      );
    }
  }

  introduce() {
    const { ctx, standing } = this;
    return {
      cwd: ctx.cwd,
      pi: plain({
        pid: process.pid,
        started: processStart(),
        mode: ctx.mode,
        hasUi: ctx.hasUI,
        nested: shared().isNested,
        version: VERSION,
        drive: standing.level === 'drive',
        why: standing.why,
      }),
    };
  }

  /** @param {boolean} isAgain */
  connected(isAgain) {
    this.#attachSoon(isAgain || this.#isAttached ? 'reconnect' : this.reason);
  }

  lost() {
    this.watch.isTold = false;
    this.#isAttached = false;
    this.seen = undefined;
  }

  /** @param {import('./types.js').Reason} reason */
  #attachSoon(reason) {
    begin('bridge.attach', () => this.#attach(reason));
  }

  /** @param {import('./types.js').Reason} reason */
  async #attach(reason) {
    const number = ++this.#attaches;
    const state = this.watch.rebase();
    const session = describeSession(this.manager);
    this.#isAttached = true;
    const params = {
      gen: this.gen,
      reason,
      previousFile: this.#previousFile,
      session,
      state,
      entries: session.onDisk ? undefined : this.#whole(),
    };
    const asked = this.link.ask('pi/attach', plain(params), ATTACH_PATIENCE);
    const seen = /** @type {import('./types.js').PiAttachResult | undefined} */ (
      /** @type {unknown} */ (await asked)
    );
    if (this.isEnded || number !== this.#attaches) {
      return;
    }
    if (!seen) {
      // Refused: there is nobody to tell until the next connection.
      this.lost();
      return;
    }
    this.seen = seen;
    if (typeof seen.position === 'string') {
      await this.drive.restore(seen.position, session.leaf);
    }
  }

  /** All entries; none where they are too many to be told. */
  #whole() {
    const entries = this.manager.getEntries();
    return JSON.stringify(entries).length > MOST_ENTRIES ? undefined : entries;
  }

  /**
   * @param {string} method
   * @param {import('./types.js').DriveParams} params
   * @param {AbortSignal} signal
   */
  asked(method, params, signal) {
    return this.drive.answer(method, params, signal);
  }
}
