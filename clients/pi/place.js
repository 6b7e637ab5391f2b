/**
 * Where pi stands, kept over its end: pi itself reopens a file at the last line.
 *
 * One `custom` entry under the place, as the daemon writes it, makes that the last line. By default
 * only after a client has moved this pi: who goes back in pi alone is used to pi's way.
 */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { isOnDisk } from './session.js';

const PLACE_TYPE = 'pisessiond.leaf';
const TAIL_BYTES = 1 << 20;

/**
 * Keeps the place, if pi would lose it.
 *
 * @param {import('./bridge.js').Bridge} bridge
 * @param {unknown} when `always` and `never` replace the default
 */
export function keepPlace(bridge, when) {
  const { manager, api, standing } = bridge;
  const isWanted = when === 'always' || (when !== 'never' && bridge.wasMoved);
  if (!isWanted || standing.level !== 'drive' || !isOnDisk(manager)) {
    return;
  }
  const last = manager.getEntries().at(-1);
  const file = manager.getSessionFile();
  const leaf = manager.getLeafId();
  if (!last || !file || leaf === last.id) {
    return;
  }
  if (last.type === 'custom' && last.customType === PLACE_TYPE && last.parentId === leaf) {
    // It was kept before.
    return;
  }
  // Behind what another program appended, ours would take its place away.
  if (lastIdIn(file) === last.id) {
    api.appendEntry(PLACE_TYPE);
  }
}

/**
 * @param {string} file
 * @returns {unknown} the id on its last line
 */
function lastIdIn(file) {
  const fd = openSync(file, 'r');
  try {
    const { size } = fstatSync(fd);
    const buffer = Buffer.alloc(Math.min(size, TAIL_BYTES));
    readSync(fd, buffer, 0, buffer.length, size - buffer.length);
    const line = buffer.toString('utf8').trimEnd().split('\n').at(-1) ?? '';
    return JSON.parse(line).id;
  } catch {
    return undefined;
  } finally {
    closeSync(fd);
  }
}
