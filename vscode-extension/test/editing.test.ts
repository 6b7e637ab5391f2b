/** Several rows at once, out of the context and back, and comparing what is marked. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { CompareResult } from '../src/model/wire';
import { comparisonLines } from '../src/texts/comparison';
import { Place, Talk } from './daemon';
import type { Editor } from './editor';
import { find, LIMIT, openWindow, select, until } from './windows';
import { size } from './values';

function side(modified: string[]): CompareResult['a'] {
  return {
    entries: 6,
    turns: 1,
    size: size(),
    tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    cost: 0.11,
    seconds: 130,
    files: { read: [], modified },
  };
}

test('a comparison says since when, what each costs, and which files are of one only', () => {
  const answer = {
    rev: 1,
    ancestor: '1',
    ancestorSize: size({ tokens: 74_000 }),
    a: side(['test_login.py', 'clock.py', 'login.py']),
    b: side(['conftest.py', 'test_login.py']),
  };
  const lines = comparisonLines(answer, ['active branch', 'time-machine'], 'The clock · 13:58');
  assert.deepEqual(
    lines.map((line) => line.replace(/ {2,}/g, ' | ')),
    [
      'since | The clock · 13:58',
      ' | A | active branch | B | time-machine',
      'entries | 6, 1 turn | 6, 1 turn',
      'context | 84k 42% | (+10k) | 84k 42% | (+10k)',
      'time, cost | 2m10s | $0.11 | 2m10s | $0.11',
      'files, both | test_login.py',
      'files, one only | clock.py | conftest.py',
      ' | login.py',
    ],
  );
  const quiet = comparisonLines({ ...answer, a: side([]), b: side([]) }, ['a', 'b']);
  assert.ok(!quiet.some((line) => line.startsWith('files') || line.startsWith('since')));
});

interface Item {
  description: string;
  contextValue: string;
}

describe('a window with several rows selected', () => {
  const place = new Place();
  let editor: Editor;

  before(async () => {
    place.enter();
    const talk = new Talk();
    talk.user('Fix the login test');
    talk.step('pytest -q', 'x'.repeat(4000), 30_000);
    talk.step('cat clock.py', 'y'.repeat(4000), 31_000);
    talk.answer('The clock is naive', 34_000);
    talk.user('Use an injected one');
    talk.answer('Done', 36_000);
    place.write(talk.entries);
    editor = await openWindow(place);
  }, LIMIT);

  after(async () => {
    editor.close();
    await place.end();
  }, LIMIT);

  const words = async (label: string) => (await find(editor, label)).item as Item;
  const isOut = async (label: string) =>
    (await words(label)).description.startsWith('out of context');
  const isAll = async (labels: string[], out: boolean) =>
    (await Promise.all(labels.map(isOut))).every((one) => one === out);

  test(
    'all of them go out of the context and come back, as one act to be undone',
    LIMIT,
    async () => {
      const both = ['The clock is naive', 'Done'];
      await select(editor, ...both);
      await editor.run('toggleOmitted');
      await until(() => isAll(both, true));
      await editor.run('undo');
      await until(() => isAll(both, false));
      assert.deepEqual(editor.warnings, []);
    },
  );

  test('what cannot be taken out stays, and is said to', LIMIT, async () => {
    await select(editor, 'Done', 'you are here');
    await editor.run('omit');
    await until(() => isOut('Done'));
    assert.match(
      editor.said.at(-1) ?? '',
      /^−\d.*; Undo takes it back\. 1 row stayed as before\.$/,
    );
    await select(editor, 'you are here');
    await editor.run('omit');
    assert.equal(editor.said.at(-1), 'This row cannot be taken out of the context.');
    await select(editor, 'Done', 'The clock is naive');
    await editor.run('restore');
    await until(() => isAll(['Done', 'The clock is naive'], false));
  });

  test(
    'of work whose results are out in part, the rest goes out and all come back',
    LIMIT,
    async () => {
      const work = '2 steps: bash 2';
      const drawn = await find(editor, work);
      const steps = await editor.draw('pisessiond.tree', drawn.node);
      await editor.run('omit', steps[0]?.node);
      await until(async () => (await words(work)).description.startsWith('1 out of context'));
      assert.match((await words(work)).contextValue, /\bomitted\b.*\bomittable\b/);
      await editor.run('omit', drawn.node);
      await until(async () => (await words(work)).description.startsWith('out of context'));
      await editor.run('restore', drawn.node);
      await until(async () => !(await words(work)).description.includes('out of context'));
      assert.deepEqual(editor.warnings, []);
    },
  );

  test('one of the largest is taken out where they are listed', LIMIT, async () => {
    const all = await editor.draw('pisessiond.context');
    const largest = all.find(({ item }) => String((item as { id: string }).id) === 'largest');
    const line = largest?.inside[0];
    assert.match((line?.item as Item).description, /^\d.* · \d+% · 13:30$/);
    await editor.run('omit', line?.node);
    await until(async () => /out of context/.test((await words('2 steps: bash 2')).description));
    await editor.run('undo');
    await until(async () => !/out of context/.test((await words('2 steps: bash 2')).description));
  });

  test('a row that is marked says so, and another is compared with it', LIMIT, async () => {
    await editor.run('mark', (await find(editor, 'Done')).node);
    await until(async () => (await words('Done')).description.startsWith('A · '));
    assert.equal(editor.keys.get('pisessiond.marked'), true);
    const before = editor.documents.length;
    await editor.run('compareWithMarked', (await find(editor, 'The clock is naive')).node);
    const texts = editor.documents.slice(before).map(({ text }) => text);
    assert.match(
      texts[0] ?? '',
      /\nsince +The clock is naive · 13:30\n +A {2}Done +B {2}The clock/,
    );
    await editor.run('mark', (await find(editor, 'Done')).node);
    await until(async () => !(await words('Done')).description.startsWith('A'));
    assert.equal(editor.keys.get('pisessiond.marked'), false);
  });
});
