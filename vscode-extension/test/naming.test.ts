/** A daemon begun anew may name sessions otherwise; they stay who they are. */

import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
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
    await reached(connection, 'ready');
    await until(() => model.handle === 'twin');

    assert.equal(model.key, second);
    assert.ok(feed.isShown);
    const { total, rev } = await feed.lines({ zoom: 'turns', around: 'here', count: 10 });
    assert.equal(total, 3);
    assert.equal(rev, 1);
    feed.close();
    model.close();
  });
});
