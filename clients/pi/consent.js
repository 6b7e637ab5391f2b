/**
 * Who may send prompts into this user's pi: nobody, until the user has said yes in pi, once for each
 * program. The answer is kept in a file that only the user can read.
 *
 * It is kept by the name that the question shows: ids are those of one window, and end with it. To
 * take another program's name is no way round a lock; whoever can reach the daemon's socket is the user.
 */

import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findPlace } from './address.js';
import { after, guard } from './guard.js';
import { Refusal } from './refusal.js';
import { shared } from './shared.js';
import { oneLine } from './showing.js';

/** @typedef {{ since: string }} Allowed */

/** Milliseconds that a question stands in pi; the daemon waits two minutes for a prompt. */
const ANSWERED_WITHIN = 100_000;

/** @typedef {'yes' | 'no' | 'nothing'} Said */

/** What the user says to a program whose question stands in pi. @type {Map<string, Promise<Said>>} */
const asked = new Map();

/**
 * Returns when the client may send words to the model; else the user is asked.
 *
 * @param {import('./drive.js').Drive} drive
 * @param {import('./types.js').DriveParams} params
 * @param {AbortSignal} [signal] takes the question back; without it the answer is not waited for
 * @throws {Refusal} not yet, or not at all
 */
export async function confirmed(drive, params, signal) {
  const name = oneLine(params.client);
  // Of a pi in RPC mode its host has said yes with the environment.
  if (drive.bridge.ctx.mode !== 'tui' || Object.hasOwn(readAllowed(), name)) {
    return;
  }
  if (shared().declined.has(name)) {
    throw new Refusal(
      'Unsupported',
      'The user of pi has said no; pi asks again after a restart.',
      NEEDS,
    );
  }
  const said = asked.get(name) ?? guardedAsk(drive.bridge, name, signal);
  if (!signal) {
    throw new Refusal('Unsupported', 'pi asks its user whether you may; then send again.', NEEDS);
  }
  const answer = await said;
  if (signal.aborted) {
    throw new Refusal('Cancelled', 'It was cancelled before the user of pi had said yes.');
  }
  if (answer !== 'yes') {
    const what = answer === 'no' ? 'has said no' : 'has not said whether you may';
    throw new Refusal('Unsupported', `The user of pi ${what}.`, NEEDS);
  }
}

const guardedAsk = guard('consent.ask', (/** @type {Parameters<typeof ask>} */ ...given) => {
  const said = ask(...given);
  asked.set(given[1], said);
  return said;
});

const NEEDS = { needs: "the user's yes in pi" };

/**
 * @param {import('./bridge.js').Bridge} bridge
 * @param {string} name
 * @param {AbortSignal} [signal]
 * @returns {Promise<Said>}
 */
async function ask(bridge, name, signal) {
  const control = new AbortController();
  const give = guard('consent.given', () => control.abort());
  const timer = after('consent.patience', ANSWERED_WITHIN, give);
  signal?.addEventListener('abort', give);
  try {
    const yes = await bridge.ctx.ui.confirm(
      `May ${name} send prompts to this pi?`,
      `${name} is connected through pisessiond. A prompt runs as if you had typed it. Your yes is ` +
        'kept; /pisessiond forget takes it back.',
      { signal: control.signal },
    );
    if (control.signal.aborted) {
      return 'nothing';
    }
    if (yes) {
      try {
        writeAllowed({ ...readAllowed(), [name]: { since: new Date().toISOString() } });
      } catch {
        // On a full disk it counts this once, and pi asks again.
      }
      return 'yes';
    }
    shared().declined.add(name);
    return 'no';
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', give);
    asked.delete(name);
  }
}

/** @returns {Record<string, Allowed>} by name */
export function readAllowed() {
  try {
    const read = JSON.parse(readFileSync(file(), 'utf8'));
    return typeof read?.clients === 'object' && read.clients !== null ? read.clients : {};
  } catch {
    return {};
  }
}

/** Takes back every yes, and every no. */
export function forgetAllowed() {
  shared().declined.clear();
  writeAllowed({});
}

/** @param {Record<string, Allowed>} clients */
function writeAllowed(clients) {
  const path = file();
  mkdirSync(findPlace().folder, { recursive: true, mode: 0o700 });
  const other = `${path}.${process.pid}`;
  writeFileSync(other, `${JSON.stringify({ clients }, undefined, 2)}\n`, { mode: 0o600 });
  renameSync(other, path);
}

function file() {
  return join(findPlace().folder, 'prompting.json');
}
