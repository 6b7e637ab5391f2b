/** The model with a real daemon, over the same bridge as in the editor. */

import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import type { Connection } from '../src/daemon/connection';
import { MAIN } from '../src/model/rows';
import { SessionModel, type Happening } from '../src/model/session';
import { SessionList } from '../src/model/sessionList';
import { Failure } from '../src/rpc/failure';
import { refusalOf } from '../src/texts/refusals';
import { Place, reached, Talk } from './daemon';

const LIMIT = { timeout: 30_000 };

function talk(): Talk {
  const made = new Talk();
  made.user('Fix the login test that fails on CI');
  made.step('pytest -q', 'x'.repeat(4000), 30_000);
  made.step('cat clock.py', 'def now(): ...', 31_000);
  made.answer("The fixture's clock is naive", 34_000);
  return made;
}

/** Waits until something holds, looking at it again whenever the session changes. */
function until(model: SessionModel, holds: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (holds()) {
        unlisten();
        resolve();
      }
    };
    const unlisten = model.on(look);
    look();
  });
}

function titles(model: SessionModel, key: string | null = MAIN): string[] {
  return (model.level(key)?.rows ?? []).map((row) => row.title);
}

function answerMessage(): unknown {
  return new Talk().answerOf('', 20_000);
}

/** The same numbers in every run. */
function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

