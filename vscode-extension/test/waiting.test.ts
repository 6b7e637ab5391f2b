/** What is said while nothing comes, when something is wrong, and what is too short to be said. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { SessionModel } from '../src/model/session';
import { outsideRow } from '../src/model/outside';
import { Running } from '../src/model/running';
import type { OpenResult } from '../src/model/wire';
import { headerMessage, titleLine } from '../src/texts/header';
import { welcomeOf, type Emptiness } from '../src/texts/waiting';
import { Waiting } from '../src/views/waiting';
import { Place, Talk } from './daemon';
import { MANIFEST, type Editor } from './editor';
import { labels, LIMIT, openWindow, until } from './windows';
import { row, RUNNING, size } from './values';

function welcome(members: Partial<Emptiness>): string {
  return welcomeOf({
    state: 'ready',
    linkProblem: undefined,
    problem: undefined,
    isWished: true,
    hasFolder: true,
    waited: 'calm',
    ...members,
  });
}

test('a view without rows says nothing at first, then what it waits for, then offers the log', () => {
  const starting = { state: 'connecting' as const };
  assert.equal(welcome(starting), '');
  assert.equal(welcome({ ...starting, waited: 'long' }), 'starting');
  assert.equal(welcome({ ...starting, waited: 'slow' }), 'startingSlowly');
  assert.equal(welcome({ waited: 'long' }), 'reading');
});

test('what is tried again and again keeps its words', () => {
  for (const state of ['offline', 'connecting'] as const) {
    assert.equal(welcome({ state, linkProblem: 'Offline', waited: 'slow' }), 'offline');
    assert.equal(welcome({ state, linkProblem: 'VersionUnsupported' }), 'versions');
  }
  assert.equal(welcome({ state: 'missing', linkProblem: 'NotInstalled' }), 'missing');
});

test('no session, and one that cannot be shown, are told apart', () => {
  assert.equal(welcome({ problem: 'SessionNotFound' }), 'noSession');
  assert.equal(welcome({ isWished: false, hasFolder: false }), 'noFolder');
  assert.equal(welcome({ problem: 'NotASession' }), 'notASession');
  assert.equal(welcome({ problem: 'TooLarge' }), 'refused');
});

test('each of them has a sentence of its own in the view', () => {
  const { viewsWelcome } = (
    MANIFEST as { contributes: { viewsWelcome: { view: string; when: string }[] } }
  ).contributes;
  const words = viewsWelcome
    .filter(({ view }) => view === 'pisessiond.tree')
    .map(({ when }) => /^pisessiond\.welcome == '(\w+)'$/.exec(when)?.[1]);
  assert.deepEqual(words.toSorted(), [
    'missing',
    'noFolder',
    'noSession',
    'notASession',
    'offline',
    'reading',
    'refused',
    'starting',
    'startingSlowly',
    'unreadable',
    'versions',
  ]);
});

const NOW = Date.parse('2026-11-12T14:41:30.000Z');
const LINK = {
  state: 'ready' as const,
  problem: undefined,
  since: undefined,
  nextTry: undefined,
  skew: undefined,
};

function model(info: Partial<OpenResult>, members: Partial<SessionModel> = {}): SessionModel {
  const made = {
    info: {
      header: { id: '0192f3c1-aaaa' },
      name: 'login-fix',
      unsaved: false,
      readOnly: null,
      problems: [],
      entryCount: 341,
      ...info,
    },
    size: size(),
    longOperation: null,
    filter: 'default',
    level: () => ({ rows: [row({ kind: 'here' })] }),
    rowOf: () => row({ title: 'Try freezing the clock' }),
    ...members,
  };
  return made as unknown as SessionModel;
}

function message(shown: SessionModel, link: object = {}, members: object = {}): string {
  const all = { isOffline: false, isTrusted: true, now: NOW, ...members };
  return headerMessage({ ...LINK, ...link }, shown, all) ?? '';
}

test('the header says since when there is no connection, and when it is tried again', () => {
  const lost = { state: 'offline' as const, since: NOW - 25_000, nextTry: NOW + 3_200 };
  const clock = /^Offline since \d\d:41, /;
  assert.match(message(model({}), lost, { isOffline: true }), clock);
  assert.match(message(model({}), lost, { isOffline: true }), /, next try in 4 s\.$/);
  assert.match(
    message(model({}), { ...lost, nextTry: undefined }, { isOffline: true }),
    /, trying again\.$/,
  );
  assert.equal(message(model({}), lost), '');
  const gone = { ...lost, state: 'missing' as const, problem: 'pisessiond is not installed.' };
  assert.match(
    message(model({}), gone, { isOffline: true }),
    /^Offline since \d\d:41: pisessiond is not installed\. Connect tries again\.$/,
  );
});

test('the header says where pi went on, what a filter hides, and that nothing can be changed', () => {
  const conflict = model({ leafConflict: { ours: '1', theirs: '2' } });
  assert.equal(
    message(conflict),
    'pi went on at “Try freezing the clock”: Navigate There, or Stay, by the buttons of this view.',
  );
  const labelled = model({}, { filter: 'labeled-only' });
  assert.equal(message(labelled), 'No labelled rows, 341 entries hidden.');
  assert.equal(message(model({}, { filter: 'all' })), '');
  assert.equal(
    message(model({}), {}, { isTrusted: false }),
    'This folder is not trusted: sessions can only be read.',
  );
});

test('the title says which hit of a search is at hand', () => {
  assert.equal(titleLine(model({ unsaved: true }), '3 of 17'), 'login-fix [+] · 42% · 3 of 17');
  assert.equal(titleLine(undefined), undefined);
});

/** Looked at anew: the compiler takes it for what it was. */
function longOf(running: Running): Running['long'] {
  return running.long;
}

