/** What is shown beside the rows: entries and comparisons, as text that nobody can change. */

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'mocha';
import * as vscode from 'vscode';
import type { Exports } from '../../src/extension';
import { Talk } from '../daemon';
import { ready, row, until, writeSession } from './inside';

const HOSTILE = [
  '<img src=x onerror=alert(1)> <script>alert(1)</script>',
  '$(bug) [a link](command:workbench.action.quit) ![p](http://127.0.0.1:9/p.png)',
  'right to left: \u202etxt.exe\u202c, a bell: \u0007, an escape: \u001b[31m',
].join('\n');

describe('documents', () => {
  let inside: Exports;

  before(async () => {
    inside = await ready();
  });

  after(() => vscode.commands.executeCommand('workbench.action.closeAllEditors'));

  async function show(label: RegExp): Promise<vscode.TextDocument> {
    const { node, item } = await row(inside, label);
    assert.ok(item.command);
    await vscode.commands.executeCommand(item.command.command, node);
    const editor = await until(() => vscode.window.activeTextEditor, 'an editor');
    return editor.document;
  }

  it('show an entry as readable Markdown', async () => {
    const document = await show(/^Done: 4 files/);
    assert.equal(document.uri.scheme, 'pisession');
    assert.equal(document.languageId, 'markdown');
    assert.match(document.getText(), /^# Answer · .*\n\nDone: 4 files changed, all tests pass\n$/);
  });

  it('cannot be changed by typing', async () => {
    const document = await show(/^Done: 4 files/);
    const before = document.getText();
    await vscode.commands.executeCommand('workbench.action.focusActiveEditorGroup');
    await vscode.commands.executeCommand('type', { text: 'x' }).then(undefined, () => undefined);
    assert.equal(document.getText(), before);
    assert.equal(document.isDirty, false);
    const stat = vscode.workspace.fs.isWritableFileSystem(document.uri.scheme);
    assert.notEqual(stat, true);
  });

  it('leave the keyboard with the rows', async () => {
    await vscode.commands.executeCommand('pisessiond.tree.focus');
    const [tab] = vscode.window.tabGroups.activeTabGroup.tabs;
    assert.equal(tab?.isPreview, true);
  });

  it('compare two branches in the diff editor', async () => {
    const { node } = await row(inside, /^\[green\]/);
    await vscode.commands.executeCommand('pisessiond.compareWithLeaf', node);
    const input = await until(() => {
      const tab = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
      return tab instanceof vscode.TabInputTextDiff ? tab : undefined;
    }, 'a diff');
    const [left, right] = await Promise.all(
      [input.original, input.modified].map((uri) => vscode.workspace.openTextDocument(uri)),
    );
    assert.equal(left?.uri.scheme, 'pisession');
    assert.match(left?.getText() ?? '', /Use an injected clock instead/);
    assert.match(right?.getText() ?? '', /Patch time\.time in the test only/);
    assert.doesNotMatch(right?.getText() ?? '', /Fix the login test/);
  });

  describe('of a session that somebody else wrote', () => {
    let before: string | undefined;

    after(async () => {
      await inside.current.choose({ path: before });
      await row(inside, /^Done: 4 files/);
    });

    it('show hostile text as it is, without what cannot be seen', async () => {
      before = inside.current.model?.info?.path ?? undefined;
      const talk = new Talk();
      talk.user(HOSTILE);
      talk.answer('calm', 20_000);
      await inside.current.choose({ path: writeSession('hostile', talk.entries) });
      const document = await show(/<img src=x/);
      const [heading, , ...lines] = document.getText().split('\n');
      assert.match(heading ?? '', /^# You · /);
      assert.deepEqual(lines.slice(0, 2), HOSTILE.split('\n').slice(0, 2));
      assert.doesNotMatch(
        document.getText(),
        /[\u0000-\u0009\u000b-\u001f\u202a-\u202e\u2066-\u2069]/,
      );
      assert.doesNotMatch(document.fileName, /[<>$]\(|alert\(1\)<\//);
    });

    it('and so do the rows: plain strings, and icons of ours alone', async () => {
      const { node, item } = await row(inside, /<img src=x/);
      assert.equal(typeof item.label, 'string');
      assert.equal(typeof item.description, 'string');
      assert.equal((item.iconPath as vscode.ThemeIcon).id, 'account');
      const cancel = new vscode.CancellationTokenSource();
      const told = await inside.tree.resolveTreeItem(item, node, cancel.token);
      assert.equal(typeof told.tooltip, 'string');
      assert.match(told.tooltip as string, /\$\(bug\) \[a link\]/);
    });
  });
});
