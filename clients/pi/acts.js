/** What stays in the session pi has: moves, compactions, marks, entries that start no run. */

import { confirmed } from './consent.js';
import { busy, Refusal } from './refusal.js';
import { describeSession, plain } from './session.js';

/** @typedef {import('./drive.js').Drive} Drive */
/** @typedef {import('./types.js').DriveParams} DriveParams */
/** @typedef {import('./types.js').PiAnswer} PiAnswer */
/** @typedef {import('./types.js').SessionEntry} SessionEntry */

/** Entries that pi does not stand on when it goes to them: it takes the parent. */
const isAsked = (/** @type {SessionEntry} */ entry) =>
  entry.type === 'custom_message' || (entry.type === 'message' && entry.message.role === 'user');

export { isAsked };

/**
 * @param {Drive} drive
 * @param {DriveParams} params
 * @param {AbortSignal} signal
 * @returns {Promise<PiAnswer>}
 */
export function navigate(drive, params, signal) {
  const { bridge } = drive;
  const running = {
    method: 'pi/navigate',
    client: params.client,
    hook: params.summarize ? { params } : undefined,
  };
  return drive.alone(running, () =>
    drive.inCommand(async (ctx) => {
      drive.checkBase(params);
      drive.checkIdle();
      const target = drive.entry(params.target);
      if (params.summarize && !ctx.model) {
        throw new Refusal('Unsupported', 'pi has no model, and wants one for a summary.', {
          needs: 'a model chosen in pi',
        });
      }
      const before = drive.manager.getEntries().length;
      const wasHere = drive.manager.getLeafId();
      const long = params.summarize && typeof params.summary !== 'string';
      const end = long ? holdLong(drive, params, signal, 'summarising for') : () => undefined;
      try {
        await go(drive, ctx, params);
      } finally {
        end();
      }
      if (params.label && wasHere === params.target) {
        // pi does nothing at all where it stands there already.
        bridge.api.setLabel(target.id, params.label);
      }
      bridge.watch.look('navigate');
      bridge.showing.did(`moved by ${params.client}`);
      return plain({
        leaf: drive.manager.getLeafId(),
        ids: freshIds(drive, before, ['branch_summary', 'label']),
        editorText: isAsked(target) ? textOf(target) : undefined,
      });
    }),
  );
}

/**
 * @param {Drive} drive
 * @param {import('./types.js').ExtensionCommandContext} ctx
 * @param {DriveParams} params
 */
async function go(drive, ctx, params) {
  const leaf = drive.manager.getLeafId();
  let result;
  try {
    result = await ctx.navigateTree(String(params.target), {
      summarize: params.summarize ?? false,
      customInstructions: params.instructions ?? undefined,
      label: params.label ?? undefined,
    });
  } catch (error) {
    if (drive.manager.getLeafId() !== leaf) {
      throw error;
    }
    const state = drive.bridge.watch.state();
    if (!state.idle) {
      throw busy(state.operation);
    }
    throw params.summarize ? new Refusal('SummaryFailed', sentence(error)) : error;
  }
  if (result.cancelled) {
    throw new Refusal('Cancelled', 'It was cancelled in pi.');
  }
}

/**
 * @param {Drive} drive
 * @param {DriveParams} params
 * @param {AbortSignal} signal
 * @returns {Promise<PiAnswer>}
 */
export function compact(drive, params, signal) {
  const { bridge } = drive;
  const running = { method: 'pi/compact', client: params.client, hook: { params } };
  return drive.alone(running, async () => {
    drive.checkBase(params);
    drive.checkIdle();
    if (!bridge.ctx.model) {
      throw new Refusal('Unsupported', 'pi has no model, and wants one to compact.', {
        needs: 'a model chosen in pi',
      });
    }
    if (params.firstKept != null) {
      checkOnBranch(drive, params.firstKept);
    }
    const before = drive.manager.getEntries().length;
    const end = holdLong(drive, params, signal, 'compacting for');
    try {
      await new Promise((resolve, reject) => {
        bridge.ctx.compact({
          customInstructions: params.instructions ?? undefined,
          onComplete: resolve,
          onError: reject,
        });
      });
    } catch (error) {
      throw refusedCompaction(error);
    } finally {
      end();
    }
    bridge.watch.look('compact');
    bridge.showing.did(`compacted by ${params.client}`);
    return { leaf: drive.manager.getLeafId(), ids: freshIds(drive, before, ['compaction']) };
  });
}

/** @param {unknown} error */
function refusedCompaction(error) {
  const message = sentence(error);
  if (/nothing to compact|already compacted/i.test(message)) {
    return new Refusal('NothingToCompact', message);
  }
  if (/cancel|abort/i.test(message)) {
    return new Refusal('Cancelled', message);
  }
  return new Refusal('SummaryFailed', message);
}

/**
 * While pi's model writes: says so in pi, and lets the client or the user stop it.
 *
 * @param {Drive} drive
 * @param {DriveParams} params
 * @param {AbortSignal} signal
 * @param {string} doing
 * @returns {() => void} when it is over
 */
