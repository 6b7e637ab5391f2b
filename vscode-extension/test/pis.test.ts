/** What is said of running pi, and what may be done with them, without an editor and a daemon. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SessionModel } from '../src/model/session';
import { standingOf } from '../src/model/standing';
import type { LivePi, MovePreview, OpenResult } from '../src/model/wire';
import { Failure } from '../src/rpc/failure';
import { ways } from '../src/texts/moves';
import { paintRows, tooltip } from '../src/texts/paint';
import { companyOf, describePi, followingOf, keyOf, piSentences } from '../src/texts/pis';
import { refusalOf } from '../src/texts/refusals';
import { describe as describeSession, speakSession } from '../src/texts/sessions';
import { listed, row, size } from './values';

function pi(members: Partial<LivePi> = {}): LivePi {
  return {
    pid: 4242,
    mode: 'tui',
    version: '1.6.0',
    state: 'idle',
    waitingForUser: false,
    pending: 0,
    drives: true,
    owner: true,
    unseen: 0,
    leaf: '1',
    ...members,
  };
}

const WATCHED = pi({ drives: false, why: 'RPC hosts are only watched.' });

test('what pi does is said in two words, of several the most urgent', () => {
  const working = pi({ state: 'turn' });
  assert.equal(companyOf(undefined), '');
  assert.equal(companyOf([pi()]), 'pi idle');
  assert.equal(companyOf([working]), 'pi at work');
  assert.equal(companyOf([pi({ state: 'turn', waitingForUser: true })]), 'pi waiting for you');
  assert.equal(companyOf([pi({ unseen: 2 })]), 'pi idle, 2 unread');
  assert.equal(companyOf([pi(), pi()]), '2 pi');
  assert.equal(companyOf([pi(), working]), '2 pi, 1 at work');
  assert.equal(
    companyOf([working, pi({ waitingForUser: true }), working]),
    '3 pi, 1 waiting for you',
  );
});

test('menus know the most urgent of those that can be driven', () => {
  assert.equal(keyOf([]), '');
  assert.equal(keyOf([WATCHED]), 'watched');
  assert.equal(keyOf([WATCHED, pi({ state: 'compaction' })]), 'working');
  assert.equal(keyOf([pi({ state: 'turn' }), pi({ waitingForUser: true })]), 'waiting');
  assert.equal(keyOf([pi({ state: 'stalled' })]), 'stalled');
  assert.equal(keyOf([pi({ state: 'stalled' }), pi()]), 'idle');
});

test('the list of sessions says what pi does instead of that one is live', () => {
  const family = {
    session: listed({ live: true, pis: [pi({ state: 'turn' })] }),
    forks: [1, 2, 3].map((number) => ({
      session: listed({ session: `f${number}`, pis: number === 2 ? [pi()] : [] }),
      forks: [],
    })),
  };
  const words = '42% · 14:33 · pi at work · 3 forks, newest 14:33, pi idle';
  assert.equal(describeSession(family, '2026-11-12'), words);
  assert.match(speakSession(family, '2026-11-12'), /\. pi at work\. 3 forks/);
});

test('a line tells all of a pi, with nothing that a name could do', () => {
  assert.equal(
    describePi(pi({ state: 'turn', pending: 1, unseen: 2 })),
    'pi 4242, in a terminal: at work, 1 message waits, 2 entries not read',
  );
  assert.equal(
    describePi(pi({ mode: 'rpc', drives: false, why: 'No\u202e\nmore.' })),
    'pi 4242, in RPC mode: idle, only watched: No more',
  );
});

test('the row where pi stands says so to the eye, to the ear and to the mouse', () => {
  const other = pi({ pid: 77, owner: false, leaf: '7' });
  const rows = [row({ id: 'e:7', last: '7' }), row({ id: 'here', kind: 'here', entry: null })];
  const standing = standingOf([pi(), other], '1', (entry) =>
    rows.find((one) => one.last === entry),
  );
  const painted = paintRows(rows, {
    today: '2026-11-12',
    isOpen: () => false,
    standing,
    pis: 2,
  });
  assert.deepEqual(
    painted.map((one) => one.description.split(' · ')[0]),
    ['‹pi 77›', '‹pi 4242›'],
  );
  assert.match(painted[0]?.spoken ?? '', / pi 77, idle, stands here\.$/);
  assert.match(tooltip(rows[0] ?? row(), null, '', [other]), /\npi 77, in a terminal: idle$/);
  const alone = paintRows(rows, {
    today: '2026-11-12',
    isOpen: () => false,
    standing: standingOf([pi()], '1', () => undefined),
    pis: 1,
  });
  assert.match(alone[1]?.description ?? '', /^‹pi›/);
  assert.equal(standingOf([other], '1', () => undefined).size, 0);
  assert.equal(standingOf([pi({ owner: false, leaf: null })], '1', () => rows[0]).size, 0);
});

test('above the rows stands only what somebody has to do', () => {
  const said = (...pis: LivePi[]) => [...piSentences(pis)];
  assert.deepEqual(said(pi(), pi({ pid: 5, state: 'stalled' })), [
    '2 pi have it open: a change asks which of them is to make it.',
    'pi 5 does not answer; look at its terminal.',
  ]);
  assert.deepEqual(said(pi()), []);
  assert.deepEqual(said(pi({ waitingForUser: true, unseen: 1 })), [
    'pi waits for you in its terminal.',
    'pi has not read 1 entry of others; Let pi Read Them, by the button of this view.',
  ]);
  assert.deepEqual(said(pi({ drives: false, unseen: 2 })), [
    'pi has not read 2 entries of others.',
  ]);
});

const PREVIEW: MovePreview = {
  leaf: '1',
  leaves: { entries: 0, turns: 0 },
  sizeNow: size(),
  sizeAfter: size(),
  returnsText: null,
  outside: '2026-11-12T14:30:00.000Z',
  summary: null,
};

function waysWith(...pis: LivePi[]): string[] {
  const now = new Date('2026-11-12T14:33:00.000Z');
  return ways(PREVIEW, false, now, false, followingOf(pis)).map((one) =>
    `${one.label}: ${one.detail}`.trim(),
  );
}

test('how to go somewhere says whether pi follows, and when', () => {
  assert.deepEqual(waysWith(pi()), [
    'here: pi follows.',
    'as a fork:',
    'as a fork, and pi goes there:',
    'compare with the leaf first:',
  ]);
  assert.deepEqual(waysWith(pi({ state: 'turn' })).slice(0, 3), [
    'when pi is idle: pi is at work; it goes there when it is idle.',
    'as a fork:',
    'as a fork, and pi goes there when it is idle:',
  ]);
  assert.equal(
    waysWith(pi(), pi({ state: 'turn' }))[0],
    'here: 2 pi have it open; you are asked which one is to go.',
  );
  // Where pi may only be watched, nobody moves it.
  assert.deepEqual(waysWith(WATCHED), [
    'as a fork: pi does not follow, and nothing else may move it: RPC hosts are only watched.',
    'compare with the leaf first:',
  ]);
});

test('what pi refuses is one sentence with the next step', () => {
  const refused = (kind: Failure['kind'], data = {}) => {
    const refusal = refusalOf(new Failure(kind, 'In other words.', data));
    return `${refusal?.sentence} ${refusal?.steps.join(', ')}`.trim();
  };
  assert.equal(
    refused('Busy', { client: 'pi', operation: 'turn' }),
    'pi is at work; nothing was changed. Wait, Stop pi',
  );
  assert.equal(
    refused('Busy', { client: 'pi', operation: 'pi does not answer' }),
    'pi does not answer; look at its terminal. Nothing was changed.',
  );
  assert.equal(
    refused('Unsupported', { needs: 'session/reread' }),
    'pi has not read that entry yet. Let pi Read',
  );
  assert.equal(
    refused('Unsupported', { needs: 'a pi that has it open' }),
    'No running pi has this session open. Continue in pi',
  );
  assert.equal(refused('Unsupported', { needs: 'something else' }), 'In other words.');
  assert.equal(
    refused('SessionChanged'),
    'That pi has another session open by now; nothing was changed.',
  );
  assert.equal(
    refused('PiUnknown'),
    'pi gave no answer and may have done it; look at the rows before trying again. Show',
  );
});

test('where several pi are meant it is asked once which, and done by that one', async () => {
  const sent: unknown[] = [];
  const choices = [{ pid: 4242 }, { pid: 77 }];
  const model = new SessionModel(
    {
      clientId: 'c',
      state: 'ready',
      onState: () => () => undefined,
      onTold: () => () => undefined,
      request: (method, params) => {
        sent.push([method, (params as { pi?: number }).pi]);
        return (params as { pi?: number }).pi === undefined
          ? Promise.reject(new Failure('AmbiguousOwner', 'Several.', { choices }))
          : Promise.resolve({ rev: 1, leaf: null } as never);
      },
    },
    { session: 's' },
  );
  model.handle = 's';
  const label = () => model.request('session/label', { target: '1', label: 'x' });
  await assert.rejects(label, { kind: 'AmbiguousOwner' });
  const asked: (readonly unknown[])[] = [];
  model.whichPi = (all) => {
    asked.push(all);
    return Promise.resolve(77);
  };
  await label();
  await label();
  assert.deepEqual(asked, [choices]);
  assert.deepEqual(sent.at(-1), ['session/label', 77]);
  model.chosenPi = undefined;
  model.whichPi = () => Promise.reject(new Failure('Cancelled', 'No pi was chosen.'));
  await assert.rejects(label, { kind: 'Cancelled' });
  model.leave();
});

test('what was asked meanwhile is done by the name that a new daemon gives', async () => {
  const sent: unknown[] = [];
  const listeners: ((state: 'offline' | 'ready') => void)[] = [];
  const rows = { rows: [], total: 0, rev: 1, before: null, after: null, level: null, path: [] };
  const daemon = {
    clientId: 'c',
    state: 'ready' as 'offline' | 'ready',
    onState: (listener: (state: 'offline' | 'ready') => void) => {
      listeners.push(listener);
      return () => undefined;
    },
    onTold: () => () => undefined,
    request: (method: string, params: { pi?: number; session?: string }) => {
      if (method === 'session/open') {
        return Promise.resolve({ session: 'after', path: '/a', operation: null, rows } as never);
      }
      sent.push([params.session, params.pi]);
      return params.pi === undefined
        ? Promise.reject(new Failure('AmbiguousOwner', 'Several.', { choices: [{ pid: 77 }] }))
        : Promise.resolve({ rev: 1, leaf: null } as never);
    },
  };
  const model = new SessionModel(daemon as never, { path: '/a' });
  model.handle = 'before';
  model.whichPi = () => {
    for (const state of ['offline', 'ready'] as const) {
      daemon.state = state;
      listeners.forEach((listener) => listener(state));
    }
    return Promise.resolve(77);
  };
  await model.request('session/label', { target: '1', label: 'x' });
  assert.deepEqual(sent, [
    ['before', undefined],
    ['after', 77],
  ]);
  model.leave();
});

test('a pi that may only be watched, or is gone, has what may be written read anew', async () => {
  let hear: (message: never) => void = () => undefined;
  const opened: string[] = [];
  const model = new SessionModel(
    {
      clientId: 'c',
      state: 'ready',
      onState: () => () => undefined,
      onTold: (listener) => {
        hear = listener;
        return () => undefined;
      },
      request: (method) => {
        opened.push(method);
        return Promise.reject(new Failure('Offline', 'Not here.'));
      },
    },
    { session: 's' },
  );
  model.handle = 's';
  model.info = { pis: [], leaf: '1', readOnly: null } as unknown as OpenResult;
  const told: string[] = [];
  model.on(({ what }) => told.push(what));
  const presence = (...pis: LivePi[]) => {
    const params = { session: 's', clients: [], ...(pis.length > 0 && { pis }) };
    hear({ method: 'session/didPresence', params } as never);
  };
  presence(pi());
  assert.deepEqual([model.pis.length, model.standing.has('here'), opened], [1, true, []]);
  presence(WATCHED);
  presence(WATCHED);
  assert.deepEqual(opened, ['session/open']);
  presence();
  assert.deepEqual([model.pis, opened.length], [[], 2]);
  assert.equal(told.filter((what) => what === 'pis').length, 4);
  await Promise.resolve();
  model.leave();
});
