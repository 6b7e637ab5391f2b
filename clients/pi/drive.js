/**
 * Does in pi what clients of the daemon ask for: who may, whether it fits, once each.
 *
 * What only a command may do runs inside our own command, which pi starts at once for us. Checks and
 * call happen in one tick there, so that nothing slips between.
 */

import { randomUUID } from 'node:crypto';
import * as acts from './acts.js';
import { isAsked } from './acts.js';
import { after } from './guard.js';
import { abort, prompt } from './prompts.js';
import { busy, Refusal } from './refusal.js';
import * as replacing from './replacing.js';
import { describeSession } from './session.js';
import { shared } from './shared.js';

/** @typedef {import('./types.js').DriveParams} DriveParams */
/** @typedef {import('./types.js').PiAnswer} PiAnswer */
/** @typedef {import('./types.js').ExtensionCommandContext} CommandContext */
/** @typedef {(drive: Drive, params: DriveParams, signal: AbortSignal) => PiAnswer | Promise<PiAnswer>} Act */

/** @type {Record<string, Act>} */
const ACTS = {
  'pi/navigate': acts.navigate,
  'pi/compact': acts.compact,
  'pi/label': acts.label,
  'pi/name': acts.name,
  'pi/append': acts.append,
  'pi/contextEdit': acts.contextEdit,
  'pi/fork': replacing.fork,
  'pi/switch': replacing.switchTo,
  'pi/reread': replacing.reread,
  'pi/prompt': prompt,
  'pi/abort': abort,
  'pi/snapshot': acts.snapshot,
};

const REMEMBERED = 256;
/** Milliseconds for pi to start our command. */
const BEGINS_WITHIN = 2_000;
/** Entries that change nothing of what the model is sent, or only how it is counted. */
const LIGHT = new Set(['label', 'session_info', 'usage', 'custom']);

/**
 * @typedef {object} Running What holds the session now.
 * @property {string} method
 * @property {string} client
 * @property {() => void} [stop] Ends it, while it can be ended.
 * @property {{ summary?: string | null, params: DriveParams } | undefined} [hook] For pi's hooks.
 */

export class Drive {
  /** @type {Running | undefined} */
  running;

  /** Jobs whose command pi has not started. @type {Map<string, { run: (ctx: CommandContext) => Promise<void>, fail: (error: Refusal) => void }>} */
  #jobs = new Map();
  /** The move that waits for the one that runs. @type {{ go: () => void, giveWay: () => void } | undefined} */
  #next;
  /** The end of the prompt that was sent last. @type {Promise<unknown>} */
  #prompted = Promise.resolve();

  /** @param {import('./bridge.js').Bridge} bridge */
  constructor(bridge) {
    this.bridge = bridge;
  }

  get manager() {
    return this.bridge.manager;
  }

  /**
   * @param {string} method
   * @param {DriveParams} params
   * @param {AbortSignal} signal
   * @returns {Promise<PiAnswer>}
   */
  answer(method, params, signal) {
    const { answers } = shared();
    const key = `${params.clientId}\n${params.requestId}`;
    const known = answers.get(key);
    if (known) {
      return known;
    }
    const answer = this.#run(method, params, signal).catch(refusalOf);
    if (method === 'pi/snapshot') {
      // It may be asked as often as one likes, and is large.
      return answer;
    }
    answers.set(key, answer);
    for (const old of [...answers.keys()].slice(0, -REMEMBERED)) {
      answers.delete(old);
    }
    // A refusal changed nothing; the next time may fit.
    return answer.then((given) => {
      if (given.refused && given.refused !== 'PiUnknown') {
        answers.delete(key);
      }
      return given;
    });
  }