test('what runs is said when it has run for a while, and what is over at once never', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  let told = 0;
  const running = new Running(() => told++);
  running.take(RUNNING);
  assert.equal(running.operation, RUNNING);
  assert.equal(longOf(running), null);
  running.take(null);
  context.mock.timers.tick(1000);
  assert.equal(told, 0);
  running.take({ ...RUNNING, operationId: 'p' });
  context.mock.timers.tick(200);
  running.take({ ...RUNNING, operationId: 'p', received: 2400 });
  context.mock.timers.tick(100);
  assert.equal(told, 1);
  assert.equal(longOf(running)?.received, 2400);
});

test('a wait is long after 300 milliseconds and slow after five seconds, and ends at once', (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const told: string[] = [];
  const waiting = new Waiting(() => told.push(waiting.waited));
  waiting.take(true);
  context.mock.timers.tick(299);
  waiting.take(true);
  assert.deepEqual(told, []);
  context.mock.timers.tick(1);
  context.mock.timers.tick(4700);
  assert.deepEqual(told, ['long', 'slow']);
  waiting.take(false);
  assert.equal(waiting.waited, 'calm');
  context.mock.timers.tick(10_000);
  assert.equal(told.length, 2);
});

test('the row that another program wrote last is the newest one, for a quarter of an hour', () => {
  const rows = [
    row({ id: 'w:1', kind: 'work', by: 'external', time: '2026-11-12T14:40:00.000Z' }),
    row({ id: 'e:2', by: 'external', time: '2026-11-12T14:40:00.000Z' }),
    row({ id: 'e:3', by: 'nvim', time: '2026-11-12T14:41:00.000Z' }),
    row({ id: 'e:1', by: 'external', time: '2026-11-12T14:30:00.000Z' }),
  ];
  const last = '2026-11-12T14:40:00.000Z';
  assert.equal(outsideRow(rows, last, NOW)?.row, 'e:2');
  assert.equal(outsideRow(rows, last, NOW + 15 * 60_000), undefined);
  assert.equal(outsideRow(rows, null, NOW), undefined);
});

describe('a window with something wrong', () => {
  const place = new Place();
  let editor: Editor;
  let path: string;

  before(async () => {
    place.enter();
    const talk = new Talk();
    talk.user('Fix the login test');
    talk.answer('Done', 36_000);
    talk.user('And now?');
    const [, second] = talk.entries;
    Object.assign(second ?? {}, { parentId: 'nowhere' });
    path = place.write(talk.entries);
    editor = await openWindow(place);
  }, LIMIT);

  after(async () => {
    editor.close();
    await place.end();
  }, LIMIT);

  const shown = () =>
    editor.views.get('pisessiond.tree') as { message?: string; description?: string };

  test(
    'problems of the file are said above the rows, and listed where they are',
    LIMIT,
    async () => {
      await until(() => shown().message === '1 problem in the file.');
      assert.equal(editor.keys.get('pisessiond.hasProblems'), true);
      await editor.run('problems');
      const [problem] = editor.problems.get(path) ?? [];
      assert.equal((problem?.range as { line: number }).line, 2);
      assert.match(problem?.message ?? '', /parent is not in the file/);
    },
  );

  test(
    'a filter that leaves nothing says so, and the default one brings all back',
    LIMIT,
    async () => {
      editor.choose = (items: { label: string }[]) => items.find((one) => one.label === 'Labelled');
      await editor.run('filter');
      await until(() =>
        /^1 problem .* No labelled rows, 3 entries hidden\.$/.test(shown().message ?? ''),
      );
      assert.equal(editor.keys.get('pisessiond.filter'), 'labeled-only');
      await editor.run('defaultFilter');
      await until(async () => labels(await editor.draw('pisessiond.tree')).includes('And now?'));
      assert.equal(editor.keys.get('pisessiond.filter'), 'default');
    },
  );

  test('what is no session says so in the place of rows', LIMIT, async () => {
    const foreign = join(place.folder, 'notes.jsonl');
    writeFileSync(foreign, '{"type":"note"}\n');
    const session = { path: foreign, session: foreign, unsaved: false };
    await editor.run('openSession', { kind: 'family', family: { session, forks: [] } });
    await until(() => editor.keys.get('pisessiond.welcome') === 'notASession');
    assert.equal(shown().message, undefined);
    assert.ok((shown().description ?? '').length > 10);
    assert.deepEqual(editor.problems.size, 0);
  });
});
