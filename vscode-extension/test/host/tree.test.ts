/** The rows as VS Code keeps them: their ids, parents, folds and selection, whatever happens. */

import assert from 'node:assert/strict';
import { before, describe, it } from 'mocha';
import * as vscode from 'vscode';
import type { Exports } from '../../src/extension';
import type { TreeNode } from '../../src/views/tree';
import { append, killDaemon, ready, reveal, row, script, until } from './inside';

const { Collapsed, Expanded, None } = vscode.TreeItemCollapsibleState;
const WORK = /^2 steps: edit 1, bash 1$/;

describe('the rows', () => {
  let inside: Exports;

  before(async () => {
    inside = await ready();
    await until(() => inside.tree.view.visible, 'the view');
  });

  async function ids(parent?: TreeNode): Promise<string[]> {
    const nodes = await inside.tree.getChildren(parent);
    return nodes.map((node) => String(inside.tree.getTreeItem(node).id));
  }

  /** Opens a row as a click on its arrow does. */
  async function open(label: RegExp, parent?: TreeNode): Promise<TreeNode> {
    const { node } = await row(inside, label, parent);
    await reveal(inside, node, { expand: true, select: false, focus: false });
    await until(
      () => inside.tree.getTreeItem(node).collapsibleState === Expanded,
      `${String(label)} to be open`,
    );
    return node;
  }

  it('have ids of their own, which stay', async () => {
    const before = await ids();
    assert.ok(before.length >= 14);
    assert.equal(new Set(before).size, before.length);
    assert.deepEqual(await ids(), before);
  });

  it('say what opens', async () => {
    assert.equal((await row(inside, WORK)).item.collapsibleState, Collapsed);
    assert.equal((await row(inside, /^Done: 4 files/)).item.collapsibleState, None);
  });

  it('know their parents, so that a row in a closed branch can be revealed', async () => {
    const branch = await row(inside, /^Try freezing/);
    const last = await until(async () => (await inside.tree.getChildren(branch.node)).at(-1));
    assert.equal(inside.tree.getParent(last), branch.node);
    assert.equal(inside.tree.getParent(branch.node), undefined);
    await reveal(inside, last, { select: true, focus: false });
    await until(() => inside.tree.view.selection[0] === last, 'the selection');
    assert.equal(inside.tree.getTreeItem(branch.node).collapsibleState, Expanded);
  });

  it('give a tooltip of plain text, which runs nothing', async () => {
    const { node, item } = await row(inside, /^Done: 4 files/);
    assert.equal(item.tooltip, undefined);
    const cancel = new vscode.CancellationTokenSource();
    const told = await inside.tree.resolveTreeItem(item, node, cancel.token);
    assert.equal(typeof told.tooltip, 'string');
    assert.match(told.tooltip as string, /^Answer,.*\nDone: 4 files changed/s);
  });

  describe('through what others do', () => {
    let work: TreeNode;
    let step: TreeNode;
    let closed: vscode.Disposable;
    const lost: TreeNode[] = [];

    before(async () => {
      work = await open(WORK);
      step = (await row(inside, /^bash pytest/, work)).node;
      await reveal(inside, step, { select: true, focus: false });
      await until(() => inside.tree.view.selection[0] === step, 'the selection');
      closed = inside.tree.view.onDidCollapseElement(({ element }) => lost.push(element));
    });

    async function isWhole(): Promise<void> {
      assert.equal((await row(inside, WORK)).node, work);
      assert.equal(inside.tree.getTreeItem(work).collapsibleState, Expanded);
      assert.equal((await row(inside, /^bash pytest/, work)).node, step);
      // While VS Code reads a level anew, it knows nothing of what is selected in it.
      await until(() => inside.tree.view.selection[0] === step, 'the selection');
      assert.deepEqual(lost, []);
    }

    it('stay open and selected when somebody appends', async () => {
      await append(inside, 'And in every zone?');
      await row(inside, /^And in every zone\?$/);
      await isWhole();
    });

    it('stay so when the daemon dies and comes back', async () => {
      const { pid } = JSON.parse(await script('status', '--json')) as { pid: number };
      const states: string[] = [];
      const unlisten = inside.connection.onState((state) => states.push(state));
      await killDaemon();
      await until(() => states.at(-1) === 'ready', 'the connection');
      unlisten();
      assert.deepEqual(states.slice(0, 2), ['offline', 'connecting']);
      const now = JSON.parse(await script('status', '--json')) as { pid: number };
      assert.notEqual(now.pid, pid);
      await append(inside, 'After the fall');
      await row(inside, /^After the fall$/);
      await isWhole();
    });

    it('stay so when the daemon is restarted by the command', async () => {
      // A script that has just ended may still be taken for one who uses the daemon: a question.
      await until(async () => {
        const { clients } = await inside.connection.request('daemon/status', {});
        return clients.length === 1;
      }, 'the end of all others');
      const states: string[] = [];
      const unlisten = inside.connection.onState((state) => states.push(state));
      await vscode.commands.executeCommand('pisessiond.restartDaemon');
      await until(() => states.includes('offline') && states.at(-1) === 'ready', 'the connection');
      unlisten();
      await append(inside, 'After the restart');
      await row(inside, /^After the restart$/);
      await isWhole();
      closed.dispose();
    });
  });

  it('close again, and stay closed', async () => {
    const { node } = await row(inside, WORK);
    await reveal(inside, node, { select: true, focus: true });
    await vscode.commands.executeCommand('list.collapse');
    await until(() => inside.tree.getTreeItem(node).collapsibleState === Collapsed, 'the fold');
  });
});
