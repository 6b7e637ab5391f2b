/**
 * What gives pi another session: fork, switch, reading its own file anew.
 *
 * In a terminal a call that fails here ends pi. So everything that could make it fail is looked at
 * first; and what the user is typing is put back afterwards.
 */

import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { isAsked, textOf } from './acts.js';
import { Refusal } from './refusal.js';
import { isOnDisk, plain } from './session.js';
import { shared } from './shared.js';

/** @typedef {import('./drive.js').Drive} Drive */
/** @typedef {import('./types.js').DriveParams} DriveParams */
/** @typedef {import('./types.js').PiAnswer} PiAnswer */
/** @typedef {import('./types.js').ExtensionCommandContext} CommandContext */

const HEADER_BYTES = 1 << 20;

/** @type {import('./drive.js').Act} */
export function fork(drive, params) {
  return replace(drive, params, 'forked by', () => {
    const { manager } = drive;
    const entry = drive.entry(params.entry);
    const position = params.position ?? 'before';
    const file = manager.getSessionFile();
    if (position === 'before' && !(entry.type === 'message' && entry.message.role === 'user')) {
      throw new Refusal('InvalidParams', 'Only before a message of the user can be forked.');
    }
    if (file !== undefined) {
      checkForkable(drive, file, entry.id);
    }
    return {
      editorText: position === 'before' ? textOf(entry) : undefined,
      call: (ctx) => ctx.fork(entry.id, { position }),
    };
  });
}

/**
 * pi reads the file for a fork, but looks for the entry in memory.
 *
 * @param {Drive} drive
 * @param {string} file
 * @param {string} id
 */
function checkForkable(drive, file, id) {
  if (!isOnDisk(drive.manager)) {
    throw new Refusal('Unsupported', 'This session is not in its file yet.', {
      needs: 'a first message',
    });
  }
  checkFile(file);
  const lines = readFileSync(file, 'utf8').split('\n');
  const has = lines.some((line) => line.includes(id) && idOf(line) === id);
  if (!has) {
    throw new Refusal('EntryNotFound', `The entry ${id} is not in the session's file.`);
  }
}

/** @param {string} line */
function idOf(line) {
  try {
    return JSON.parse(line).id;
  } catch {
    return undefined;
  }
}

/** @type {import('./drive.js').Act} */
export function switchTo(drive, params) {
  return replace(drive, params, 'opened by', () => {
    const file = String(params.file);
    checkFile(file);
    return { call: (ctx) => ctx.switchSession(file) };
  });
}

/** @type {import('./drive.js').Act} */
export function reread(drive, params) {
  return replace(drive, params, 'read anew for', () => {
    const { manager } = drive;
    const file = manager.getSessionFile();
    if (file === undefined || !isOnDisk(manager)) {
      throw new Refusal('Unsupported', 'This session has no file to read.', { needs: 'a file' });
    }
    checkFile(file);
    const leaf = manager.getLeafId();
    // pi will stand at the last line; where it stood is reached by a move, which some places are not.
    const way = wayTo(manager.getEntries(), leaf);
    if (way === undefined) {
      throw new Refusal('Unsupported', 'pi could not come back to where it stands.', {
        needs: 'a move in pi to another entry',
      });
    }
    return {
      call: (ctx) => ctx.switchSession(file, { withSession: (fresh) => back(fresh, leaf, way) }),
    };
  });
}

/**
 * @param {CommandContext} ctx
 * @param {string | null} leaf
 * @param {string} way
 */
async function back(ctx, leaf, way) {
  if (ctx.sessionManager.getLeafId() !== leaf && ctx.sessionManager.getEntry(way)) {
    await ctx.navigateTree(way);
  }
}

/**
 * The entry to navigate to so that pi stands at `leaf`.
 *
 * @param {import('./types.js').SessionEntry[]} entries
 * @param {string | null} leaf
 */
