/** A daemon of its own for a test: in a folder that goes with it, from this repository's sources. */

import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Connection } from '../src/daemon/connection';

const ROOT = resolve(__dirname, '..', '..');
/** Sources to run; those of another folder where this one is being worked on. */
const SOURCE = process.env.PISESSIOND_SOURCE ?? ROOT;
const PYTHON = [process.env.PYTHON, join(ROOT, '.venv', 'bin', 'python'), '/usr/bin/python3'].find(
  (path) => path !== undefined && existsSync(path),
);

export const WINDOW = 200_000;

export interface Body {
  type: string;
  id: string;
  parentId: string | null;
  [member: string]: unknown;
}

export class Place {
  readonly folder = mkdtempSync(join(tmpdir(), 'piv-'));
  readonly work = join(this.folder, 'work');
  readonly program = join(this.folder, 'pisessiond');
  readonly log: string[] = [];
  private readonly agent = join(this.folder, 'agent');
  /** What keeps the daemon apart from that of whoever runs the tests. */
  readonly env = {
    PYTHONPATH: SOURCE,
    PISESSIOND_HOME: join(this.folder, 'home'),
    PI_CODING_AGENT_DIR: this.agent,
    TZ: 'UTC',
  };
  private readonly connections: Connection[] = [];
  private sessions = 0;
  /** What stood in this process's environment before it was entered. */
  private before: NodeJS.ProcessEnv | undefined;

  constructor() {
    mkdirSync(this.work);
    mkdirSync(this.agent);
    writeFileSync(this.program, `#!/bin/sh\nexec '${PYTHON}' -m pisessiond "$@"\n`);
    chmodSync(this.program, 0o755);
    const models = {
      providers: {
        demo: {
          baseUrl: 'http://127.0.0.1:9/v1',
          apiKey: 'unused',
          api: 'openai-completions',
          models: [{ id: 'opus-5', name: 'Opus 5', contextWindow: WINDOW, maxTokens: 8000 }],
        },
      },
    };
    writeFileSync(join(this.agent, 'models.json'), JSON.stringify(models));
  }

  /** What this process starts belongs here, until the end. */
  enter(): void {
    this.before = { ...process.env };
    Object.assign(process.env, this.env);
  }

  /** A connection that is up; a client of its own. */
  async connect(name = 'vscode'): Promise<Connection> {
    const connection = this.connection(name);
    connection.start();
    await reached(connection, 'ready');
    return connection;
  }

  connection(name: string, program: string | null = this.program): Connection {
    const connection = new Connection({
      clientId: `${name}-${this.connections.length}`,
      clientName: name,
      version: '0.1.0',
      cwd: this.work,
      findProgram: () => Promise.resolve(program ?? undefined),
      missing: () => 'pisessiond is not installed.',
      env: this.env,
      log: (line) => this.log.push(line),
      pauses: [50, 100, 200],
    });
    this.connections.push(connection);
    return connection;
  }

  /** Writes pisessiond's own settings; before the daemon starts. */
  settings(toml: string): void {
    mkdirSync(this.env.PISESSIOND_HOME, { recursive: true, mode: 0o700 });
    writeFileSync(join(this.env.PISESSIOND_HOME, 'config.toml'), toml, { mode: 0o600 });
  }

  /** A session of this place's folder as pi writes it. */
  write(entries: Body[], name = `session${++this.sessions}`): string {
    const folder = join(
      this.agent,
      'sessions',
      `--${this.work.replace(/^\//, '').replace(/[/\\:]/g, '-')}--`,
    );
    mkdirSync(folder, { recursive: true });
    const path = join(folder, `2026-11-12T13-00-00-000Z_${name}.jsonl`);
    const timestamp = '2026-11-12T13:00:00.000Z';
    const header = { type: 'session', version: 3, id: name, timestamp, cwd: this.work };
    writeFileSync(path, [header, ...entries].map((one) => JSON.stringify(one) + '\n').join(''));
    return path;
  }

  /** Ends the daemon and takes everything away. */
  async end(): Promise<void> {
    const up = this.connections.find((one) => one.state === 'ready') ?? (await this.connect('end'));
    for (const connection of this.connections) {
      if (connection !== up) {
        connection.stop();
      }
    }
    await up.request('daemon/shutdown', {}).catch(() => undefined);
    up.stop();
    this.remove();
  }

  /** Takes everything away where no daemon was started. */
  remove(): void {
    process.env = this.before ?? process.env;
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** Waits for a state. */
export function reached(connection: Connection, state: Connection['state']): Promise<void> {
  return new Promise((resolve) => {
    if (connection.state === state) {
      resolve();
      return;
    }
    const unlisten = connection.onState((now) => {
      if (now === state) {
        unlisten();
        resolve();
      }
    });
  });
}

/** Entries of a session, one under the other. */
export class Talk {
  readonly entries: Body[] = [];
  leaf: string | null = null;
  private now = Date.parse('2026-11-12T13:30:00.000Z');

  user(text: string): string {
    return this.say({ role: 'user', content: [{ type: 'text', text }] });
  }

  answer(text: string, tokens: number, calls: unknown[] = []): string {
    return this.say(this.answerOf(text, tokens, calls));
  }

  /** An answer whose provider measured so many tokens. */
  answerOf(text: string, tokens: number, calls: unknown[] = []): Record<string, unknown> {
    const cost = { input: 0, output: 0.01, cacheRead: 0, cacheWrite: 0, total: 0.01 };
    const usage = {
      input: 1,
      output: 9,
      cacheRead: tokens - 10,
      cacheWrite: 0,
      totalTokens: tokens,
    };
    return {
      role: 'assistant',
      content: [...(text === '' ? [] : [{ type: 'text', text }]), ...calls],
      api: 'demo',
      provider: 'demo',
      model: 'opus-5',
      usage: { ...usage, cost },
      stopReason: calls.length > 0 ? 'toolUse' : 'stop',
    };
  }

  step(command: string, output: string, tokens: number): string {
    const id = `t${this.entries.length}`;
    this.answer('', tokens, [{ type: 'toolCall', id, name: 'bash', arguments: { command } }]);
    return this.say({
      role: 'toolResult',
      toolCallId: id,
      toolName: 'bash',
      content: [{ type: 'text', text: output }],
      isError: false,
    });
  }

  private say(message: Record<string, unknown>): string {
    const id = `e${this.entries.length + 1}`;
    this.now += 1000;
    this.entries.push({
      type: 'message',
      id,
      parentId: this.leaf,
      timestamp: new Date(this.now).toISOString(),
      message: { ...message, timestamp: this.now },
    });
    this.leaf = id;
    return id;
  }
}
