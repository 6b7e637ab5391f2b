/**
 * The connection to the daemon: found or started through `pisessiond attach`, made anew after a loss
 * with growing pauses, and answered in sentences.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { Emitter } from '../model/events';
import { asFailure, Failure, type FailureKind } from '../rpc/failure';
import {
  Peer,
  type Answers,
  type Message,
  type Method,
  type Params,
  type Result,
} from '../rpc/peer';
import { PROTOCOL_VERSION, type Announcement } from '../rpc/protocol';
import { runProgram, type Said } from './program';

/** Milliseconds between two tries after a loss. */
const PAUSES = [200, 500, 1000, 2000, 4000, 8000];
/** Milliseconds until a connection that says nothing has failed. */
const PATIENCE = 25_000;
/** Milliseconds until a program that does one thing has not done it. */
const PROGRAM_ENDS = 10_000;
/** Methods without which the views are of no use. */
const NEEDED: Method[] = ['session/open', 'session/rows', 'session/list', 'session/contextSize'];

/** `missing`: there is no program to start; nothing is tried until somebody asks. */
export type State = 'idle' | 'connecting' | 'ready' | 'offline' | 'missing';

export interface ConnectionOptions {
  /** Unique to this window and kept over reconnects. */
  clientId: string;
  /** For people: shown to other clients as who did something. */
  clientName: string;
  version: string;
  /** Absolute folder of relative paths; the workspace's first. */
  cwd: string | undefined;
  /** The program's path; nothing where there is none, which `missing` then says why. */
  findProgram: () => Promise<string | undefined>;
  missing: () => string;
  /** For the child, besides that of this process. */
  env?: NodeJS.ProcessEnv;
  /** What the daemon may ask of the window; looked at with each connection. */
  answers?: () => Answers;
  log: (line: string) => void;
  pauses?: readonly number[];
}

/** What models and commands need of a connection. */
export interface Daemon {
  readonly clientId: string;
  readonly state: State;
  onState(listener: (state: State) => void): () => void;
  onTold(listener: (message: Message) => void): () => void;
  request<M extends Method>(method: M, params: Params<M>, signal?: AbortSignal): Promise<Result<M>>;
}

export class Connection implements Daemon {
  state: State = 'idle';
  /** When it was lost, and when the next try is; milliseconds since 1970. */
  since: number | undefined;
  nextTry: number | undefined;
  /** Why there is none, in one sentence and in a word. */
  problem: string | undefined;
  problemKind: FailureKind | undefined;
  /** What is amiss between the versions, though they understand each other; one sentence. */
  skew: string | undefined;
  server: Announcement | undefined;

  private readonly stateChanged = new Emitter<State>();
  private readonly told = new Emitter<Message>();
  private peer: Peer | undefined;
  private child: ChildProcess | undefined;
  /** Grows with every try, so that what an old one still says counts no more. */
  private generation = 0;
  private tries = 0;
  private timer: NodeJS.Timeout | undefined;
  private lastWords = '';

  constructor(private readonly options: ConnectionOptions) {}

  get clientId(): string {
    return this.options.clientId;
  }

  onState(listener: (state: State) => void): () => void {
    return this.stateChanged.on(listener);
  }

  onTold(listener: (message: Message) => void): () => void {
    return this.told.on(listener);
  }

  /** Connects if nothing does yet. */
  start(): void {
    if (this.state === 'idle') {
      this.begin();
    }
  }

  /** Tries at once instead of when its time has come; a connection that is up is left alone. */
  reconnect(): void {
    if (this.state === 'offline' || this.state === 'missing') {
      this.tries = 0;
      this.begin();
    }
  }

  /** Connects anew where there is a connection, so that the daemon learns what is offered now. */
  renew(): void {
    if (this.state === 'ready' || this.state === 'connecting') {
      this.generation++;
      this.peer?.notify('exit', {});
      this.drop();
      this.tries = 0;
      this.become('offline');
      this.begin();
    }
  }

