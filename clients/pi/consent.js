/**
 * Who may send prompts into this user's pi: nobody, until the user has said yes in pi, once for each
 * client. The answer is kept in a file that only the user can read.
 */

import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findPlace } from './address.js';
import { begin } from './guard.js';
import { Refusal } from './refusal.js';
import { shared } from './shared.js';
import { oneLine } from './showing.js';

/** @typedef {{ name: string, since: string }} Allowed */

const ANSWERED_WITHIN = 120_000;

/** Clients whose question stands in pi now. @type {Set<string>} */
const asked = new Set();

/**
 * Returns when the client may send words to the model.
 *
 * The user is asked when nobody has asked yet; the client is told so at once and sends again, since
 * nobody answers a question in the time in which an answer is due here.
 *
 * @param {import('./drive.js').Drive} drive
 * @param {import('./types.js').DriveParams} params
 * @throws {Refusal} not yet, or not at all
 */
export function confirmed(drive, params) {
  const { bridge } = drive;
  const { client, clientId } = params;
  // Of a pi in RPC mode its host has said yes with the environment.
  if (bridge.ctx.mode !== 'tui' || readAllowed()[clientId]) {
    return;
  }
  if (shared().declined.has(clientId)) {
    throw new Refusal(
      'Unsupported',
      'The user of pi has said no; pi asks again once it is restarted.',
      {
        needs: "the user's yes in pi",
      },
    );
  }
  if (!asked.has(clientId)) {
    asked.add(clientId);
    begin('consent.ask', () => ask(bridge, client, clientId));
  }
  throw new Refusal(
    'Unsupported',
    'pi asks its user whether you may; answer there, then send again.',
    {
      needs: "the user's yes in pi",
    },
  );
}

/**
 * @param {import('./bridge.js').Bridge} bridge
 * @param {string} client
 * @param {string} clientId
 */
async function ask(bridge, client, clientId) {
  const name = oneLine(client);
  try {
    const yes = await bridge.ctx.ui.confirm(
      `May ${name} send prompts to this pi?`,
      `${name} is connected through pisessiond. A prompt runs as if you had typed it. Your yes is ` +
        'kept; /pisessiond forget takes it back.',
      { timeout: ANSWERED_WITHIN },
    );
    if (yes) {
      writeAllowed({ ...readAllowed(), [clientId]: { name, since: new Date().toISOString() } });
    } else {
      shared().declined.add(clientId);
    }
  } finally {
    asked.delete(clientId);
  }
}

/** @returns {Record<string, Allowed>} by client id */
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
