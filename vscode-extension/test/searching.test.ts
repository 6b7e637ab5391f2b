/** Searching a session: which words a label says, walking the hits, and folds left as they were. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { HitWalk } from '../src/model/hitWalk';
import type { SearchHit } from '../src/model/wire';
import { stretchesOf, wordsOf } from '../src/texts/hits';
import { Place, Talk } from './daemon';
import type { Drawn, Editor } from './editor';
import { find, labels, LIMIT, openWindow, until } from './windows';

function said(label: string, query: string): string[] {
  return stretchesOf(label, wordsOf(query)).map(([from, to]) => label.slice(from, to));
}

describe('what a label says of a query', () => {
  test('is every word in whatever case and with whatever accents, and a phrase as a whole', () => {
    assert.deepEqual(said('Clock the clöck', 'clock'), ['Clock', 'clöck']);
    assert.deepEqual(said('the naive clock is naive', '"clock is" NAIVE'), [
      'naive',
      'clock is',
      'naive',
    ]);
    assert.deepEqual(said('aaab', 'aa ab'), ['aaab']);
  });

  test('keeps its places in text of any script', () => {
    assert.deepEqual(said('İstanbul ﬁn 🙂 Straße fin', 'fin'), ['fin']);
    assert.deepEqual(said('x', '""'), []);
  });
});

describe('the walk of the hits', () => {
  const hits = ['1', '2', '3'].map((entry) => ({ entry }) as SearchHit);

  const nothing = () => Promise.reject(new Error('nothing more was asked for'));

  test('goes round, either way, and says where it is', () => {
    const walk = new HitWalk('x', { hits, cursor: null }, nothing);
    assert.equal(walk.place, '1 of 3');
    walk.step(-1);
    assert.equal(`${walk.entry}: ${walk.place}`, '3: 3 of 3');
    walk.step(1);
    assert.equal(walk.entry, '1');
    assert.equal(new HitWalk('x', { hits, cursor: 'on' }, nothing).place, '1 of 3+');
  });

  test('goes on into the next page, and knows its hits', async () => {
    const asked: string[] = [];
    const walk = new HitWalk('x', { hits, cursor: 'on' }, (cursor) => {
      asked.push(cursor);
      return Promise.resolve({ hits: [{ entry: '4' } as SearchHit], cursor: null });
    });
    walk.step(-1);
    await walk.readOn();
    walk.step(1);
    await walk.readOn();
    assert.equal(`${walk.entry}: ${walk.place}`, '4: 4 of 4');
    assert.ok(walk.entries.has('4'));
    assert.deepEqual(asked, ['on']);
  });

  test('reads nothing more where the end is far', async () => {
    const many = Array.from({ length: 20 }, (_, at) => ({ entry: String(at) }) as SearchHit);
    await new HitWalk('x', { hits: many, cursor: 'on' }, nothing).readOn();
  });
});

describe('a window in which one searches', () => {
  const place = new Place();
  let editor: Editor;
  let selection: () => { id: string }[];

  before(async () => {
    place.enter();
    const talk = new Talk();
    talk.user('Fix the login test');
    talk.step('pytest -q needle', 'x', 30_000);
    talk.step('cat clock.py', 'y', 31_000);
    talk.answer('The clock is naive', 34_000);
    talk.user('Use an injected one');
    talk.step('sed needle', 'x', 35_000);
    talk.step('cat main.py', 'y', 35_500);
    talk.step('ls', 'z', 35_600);
    talk.answer('Done: a needle was found', 36_000);
    place.write(talk.entries);
    editor = await openWindow(place);
    const view = editor.views.get('pisessiond.tree') as { selection: { id: string }[] };
    selection = () => view.selection;
  }, LIMIT);

  after(async () => {
    editor.close();
    await place.end();
  }, LIMIT);

  const description = () =>
    String((editor.views.get('pisessiond.tree') as { description: string }).description);

  async function opened(): Promise<string[]> {
    const all = await editor.draw('pisessiond.tree');
    return labels(all.filter((one) => one.inside.length > 0));
  }

  async function step(command: 'nextHit' | 'previousHit'): Promise<string> {
    await editor.run(command);
    return selection()[0]?.id ?? '';
  }

  test('the hits are walked, folds open on the way and close behind', LIMIT, async () => {
    editor.type = () => 'needle';
    await editor.run('search');
    assert.match(description(), / · 1 of 3$/);
    assert.equal(editor.keys.get('pisessiond.searching'), true);
    const met = new Set([selection()[0]?.id]);
    for (const place of ['2 of 3', '3 of 3']) {
      met.add(await step('nextHit'));
      assert.ok(description().endsWith(place));
      assert.ok((await opened()).length <= 1, 'the fold of an earlier hit is open');
    }
    assert.equal(met.size, 3);
  });

  test(
    'what was searched for is marked in the labels of hits, and in no other',
    LIMIT,
    async () => {
      const marked = (drawn: Drawn[]): string[] =>
        drawn.flatMap(({ item, inside }) => {
          const { label } = item as { label: string | { label: string; highlights: number[][] } };
          const own =
            typeof label === 'string' ? [] : [`${label.label}: ${String(label.highlights)}`];
          return [...own, ...marked(inside)];
        });
      await until(async () => marked(await editor.draw('pisessiond.tree')).length > 0);
      for (const one of marked(await editor.draw('pisessiond.tree'))) {
        assert.match(one, /needle/);
      }
      assert.ok(
        marked(await editor.draw('pisessiond.tree')).includes('Done: a needle was found: 8,14'),
      );
    },
  );

  test('ending it closes what it opened and leaves the selection in sight', LIMIT, async () => {
    while ((await opened()).length === 0) {
      await step('nextHit');
    }
    const [work] = await opened();
    await editor.run('endSearch');
    assert.deepEqual(await opened(), []);
    assert.equal(selection()[0]?.id, ((await find(editor, work ?? '')).node as { id: string }).id);
    assert.doesNotMatch(description(), / of 3$/);
    assert.equal(editor.keys.get('pisessiond.searching'), false);
  });

  test('where one does something while searching, the folds stay open', LIMIT, async () => {
    await editor.run('search');
    while ((await opened()).length === 0) {
      await step('nextHit');
    }
    await editor.run('showEntry', selection()[0]);
    await editor.run('endSearch');
    assert.equal((await opened()).length, 1);
  });

  test('nothing found is said, and nothing moves', LIMIT, async () => {
    const before = selection();
    editor.type = () => 'nowhere-to-be-found';
    await editor.run('search');
    assert.equal(editor.said.at(-1), 'Nothing here says that.');
    assert.equal(selection(), before);
  });
});