describe('a session shared with a real daemon', () => {
  const place = new Place();
  let connection: Connection;
  let other: Connection;

  before(async () => {
    connection = await place.connect();
    other = await place.connect('nvim');
  }, LIMIT);
  after(() => place.end(), LIMIT);

  async function open(entries = talk().entries): Promise<SessionModel> {
    const model = new SessionModel(connection, { path: place.write(entries) });
    await model.fetch();
    assert.equal(model.problem, undefined);
    return model;
  }

  async function asOther(model: SessionModel): Promise<string> {
    const answer = await other.request('session/open', { path: model.info?.path ?? null });
    return answer.session;
  }

  test(
    'rows of a turn come with its work folded, and what is inside when it is opened',
    LIMIT,
    async () => {
      const model = await open();
      assert.deepEqual(titles(model), [
        'Fix the login test that fails on CI',
        '2 steps: bash 2',
        "The fixture's clock is naive",
        'you are here',
      ]);
      // The model's window is looked up beside everything else.
      await until(model, () => model.size?.percent === 17);
      const work = model.level(MAIN)?.rows[1];
      assert.ok(work);
      await model.inside(work.id);
      assert.deepEqual(titles(model, work.id), ['bash pytest -q', 'bash cat clock.py']);
      model.close();
    },
  );

  test('a session asked for without a daemon is read when there is one', LIMIT, async () => {
    const path = place.write(talk().entries);
    const { pid } = await connection.request('daemon/status', {});
    const lost = reached(connection, 'offline');
    process.kill(pid, 'SIGKILL');
    await lost;
    const model = new SessionModel(connection, { path });
    await model.fetch();
    assert.equal(model.info, undefined);
    await until(model, () => titles(model).at(-1) === 'you are here');
    model.close();
  });

  test("another client's message shows up, with who said it", LIMIT, async () => {
    const model = await open();
    const acts: Happening[] = [];
    model.on((happening) => acts.push(happening));
    const session = await asOther(model);
    const message = { role: 'user', content: [{ type: 'text', text: 'And now?' }], timestamp: 1 };
    const told = await other.request('session/append', {
      session,
      entry: { type: 'message', message },
    });
    await until(model, () => titles(model).includes('And now?'));
    assert.deepEqual(titles(model).slice(-2), ['And now?', 'you are here']);
    assert.equal(model.info?.rev, told.rev);
    assert.ok(model.fresh.has(String(told.leaf)));
    assert.equal(model.foreignRev, told.rev);
    assert.ok(
      acts.some(
        (one) => one.what === 'acts' && one.changes.some((change) => change.kind === 'append'),
      ),
    );
    model.close();
  });

  test('what a program writes to the file shows up', LIMIT, async () => {
    const model = await open();
    const line = {
      type: 'message',
      id: 'outside1',
      parentId: model.leaf,
      timestamp: new Date().toISOString(),
      message: { role: 'user', content: [{ type: 'text', text: 'From a script' }], timestamp: 2 },
    };
    appendFileSync(String(model.info?.path), JSON.stringify(line) + '\n');
    await until(model, () => titles(model).includes('From a script'));
    model.close();
  });

  test(
    'a move makes an alternative of what was left, whose rows can be opened',
    LIMIT,
    async () => {
      const model = await open();
      const first = model.level(MAIN)?.rows[0];
      const preview = await model.request('session/navigate', {
        target: 'e1',
        exact: true,
        dryRun: true,
      });
      assert.equal(preview.preview?.leaves.entries, 5);
      await model.request('session/navigate', { target: 'e1', exact: true, baseLeaf: model.leaf });
      await until(model, () => titles(model).some((title) => title.startsWith('ahead:')));
      assert.equal(first?.entry, 'e1');
      const message = {
        role: 'user',
        content: [{ type: 'text', text: 'Another way' }],
        timestamp: 3,
      };
      await model.request('session/append', { entry: { type: 'message', message } });
      await until(model, () =>
        (model.level(MAIN)?.rows ?? []).some((row) => row.kind === 'alternative'),
      );
      const alternative = model.level(MAIN)?.rows.find((row) => row.kind === 'alternative');
      assert.ok(alternative);
      model.setOpen(alternative.id, true);
      await model.inside(alternative.id);
      assert.ok(titles(model, alternative.id).includes('2 steps: bash 2'));
      const found = await model.find('e3');
      assert.equal(found?.path[0], alternative.id);
      assert.equal(found?.path.length, 2);
      model.close();
    },
  );

  test('a leaf that has moved is refused in one sentence, and nothing changes', LIMIT, async () => {
    const model = await open();
    const rev = model.info?.rev;
    const refused = await model
      .request('session/navigate', { target: 'e1', baseLeaf: 'e2' })
      .catch((error: unknown) => error);
    assert.ok(refused instanceof Failure);
    assert.equal(refused.kind, 'LeafMoved');
    assert.deepEqual(refusalOf(refused)?.steps, ['Go On from There', 'Show']);
    assert.equal(model.info?.rev, rev);
    model.close();
  });

  test('a summary is reviewed before anything is stored, and then compacts', LIMIT, async () => {
    const made = talk();
    for (let turn = 0; turn < 12; turn++) {
      made.user(`Turn ${turn}`);
      made.step(`cat part${turn}`, 'word '.repeat(4000), 40_000 + turn * 5000);
      made.answer(`Done ${turn}`, 42_000 + turn * 5000);
    }
    const model = await open(made.entries);
    const dry = await model.request('session/compact', { dryRun: true });
    assert.ok((dry.preview?.summarised.length ?? 0) > 0);
    const written = await model.request('session/compact', {
      dryRun: 'summary',
      summarizer: 'extract',
    });
    assert.ok((written.summary ?? '').length > 0);
    assert.equal(
      titles(model).some((title) => title.startsWith('Compaction')),
      false,
    );
    await model.request('session/compact', {
      summary: `${written.summary}\nReviewed.`,
      draft: written.draft ?? null,
      baseLeaf: model.leaf,
    });
    await until(model, () => titles(model).some((title) => title.startsWith('Compaction')));
    await until(model, () => model.size?.source === 'estimated');
    assert.ok((model.size?.before ?? 0) > (model.size?.tokens ?? 0));
    model.close();
  });

  test('sessions of the folder are listed, and a new one is told', LIMIT, async () => {
    const list = new SessionList(connection, place.work, true);
    await list.read();
    const known = list.sessions.length;
    assert.ok(known > 0);
    const came = new Promise<number>((resolve) => list.onCame((fresh) => resolve(fresh.length)));
    await other.request('session/create', { cwd: place.work });
    assert.equal(await came, 1);
    list.close();
  });

  test('an entry far away is found, with all on the way to it', LIMIT, async () => {
    const made = new Talk();
    for (let turn = 0; made.entries.length < 3000; turn++) {
      made.user(`Turn ${turn}`);
      made.step('pytest -q', 'passed', 20_000);
      made.step('git diff', 'nothing', 20_000);
      made.answer(`Done ${turn}`, 20_000);
    }
    const model = await open(made.entries);
    const main = model.level(MAIN);
    assert.equal(main?.rows.length, 500);
    assert.equal(main.rows.at(-1)?.id, 'here');
    assert.equal(main.earlier, main.total - 500);
    await model.more(MAIN, 'before');
    assert.equal(model.level(MAIN)?.rows.length, 1000);
    const found = await model.find('e5');
    assert.equal(found?.path.length, 1);
    assert.ok(model.row(found.path[0] ?? ''));
    assert.equal(model.level(MAIN)?.earlier, 0);
    assert.equal(model.level(MAIN)?.rows.length, model.level(MAIN)?.total);
    // What was read far away is read again when the line has changed.
    await model.request('session/navigate', { target: 'e30', exact: true });
    await until(model, () => model.leaf === 'e30' && !model.isReading);
    const reader = new SessionModel(connection, { path: model.info?.path ?? null });
    await reader.fetch();
    assert.deepEqual(titles(model), titles(reader));
    reader.leave();
    model.close();
  });

  test('of a long level the end is shown, with what is earlier above it', LIMIT, async () => {
    const made = new Talk();
    made.user('Where it began');
    const began = made.leaf;
    for (let turn = 0; turn < 300; turn++) {
      made.user(`Turn ${turn}`);
      made.answer(`Done ${turn}`, 20_000);
    }
    // The branch ends inside work, which is a level of its own.
    made.step('pytest -q', 'passed', 20_000);
    made.step('git diff', 'nothing', 20_000);
    made.leaf = began;
    made.user('Another way');
    for (let step = 0; step < 600; step++) {
      made.step(`cat part${step}`, 'x', 20_000);
    }
    made.answer('All read', 20_000);
    const model = await open(made.entries);
    const rows = model.level(MAIN)?.rows ?? [];
    const idOf = (kind: string) => rows.find((row) => row.kind === kind)?.id ?? '';
    const steps = await model.inside(idOf('work'));
    assert.equal(steps?.rows.length, 500);
    assert.equal(steps.earlier, 100);
    assert.match(steps.rows.at(-1)?.title ?? '', /cat part599/);
    const branch = await model.inside(idOf('alternative'));
    assert.equal(branch?.rows.at(-1)?.kind, 'work');
    assert.equal(branch.later, 0);
    assert.equal(branch.rows.length + branch.earlier, branch.total);
    assert.equal(branch.rows.length, 501);
    await model.more(idOf('alternative'), 'before');
    assert.equal(branch.earlier, 0);
    assert.equal(branch.rows[0]?.title, 'Turn 0');
    model.close();
  });

  test('after any acts of others the rows are those that a new reader gets', LIMIT, async () => {
    const model = await open();
    const session = await asOther(model);
    const random = mulberry(20261112);
    const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T;
    const ids: (string | number)[] = ['e1', 'e2', 'e3', 'e4', 'e5', 'e6'];
    for (let act = 0; act < 120; act++) {
      const which = random();
      if (which < 0.6) {
        const role = pick(['user', 'assistant']);
        const content = [{ type: 'text', text: `Act ${act}` }];
        const message =
          role === 'user'
            ? { role, content, timestamp: act }
            : { ...(answerMessage() as object), content, timestamp: act };
        const params = { session, entry: { type: 'message', message } };
        ids.push(...(await other.request('session/append', params)).ids);
      } else if (which < 0.85) {
        await other.request('session/navigate', { session, target: pick(ids), exact: true });
      } else {
        await other.request('session/label', { session, target: pick(ids), label: `l${act}` });
      }
      const folded = (model.level(MAIN)?.rows ?? []).filter((row) => row.fold !== 'none');
      if (folded.length > 0 && random() < 0.3) {
        const { id } = pick(folded);
        model.setOpen(id, random() < 0.7);
        await model.inside(id);
      }
    }
    await connection.request('session/sync', {});
    await until(model, () => !model.isReading);
    const reader = new SessionModel(connection, { path: model.info?.path ?? null });
    await reader.fetch();
    assert.deepEqual(titles(model), titles(reader));
    for (const row of model.level(MAIN)?.rows ?? []) {
      if (model.level(row.id)) {
        await reader.inside(row.id);
        assert.deepEqual(titles(model, row.id), titles(reader, row.id), row.title);
      }
    }
    reader.leave();
    model.close();
  });

  test('killed, the daemon is started anew and everything is read again', LIMIT, async () => {
    const model = await open();
    model.setOpen(model.level(MAIN)?.rows[1]?.id ?? '', true);
    const { pid } = await connection.request('daemon/status', {});
    const epoch = model.info?.epoch;
    const lost = reached(connection, 'offline');
    const whole = new Promise<void>((resolve) => {
      model.on((happening) => {
        if (happening.what === 'reset') {
          resolve();
        }
      });
    });
    process.kill(pid, 'SIGKILL');
    await lost;
    assert.equal(titles(model).length, 4);
    await whole;
    assert.notEqual(model.info?.epoch, epoch);
    assert.equal(titles(model).length, 4);
    const work = model.level(MAIN)?.rows[1];
    assert.deepEqual(titles(model, work?.id), ['bash pytest -q', 'bash cat clock.py']);
    const now = await connection.request('daemon/status', {});
    assert.notEqual(now.pid, pid);
    model.close();
  });
});

