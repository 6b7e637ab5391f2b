/** A daemon begun anew may name sessions otherwise; they stay who they are. */

import assert from 'node:assert/strict';
import { copyFileSync, readFileSync, rmSync } from 'node:fs';
import { after, describe, test } from 'node:test';
import { GraphFeed } from '../src/graph/feed';
import { SessionModel } from '../src/model/session';
import { Place, reached, Talk } from './daemon';
import { LIMIT, until } from './windows';

describe('a session that another daemon names otherwise', () => {
  const place = new Place();
  after(() => place.end(), LIMIT);

  test('is the same one to its graph, and its lines are asked by the new name', LIMIT, async () => {
    const talk = new Talk();
    talk.user('Fix it');
    talk.answer('Done', 20_000);
    // Of two files with one id the first to be opened is named by it.
    const first = place.write(talk.entries, 'twin');
    const second = first.replace('twin', 'twin-copy');
    copyFileSync(first, second);
    const [other, connection] = [await place.connect('other'), await place.connect()];
    await other.request('session/open', { path: first });
    const model = new SessionModel(connection, { path: second });
    await model.fetch();
    assert.deepEqual([model.handle, model.key], [second, second]);
    const which = { session: second, path: second };
    const shown = { which: () => model.info, onRead: () => () => undefined };
    const feed = new GraphFeed(connection, which, shown, () => undefined);
    other.stop();

    const { pid } = await connection.request('daemon/status', {});
    const lost = reached(connection, 'offline');
    process.kill(pid, 'SIGKILL');
    await lost;
    await reached(connection, 'connecting');
    // Asked before it is known that the name of before may mean another one.
    await model.request('session/label', { target: model.leaf ?? '', label: 'meanwhile' });
    await until(() => model.handle === 'twin');
    assert.match(readFileSync(second, 'utf8'), /meanwhile/);
    assert.doesNotMatch(readFileSync(first, 'utf8'), /meanwhile/);

    assert.equal(model.key, second);
    assert.ok(feed.isShown);
    const { total, rev } = await feed.lines({ zoom: 'turns', around: 'here', count: 10 });
    assert.equal(total, 3);
    assert.equal(rev, 2);
    feed.close();
    model.close();
  });

  test('is not asked by its old name where it cannot be opened again', LIMIT, async () => {
    const talk = new Talk();
    talk.user('Fix it');
    talk.answer('Done', 20_000);
    const path = place.write(talk.entries, 'gone');
    const connection = await place.connect('third');
    const model = new SessionModel(connection, { path });
    await model.fetch();
    const { pid } = await connection.request('daemon/status', {});
    const lost = reached(connection, 'offline');
    process.kill(pid, 'SIGKILL');
    rmSync(path);
    await lost;
    await reached(connection, 'connecting');
    const asked = model.request('session/label', { target: model.leaf ?? '', label: 'late' });
    await assert.rejects(asked, { kind: 'SessionNotFound' });
    await assert.rejects(model.request('session/check', {}), { kind: 'SessionNotFound' });
    model.close();
  });
});