  /** Ends the connection; the daemon and other clients go on. */
  stop(): void {
    this.generation++;
    clearTimeout(this.timer);
    this.peer?.notify('exit', {});
    this.drop();
    this.since = this.nextTry = this.problem = this.problemKind = undefined;
    this.become('idle');
  }

  /** Asks the running daemon to end, and connects anew, which starts the installed one. */
  async restartDaemon(ifIdle: boolean): Promise<void> {
    if (this.state === 'ready') {
      try {
        await this.request('daemon/shutdown', { ifIdle });
      } catch (error) {
        // The end of the connection may overtake the answer that announces it.
        if (asFailure(error).kind !== 'Offline') {
          throw error;
        }
      }
    } else if (this.problemKind === 'VersionUnsupported') {
      await this.endByProgram();
    }
    this.reconnect();
  }

  /** Has the program end a daemon that does not understand this extension. */
  private async endByProgram(): Promise<void> {
    const said = await this.run(['stop']);
    if (!said.isDone) {
      this.options.log(said.stderr.trim() || 'pisessiond stop has failed');
    }
  }

  /**
   * Runs the program with other words than `attach`, until it has ended.
   * @throws {Failure} `NotInstalled`
   */
  async run(words: readonly string[]): Promise<Said> {
    const program = await this.options.findProgram();
    if (program === undefined) {
      throw new Failure('NotInstalled', this.options.missing());
    }
    return runProgram(program, words, { ...process.env, ...this.options.env }, PROGRAM_ENDS);
  }

  /**
   * What the daemon answers; while the connection is being made it waits.
   * @throws {Failure} a refusal, or `Offline`, `NotInstalled` where there is no daemon to ask
   */
  async request<M extends Method>(
    method: M,
    params: Params<M>,
    signal?: AbortSignal,
  ): Promise<Result<M>> {
    if (this.state === 'connecting') {
      await this.settled();
    }
    if (!this.peer || this.state !== 'ready') {
      throw this.absence();
    }
    return this.peer.request(method, params, signal);
  }

  private settled(): Promise<void> {
    return new Promise((resolve) => {
      const unlisten = this.onState((state) => {
        if (state !== 'connecting') {
          unlisten();
          resolve();
        }
      });
    });
  }

  private absence(): Failure {
    return new Failure(
      this.state === 'missing' ? 'NotInstalled' : 'Offline',
      this.problem ?? 'There is no connection to pisessiond.',
    );
  }

  private begin(): void {
    clearTimeout(this.timer);
    const mine = ++this.generation;
    this.nextTry = undefined;
    this.become('connecting');
    this.connect(mine).catch((error: unknown) => {
      this.failed(mine, asFailure(error));
    });
  }

  private async connect(mine: number): Promise<void> {
    const program = await this.options.findProgram();
    if (mine !== this.generation) {
      return;
    }
    if (program === undefined) {
      throw new Failure('NotInstalled', this.options.missing());
    }
    const answers = this.options.answers?.() ?? {};
    this.peer = this.attach(program, mine, answers);
    const patience = setTimeout(() => {
      this.failed(
        mine,
        new Failure('Offline', 'pisessiond does not answer; its log says why (pisessiond doctor).'),
      );
    }, PATIENCE);
    try {
      const server = await this.initialize(this.peer, answers);
      if (mine === this.generation) {
        this.isUp(server);
      }
    } finally {
      clearTimeout(patience);
    }
  }

