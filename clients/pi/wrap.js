/**
 * Hears of each append and move at once, by standing around three methods of the live session.
 *
 * They are no public interface: where a name is missing, or the first append does not leave the leaf
 * where it should, nothing is wrapped, and the documented events have to do. The methods run first
 * and give what they give; a fault of ours never looks like a failed append.
 */

import { guard } from './guard.js';

/** @typedef {import('./types.js').Manager} Manager */
/** @typedef {import('./types.js').SessionEntry} SessionEntry */
/** @typedef {{ appended(entry: SessionEntry): void, moved(): void }} Listener */

const APPEND = '_appendEntry';
const NAMES = [APPEND, 'branch', 'resetLeaf'];

/**
 * @param {Manager} manager
 * @param {Listener} listener
 * @returns {(() => void) | undefined} takes the wraps off; nothing where none were put on
 */
export function wrapManager(manager, listener) {
  const target = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (manager));
  if (!NAMES.every((name) => typeof target[name] === 'function')) {
    return undefined;
  }
  /** @type {Array<() => void>} */
  const restores = [];
  const unwrap = () => {
    for (const restore of restores.splice(0)) {
      restore();
    }
  };
  let isChecked = false;
  const appended = guard('wrap.append', (/** @type {SessionEntry} */ entry) => {
    if (!isChecked) {
      isChecked = true;
      if (manager.getLeafId() !== entry.id) {
        unwrap();
        listener.moved();
        return;
      }
    }
    listener.appended(entry);
  });
  const moved = guard('wrap.move', () => listener.moved());
  for (const name of NAMES) {
    restores.push(around(target, name, name === APPEND ? appended : moved));
  }
  return unwrap;
}

/**
 * @param {Record<string, unknown>} target
 * @param {string} name
 * @param {(argument: any) => void} notice
 */
function around(target, name, notice) {
  const own = Object.getOwnPropertyDescriptor(target, name);
  const original = /** @type {Function} */ (target[name]);
  /** @this {unknown} @param {unknown[]} args */
  const wrapped = function (...args) {
    const result = original.apply(this, args);
    notice(args[0]);
    return result;
  };
  Object.defineProperty(target, name, {
    value: wrapped,
    configurable: true,
    writable: true,
    enumerable: false,
  });
  return () => {
    // Whoever has wrapped it after us calls ours, which then has nobody to tell.
    if (target[name] !== wrapped) {
      return;
    }
    if (own) {
      Object.defineProperty(target, name, own);
    } else {
      delete target[name];
    }
  };
}
