/**
 * The connection of this process to pisessiond: one, whatever sessions pi opens.
 *
 * It is looked for and made anew with growing pauses, never started from here, and no reason for
 * the process to stay. A daemon that does not read costs a bounded amount of memory.
 */

import { randomUUID } from 'node:crypto';
import { watch } from 'node:fs';
import { connect } from 'node:net';
import { findPlace, findSocket } from './address.js';
import { encodeFrame, FrameDecoder } from './frames.js';
import { after, begin, guard } from './guard.js';
import { ASKED } from './methods.js';

/** @typedef {import('./types.js').Json} Json */

const FIRST_PAUSE = 100;
const LAST_PAUSE = 3_000;
/** Milliseconds between tries where another version or place of the daemon would be needed. */
const LONG_PAUSE = 30_000;
/** What appears in the daemon's folder when one listens. */
const APPEARS = ['socket', 'address'];
/** Bytes that may wait in the socket. One message larger than that still goes. */
const MAX_WAITING = 4 << 20;
/** Milliseconds for the daemon to say who it is. */
const PATIENCE = 10_000;

export class Link {
  /** Names this process to the daemon, over reconnects. */
  id = randomUUID();
  /** @type {import('./types.js').Party | undefined} */
  party;
  /** Whether messages can be sent. */
  isUp = false;
  /** Why it is not, in a sentence. @type {string | undefined} */
  why = 'nothing was tried yet';
  /** Whether the last question to the daemon ran out of time, and nothing came since. */
  isSilent = false;

  /** @type {import('node:net').Socket | undefined} */
  #socket;
  /** @type {NodeJS.Timeout | undefined} */
  #retry;
  /** @type {import('node:fs').FSWatcher | undefined} */
  #watcher;
  #pause = FIRST_PAUSE;
  #wasUp = false;
  /** What this pi was said to be. */
  #introduced = '';
  #numbers = 0;
  /** @type {Map<number, (message: Json | undefined) => void>} */
  #waiting = new Map();
  /** Requests of the daemon's that are at work. @type {Map<unknown, { method: string, control: AbortController }>} */
  #running = new Map();

  /** Connects, if nothing does yet and a session is there to speak of. */
  start() {
    if (!this.#socket && this.party) {
      this.#stopWaiting();
      this.#connect();
    }
  }

  /** The same; a connection that was introduced as something else is made anew. */
  restart() {
    if (this.#socket && JSON.stringify(this.party?.introduce().pi) !== this.#introduced) {
      this.stop();
    }
    this.start();
  }

  /** Ends the connection, once what was sent is out; `start` makes a new one. */
  stop() {
    this.#stopWaiting();
    const socket = this.#socket;
    if (socket) {
      this.#forget(socket);
      socket.end();
    }
    this.why = 'it is switched off';
  }

  /**
   * @param {string} method
   * @param {object} params
   */
  tell(method, params) {
    this.#send({ method, params });
  }

  /**
   * What the daemon answers; nothing when it refuses, leaves, or takes too long.
   *
   * @param {string} method
   * @param {object} params
   * @param {number} ms
   * @param {AbortSignal} [signal]
   * @returns {Promise<Json | undefined>}
   */
  async ask(method, params, ms, signal) {
    const message = await this.#request(method, params, ms, signal);
    return /** @type {Json | undefined} */ (message?.result ?? undefined);
  }

