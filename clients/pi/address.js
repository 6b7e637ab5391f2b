/**
 * Where pisessiond listens: computed as every client computes it, and looked at before it is used.
 *
 * From the home in the password database and a hash of pi's agent folder; `PISESSIOND_HOME` replaces
 * the folder below which all state is kept. Nothing is made or started here.
 */

import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, realpathSync } from 'node:fs';
import { userInfo } from 'node:os';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';

/**
 * @typedef {object} Place
 * @property {string} agentDir pi's agent folder, as a real path.
 * @property {string} folder The daemon's state folder for it.
 */

/**
 * @returns {Place}
 * @throws {Error} the user is not in the password database, and the environment does not say enough
 */
export function findPlace() {
  const agentDir = realPath(agentFolder());
  const name = createHash('sha256').update(agentDir).digest('hex').slice(0, 12);
  const root = process.env.PISESSIOND_HOME;
  const state = root ? resolve(root) : join(userInfo().homedir, '.local/state/pisessiond');
  return { agentDir, folder: join(state, name) };
}

/**
 * The socket of a state folder, if it can be trusted.
 *
 * @param {Place} place
 * @returns {string | undefined} nothing where no daemon is
 * @throws {Error} something is there that others could have put there
 */
export function findSocket(place) {
  const path = addressOf(place) ?? join(place.folder, 'socket');
  const socket = look(path);
  if (!socket) {
    return undefined;
  }
  const mine = process.getuid?.();
  if (!socket.isSocket() || socket.uid !== mine) {
    throw new Error(`${path} is no socket of yours`);
  }
  const folder = look(dirname(path));
  // Whoever could write into the folder could put a socket of theirs there.
  if (!folder?.isDirectory() || folder.uid !== mine || (folder.mode & 0o077) !== 0) {
    throw new Error(`${dirname(path)} is open to others; pisessiond is left alone`);
  }
  return path;
}

/** @param {Place} place */
function addressOf(place) {
  let text;
  try {
    text = readFileSync(join(place.folder, 'address'), 'utf8').trim();
  } catch {
    return undefined;
  }
  if (!isAbsolute(text) || /[\0\n]/.test(text)) {
    throw new Error(`${join(place.folder, 'address')} names no socket`);
  }
  return text;
}

function agentFolder() {
  const chosen = process.env.PI_CODING_AGENT_DIR;
  if (!chosen) {
    return join(userInfo().homedir, '.pi/agent');
  }
  return chosen === '~' || chosen.startsWith('~/') ? userInfo().homedir + chosen.slice(1) : chosen;
}

/**
 * As far as it exists; the rest as it is written.
 *
 * @param {string} path
 * @returns {string}
 */
function realPath(path) {
  const whole = resolve(path);
  try {
    return realpathSync(whole);
  } catch {
    const above = dirname(whole);
    return above === whole ? whole : join(realPath(above), basename(whole));
  }
}

/** @param {string} path */
function look(path) {
  return lstatSync(path, { throwIfNoEntry: false });
}
