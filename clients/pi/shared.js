/**
 * What all instances of the extension in one process share: pi loads it anew for every session.
 */

/**
 * @typedef {object} Shared
 * @property {{ api: import('./types.js').ExtensionAPI, since: number, started: boolean } | undefined} owner
 *   The copy that works; any other one stays inert.
 * @property {boolean} isNested A shell of another pi began this process.
 * @property {import('./types.js').Level | undefined} wish What the user said with the command.
 * @property {number} gen Counts the sessions of this process.
 * @property {string | undefined} file What it had open before.
 * @property {import('./link.js').Link | undefined} link
 * @property {import('./bridge.js').Bridge | undefined} live The newest one.
 * @property {number} faults Faults of ours that were caught.
 * @property {string[]} caught In which callbacks, for `/pisessiond status`.
 * @property {string | undefined} lastFault What the newest of them said.
 * @property {boolean} isDead After too many of them nothing is done any more.
 * @property {(() => void) | undefined} close Ends all that is under way, once.
 * @property {Map<string, Promise<import('./types.js').PiAnswer>>} answers By request id.
 * @property {Set<string>} declined Names of clients whose prompts the user refused.
 */

// The number changes with the shape of what is shared, so that a newer copy never meets an older one.
const KEY = Symbol.for('pi-pisession/1');

/** @returns {Shared} the one of this process */
export function shared() {
  const holder = /** @type {Record<symbol, Shared>} */ (/** @type {unknown} */ (globalThis));
  return (holder[KEY] ??= {
    owner: undefined,
    isNested: Boolean(process.env.PI_SESSION_ID),
    wish: undefined,
    gen: 0,
    file: undefined,
    link: undefined,
    live: undefined,
    faults: 0,
    caught: [],
    lastFault: undefined,
    isDead: false,
    close: undefined,
    answers: new Map(),
    declined: new Set(),
  });
}

/** Milliseconds after which a copy that never began counts as thrown away. */
const BEGINS_WITHIN = 30_000;

/**
 * Takes this process for a copy of the extension.
 *
 * @param {import('./types.js').ExtensionAPI} api
 * @returns {boolean} whether it is ours; false: another copy works already
 */
export function takeProcess(api) {
  const all = shared();
  if (all.owner && isAlive(all.owner)) {
    return false;
  }
  all.owner = { api, since: Date.now(), started: false };
  return true;
}

/** @param {NonNullable<Shared['owner']>} owner */
function isAlive(owner) {
  if (!owner.started && Date.now() - owner.since > BEGINS_WITHIN) {
    return false;
  }
  try {
    owner.api.getFlag('pisessiond');
    return true;
  } catch {
    // pi has invalidated it.
    return false;
  }
}
