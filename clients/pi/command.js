/** `/pisessiond`, for people; and the door through which `drive` gets a command's context. */

import { forgetAllowed, readAllowed } from './consent.js';
import { shared } from './shared.js';

/** @typedef {import('./bridge.js').Bridge} Bridge */

export const WORDS = ['status', 'off', 'watch', 'drive', 'stop', 'forget'];

const JOB = /^@([0-9a-f-]{36})$/;
const LEAKED = /^\s*\/pisessiond(?::\d+)? @([0-9a-f-]{36})\s*$/;

/**
 * @param {string} text what is about to become a prompt
 * @returns {string | undefined} the id of a job, when the text is no prompt but ours
 */
export function leakedJob(text) {
  return LEAKED.exec(text)?.[1];
}

/**
 * @param {string} args
 * @param {import('./types.js').ExtensionCommandContext} ctx
 * @param {Bridge | undefined} bridge
 * @param {() => void} restart makes the bridge anew, after a change of what it may do
 */
export async function runCommand(args, ctx, bridge, restart) {
  const word = args.trim() || 'status';
  const job = JOB.exec(word)?.[1];
  if (job !== undefined) {
    await bridge?.drive.begin(job, ctx);
    return;
  }
  if (word === 'stop') {
    say(ctx, bridge?.drive.stop() ? 'It is being stopped.' : 'Nothing of a client runs.');
  } else if (word === 'forget') {
    forgetAllowed();
    say(ctx, 'No client may send prompts any more; each will ask anew.');
  } else if (word === 'off' || word === 'watch' || word === 'drive') {
    shared().wish = word;
    restart();
    say(ctx, status());
  } else {
    say(ctx, word === 'status' ? status() : `/pisessiond ${WORDS.join(' | ')}`);
  }

  function status() {
    return describe(shared().live ?? bridge);
  }
}

/**
 * All that the command does once the bridge is out.
 *
 * @param {import('./types.js').ExtensionContext} ctx
 */
export function tellDead(ctx) {
  try {
    say(ctx, describeFaults().join(''));
  } catch {
    // Then it stays unsaid.
  }
}

/** @param {Bridge | undefined} bridge */
function describe(bridge) {
  const { link } = shared();
  const { level, why } = bridge && !bridge.isEnded ? bridge.standing : { level: 'off' };
  return [
    `pisessiond: ${level}${why ? ` (${why})` : ''}`,
    link?.isUp ? 'connected' : `not connected: ${link?.why ?? 'nothing was tried'}`,
    ...describeSeen(bridge?.seen),
    ...describeAllowed(),
    ...(bridge?.watch.isWrapped || level === 'off' ? [] : ['entries are noticed by events alone']),
    ...describeFaults(),
  ].join('\n');
}

/** @param {Bridge['seen']} seen */
function describeSeen(seen) {
  if (!seen) {
    return [];
  }
  const owner = seen.owner ? 'this pi writes the session' : 'another program has it open, too';
  const behind = `${seen.unseen} entries of the file are not read here`;
  return seen.unseen > 0 ? [owner, behind] : [owner];
}

function describeAllowed() {
  const names = Object.keys(readAllowed());
  return names.length > 0 ? [`prompts from: ${names.join(', ')}`] : [];
}

function describeFaults() {
  const { caught, lastFault, isDead } = shared();
  const what = isDead
    ? 'pisessiond: after several faults the bridge has taken itself out until pi is restarted'
    : 'faults were caught';
  return lastFault ? [`${what}: ${caught.join(', ')} (${lastFault})`] : [];
}

/**
 * @param {import('./types.js').ExtensionContext} ctx
 * @param {string} text
 */
function say(ctx, text) {
  if (ctx.hasUI) {
    ctx.ui.notify(text, 'info');
  }
}