function wayTo(entries, leaf) {
  const place = entries.find((entry) => entry.id === leaf);
  if (place && !isAsked(place)) {
    return place.id;
  }
  return entries.find((entry) => entry.parentId === leaf && isAsked(entry))?.id;
}

/**
 * @typedef {object} Replacement
 * @property {(ctx: CommandContext) => Promise<{ cancelled: boolean }>} call
 * @property {string | undefined} [editorText] What pi puts into an empty editor.
 */

/**
 * @param {Drive} drive
 * @param {DriveParams} params
 * @param {string} said
 * @param {() => Replacement} prepare checks everything
 * @returns {Promise<PiAnswer>}
 */
function replace(drive, params, said, prepare) {
  const running = { method: 'replace', client: params.client };
  return drive.alone(running, () =>
    drive.inCommand(async (ctx) => {
      const { bridge } = drive;
      drive.checkBase(params);
      drive.checkIdle();
      if (bridge.watch.state().waitingForUser) {
        // Its answer would go nowhere.
        throw new Refusal('Busy', 'A question is open in pi; it has to be answered first.', {
          operation: 'turn',
        });
      }
      const { call, editorText } = prepare();
      const draft = draftOf(ctx);
      const result = await call(ctx);
      if (result.cancelled) {
        throw new Refusal('Cancelled', 'It was cancelled in pi.');
      }
      // From here on only what was made meanwhile may be touched.
      const now = shared().live;
      if (!now || now === bridge) {
        throw new Error('the new session did not begin');
      }
      if (draft !== '' && draftOf(now.ctx) !== draft) {
        now.ctx.ui.setEditorText(draft);
      }
      const file = now.manager.getSessionFile();
      if (bridge.wasMoved && file !== undefined && file === drive.manager.getSessionFile()) {
        // Read anew: it stands where it stood.
        now.wasMoved = true;
      }
      now.showing.did(`${said} ${params.client}`);
      return plain({
        leaf: now.manager.getLeafId(),
        file,
        editorText,
      });
    }),
  );
}

/** @param {import('./types.js').ExtensionContext} ctx */
function draftOf(ctx) {
  return ctx.mode === 'tui' ? ctx.ui.getEditorText() : '';
}

/**
 * @param {string} file
 * @throws {Refusal} pi could not open it, or would make it
 */
function checkFile(file) {
  if (!isAbsolute(file)) {
    throw new Refusal('InvalidParams', 'The file has to be named by its absolute path.');
  }
  let header;
  try {
    if (!statSync(file).isFile()) {
      throw new Error('it is no file');
    }
    header = firstLine(file);
  } catch {
    throw new Refusal('SessionNotFound', `${file} is not there, or cannot be read.`);
  }
  if (!isHeader(header)) {
    throw new Refusal('NotASession', `${file} does not begin as a session does.`);
  }
  try {
    if (!statSync(header.cwd).isDirectory()) {
      throw new Error('it is no folder');
    }
  } catch {
    // pi would ask its user what to do.
    throw new Refusal('Unsupported', `The folder of that session, ${header.cwd}, is not there.`, {
      needs: header.cwd,
    });
  }
}

/** @param {string} file @returns {unknown} */
function firstLine(file) {
  const fd = openSync(file, 'r');
  try {
    const buffer = Buffer.alloc(HEADER_BYTES);
    const text = buffer.toString('utf8', 0, readSync(fd, buffer, 0, HEADER_BYTES, 0));
    return JSON.parse(text.split('\n', 1)[0] ?? '');
  } catch (error) {
    if (error instanceof SyntaxError) {
      return undefined;
    }
    throw error;
  } finally {
    closeSync(fd);
  }
}

/**
 * @param {any} header
 * @returns {header is { id: string, cwd: string }}
 */
function isHeader(header) {
  return (
    header?.type === 'session' &&
    typeof header.id === 'string' &&
    typeof header.cwd === 'string' &&
    // Newer than pi knows; older ones pi brings up to date.
    (header.version ?? 1) <= 3
  );
}