  private attach(program: string, mine: number, answers: Answers): Peer {
    this.lastWords = '';
    const child = spawn(program, ['attach'], {
      cwd: this.options.cwd,
      env: { ...process.env, ...this.options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.child = child;
    createInterface({ input: child.stderr }).on('line', (line) => {
      this.lastWords = line.trim() === '' ? this.lastWords : line.trim();
      this.options.log(line);
    });
    child.on('error', (error) => {
      const code = (error as NodeJS.ErrnoException).code ?? error.name;
      this.failed(mine, new Failure('Offline', `pisessiond could not be started (${code}).`));
    });
    // A child that ended takes what is written to it no more; `closed` tells what that means.
    child.stdin.on('error', () => undefined);
    const listener = {
      told: (message: Message) => {
        if (mine === this.generation) {
          this.hear(message);
        }
      },
      closed: () => this.failed(mine, undefined),
    };
    return new Peer(child.stdout, child.stdin, listener, answers);
  }

  private async initialize(peer: Peer, answers: Answers): Promise<Announcement> {
    const { clientId, clientName, version, cwd } = this.options;
    const answer = await peer.request('initialize', {
      processId: process.pid,
      rootUri: null,
      clientInfo: { name: 'Visual Studio Code', version },
      capabilities: {},
      initializationOptions: {
        pisessiond: {
          protocolVersions: [PROTOCOL_VERSION],
          client: { id: clientId, name: clientName, version },
          cwd,
          requests: Object.keys(answers),
        },
      },
    });
    const experimental = answer.capabilities.experimental as
      | { pisessiond?: Announcement }
      | undefined;
    const server = experimental?.pisessiond;
    if (server?.protocolVersion !== PROTOCOL_VERSION) {
      throw new Failure(
        'VersionUnsupported',
        'This pisessiond and this extension do not understand each other; update one of the two.',
      );
    }
    peer.notify('initialized', {});
    return server;
  }

  private isUp(server: Announcement): void {
    this.server = server;
    this.tries = 0;
    this.since = this.problem = this.problemKind = undefined;
    this.skew = skewOf(server);
    this.options.log(`connected to pisessiond ${server.build}`);
    if (this.skew) {
      this.options.log(this.skew);
    }
    this.become('ready');
  }

  private hear(message: Message): void {
    if (message.method === 'daemon/stopping') {
      this.options.log(`pisessiond ends (${message.params.reason})`);
    }
    this.told.emit(message);
  }

  /** A try has failed, or a connection ended; told more than once, it counts once. */
  private failed(mine: number, failure: Failure | undefined): void {
    if (mine !== this.generation) {
      return;
    }
    this.generation++;
    this.drop();
    const wasUp = this.state === 'ready';
    if (!wasUp) {
      this.problem = this.sentence(failure);
      this.options.log(this.problem);
    } else {
      this.problem = 'The connection to pisessiond was lost.';
      this.options.log('the connection was lost');
    }
    this.problemKind = failure?.kind ?? 'Offline';
    this.since ??= Date.now();
    if (failure?.kind === 'NotInstalled') {
      this.become('missing');
      return;
    }
    const pauses = this.options.pauses ?? PAUSES;
    const pause = pauses[Math.min(this.tries, pauses.length - 1)] ?? 1000;
    this.tries++;
    this.nextTry = Date.now() + pause;
    this.timer = setTimeout(() => this.begin(), pause);
    this.become('offline');
  }

  private sentence(failure: Failure | undefined): string {
    if (failure && failure.kind !== 'Offline') {
      return failure.message;
    }
    // What the bridge said before it went is the reason, in words made for people.
    return this.lastWords !== '' ? this.lastWords : (failure?.message ?? 'pisessiond ended.');
  }

  private drop(): void {
    const { peer, child } = this;
    this.peer = this.child = undefined;
    peer?.close();
    child?.stdin?.end();
    child?.kill();
  }

  private become(state: State): void {
    this.state = state;
    this.stateChanged.emit(state);
  }
}

/** What an older daemon lacks; nothing where it has all that is needed. */
export function skewOf(server: Announcement): string | undefined {
  const lacking = NEEDED.filter((method) => !server.methods.includes(method));
  return lacking.length > 0
    ? `The running pisessiond ${server.build} is older than this extension and lacks ` +
        `${lacking.join(', ')}; update it, then use Restart Daemon.`
    : undefined;
}
