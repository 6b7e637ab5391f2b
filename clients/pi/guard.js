/**
 * Nothing of ours may throw into pi: an exception in a timer, a socket or a promise would end it.
 *
 * Every function that Node or pi calls goes through `guard`. After a few faults the bridge takes
 * itself out altogether.
 */

import { shared } from './shared.js';

const FAULTS_ALLOWED = 5;

/**
 * The function, which throws no more: a fault is counted, and `fallback` comes back instead.
 *
 * @template {unknown[]} A
 * @template R
 * @param {string} name tells the callbacks apart
 * @param {(...args: A) => R} callback
 * @returns {(...args: A) => R | undefined}
 */
export function guard(name, callback) {
  return (...args) => {
    if (shared().isDead) {
      return undefined;
    }
    try {
      failIfAsked(name);
      const result = callback(...args);
      if (result instanceof Promise) {
        return /** @type {R} */ (
          result.catch((error) => {
            fault(name, error);
          })
        );
      }
      return result;
    } catch (error) {
      fault(name, error);
      return undefined;
    }
  };
}

/**
 * Like `setTimeout`, guarded, and no reason for the process to stay.
 *
 * @param {string} name
 * @param {number} ms
 * @param {() => unknown} callback
 * @returns {NodeJS.Timeout}
 */
export function after(name, ms, callback) {
  return setTimeout(guard(name, callback), ms).unref();
}

/**
 * Like `setInterval`, guarded, and no reason for the process to stay.
 *
 * @param {string} name
 * @param {number} ms
 * @param {() => unknown} callback
 * @returns {NodeJS.Timeout}
 */
export function every(name, ms, callback) {
  return setInterval(guard(name, callback), ms).unref();
}

/**
 * Runs it when pi has done what it is at.
 *
 * @param {string} name
 * @param {() => unknown} callback
 */
export function soon(name, callback) {
  setImmediate(guard(name, callback));
}

/**
 * Begins what nobody waits for; a promise without this could end pi.
 *
 * @param {string} name
 * @param {() => Promise<unknown>} callback
 */
export function begin(name, callback) {
  void guard(name, callback)();
}

/**
 * @param {string} name
 * @param {unknown} error
 */
function fault(name, error) {
  const all = shared();
  all.faults++;
  all.lastFault = error instanceof Error ? error.message : String(error);
  if (!all.caught.includes(name)) {
    all.caught.push(name);
  }
  if (all.faults >= FAULTS_ALLOWED && !all.isDead) {
    all.isDead = true;
    try {
      all.close?.();
    } catch {
      // What could not be closed is left: nothing calls it any more.
    }
  }
}

/**
 * For tests: the named callbacks throw the first time they are called, with a star behind it always.
 *
 * @param {string} name
 */
function failIfAsked(name) {
  const asked = process.env.PISESSIOND_BRIDGE_FAULT?.split(',');
  const isOnce = asked?.includes(name) && !shared().caught.includes(name);
  if (isOnce || asked?.includes(`${name}*`) || asked?.includes('*')) {
    throw new Error(`a fault on purpose in ${name}`);
  }
}
