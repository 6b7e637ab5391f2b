/** What this pi is, what it has open, and what it is doing, in the words of the wire. */

import { existsSync, readFileSync } from 'node:fs';

/** @typedef {import('./types.js').Manager} Manager */

/**
 * @param {Manager} manager
 * @returns {boolean} whether the session is in its file
 */
export function isOnDisk(manager) {
  const file = manager.getSessionFile();
  return file !== undefined && existsSync(file);
}

/**
 * @param {Manager} manager
 * @returns {import('./types.js').PiSession}
 */
export function describeSession(manager) {
  const header = manager.getHeader();
  const entries = manager.getEntries();
  return plain({
    id: manager.getSessionId(),
    file: manager.getSessionFile(),
    onDisk: isOnDisk(manager),
    cwd: manager.getCwd(),
    name: manager.getSessionName(),
    parentSession: header?.parentSession,
    timestamp: header?.timestamp,
    leaf: manager.getLeafId(),
    count: entries.length,
    lastId: entries.at(-1)?.id ?? null,
  });
}

/**
 * The rest of what `PiState` says is known from events alone.
 *
 * @param {import('./types.js').ExtensionContext} ctx
 * @param {import('./types.js').ExtensionAPI} api
 */
export function describeModel(ctx, api) {
  const model = ctx.model;
  return {
    model: model ? `${model.provider}/${model.id}` : null,
    thinking: api.getThinkingLevel(),
  };
}

/**
 * Costs a few milliseconds in a long session: for the end of a run, not for each entry.
 *
 * @param {import('./types.js').ExtensionContext} ctx
 * @returns {import('./types.js').PiUsage | null}
 */
export function describeUsage(ctx) {
  const usage = ctx.getContextUsage();
  return usage ? { tokens: usage.tokens, window: usage.contextWindow } : null;
}

/**
 * An entry as it is told: whole where no file has it, else what finds it there.
 *
 * @param {import('./types.js').SessionEntry} entry
 * @param {boolean} onDisk
 * @returns {object}
 */
export function describeEntry(entry, onDisk) {
  if (!onDisk) {
    return entry;
  }
  const { id, parentId, type } = entry;
  return plain({ id, parentId, type, role: type === 'message' ? entry.message.role : undefined });
}

/**
 * @returns {number} when this process began, in seconds since 1970
 */
export function processStart() {
  try {
    // As the system counts it, so that the daemon reads the very same number.
    const fields = readFileSync('/proc/self/stat', 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ');
    const boot = /^btime (\d+)$/m.exec(readFileSync('/proc/stat', 'latin1'));
    const seconds = Number(boot?.[1]) + Number(fields[19]) / 100;
    if (Number.isFinite(seconds)) {
      return seconds;
    }
  } catch {
    // Not Linux.
  }
  return Date.now() / 1000 - process.uptime();
}

/**
 * Without members that are not there: the wire tells them from null.
 *
 * @template {object} T
 * @param {T} value
 * @returns {T}
 */
export function plain(value) {
  return /** @type {T} */ (
    Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined))
  );
}
