/**
 * pi asks before it moves or compacts. For an act of a client the answer is that client's summary;
 * for one of the user's the daemon's clients may have a word, if they say it soon.
 */

import { plain } from './session.js';

/** @typedef {import('./bridge.js').Bridge} Bridge */
/** @typedef {import('./types.js').PiWord} PiWord */

/** Milliseconds that a user waits at most for what nobody may answer. */
const PATIENCE = 5_000;

/**
 * @param {Bridge} bridge
 * @param {import('@earendil-works/pi-coding-agent').SessionBeforeTreeEvent} event
 * @returns {Promise<import('@earendil-works/pi-coding-agent').SessionBeforeTreeResult | undefined>}
 */
export async function beforeTree(bridge, event) {
  const { running } = bridge.drive;
  const { preparation, signal } = event;
  if (running?.method === 'pi/navigate') {
    const params = running.hook?.params;
    return typeof params?.summary === 'string'
      ? { summary: plain({ summary: params.summary, details: params.details ?? undefined }) }
      : undefined;
  }
  const word = await ask(bridge, 'pi/willNavigate', signal, {
    target: preparation.targetId,
    left: preparation.oldLeafId,
    summarize: preparation.userWantsSummary,
    entries: preparation.entriesToSummarize.length,
  });
  if (word?.cancel) {
    return { cancel: true };
  }
  return typeof word?.summary === 'string' && preparation.userWantsSummary
    ? { summary: plain({ summary: word.summary, details: word.details ?? undefined }) }
    : undefined;
}

/**
 * @param {Bridge} bridge
 * @param {import('@earendil-works/pi-coding-agent').SessionBeforeCompactEvent} event
 * @returns {Promise<import('@earendil-works/pi-coding-agent').SessionBeforeCompactResult | undefined>}
 */
export async function beforeCompact(bridge, event) {
  const { running } = bridge.drive;
  const { preparation, reason, signal } = event;
  const { firstKeptEntryId, tokensBefore } = preparation;
  if (running?.method === 'pi/compact' && reason === 'manual') {
    const params = running.hook?.params;
    return typeof params?.summary === 'string'
      ? compaction(params.summary, params.details, {
          firstKeptEntryId: params.firstKept ?? firstKeptEntryId,
          tokensBefore: params.tokensBefore ?? tokensBefore,
        })
      : undefined;
  }
  const word = await ask(bridge, 'pi/willCompact', signal, {
    reason,
    firstKept: firstKeptEntryId,
    tokensBefore,
    instructions: event.customInstructions,
  });
  if (word?.cancel) {
    return { cancel: true };
  }
  return typeof word?.summary === 'string'
    ? compaction(word.summary, word.details, { firstKeptEntryId, tokensBefore })
    : undefined;
}

/**
 * @param {string} summary
 * @param {object | null | undefined} details
 * @param {{ firstKeptEntryId: string, tokensBefore: number }} cut
 */
function compaction(summary, details, cut) {
  return { compaction: plain({ summary, ...cut, details: details ?? undefined }) };
}

/**
 * @param {Bridge} bridge
 * @param {string} method
 * @param {AbortSignal} signal
 * @param {object} params
 * @returns {Promise<PiWord | undefined>}
 */
async function ask(bridge, method, signal, params) {
  const { link, standing, gen } = bridge;
  // A daemon that let one user wait is not asked again before it has said something.
  if (standing.level !== 'drive' || !bridge.seen || link.isSilent) {
    return undefined;
  }
  return link.ask(method, plain({ gen, ...params }), PATIENCE, signal);
}
