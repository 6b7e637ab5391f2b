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

/** Comes first, and the yes last: the question may come while its user types, whose return or escape
 * then says nothing. */
const NOT_NOW = 'Not now';
const NO = 'No, until pi is restarted';
const YES = 'Yes, from now on';
/** Milliseconds that a question stands in pi; the daemon waits two minutes for a prompt. */
const ANSWERED_WITHIN = 100_000;

/** @typedef {'yes' | 'no' | 'nothing'} Said */

/**
 * @typedef {object} Question
 * @property {Promise<Said | undefined>} answer
 * @property {AbortController} control Takes it back.
 * @property {number} waiting How many prompts wait for it: windows of one program share it.
 * @property {boolean} isKept It stands for somebody who does not wait, too.
 */

/** Questions that stand in pi, by the name of the program. @type {Map<string, Question>} */
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
  if (signal?.aborted) {
    throw gone();
  }
  const question = asked.get(name) ?? begin(drive.bridge, name);
  if (!signal) {
    question.isKept = true;
    throw new Refusal('Unsupported', 'pi asks its user whether you may; then send again.', NEEDS);
  }
  const answer = await heard(question, signal);
  if (signal.aborted) {
    throw gone();
  }
  if (answer !== 'yes') {
    const what = answer === 'no' ? 'has said no' : 'has not said whether you may';
    throw new Refusal('Unsupported', `The user of pi ${what}.`, NEEDS);
  }
}

function gone() {
  return new Refusal('Cancelled', 'It was cancelled before the user of pi had said yes.');
}

/**
 * @param {import('./bridge.js').Bridge} bridge
 * @param {string} name
 * @returns {Question}
 */
function begin(bridge, name) {
  const control = new AbortController();
  const said = Promise.resolve(guardedAsk(bridge, name, control));
  const answer = said.finally(() => asked.delete(name));
  const question = { answer, control, waiting: 0, isKept: false };
  asked.set(name, question);
  return question;
}

/**
 * The answer; nothing once the signal takes the prompt back, and with the last of them the question.
 *
 * @param {Question} question
 * @param {AbortSignal} signal
 */
async function heard(question, signal) {
  question.waiting++;
  const left = new Promise((resolve) => {
    const give = guard('consent.given', () => resolve(undefined));
    signal.addEventListener('abort', give, { once: true });
  });
  const answer = await Promise.race([question.answer, left]);
  question.waiting--;
  if (signal.aborted && question.waiting === 0 && !question.isKept) {
    question.control.abort();
  }
  return answer;
}

const guardedAsk = guard('consent.ask', ask);

const NEEDS = { needs: "the user's yes in pi" };

/**
 * @param {import('./bridge.js').Bridge} bridge
 * @param {string} name
 * @param {AbortController} control
 * @returns {Promise<Said>}
 */
async function ask(bridge, name, control) {
  const timer = after('consent.patience', ANSWERED_WITHIN, () => control.abort());
  try {
    const said = await bridge.ctx.ui.select(
      `May ${name} send prompts to this pi?\n${name} is connected through pisessiond. A prompt runs ` +
        'as if you had typed it. Your yes is kept; /pisessiond forget takes it back.',
      [NOT_NOW, NO, YES],
      { signal: control.signal },
    );
    if (control.signal.aborted || said === undefined || said === NOT_NOW) {
      return 'nothing';
    }
    if (said === YES) {
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