function holdLong(drive, params, signal, doing) {
  const { bridge, running } = drive;
  const leaf = drive.manager.getLeafId();
  const stop = () => {
    // Once the leaf has moved it is done, and what runs then is the user's.
    if (drive.running === running && drive.manager.getLeafId() === leaf && !bridge.isEnded) {
      bridge.ctx.abort();
    }
  };
  if (running) {
    running.stop = stop;
  }
  signal.addEventListener('abort', stop);
  bridge.showing.hold(`${doing} ${params.client}, /pisessiond stop ends it`);
  if (signal.aborted) {
    stop();
  }
  return () => {
    signal.removeEventListener('abort', stop);
    if (running) {
      running.stop = undefined;
    }
    bridge.showing.release();
  };
}

/** @type {import('./drive.js').Act} */
export function label(drive, params) {
  drive.checkBase(params);
  drive.entry(params.target);
  return marked(drive, params, 'label', 'labelled by', () =>
    drive.bridge.api.setLabel(String(params.target), params.label ?? undefined),
  );
}

/** @type {import('./drive.js').Act} */
export function name(drive, params) {
  drive.checkBase(params);
  return marked(drive, params, 'session_info', 'named by', () =>
    drive.bridge.api.setSessionName(params.name ?? ''),
  );
}

/** @type {import('./drive.js').Act} */
export function contextEdit(drive, params) {
  drive.checkBase(params);
  drive.checkIdle();
  const { manager } = drive;
  if (typeof manager.appendContextEdit !== 'function') {
    throw new Refusal('Unsupported', 'This pi takes nothing out of its context.', {
      needs: 'a newer pi',
    });
  }
  drive.entry(params.target);
  checkOnBranch(drive, String(params.target));
  return marked(drive, params, 'context_edit', 'context changed by', () => {
    try {
      manager.appendContextEdit(
        String(params.target),
        /** @type {{ content: string } | null} */ (params.replacement ?? null),
      );
    } catch (error) {
      throw new Refusal('InvalidEntry', sentence(error));
    }
  });
}

/** @type {import('./drive.js').Act} */
export async function append(drive, params) {
  const entries = params.entries ?? [];
  const types = entries.map((entry) => String(entry.type));
  const odd = types.find((type) => !APPENDED.includes(type));
  if (odd !== undefined) {
    throw new Refusal('ReadOnly', `pi has the session open, and writes no ${odd} for others.`);
  }
  const isSaid = types.some((type) => type !== 'custom');
  if (isSaid) {
    // These are words for the model, as a prompt is.
    await confirmed(drive, params);
  }
  drive.checkBase(params);
  if (isSaid) {
    drive.checkIdle();
  }
  return marked(drive, params, undefined, 'entries added by', () => {
    for (const entry of entries) {
      appendOne(drive, entry);
    }
  });
}

const APPENDED = ['custom', 'custom_message', 'message'];

/**
 * @param {Drive} drive
 * @param {any} entry
 */
function appendOne({ bridge, manager }, entry) {
  if (entry.type === 'custom') {
    bridge.api.appendEntry(entry.customType, entry.data);
  } else if (entry.type === 'message') {
    manager.appendMessage(entry.message);
  } else {
    const { customType, content, display = true, details } = entry;
    bridge.api.sendMessage({ customType, content, display, details }, { triggerTurn: false });
  }
}

/** @type {import('./drive.js').Act} */
export function snapshot(drive) {
  const { bridge, manager } = drive;
  return {
    leaf: manager.getLeafId(),
    session: describeSession(manager),
    state: bridge.watch.state(),
    entries: manager.getEntries(),
  };
}

/**
 * @param {Drive} drive
 * @param {DriveParams} params
 * @param {string | undefined} type
 * @param {string} said
 * @param {() => void} act
 * @returns {PiAnswer}
 */
function marked(drive, params, type, said, act) {
  const before = drive.manager.getEntries().length;
  act();
  drive.bridge.watch.look(type ?? 'append');
  drive.bridge.showing.did(`${said} ${params.client}`);
  return {
    leaf: drive.manager.getLeafId(),
    ids: freshIds(drive, before, type ? [type] : APPENDED),
  };
}

/**
 * @param {Drive} drive
 * @param {number} before
 * @param {string[]} types
 */
function freshIds(drive, before, types) {
  const fresh = drive.manager.getEntries().slice(before);
  return fresh.filter((entry) => types.includes(entry.type)).map((entry) => entry.id);
}

/**
 * @param {Drive} drive
 * @param {string} id
 */
function checkOnBranch(drive, id) {
  drive.entry(id);
  if (!drive.manager.getBranch().some((entry) => entry.id === id)) {
    throw new Refusal('NotOnBranch', `The entry ${id} is not on the branch pi stands on.`);
  }
}

/**
 * @param {SessionEntry} entry
 * @returns {string}
 */
export function textOf(entry) {
  const content =
    entry.type === 'message' && 'content' in entry.message
      ? entry.message.content
      : entry.type === 'custom_message'
        ? entry.content
        : '';
  if (typeof content === 'string') {
    return content;
  }
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** @param {unknown} error */
export function sentence(error) {
  return error instanceof Error ? error.message : String(error);
}
