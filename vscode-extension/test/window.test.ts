/** The whole extension in a stand-in of the editor, with a real daemon. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Editor, MANIFEST } from './editor';
import { Place, Talk } from './daemon';
import { labels, LIMIT, until } from './windows';

interface Contributed {
  contributes: {
    commands: { command: string }[];
    menus: Record<string, { command: string; when?: string }[]>;
    keybindings: { command: string; args?: { commands: string[] } }[];
    viewsWelcome: { contents: string }[];
  };
}
const { contributes } = MANIFEST as Contributed;

describe('a window with a daemon', () => {
  const place = new Place();
  let editor: Editor;

  before(async () => {
    place.enter();
    const talk = new Talk();
    talk.user('Fix the login test that fails on CI');
    talk.step('pytest -q', 'x'.repeat(4000), 30_000);
    talk.step('cat clock.py', 'def now(): ...', 31_000);
    talk.answer("The fixture's clock is naive", 34_000);
    talk.user('Use an injected clock instead');
    talk.answer('Done: 4 files changed', 36_000);
    place.write(talk.entries);
    editor = new Editor(place.work);
    editor.settings.set('pisessiond.path', place.program);
    editor.activate();
    await until(() => editor.keys.get('pisessiond.hasSession') === true);
    await until(async () => (await editor.draw('pisessiond.tree')).length > 0);
  }, LIMIT);

  after(async () => {
    editor.close();
    await place.end();
  }, LIMIT);

  async function select(label: string): Promise<void> {
    const drawn = await editor.draw('pisessiond.tree');
    const row = drawn.find(({ item }) => (item as { label: string }).label === label);
    assert.ok(row, `no row says ${label}`);
    (editor.views.get('pisessiond.tree') as { selection: unknown[] }).selection = [row.node];
  }

  async function tree(): Promise<string[]> {
    return labels(await editor.draw('pisessiond.tree'));
  }

  /** Chooses the line that begins so, whatever is asked. */
  function choosing(beginning: string): void {
    editor.choose = (items: { label: string }[]) =>
      items.find((item) => item.label.startsWith(beginning));
  }

  test('every command that is contributed is there, and no other', () => {
    const contributed = contributes.commands.map((one) => one.command).sort();
    assert.deepEqual([...editor.commands.keys()].sort(), contributed);
    const menus = Object.values(contributes.menus).flat();
    const welcome = contributes.viewsWelcome.flatMap(({ contents }) =>
      [...contents.matchAll(/command:(pisessiond\.\w+)/g)].map((found) => ({
        command: String(found[1]),
      })),
    );
    const keys = contributes.keybindings.map(({ command, args }) => ({
      command: args?.commands.at(-1) ?? command,
    }));
    for (const { command } of [...menus, ...keys, ...welcome]) {
      assert.ok(contributed.includes(command), command);
    }
  });

  test('rows are drawn with their icon, badge and sentence', LIMIT, async () => {
    assert.deepEqual(await tree(), [
      'Fix the login test that fails on CI',
      '2 steps: bash 2',
      "The fixture's clock is naive",
      'Use an injected clock instead',
      'Done: 4 files changed',
      'you are here',
    ]);
    await until(async () => {
      const [first] = await editor.draw('pisessiond.tree');
      return String((first?.item as { resourceUri: unknown }).resourceUri).includes('badge=0');
    });
    const drawn = await editor.draw('pisessiond.tree');
    assert.match(String((drawn[5]?.item as { resourceUri: unknown }).resourceUri), /badge=18/);
    const item = drawn[4]?.item as {
      iconPath: { id: string };
      accessibilityInformation: { label: string };
      id: string;
    };
    assert.equal(item.iconPath.id, 'hubot');
    assert.match(
      item.accessibilityInformation.label,
      /^Answer: Done: 4 files changed\. On the active/,
    );
    const ids = drawn.map(({ item }) => (item as { id: string }).id);
    assert.equal(new Set(ids).size, ids.length);
  });

  test('the status bar says how full the context is', LIMIT, async () => {
    await until(() => (editor.statusItem as { text: string }).text === 'pi ▰▱▱▱▱ 18%');
  });

  test('a click shows the entry and moves nothing', LIMIT, async () => {
    await select('Use an injected clock instead');
    const [node] = (editor.views.get('pisessiond.tree') as { selection: unknown[] }).selection;
    await editor.run('showEntry', node);
    assert.match(editor.shown?.text ?? '', /^# You · 12Nov .*\n\nUse an injected clock instead\n$/);
    assert.equal((await tree()).at(-1), 'you are here');
  });

  test('one navigates where, then how, and undoes it', LIMIT, async () => {
    await select("The fixture's clock is naive");
    choosing('here');
    await editor.run('navigate');
    assert.match(
      String((editor.pickers.at(-1)?.items[0] as { description: string }).description),
      /^context 36k 18% → 34k 17%$/,
    );
    assert.match(
      String((editor.pickers.at(-1)?.items[0] as { detail: string }).detail),
      /^2 entries \(1 turn\) are left; they stay in the tree/,
    );
    assert.equal(
      (editor.pickers.at(-1)?.options as { placeHolder: string }).placeHolder,
      'You go on after this answer.',
    );
    await until(async () => (await tree()).at(-1)?.startsWith('ahead: 2 entries') ?? false);
    assert.equal(editor.keys.get('pisessiond.canUndo'), true);
    await editor.run('undo');
    await until(async () => (await tree()).at(-1) === 'you are here');
    assert.equal(editor.keys.get('pisessiond.canUndo'), false);
    assert.deepEqual(editor.warnings, []);
  });

  test('a label is given and undone', LIMIT, async () => {
    await select('Done: 4 files changed');
    editor.type = () => 'green';
    await editor.run('label');
    await until(async () => (await tree()).includes('[green] Done: 4 files changed'));
    await editor.run('undo');
    await until(async () => (await tree()).includes('Done: 4 files changed'));
  });

  test('a menu whose row has gone means no other row', LIMIT, async () => {
    await select('Done: 4 files changed');
    editor.type = () => 'wrong';
    // The editor gives nothing where it does not know the row any more.
    await editor.run('label', undefined, undefined);
    assert.ok((await tree()).includes('Done: 4 files changed'));
  });

  test('what is taken out of the context says so, and comes back', LIMIT, async () => {
    const description = async () => {
      const drawn = await editor.draw('pisessiond.tree');
      const row = drawn.find(
        ({ item }) => (item as { label: string }).label === 'Done: 4 files changed',
      );
      return String((row?.item as { description: string }).description);
    };
    await select('Done: 4 files changed');
    await editor.run('toggleOmitted');
    await until(async () => (await description()).startsWith('out of context'));
    await select('Done: 4 files changed');
    await editor.run('toggleOmitted');
    await until(async () => !(await description()).startsWith('out of context'));
    assert.deepEqual(editor.warnings, []);
  });

  test(
    "a user's message comes back to the prompt, and what is sent is appended",
    LIMIT,
    async () => {
      await select('Use an injected clock instead');
      choosing('here');
      await editor.run('navigate');
      assert.equal(editor.shown?.text, 'Use an injected clock instead');
      assert.deepEqual(editor.keys.get('pisessiond.prompts'), [editor.shown?.uri.toString()]);
      assert.ok(editor.shown);
      editor.shown.text = 'Use a clock that is handed in';
      await editor.run('send');
      await until(async () => (await tree()).includes('Use a clock that is handed in'));
      assert.deepEqual(editor.keys.get('pisessiond.prompts'), []);
      const alternative = (await tree()).find((label) =>
        label.startsWith('Use an injected clock instead'),
      );
      assert.ok(alternative);
    },
  );

  test('an alternative that is opened shows its rows, and they are found', LIMIT, async () => {
    const view = editor.views.get('pisessiond.tree') as {
      expand: (node: unknown) => void;
      provider: { getParent: (node: unknown) => unknown };
      selection: unknown[];
    };
    const drawn = await editor.draw('pisessiond.tree');
    const alternative = drawn.find(({ item }) =>
      String((item as { contextValue: string }).contextValue).startsWith('alternative'),
    );
    assert.ok(alternative);
    view.expand(alternative.node);
    // VS Code may ask twice at a time.
    const [inside, again] = await Promise.all([
      editor.draw('pisessiond.tree', alternative.node),
      editor.draw('pisessiond.tree', alternative.node),
    ]);
    assert.deepEqual(labels(inside), ['Use an injected clock instead', 'Done: 4 files changed']);
    assert.deepEqual(labels(again), labels(inside));
    assert.equal(view.provider.getParent(inside[0]?.node), alternative.node);
    choosing('Use an injected clock');
    await editor.run('findBranch');
    assert.equal(view.selection.length, 1);
  });

  test('two branches are compared as documents', LIMIT, async () => {
    const before = editor.documents.length;
    const drawn = await editor.draw('pisessiond.tree');
    const alternative = drawn.find(({ item }) =>
      String((item as { contextValue: string }).contextValue).startsWith('alternative'),
    );
    await editor.run('compareWithLeaf', alternative?.node);
    const texts = editor.documents.slice(before).map((document) => document.text);
    assert.equal(texts.length, 3);
    assert.match(texts[0] ?? '', /entries +1, 1 turn +6, 1 turn/);
    assert.match(texts[1] ?? '', /^# You\n\nUse a clock that is handed in\n/);
    assert.match(texts[2] ?? '', /# Answer\n\nDone: 4 files changed\n/);
  });

  test('a compaction that would not help says why, and changes nothing', LIMIT, async () => {
    const rows = await tree();
    await editor.run('compact');
    const page = editor.documents.at(-1)?.text ?? '';
    assert.match(page, /^# Compaction, a dry run\n\nNothing is changed\.\n.{20,}\n\n```text\nnow /);
    assert.deepEqual(editor.warnings, []);
    assert.deepEqual(await tree(), rows);
  });

  test('sessions of the folder are listed, forks under theirs', LIMIT, async () => {
    await editor.run('clone');
    await until(async () => {
      const [family] = await editor.draw('pisessiond.sessions');
      return family?.inside.length === 1;
    });
    const drawn = await editor.draw('pisessiond.sessions');
    assert.equal(labels(drawn).at(-1), 'other folders');
    assert.equal((drawn[0]?.item as { iconPath: { id: string } }).iconPath.id, 'circle-filled');
  });

  test('the context view says what fills it, and leads to the rows', LIMIT, async () => {
    const drawn = await editor.draw('pisessiond.context');
    assert.match(labels(drawn)[0] ?? '', /^~?\d+(\.\d)?k? ~?\d+\.\d%$/);
    const largest = drawn.find(({ item }) =>
      String((item as { label: string }).label).endsWith('largest'),
    );
    assert.ok((largest?.inside.length ?? 0) > 0);
  });

  test('a fork can be opened in a window of its own, and this one stays', LIMIT, async () => {
    editor.press = (_sentence, steps) => steps.find((step) => step === 'Open in New Window');
    await editor.run('clone');
    editor.press = () => undefined;
    const second = new Editor(place.work);
    second.settings = editor.settings;
    second.common = editor.common;
    second.activate();
    await until(() => second.keys.get('pisessiond.hasSession') === true);
    const title = (one: Editor) =>
      String((one.views.get('pisessiond.tree') as { description: string }).description);
    assert.notEqual(title(second).split(' · ')[0], title(editor).split(' · ')[0]);
    assert.deepEqual(labels(await second.draw('pisessiond.tree')).slice(-1), ['you are here']);
    second.close();
  });

  test('pi goes on in a terminal, started without a shell', async () => {
    await editor.run('continueInPi');
    const [terminal] = editor.terminals as {
      shellPath: string;
      shellArgs: string[];
      cwd: string;
    }[];
    assert.equal(terminal?.shellPath, 'pi');
    assert.equal(terminal?.shellArgs[0], '--session');
    assert.equal(terminal?.cwd, place.work);
  });
});

describe('a window that can do less', () => {
  test('without the program it offers the walkthrough and raises nothing', LIMIT, async () => {
    const place = new Place();
    const editor = new Editor(place.work);
    editor.settings.set('pisessiond.path', '/nowhere/pisessiond');
    editor.activate();
    await until(() => editor.keys.get('pisessiond.state') === 'missing');
    assert.deepEqual(editor.warnings, []);
    assert.deepEqual(await editor.draw('pisessiond.tree'), []);
    await editor.run('newSession');
    assert.deepEqual(editor.warnings, [
      {
        sentence: 'The setting pisessiond.path names no program; it has to be an absolute path.',
        steps: ['Walkthrough'],
      },
    ]);
    editor.close();
    place.remove();
  });

  test('in a folder that is not trusted nothing is changed', LIMIT, async () => {
    const place = new Place();
    const editor = new Editor(place.work);
    editor.isTrusted = false;
    editor.settings.set('pisessiond.path', '/nowhere/pisessiond');
    editor.activate();
    await editor.run('newSession');
    assert.match(editor.warnings[0]?.sentence ?? '', /^This folder is not trusted/);
    assert.equal(editor.keys.get('pisessiond.readOnly'), true);
    editor.close();
    place.remove();
  });
});
