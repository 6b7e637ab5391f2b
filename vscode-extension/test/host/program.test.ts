/** With no program, with another one, with an old one: what the extension makes of it. */

import assert from 'node:assert/strict';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'mocha';
import * as vscode from 'vscode';
import type { Exports } from '../../src/extension';
import { append, folder, ready, row, until } from './inside';

const PATH = 'pisessiond.path';

/** Answers the first request as a daemon of another version does, and then says nothing. */
function otherVersion(protocolVersion: number, methods: string[]): string {
  const path = join(folder(), `pisessiond-${protocolVersion}-${methods.length}`);
  const announcement = { protocolVersion, build: '0.0.1', limits: {}, methods };
  const result = { capabilities: { experimental: { pisessiond: announcement } } };
  const source = `#!${process.execPath}
    let heard = '';
    process.stdin.on('data', (data) => {
      heard += data;
      const id = /"method":"initialize"/.test(heard) && /"id":(\\d+)/.exec(heard)?.[1];
      if (id) {
        heard = '';
        const answer = JSON.stringify({ jsonrpc: '2.0', id: Number(id), result: ${JSON.stringify(result)} });
        process.stdout.write('Content-Length: ' + Buffer.byteLength(answer) + '\\r\\n\\r\\n' + answer);
      }
    });
    process.stdin.on('end', () => process.exit(0));
  `;
  writeFileSync(path, source);
  chmodSync(path, 0o755);
  return path;
}

describe('the program', () => {
  let inside: Exports;
  let program: string;

  before(async () => {
    inside = await ready();
    program = vscode.workspace.getConfiguration().get(PATH, '');
  });

  after(async () => {
    await set(program);
    inside.connection.stop();
    inside.connection.start();
    await until(() => inside.connection.state === 'ready', 'the connection');
  });

  async function set(path: string): Promise<void> {
    const settings = vscode.workspace.getConfiguration();
    await settings.update(PATH, path, vscode.ConfigurationTarget.Global);
    await until(() => vscode.workspace.getConfiguration().get(PATH) === path, 'the setting');
  }

  async function lose(): Promise<void> {
    await vscode.commands.executeCommand('pisessiond.restartDaemon');
    await until(() => inside.connection.state !== 'ready', 'the end of the connection');
  }

  it('that is gone leaves the rows as they were, and nothing asks again', async () => {
    await set('/nowhere/pisessiond');
    assert.equal(inside.connection.state, 'ready');
    await lose();
    await until(() => inside.connection.state === 'missing', 'the state');
    assert.match(String(inside.connection.problem), /^The setting pisessiond\.path names no/);
    await row(inside, /^Done: 4 files/);
  });

  it('is looked for as soon as the setting changes', async () => {
    await set(program);
    await until(() => inside.connection.state === 'ready', 'the connection');
    await append(inside, 'Found again');
    await row(inside, /^Found again$/);
  });

  it('that is older says what it lacks, and what to do', async () => {
    await set(otherVersion(1, ['session/open', 'session/list']));
    await lose();
    await until(() => inside.connection.state === 'ready', 'the connection');
    await until(
      () => /^The running pisessiond 0\.0\.1 is older/.test(inside.tree.view.message ?? ''),
      'the sentence',
    );
    assert.match(
      inside.tree.view.message ?? '',
      /lacks session\/rows, session\/contextSize; update it, then use Restart Daemon\./,
    );
  });

  it('of another protocol is not talked to', async () => {
    await set(otherVersion(99, []));
    inside.connection.stop();
    inside.connection.start();
    await until(() => inside.connection.state === 'offline', 'the state');
    assert.match(String(inside.connection.problem), /do not understand each other/);
  });
});
