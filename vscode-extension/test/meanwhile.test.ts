/** What happens to a session, or to the window, while somebody thinks about a question. */

import assert from 'node:assert/strict';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { after, before, beforeEach, describe, test } from 'node:test';
import { Place, Talk } from './daemon';
import type { Editor } from './editor';
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
});
