/** What happens to a session, or to the window, while somebody thinks about a question. */

import assert from 'node:assert/strict';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { after, before, beforeEach, describe, test } from 'node:test';
import type { Exports } from '../src/extension';
import type { LivePi } from '../src/model/wire';
import { Place, Talk } from './daemon';
import type { Editor, Page } from './editor';
import { find, labels, LIMIT, openWindow, select, until } from './windows';

describe('a window in which more happens than one asked for', () => {
  const place = new Place();
  let editor: Editor;
  let first: string;
  let second: string;

  function talk(name: string): string {
    const made = new Talk();
    made.user(`Asked in ${name}`);
    made.answer('Answered in both', 30_000);
    made.user('Once more');
    made.answer('Done', 31_000);
    return place.write(made.entries, name);
  }

  before(async () => {
    place.enter();
    place.settings("[summarizer]\nuse = 'extract'\n");
    first = talk('one');
    second = talk('two');
    editor = await openWindow(place);
  }, LIMIT);

  after(async () => {
    editor.close();
    await place.end();
  }, LIMIT);

  async function opens(name: string): Promise<void> {
    const row = await find(editor, `Asked in ${name}`, 'pisessiond.sessions');
    await editor.run('openSession', row.node);
    await until(async () => labels(await tree()).includes(`Asked in ${name}`));
  }

  function tree() {
    return editor.draw('pisessiond.tree');
  }

  function message(): string {
    return String((editor.views.get('pisessiond.tree') as { message?: string }).message ?? '');
  }

  beforeEach(async () => {
    editor.warnings.length = 0;
    editor.said.length = 0;
    editor.meanwhile = () => undefined;
    editor.press = () => undefined;
    await opens('one');
  }, LIMIT);

  const elsewhere = 'Another session is shown by now; nothing was changed.';

  test('an answer counts in no other session than the one asked about', LIMIT, async () => {
    const files = [first, second].map((path) => readFileSync(path, 'utf8'));
    for (const command of ['label', 'rename']) {
      await opens('one');
      await select(editor, 'Answered in both');
      editor.type = async () => {
        await opens('two');
        return 'wrong';
      };
      await editor.run(command);
      assert.equal(editor.warnings.at(-1)?.sentence, elsewhere);
    }
    await opens('one');
    await select(editor, 'Answered in both');
    editor.choose = async (items: unknown[]) => {
      await opens('two');
      return items[0];
    };
    await editor.run('navigate');
    assert.equal(editor.warnings.length, 3);
    assert.equal(editor.warnings.at(-1)?.sentence, elsewhere);
    assert.deepEqual(
      [first, second].map((path) => readFileSync(path, 'utf8')),
      files,
    );
  });

  test('an entry is not compared with itself', LIMIT, async () => {
    await select(editor, 'Done');
    const { length } = editor.documents;
    await editor.run('compareWithLeaf');
    assert.equal(editor.documents.length, length);
    assert.equal(editor.said.at(-1), 'Both are the same entry; choose a row of another branch.');
  });

  test('a file that is gone is said to be, and read when it is back', LIMIT, async () => {
    renameSync(first, `${first}.away`);
    await until(() => message().startsWith('Its file is gone'));
    const row = await find(editor, 'Answered in both');
    await editor.run('showEntry', row.node);
    assert.match(editor.documents.at(-1)?.text ?? '', /^No such session is open or on disk/);
    renameSync(`${first}.away`, first);
    await until(() => message() === '');
    await select(editor, 'Done');
    editor.type = () => 'again';
    await editor.run('label');
    await until(async () => labels(await tree()).includes('[again] Done'));
  });

  test('a file that is no session for a while is read when it is one again', LIMIT, async () => {
    const text = readFileSync(first, 'utf8');
    writeFileSync(first, 'garbage\n');
    await until(() => message().startsWith('This is not a session file'));
    assert.ok(labels(await tree()).includes('Answered in both'));
    writeFileSync(first, text);
    await until(() => message() === '');
  });

  test('a session that one comes back to at once is told of, the other let go', LIMIT, async () => {
    const [one, two] = await Promise.all(
      ['one', 'two'].map((name) => find(editor, `Asked in ${name}`, 'pisessiond.sessions')),
    );
    const clicks = [two, one].map((row) => editor.run('openSession', row?.node));
    await Promise.all(clicks);
    const other = await place.connect('other');
    const watchers = async (path: string) => {
      const { session, clients } = await other.request('session/open', { path });
      return { session, names: clients.map(({ name }) => name) };
    };
    const { session, names } = await watchers(first);
    assert.deepEqual(names.toSorted(), ['other', 'vscode']);
    assert.deepEqual((await watchers(second)).names, ['other']);
    await other.request('session/label', { session, target: 'e2', label: 'told' });
    await until(async () => labels(await tree()).includes('[told] Answered in both'));
    await other.request('session/label', { session, target: 'e2', label: null });
    await until(async () => labels(await tree()).includes('Answered in both'));
    assert.deepEqual(editor.warnings, []);
    other.stop();
  });

  async function navigates(to: string, how: string): Promise<void> {
    await select(editor, to);
    editor.choose = (items: { way: string }[]) => items.find(({ way }) => way === how);
    await editor.run('navigate');
  }

  test('what a move brings back stays with its session', LIMIT, async () => {
    editor.meanwhile = () => opens('two');
    const before = readFileSync(second, 'utf8');
    await navigates('Once more', 'summary');
    assert.equal(editor.shown?.text, 'Once more');
    assert.equal(editor.keys.get('pisessiond.canUndo'), false);
    await editor.run('send');
    assert.equal(editor.warnings.at(-1)?.sentence, elsewhere);
    assert.equal(editor.shown.text, 'Once more');
    await opens('one');
    editor.shown.text = 'Once more, please';
    await editor.run('send');
    await until(async () => labels(await tree()).includes('Once more, please'));
    assert.equal(readFileSync(second, 'utf8'), before);
  });

  test('what a refusal offers is offered for no other session', LIMIT, async () => {
    const other = await place.connect('mover');
    const { session, leaf } = await other.request('session/open', { path: first });
    editor.press = async () => {
      await opens('two');
      return 'Go On from There';
    };
    const { length } = editor.pickers;
    await select(editor, 'Answered in both');
    editor.choose = async (items: unknown[]) => {
      await other.request('session/navigate', { session, target: 'e1', exact: true });
      return items[0];
    };
    await editor.run('navigate');
    assert.match(editor.warnings[0]?.sentence ?? '', /^mover moved the leaf/);
    assert.equal(editor.pickers.length, length + 1);
    assert.equal(editor.said.at(-1), elsewhere);
    await other.request('session/navigate', { session, target: leaf, exact: true });
    other.stop();
  });

  test('a prompt that was typed is kept where it cannot be given any more', LIMIT, async () => {
    const { model } = (editor.exports as Exports).current;
    const pi = { pid: 1, drives: true, state: 'idle', pending: 0, unseen: 0, leaf: null };
    assert.ok(model?.info);
    model.info.pis = [pi as unknown as LivePi];
    editor.type = async () => {
      await opens('two');
      return 'Look at the log';
    };
    await editor.run('promptPi');
    assert.equal(editor.warnings.at(-1)?.sentence, elsewhere);
    assert.equal(editor.shown?.text, 'Look at the log');
    await editor.closeShown();
  });

  test('a message is sent once, and what is written meanwhile stays', LIMIT, async () => {
    await editor.run('append');
    assert.ok(editor.shown);
    editor.shown.text = 'Sent by two clicks';
    await Promise.all([editor.run('send'), editor.run('send')]);
    await until(async () => labels(await tree()).includes('Sent by two clicks'));
    assert.equal(readFileSync(first, 'utf8').split('Sent by two clicks').length, 2);
    assert.equal(editor.shown, undefined);

    await editor.run('append');
    const document = editor.shown as { text: string } | undefined;
    assert.ok(document);
    document.text = 'One more';
    const sent = editor.run('send');
    document.text += ', and the next';
    await sent;
    await until(async () => labels(await tree()).includes('One more'));
    assert.equal(editor.shown, document);
    assert.deepEqual(editor.warnings, []);
    await editor.closeShown();
  });

  test('a search goes through no other session than the one asked about', LIMIT, async () => {
    editor.type = async () => {
      await opens('two');
      return 'Once more';
    };
    await editor.run('search');
    assert.equal(editor.warnings.at(-1)?.sentence, elsewhere);
    assert.equal(editor.keys.get('pisessiond.searching'), false);
  });

  test('of two files with one id the one that is shown is said to be', LIMIT, async () => {
    const copy = first.replace('_one', '_copy');
    writeFileSync(copy, readFileSync(first, 'utf8').replaceAll('Asked in one', 'Asked in a copy'));
    await until(async () =>
      labels(await editor.draw('pisessiond.sessions')).includes('Asked in a copy'),
    );
    const shown = async () =>
      labels(
        (await editor.draw('pisessiond.sessions')).filter(
          ({ item }) => (item as { iconPath?: { id: string } }).iconPath?.id === 'circle-filled',
        ),
      );
    assert.deepEqual(await shown(), ['Asked in one']);
    await opens('a copy');
    assert.deepEqual(await shown(), ['Asked in a copy']);
  });

  interface Lines {
    type: string;
    result: { lines: { entry: string | null; title: string }[] };
  }

  /** The graph of the session at hand, and a line of it. */
  async function opensGraph(title: string): Promise<[Page, unknown]> {
    const { length } = editor.pages;
    await editor.run('graph');
    const page = editor.pages[length];
    assert.ok(page);
    const wish = { zoom: 'entries', around: 'here', count: 50 };
    page.say({ type: 'want', ticket: 1, wish });
    const answer = () => (page.told as Lines[]).find(({ type }) => type === 'lines');
    await until(() => answer() !== undefined);
    const line = answer()?.result.lines.find((one) => one.title === title);
    assert.ok(line);
    return [page, line];
  }

  test('a move in the graph asks anew which of several pi is meant', LIMIT, async () => {
    const [page, line] = await opensGraph('Answered in both');
    const { model } = (editor.exports as Exports).current;
    assert.ok(model);
    model.chosenPi = 77;
    const { length } = editor.pickers;
    editor.choose = () => undefined;
    page.say({ type: 'act', act: 'navigate', line, isClick: false });
    await until(() => editor.pickers.length > length);
    assert.equal(model.chosenPi, undefined);
    page.close();
  });

  test('a graph acts in no other session than its own', LIMIT, async () => {
    const [page, line] = await opensGraph('Answered in both');
    await opens('two');
    const { length } = editor.pickers;
    page.say({ type: 'act', act: 'navigate', line, isClick: false });
    await opens('two');
    await until(() => editor.warnings.length > 0);
    assert.equal(editor.warnings[0]?.sentence, elsewhere);
    assert.equal(editor.pickers.length, length);
    page.close();
  });

  test('undo asked twice at once undoes two acts', LIMIT, async () => {
    for (const [row, label] of [
      ['Asked in one', 'first'],
      ['Answered in both', 'second'],
    ] as const) {
      await select(editor, row);
      editor.type = () => label;
      await editor.run('label');
      await until(async () => labels(await tree()).includes(`[${label}] ${row}`));
    }
    await Promise.all([editor.run('undo'), editor.run('undo')]);
    await until(async () => !labels(await tree()).some((label) => label.startsWith('[second]')));
    await until(async () => labels(await tree()).includes('Asked in one'));
    assert.equal(editor.keys.get('pisessiond.canUndo'), false);
  });

  test('a graph of a session that is not shown goes by its new name', LIMIT, async () => {
    const [page] = await opensGraph('Answered in both');
    await opens('two');
    const other = await place.connect('namer');
    const { session } = await other.request('session/open', { path: first });
    const wish = { zoom: 'turns', around: 'here', count: 5 };
    const asks = () => page.say({ type: 'want', ticket: 2, wish });
    asks();
    await until(() => (page.told as { ticket?: number }[]).some(({ ticket }) => ticket === 2));
    await other.request('session/rename', { session, name: 'clock' });
    await until(() => {
      asks();
      return page.panel.title === 'Graph: clock';
    });
    await other.request('session/rename', { session, name: null });
    other.stop();
    page.close();
  });

  test('what another program went on to is gone to, whatever is selected', LIMIT, async () => {
    const { current } = editor.exports as Exports;
    const info = current.model?.info;
    assert.ok(info);
    info.leafConflict = { ours: info.leaf, theirs: 'e2' };
    await select(editor, 'Asked in one');
    const view = editor.views.get('pisessiond.tree') as { reveal: () => Promise<void> };
    const { reveal } = view;
    view.reveal = () => Promise.resolve();
    editor.choose = () => undefined;
    await editor.run('goToTheirs');
    view.reveal = reveal;
    const { title } = editor.pickers.at(-1)?.options as { title: string };
    assert.match(title, /Answered in both/);
  });
});