  /**
   * @param {string} method
   * @param {DriveParams} params
   * @param {AbortSignal} signal
   */
  async #run(method, params, signal) {
    const { bridge } = this;
    const act = ACTS[method];
    if (!act) {
      throw new Refusal('Unsupported', `The bridge has no ${method}.`, { needs: 'a newer bridge' });
    }
    if (bridge.isEnded || params.gen !== bridge.gen) {
      throw new Refusal('SessionChanged', 'pi has another session open by now.', {
        session: bridge.isEnded ? undefined : describeSession(this.manager),
      });
    }
    if (act !== acts.snapshot && bridge.standing.level !== 'drive') {
      throw new Refusal('ReadOnly', `pi has this session open, and ${bridge.standing.why}.`);
    }
    return act(this, params, signal);
  }

  /** The session ends: what waits is told so. */
  end() {
    for (const job of this.#jobs.values()) {
      job.fail(new Refusal('SessionChanged', 'pi has left this session.'));
    }
    this.#jobs.clear();
    this.#next?.giveWay();
  }

  /** @throws {Refusal} pi is at something that this would harm */
  checkIdle() {
    const { bridge } = this;
    const state = bridge.watch.state();
    if (!state.idle) {
      throw busy(state.operation);
    }
    if (bridge.watch.isTakingPrompt()) {
      throw busy('turn');
    }
  }

  /**
   * @param {DriveParams} params
   * @throws {Refusal} pi stands elsewhere
   */
  checkBase(params) {
    if (params.baseLeaf === undefined) {
      return;
    }
    const leaf = this.manager.getLeafId();
    /** @type {string | null} */
    let at = leaf;
    while (at !== params.baseLeaf) {
      const entry = at === null ? undefined : this.manager.getEntry(at);
      if (!entry || !LIGHT.has(entry.type)) {
        throw new Refusal('LeafMoved', 'pi stands elsewhere by now.', { leaf });
      }
      at = entry.parentId;
    }
  }

  /**
   * @param {string | undefined} id
   * @throws {Refusal} no entry has it
   */
  entry(id) {
    const entry = this.manager.getEntry(String(id));
    if (!entry) {
      throw new Refusal('EntryNotFound', `No entry of pi's session has the id ${id}.`);
    }
    return entry;
  }

  /**
   * Runs one act at a time. Of moves the newest waits for the one that runs; pi would draw them all.
   *
   * @template T
   * @param {Running} running
   * @param {() => Promise<T>} act
   * @returns {Promise<T>}
   */
  async alone(running, act) {
    while (this.running) {
      const isMove = running.method === 'pi/navigate' && !running.hook;
      if (!isMove || this.running.method !== 'pi/navigate' || this.running.hook) {
        throw busy(this.bridge.watch.state().operation);
      }
      this.#next?.giveWay();
      await new Promise((resolve, reject) => {
        this.#next = {
          go: () => resolve(undefined),
          giveWay: () => reject(new Refusal('Cancelled', 'A later move took its place.')),
        };
      });
    }
    this.running = running;
    try {
      return await act();
    } finally {
      this.running = undefined;
      const next = this.#next;
      this.#next = undefined;
      next?.go();
    }
  }

  /**
   * Sends prompts one behind the other: of two at once pi drops one.
   *
   * @template T
   * @param {() => Promise<T>} send
   * @returns {Promise<T>}
   */
  inTurn(send) {
    const answer = this.#prompted.then(send);
    this.#prompted = answer.catch(() => undefined);
    return answer;
  }

  /**
   * Runs a job inside our own command, where pi allows what it allows commands only.
   *
   * @template T
   * @param {(ctx: CommandContext) => Promise<T>} job
   * @returns {Promise<T>}
   */
  inCommand(job) {
    const { api } = this.bridge;
    if (!this.bridge.isCommandOurs()) {
      // The text would go to the model.
      throw new Refusal('Unsupported', 'Another extension in pi has taken /pisessiond, too.', {
        needs: 'no other extension with a command /pisessiond',
      });
    }
    return new Promise((resolve, reject) => {
      const id = randomUUID();
      /** @param {Refusal} error */
      const fail = (error) => {
        clearTimeout(timer);
        this.#jobs.delete(id);
        reject(error);
      };
      const timer = after('drive.begin', BEGINS_WITHIN, () =>
        fail(
          new Refusal('Unsupported', 'pi did not start the command.', { needs: 'a look at pi' }),
        ),
      );
      /** @param {CommandContext} ctx */
      const run = (ctx) => {
        clearTimeout(timer);
        return job(ctx).then(resolve, reject);
      };
      this.#jobs.set(id, { run, fail });
      api.sendUserMessage(`/pisessiond @${id}`, { expandPromptTemplates: true });
    });
  }

  /**
   * pi has started our command for a job.
   *
   * @param {string} id
   * @param {CommandContext} ctx
   */
  async begin(id, ctx) {
    const job = this.#jobs.get(id);
    if (job) {
      this.#jobs.delete(id);
      await job.run(ctx);
    }
  }

  /**
   * The text that starts a job came as a prompt: it is kept from the model.
   *
   * @param {string} id
   */
  leaked(id) {
    this.#jobs
      .get(id)
      ?.fail(
        new Refusal('Unsupported', 'pi took the command for a prompt.', { needs: 'a newer pi' }),
      );
  }

  /** Ends what runs for a client, and nothing of the user's. @returns {boolean} */
  stop() {
    const { running } = this;
    running?.stop?.();
    return running?.stop !== undefined;
  }

  /**
   * Goes where the daemon's clients had left the leaf, when nobody has moved or said anything yet.
   *
   * @param {string} position
   * @param {string | null} stood
   */
  async restore(position, stood) {
    const { bridge } = this;
    const entry = this.manager.getEntry(position);
    const isLeft = bridge.standing.level === 'drive' && this.manager.getLeafId() === stood;
    // pi would not stand on a question, but before it.
    if (!isLeft || !entry || isAsked(entry)) {
      return;
    }
    const params = { gen: bridge.gen, requestId: randomUUID(), client: 'pisessiond', clientId: '' };
    const wanted = { ...params, target: position, baseLeaf: stood };
    await this.answer('pi/navigate', wanted, new AbortController().signal);
  }
}

/**
 * @param {unknown} error
 * @returns {PiAnswer}
 */
function refusalOf(error) {
  if (error instanceof Refusal) {
    return error.answer();
  }
  const message = error instanceof Error ? error.message : String(error);
  return { refused: 'PiUnknown', message: `pi said: ${message}` };
}
