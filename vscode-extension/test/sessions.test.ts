/** The list of sessions: families, what they say, and that rows stay where they are. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Connection } from '../src/daemon/connection';
import { Place, Talk } from './daemon';
import type { Drawn, Editor } from './editor';
import { labels, LIMIT, openWindow, until } from './windows';

const VIEW = 'pisessiond.sessions';

function talk(text: string): Talk {
  const made = new Talk();
  made.user(text);
  made.answer('Done', 20_000);
  return made;
}

interface Item {
  description: string;
  collapsibleState: number;
}

describe('the sessions of a window', () => {
  const place = new Place();
  let editor: Editor;
  let other: Connection;
  let first: string;

  before(async () => {
    place.enter();
    first = place.write(talk('The first thing').entries, 'first');
    place.write(talk('A second thing').entries, 'second');
    editor = await openWindow(place);
    other = await place.connect('nvim');
  }, LIMIT);

  after(async () => {
    editor.close();
    await place.end();
  }, LIMIT);

  const drawn = () => editor.draw(VIEW);
  const names = (all: Drawn[]) => labels(all).filter((label) => label !== 'other folders');

  async function family(label: string): Promise<Drawn> {
    const found = (await drawn()).find((one) => labels([one])[0] === label);
    assert.ok(found, `no session is called ${label}`);
    return found;
  }

  /** A fork with a word of its own, so that it is on disk. */
  async function fork(text: string): Promise<void> {
    const source = await other.request('session/open', { path: first });
    const made = await other.request('session/fork', { session: source.session, position: 'at' });
    const session = { session: made.session };
    const user = { role: 'user', content: [{ type: 'text', text }], timestamp: Date.now() };
    await other.request('session/open', session);
    await other.request('session/append', {
      ...session,
      entry: { type: 'message', message: user },
    });
    await until(async () => labels((await family('The first thing')).inside).includes(text));
  }

  test('new ones appear without moving those that are there', LIMIT, async () => {
    assert.equal((await drawn()).length, 3);
    const before = names(await drawn());
    const made = await other.request('session/create', { cwd: place.work });
    await until(async () => (await drawn()).length === 4);
    assert.deepEqual(names(await drawn()).slice(1), before);
    await other.request('session/delete', { session: made.session, discard: true });
    await until(async () => (await drawn()).length === 3);
    assert.deepEqual(names(await drawn()), before);
  });

  test('a fork comes under its family, by what was first said in it', LIMIT, async () => {
    await fork('Another way');
    const found = await family('The first thing');
    assert.equal((found.item as Item).collapsibleState, 2);
    assert.match((found.inside[0]?.item as Item).description, /at "Done"/);
  });

  test('beyond two forks a family is closed, and says how many there are', LIMIT, async () => {
    await fork('A third way');
    const source = await other.request('session/open', { path: first });
    await other.request('session/clone', { session: source.session });
    await until(async () =>
      / · 3 forks, newest /.test(((await family('The first thing')).item as Item).description),
    );
    assert.equal(((await family('The first thing')).item as Item).collapsibleState, 1);
  });

  test('only what has changed is drawn anew', LIMIT, async () => {
    const told = editor.refreshes(VIEW);
    const session = await other.request('session/open', { latest: { cwd: place.work } });
    await other.request('session/rename', { session: session.session, name: 'Renamed' });
    await until(() => told.length > 0);
    assert.ok(!told.includes(undefined), 'the whole view was drawn anew');
    assert.ok(told.length <= 2);
    await other.request('session/rename', { session: session.session, name: null });
  });

  test('forks can be hidden, which is remembered', LIMIT, async () => {
    await editor.run('hideForks');
    assert.equal(editor.keys.get('pisessiond.hidesForks'), true);
    const found = await family('The first thing');
    assert.equal((found.item as Item).collapsibleState, 0);
    assert.deepEqual(found.inside, []);
    assert.match((found.item as Item).description, /3 forks/);
    assert.equal(editor.state.get('pisessiond.hidesForks'), true);
    await editor.run('showForks');
    assert.equal(((await family('The first thing')).item as Item).collapsibleState, 1);
  });

  test('all sessions are searched, and the one of the hit is opened at it', LIMIT, async () => {
    editor.type = () => 'second thing';
    editor.choose = (items: { label: string }[]) => items[0];
    await until(async () => {
      await editor.run('searchSessions');
      return (editor.pickers.at(-1)?.options as { placeHolder?: string }).placeHolder === '1 hit';
    });
    const view = editor.views.get('pisessiond.tree') as { selection: { id: string }[] };
    assert.equal(view.selection[0]?.id, 'e:e1');
    assert.equal(labels(await editor.draw('pisessiond.tree'))[0], 'A second thing');
  });
});
