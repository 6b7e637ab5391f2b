/** Prompts from outside, and the stop. */

import { setTimeout as pause } from 'node:timers/promises';

import { sentence, textOf } from './acts.js';
import { confirmed } from './consent.js';
import { after, soon } from './guard.js';
import { busy, Refusal } from './refusal.js';

/** @typedef {import('./types.js').PiAnswer} PiAnswer */
/** @typedef {import('./types.js').SessionEntry} SessionEntry */

/** Milliseconds in which pi shows that it has taken a prompt; it says nothing when it refuses. */
const PROVEN_WITHIN = 2_000;
/** Milliseconds between two looks at whether pi has taken another prompt. */
const LOOKS_EVERY = 20;

/** @type {import('./drive.js').Act} */
export async function prompt(drive, params, signal) {
  const { bridge } = drive;
  const text = String(params.text ?? '');
  if (text.trim() === '') {
    throw new Refusal('InvalidParams', 'A prompt needs words.');
  }
  await confirmed(drive, params, signal);
  return drive.inTurn(async () => {
    await untilTaken(bridge.watch);
    if (signal?.aborted) {
      throw new Refusal('Cancelled', 'It was cancelled before its turn had come.');
    }
    return sent(drive, params, text);
  });
}

/**
 * Waits while pi takes another prompt: to one that came right then it would say that it is at work,
 * and drop it.
 *
 * @param {import('./watch.js').Watch} watch
 */
async function untilTaken(watch) {
  while (watch.state().idle && watch.isTakingPrompt()) {
    await pause(LOOKS_EVERY);
  }
}

/**
 * @param {import('./drive.js').Drive} drive
 * @param {import('./types.js').DriveParams} params
 * @param {string} text
 */
async function sent(drive, params, text) {
  const { bridge } = drive;
  if (bridge.isEnded) {
    throw new Refusal('SessionChanged', 'pi has left this session.');
  }
  drive.checkBase(params);
  const { operation, idle } = bridge.watch.state();
  if (!idle && operation !== 'turn') {
    throw busy(operation);
  }
  if (drive.running) {
    throw busy(operation);
  }
  if (!bridge.ctx.model) {
    throw new Refusal('Unsupported', 'pi has no model.', { needs: 'a model chosen in pi' });
  }
  const answer = await proven(drive, text, () => {
    // `deliverAs` is harmless when idle, and without it a run that has just begun would refuse it.
    bridge.api.sendUserMessage(text, { deliverAs: params.deliverAs ?? 'followUp' });
  });
  bridge.showing.did(`prompted by ${params.client}`);
  return answer;
}

/**
 * Sends, and waits for the proof that pi has taken it: the entry, or that it waits in pi's queue.
 *
 * @param {import('./drive.js').Drive} drive
 * @param {string} text
 * @param {() => void} send
 * @returns {Promise<PiAnswer>}
 */
function proven(drive, text, send) {
  const { bridge, manager } = drive;
  return new Promise((resolve, reject) => {
    let isOver = false;
    /** @param {() => void} settle */
    const end = (settle) => {
      if (!isOver) {
        isOver = true;
        clearTimeout(timer);
        bridge.watch.listeners.delete(heard);
        bridge.onInput = undefined;
        settle();
      }
    };
    const heard = (/** @type {SessionEntry[]} */ entries) => {
      const mine = entries.find((entry) => isUser(entry) && textOf(entry) === text);
      if (mine) {
        end(() => resolve({ leaf: manager.getLeafId(), ids: [mine.id], queued: false }));
      }
    };
    const timer = after('prompt.patience', PROVEN_WITHIN, () =>
      end(() => reject(new Error('nothing of the prompt was seen'))),
    );
    bridge.watch.listeners.add(heard);
    // pi asks us on the way, then queues it in the same tick if a run is on.
    bridge.onInput = (given) => {
      if (given === text && !bridge.ctx.isIdle()) {
        soon('prompt.queued', () => {
          if (!bridge.isEnded && bridge.ctx.hasPendingMessages()) {
            end(() => resolve({ leaf: manager.getLeafId(), ids: [], queued: true }));
          }
        });
      }
    };
    try {
      send();
    } catch (error) {
      end(() => reject(new Refusal('Unsupported', sentence(error), { needs: 'a look at pi' })));
    }
  });
}

/** @param {SessionEntry} entry */
function isUser(entry) {
  return entry.type === 'message' && entry.message.role === 'user';
}

/** @type {import('./drive.js').Act} */
export function abort(drive, params) {
  const { bridge } = drive;
  if (!bridge.ctx.isIdle()) {
    bridge.ctx.abort();
    bridge.showing.did(`stopped by ${params.client}`);
  }
  return { leaf: drive.manager.getLeafId() };
}
