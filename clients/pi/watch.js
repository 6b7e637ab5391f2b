/**
 * Notices what happens in a session of pi's and tells the daemon: entries, moves of the leaf, state.
 *
 * Documented events and a look at the leaf five times a second are the base. The wrap only makes it
 * quicker.
 */

import { every, soon } from './guard.js';
import { describeEntry, describeModel, describeUsage, isOnDisk } from './session.js';
import { wrapManager } from './wrap.js';

/** @typedef {import('./types.js').SessionEntry} SessionEntry */
/** @typedef {import('./types.js').PiState} PiState */

const LOOKS_EVERY = 200;
/** Milliseconds in which a prompt that was typed either begins a run or comes to nothing. */
const TAKEN_WITHIN = 1_000;

export class Watch {
  /** Hears of entries as they come, whether or not the daemon is there. @type {Set<(entries: SessionEntry[]) => void>} */
  listeners = new Set();
  /** Whether changes are told; from an attach to the loss of the connection. */
  isTold = false;
  isWrapped = false;

  #seq = 0;
  #count = 0;
  /** @type {string | null} */
  #leaf = null;
  /** @type {Omit<PiState, 'idle'>} */
  #facts = {
    operation: null,
    waitingForUser: false,
    pending: 0,
    usage: null,
    model: null,
    thinking: null,
    aborted: false,
  };
  #lastState = '';
  #inputAt = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #timer;
  /** @type {(() => void) | undefined} */
  #unwrap;

  /**
   * @param {object} room
   * @param {import('./types.js').ExtensionAPI} room.api
   * @param {import('./types.js').ExtensionContext} room.ctx
   * @param {import('./types.js').Manager} room.manager
   * @param {number} room.gen
   * @param {(method: string, params: object) => void} room.tell
   */
  constructor(room) {
    this.room = room;
  }

  start() {
    const { manager } = this.room;
    this.#count = manager.getEntries().length;
    this.#leaf = manager.getLeafId();
    this.#timer = every('watch.poll', LOOKS_EVERY, () => this.#poll());
    this.#unwrap = wrapManager(manager, {
      appended: (entry) => this.#appended(entry),
      moved: () => this.look('move'),
    });
    this.isWrapped = this.#unwrap !== undefined;
    this.#settle();
  }

  stop() {
    this.isTold = false;
    clearInterval(this.#timer);
    this.#unwrap?.();
    this.#unwrap = undefined;
    this.listeners.clear();
  }

  /** Begins to count anew: an attach tells everything up to now. */
  rebase() {
    this.look('attach');
    this.#seq = 0;
    this.isTold = true;
    const state = this.state();
    this.#lastState = JSON.stringify({ ...state, name: this.#name() });
    return state;
  }

  /** @returns {PiState} */
  state() {
    const { ctx } = this.room;
    const idle = ctx.isIdle();
    const { operation, pending } = this.#facts;
    return {
      ...this.#facts,
      idle,
      operation: idle ? null : (operation ?? 'turn'),
      // pi says whether there are any, not how many.
      pending: ctx.hasPendingMessages() ? Math.max(1, pending) : 0,
    };
  }

  /** Whether a prompt was typed that has not begun its run yet; pi calls itself idle then. */
  isTakingPrompt() {
    return Date.now() - this.#inputAt < TAKEN_WITHIN;
  }

  /**
   * Compares what pi holds with what was told, and tells the difference.
   *
   * @param {string} why
   */
  look(why) {
    const { manager } = this.room;
    const entries = manager.getEntries();
    const fresh = entries.slice(this.#count);
    this.#count = entries.length;
    this.#came(fresh, why);
  }

  /** @param {SessionEntry} entry */
  #appended(entry) {
    this.#count++;
    this.#came([entry], 'append');
  }

  /**
   * @param {SessionEntry[]} entries
   * @param {string} why
   */
  #came(entries, why) {
    const { manager, gen, tell } = this.room;
    const leaf = manager.getLeafId();
    if (entries.length === 0 && leaf === this.#leaf) {
      return;
    }
    this.#leaf = leaf;
    if (this.isTold) {
      const onDisk = isOnDisk(manager);
      tell('pi/didChange', {
        gen,
        seq: ++this.#seq,
        leaf,
        count: this.#count,
        entries: entries.map((entry) => describeEntry(entry, onDisk)),
        onDisk,
        why,
      });
    }
    if (entries.length > 0) {
      for (const listener of [...this.listeners]) {
        listener(entries);
      }
    }
  }

  #poll() {
    if (this.room.manager.getLeafId() !== this.#leaf) {
      this.look('poll');
    }
    this.tellState();
  }

  #settle() {
    const { ctx, api } = this.room;
    Object.assign(this.#facts, describeModel(ctx, api), { usage: describeUsage(ctx) });
    this.#facts.operation = null;
  }

  #name() {
    return this.room.manager.getSessionName() ?? null;
  }

  /** Tells what pi is doing, if that has changed. */
  tellState() {
    if (!this.isTold) {
      return;
    }
    const state = { ...this.state(), name: this.#name() };
    const text = JSON.stringify(state);
    if (text !== this.#lastState) {
      this.#lastState = text;
      this.room.tell('pi/didState', { gen: this.room.gen, ...state });
    }
  }

  /**
   * Takes one of pi's events in.
   *
   * @param {import('./events.js').Heard} event
   */
  hear(event) {
    const facts = this.#facts;
    switch (event.type) {
      case 'message_end':
        // It comes before the entry is written.
        soon('watch.message', () => this.look('append'));
        return;
      case 'input':
        this.#inputAt = Date.now();
        return;
      case 'agent_start':
        this.#inputAt = 0;
        facts.operation = 'turn';
        facts.aborted = false;
        break;
      case 'turn_end':
        facts.operation = 'turn';
        break;
      case 'agent_settled':
        this.#inputAt = 0;
        this.#settle();
        facts.aborted = event.aborted === true;
        break;
      case 'ui_prompt_start':
      case 'ui_prompt_end':
        facts.waitingForUser = event.type === 'ui_prompt_start';
        break;
      case 'session_before_compact':
        facts.operation = 'compaction';
        break;
      case 'session_before_tree':
        facts.operation = 'summary';
        break;
      case 'session_compact':
      case 'session_compact_failed':
      case 'session_tree':
      case 'model_select':
      case 'thinking_level_select':
        this.#settle();
        break;
    }
    this.look(WHY[event.type] ?? 'append');
    this.tellState();
  }
}

/** @type {Record<string, string>} */
const WHY = { session_tree: 'navigate', session_compact: 'compact' };
