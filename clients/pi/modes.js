/**
 * How much the bridge may do in this pi, and why not more: a plain decision from facts.
 */

/** Below this nothing is done: `agent_settled`, which alone means idle, came with it. */
const WATCHED_FROM = '0.80.4';
/** Below this a dispatched command would reach the model as a prompt. */
const DRIVEN_FROM = '0.84.2';

/**
 * @param {object} facts
 * @param {string} facts.version pi's
 * @param {string} facts.mode how pi runs
 * @param {boolean} facts.isNested a shell of another pi began it
 * @param {unknown} facts.wish the user's, or that of the program that runs pi
 * @param {boolean} facts.isCommandOurs `/pisessiond` leads here and nowhere else
 * @returns {import('./types.js').Standing}
 */
export function decideStanding({ version, mode, isNested, wish, isCommandOurs }) {
  if (wish === 'off') {
    return { level: 'off', why: 'it is switched off; /pisessiond drive switches it on' };
  }
  const why = whyNotDriven({ version, mode, isNested, wish, isCommandOurs });
  return why ? { level: 'watch', why } : { level: 'drive' };
}

/** @param {string} version pi's */
export function isTooOld(version) {
  return isOlder(version, WATCHED_FROM);
}

/** @param {Parameters<typeof decideStanding>[0]} facts */
function whyNotDriven({ version, mode, isNested, wish, isCommandOurs }) {
  if (wish === 'watch') {
    return 'this pi may only be watched; /pisessiond drive in it changes that';
  }
  if (isNested) {
    return 'another pi began this one';
  }
  if (mode === 'rpc') {
    // Its host would not hear of a move or a fork, and its view would go stale.
    if (wish !== 'drive') {
      return 'the program that runs this pi has not allowed it (PISESSIOND_BRIDGE=drive)';
    }
  } else if (mode !== 'tui') {
    return 'this pi answers once and ends';
  }
  if (isOlder(version, DRIVEN_FROM)) {
    return `pi ${version} can only be watched; update it to ${DRIVEN_FROM} or newer`;
  }
  return isCommandOurs ? undefined : 'another extension in this pi has a command /pisessiond, too';
}

/**
 * @param {string} version
 * @param {string} floor
 */
function isOlder(version, floor) {
  const [mine, least] = [numbers(version), numbers(floor)];
  const at = mine.findIndex((part, index) => part !== (least[index] ?? 0));
  return at >= 0 && /** @type {number} */ (mine[at]) < (least[at] ?? 0);
}

/** @param {string} version */
function numbers(version) {
  const found = version.match(/\d+/g) ?? [];
  return [0, 1, 2].map((at) => Number(found[at] ?? 0));
}
