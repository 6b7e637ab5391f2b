/** What tests in the host share: the extension as it runs, its rows, and another client. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import * as vscode from 'vscode';
import type { Exports } from '../../src/extension';
import type { TreeNode } from '../../src/views/tree';
import type { Body } from '../daemon';

export const EXTENSION = 'pisessiond.pisession';

/** Looks again until something is there. */
export async function until<T>(
  probe: () => T | PromiseLike<T>,
  what = 'it',
  patience = 8000,
): Promise<NonNullable<T>> {
  const ends = Date.now() + patience;
  for (;;) {
    const found = await probe();
    if (found !== undefined && found !== null && found !== false) {
      return found;
    }
    assert.ok(Date.now() < ends, `${what} did not come`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The extension, once the session of the folder is there. */
export async function ready(): Promise<Exports> {
  const found = vscode.extensions.getExtension<Exports>(EXTENSION);
  assert.ok(found, 'the extension is not there');
  const inside = await found.activate();
  await vscode.commands.executeCommand('pisessiond.tree.focus');
  await until(() => inside.connection.state === 'ready', 'the connection');
  await until(async () => (await inside.tree.getChildren()).length > 0, 'rows');
  return inside;
}

export function folder(): string {
  const [first] = vscode.workspace.workspaceFolders ?? [];
  assert.ok(first);
  return first.uri.fsPath;
}

/** Another client: the command of a script. */
export async function script(...words: string[]): Promise<string> {
  const program = process.env.PISESSIOND_TEST_PROGRAM;
  assert.ok(program);
  return (await promisify(execFile)(program, words, { cwd: folder() })).stdout;
}

/** Another client appends a message to the session that is shown. */
export async function append(inside: Exports, text: string): Promise<void> {
  await script('append', String(inside.current.model?.info?.path), '--text', text);
}

/** The daemon's process is killed, as by a machine that runs out of memory. */
export async function killDaemon(): Promise<void> {
  const status = JSON.parse(await script('status', '--json')) as { pid: number };
  process.kill(status.pid, 'SIGKILL');
}

/** A session of the folder, as pi writes it; returns its path. */
export function writeSession(name: string, entries: Body[]): string {
  const cwd = folder();
  const agent = process.env.PI_CODING_AGENT_DIR;
  assert.ok(agent);
  const kept = join(agent, 'sessions', `--${cwd.slice(1).replace(/[/\\:]/g, '-')}--`);
  mkdirSync(kept, { recursive: true });
  const path = join(kept, `2026-11-12T13-00-00-000Z_${name}.jsonl`);
  const timestamp = '2026-11-12T13:00:00.000Z';
  const header = { type: 'session', version: 3, id: name, timestamp, cwd };
  writeFileSync(path, [header, ...entries].map((one) => JSON.stringify(one) + '\n').join(''));
  return path;
}

/** The row whose label says this, and what VS Code is given of it. */
export async function row(
  inside: Exports,
  label: string | RegExp,
  parent?: TreeNode,
): Promise<{ node: TreeNode; item: vscode.TreeItem }> {
  return until(
    async () => {
      for (const node of await inside.tree.getChildren(parent)) {
        const item = inside.tree.getTreeItem(node);
        if (typeof item.label === 'string' && item.label.match(label)) {
          return { node, item };
        }
      }
      return undefined;
    },
    `a row ${String(label)}`,
  );
}

/** Shows a row as the tree's own view does it, which refuses while it reads the row's level. */
export async function reveal(
  inside: Exports,
  node: TreeNode,
  how: Parameters<Exports['tree']['view']['reveal']>[1],
): Promise<void> {
  await until(
    () =>
      inside.tree.view.reveal(node, how).then(
        () => true,
        () => undefined,
      ),
    'the row',
  );
}