describe('a daemon that is killed while one acts', () => {
  const place = new Place();
  let connection: Connection;

  before(async () => {
    connection = await place.connect();
  }, LIMIT);
  after(() => place.end(), LIMIT);

  test('is started anew, opens the session, and does what was asked meanwhile', LIMIT, async () => {
    const model = new SessionModel(connection, { path: place.write(talk().entries) });
    await model.fetch();
    const { pid } = await connection.request('daemon/status', {});
    const lost = reached(connection, 'offline');
    process.kill(pid, 'SIGKILL');
    await lost;
    await reached(connection, 'connecting');
    await model.request('session/label', { target: model.leaf ?? '', label: 'meanwhile' });
    await until(model, () => model.rowOf(model.leaf ?? '')?.label === 'meanwhile');
    model.close();
  });
});

describe('a connection that cannot be made', () => {
  test('without a program it says so once, and tries again only when asked', LIMIT, async () => {
    const place = new Place();
    const connection = place.connection('vscode', null);
    connection.start();
    await reached(connection, 'missing');
    assert.equal(connection.problem, 'pisessiond is not installed.');
    const refused = await connection.request('daemon/status', {}).catch((error: unknown) => error);
    assert.ok(refused instanceof Failure);
    assert.equal(refused.kind, 'NotInstalled');
    assert.equal(connection.nextTry, undefined);
    assert.equal(place.log.length, 1);
    connection.stop();
    place.remove();
  });

  test('a program that ends at once is said in its own words, and tried later', LIMIT, async () => {
    const place = new Place();
    const connection = place.connection('vscode', '/bin/false');
    connection.start();
    await reached(connection, 'offline');
    assert.ok(connection.problem);
    assert.ok(connection.nextTry);
    connection.stop();
    place.remove();
  });
});