  /**
   * @param {string} method
   * @param {object} params
   * @param {number} ms
   * @param {AbortSignal} [signal]
   * @returns {Promise<Json | undefined>} the whole answer
   */
  #request(method, params, ms, signal) {
    const id = ++this.#numbers;
    return new Promise((resolve) => {
      /** @param {Json | undefined} message */
      const end = (message) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', given);
        this.#waiting.delete(id);
        resolve(message);
      };
      const timer = after('link.patience', ms, () => {
        this.isSilent = true;
        end(undefined);
      });
      const given = guard('link.given', () => end(undefined));
      signal?.addEventListener('abort', given);
      this.#waiting.set(id, end);
      if (!this.#send({ id, method, params })) {
        end(undefined);
      }
    });
  }

  #connect() {
    let path;
    /** @type {import('./address.js').Place} */
    let place;
    try {
      place = findPlace();
      path = findSocket(place);
    } catch (error) {
      this.#later(/** @type {Error} */ (error).message, LONG_PAUSE);
      return;
    }
    if (path === undefined) {
      this.#later(NOT_RUNNING);
      return;
    }
    const socket = connect(path);
    const decoder = new FrameDecoder();
    this.#socket = socket;
    socket.unref();
    after('link.stuck', 2 * PATIENCE, () => {
      if (!this.isUp) {
        this.#lost(socket);
      }
    });
    socket.on(
      'error',
      guard('socket.error', (/** @type {NodeJS.ErrnoException} */ error) =>
        // One that was killed leaves its socket behind.
        this.#lost(socket, error.code === 'ECONNREFUSED' ? NOT_RUNNING : undefined),
      ),
    );
    socket.on(
      'close',
      guard('socket.close', () => this.#lost(socket)),
    );
    socket.on(
      'connect',
      guard('socket.connect', () => begin('link.introduce', () => this.#introduce(socket, place))),
    );
    socket.on(
      'data',
      guard('socket.data', (/** @type {Buffer} */ chunk) => {
        if (socket !== this.#socket) {
          return;
        }
        this.isSilent = false;
        let messages;
        try {
          messages = decoder.push(chunk);
        } catch {
          socket.destroy();
          return;
        }
        for (const message of messages) {
          this.#take(message);
        }
      }),
    );
  }

  /**
   * @param {import('node:net').Socket} socket
   * @param {import('./address.js').Place} place
   */
  async #introduce(socket, place) {
    if (!this.party || socket !== this.#socket) {
      this.#lost(socket);
      return;
    }
    const { pi, cwd } = this.party.introduce();
    this.#introduced = JSON.stringify(pi);
    const version = String(pi.version);
    const answer = await this.#request(
      'initialize',
      {
        processId: process.pid,
        capabilities: {},
        clientInfo: { name: 'pi', version },
        initializationOptions: {
          pisessiond: {
            protocolVersions: [1],
            client: { id: this.id, name: 'pi', version },
            cwd,
            agentDir: place.agentDir,
            requests: ASKED,
            pi,
          },
        },
      },
      PATIENCE,
    );
    if (socket !== this.#socket) {
      return;
    }
    if (!answer || answer.error) {
      const error = /** @type {{ message?: string } | undefined} */ (answer?.error);
      this.#forget(socket);
      socket.destroy();
      this.#later(error?.message ?? 'pisessiond does not answer', LONG_PAUSE);
      return;
    }
    this.tell('initialized', {});
    this.isUp = true;
    this.why = undefined;
    this.#pause = FIRST_PAUSE;
    const again = this.#wasUp;
    this.#wasUp = true;
    this.party?.connected(again);
  }

  /** @param {Json} message */
  #take(message) {
    const { id, method } = message;
    if (typeof method !== 'string') {
      this.#waiting.get(/** @type {number} */ (id))?.(message);
    } else if (id === undefined) {
      if (method === '$/cancelRequest') {
        this.#running.get(/** @type {Json} */ (message.params).id)?.control.abort();
      }
    } else if (ASKED.includes(method)) {
      const params = /** @type {any} */ (message.params);
      begin('link.answer', () => this.#answer(id, method, params));
    } else {
      this.#send({ id, error: { code: -32601, message: `The bridge has no ${method}.` } });
    }
  }

  /**
   * @param {unknown} id
   * @param {string} method
   * @param {import('./types.js').DriveParams} params
   */
  async #answer(id, method, params) {
    const socket = this.#socket;
    const running = { method, control: new AbortController() };
    const { signal } = running.control;
    this.#running.set(id, running);
    const act = guard('link.asked', () =>
      this.party ? this.party.asked(method, params, signal) : AWAY,
    );
    const result = await act();
    // Each connection counts from one: on a later one this number is another request's.
    if (socket === this.#socket && this.#running.get(id) === running) {
      this.#running.delete(id);
      this.#send({ id, result: result ?? UNKNOWN });
    }
  }

  /**
   * @param {object} message
   * @returns {boolean} whether it was sent
   */
  #send(message) {
    const socket = this.#socket;
    if (!socket || socket.connecting || socket.destroyed) {
      return false;
    }
    if (socket.writableLength > MAX_WAITING) {
      socket.destroy();
      return false;
    }
    socket.write(encodeFrame({ jsonrpc: '2.0', ...message }));
    return true;
  }

  /**
   * @param {import('node:net').Socket} socket
   * @param {string} [why]
   */
  #lost(socket, why = 'pisessiond does not take the connection') {
    if (socket !== this.#socket) {
      return;
    }
    const wasUp = this.isUp;
    this.#forget(socket);
    socket.destroy();
    this.#later(wasUp ? 'the connection was lost' : why);
  }

  /** @param {import('node:net').Socket} socket */
  #forget(socket) {
    if (socket !== this.#socket) {
      return;
    }
    this.#socket = undefined;
    const wasUp = this.isUp;
    this.isUp = false;
    for (const end of [...this.#waiting.values()]) {
      end(undefined);
    }
    for (const { method, control } of this.#running.values()) {
      // What pi is at goes on, and is asked for again. What waits for its user's yes is not begun
      // for a client that has gone.
      if (method === 'pi/prompt') {
        control.abort();
      }
    }
    this.#running.clear();
    if (wasUp) {
      this.party?.lost();
    }
  }

  /**
   * @param {string} why
   * @param {number} [pause]
   */
  #later(why, pause) {
    this.why = why;
    this.#stopWaiting();
    this.#retry = after('link.retry', pause ?? this.#pause, () => this.start());
    this.#pause = Math.min(this.#pause * 2, LAST_PAUSE);
    this.#waitForOne();
  }

  /**
   * Comes as soon as a daemon listens: until it knows this pi, whoever began it for a prompt is told
   * that no pi runs, and what is written to the session is written behind pi's back.
   */
  #waitForOne() {
    try {
      const appeared = guard(
        'link.appeared',
        (/** @type {string} */ _, /** @type {unknown} */ name) => {
          if (APPEARS.includes(String(name))) {
            this.start();
          }
        },
      );
      const watcher = watch(findPlace().folder, { persistent: false }, appeared);
      watcher.on(
        'error',
        guard('link.unwatched', () => watcher.close()),
      );
      this.#watcher = watcher;
    } catch {
      // No folder yet, or the system watches too many: the next try finds it.
    }
  }

  #stopWaiting() {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#watcher?.close();
    this.#watcher = undefined;
  }
}

const NOT_RUNNING = 'pisessiond does not run; an editor or any command of it starts it';

const AWAY = {
  refused: /** @type {const} */ ('SessionChanged'),
  message: 'pi is between two sessions; look again.',
};

const UNKNOWN = {
  refused: 'PiUnknown',
  message: 'A fault of the bridge in pi; look whether it was done. /pisessiond status says more.',
};
