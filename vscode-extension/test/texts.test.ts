/** Figures, rows and documents, without an editor and without a daemon. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContextSize, Row } from '../src/model/wire';
import { contextLines } from '../src/texts/context';
import { markdown } from '../src/texts/entries';
import { bar, formatDuration, formatTokens } from '../src/texts/figures';
import { paintRows, tooltip } from '../src/texts/paint';
import { cleanLine, cleanText, cut } from '../src/texts/plain';
import { describe as describeSession, familiesOf, titleOf } from '../src/texts/sessions';
import { statusText, type StatusInput } from '../src/texts/status';
import { listed, row, RUNNING, size } from './values';

function status(members: Partial<ContextSize>, input: Partial<StatusInput> = {}): string {
  const shown = statusText({
    size: size(members),
    operation: null,
    isUnsaved: false,
    state: 'ready',
    ...input,
  });
  return shown ? `${shown.text} | ${shown.grade}` : '';
}

test('the status bar says each state as agreed', () => {
  assert.equal(status({}), 'pi ▰▰▱▱▱ 42% | ok');
  assert.equal(
    status({ percent: 3, tokens: 6000, source: 'estimated' }, { isUnsaved: true }),
    'pi ▰▱▱▱▱ ~3% + | ok',
  );
  assert.equal(
    status({ percent: 17, source: 'estimated', before: 186_000 }),
    'pi ▰▱▱▱▱ ~17% (was 93%) | ok',
  );
  assert.equal(status({ percent: 78, grade: 'warn' }), '$(warning) pi ▰▰▰▰▱ 78% | warn');
  assert.equal(status({ percent: 93, grade: 'high' }), '$(error) pi ▰▰▰▰▱ 93% compact? | high');
  assert.equal(status({ percent: null, window: null }), 'pi 84k | ok');
  assert.equal(
    status({}, { operation: RUNNING }),
    '$(sync~spin) pi compacting, 1.2k received | ok',
  );
  assert.equal(status({}, { state: 'offline' }), '$(debug-disconnect) pi (42%) | ok');
});

test('the status bar speaks in words', () => {
  const shown = statusText({ size: size(), operation: null, isUnsaved: false, state: 'ready' });
  assert.equal(shown?.spoken, 'pi context 42 percent used, measured');
});

test("a due compaction is said whatever the grade, and the user's own thresholds count", () => {
  assert.match(status({ percent: 65, due: true }), /compact\? \| high$/);
  assert.match(status({ percent: 65 }, { thresholds: { warn: 60, high: 80 } }), /\| warn$/);
});

test('without a session the status bar says nothing', () => {
  const nothing = { size: null, operation: null, isUnsaved: false };
  assert.equal(statusText({ ...nothing, state: 'ready' }), undefined);
  assert.equal(statusText({ ...nothing, state: 'missing' }), undefined);
});

test('a bar shows any use at all, and is full only when the window is', () => {
  const cells = (percent: number) => bar({ percent, window: 100, dueAt: null }, 5);
  assert.deepEqual([0, 0.1, 42, 99.9, 100].map(cells), [
    '▱▱▱▱▱',
    '▰▱▱▱▱',
    '▰▰▱▱▱',
    '▰▰▰▰▱',
    '▰▰▰▰▰',
  ]);
  assert.equal(bar({ percent: 42, window: 200_000, dueAt: 184_000 }, 10, true), '▰▰▰▰▱▱▱▱▱│');
});

test('figures change their step where they would need a fourth digit', () => {
  const tokens = [812, 999, 1000, 9949, 9950, 84_000, 999_499, 999_500, 1_200_000, 12_000_000];
  assert.deepEqual(tokens.map(formatTokens), [
    '812',
    '999',
    '1.0k',
    '9.9k',
    '10k',
    '84k',
    '999k',
    '1.0M',
    '1.2M',
    '12M',
  ]);
  const times = [400, 45_000, 372_000, 3_900_000, 187_200_000];
  assert.deepEqual(times.map(formatDuration), ['0s', '45s', '6m12s', '1h05m', '2d04h']);
});

test('nothing in a text turns the direction, hides or acts', () => {
  assert.equal(
    cleanLine('a\u202eb\u200bc\x1b[31md\x1b]8;;x\x07e\ttab\r\nnext\ud800'),
    'abcde tab next\ufffd',
  );
  assert.equal(cleanText('one\r\ntwo\u2028three\tx\u{e0041}'), 'one\ntwo\nthree    x');
  assert.equal(cut('👍👍👍', 4), '👍…');
});

function paint(members: Partial<Row>, options: Partial<Parameters<typeof paintRows>[1]> = {}) {
  const [painted] = paintRows([row(members)], {
    today: '2026-11-12',
    isOpen: () => false,
    ...options,
  });
  assert.ok(painted);
  return painted;
}

test('icons and colours come from the kind of a row alone, whatever its text says', () => {
  const painted = paint({ title: '$(bug) [x](command:evil) <b>hi</b>', label: '$(flame)\u202e' });
  assert.equal(painted.icon, 'account');
  assert.equal(painted.label, '[$(flame)] $(bug) [x](command:evil) <b>hi</b>');
});

test('the badge says the percent, and that the window is full', () => {
  const badge = (percent: number | null) =>
    paint({ size: { tokens: 1, percent, source: 'measured', grade: 'ok' } }).badge;
  assert.deepEqual([null, 0, 38.4, 99.9, 100, 130].map(badge), ['', '0', '38', '99', '!!', '!!']);
  const without = paint({}, { badges: false });
  assert.equal(without.badge, '');
  assert.match(without.description, /^38% · /);
});

test('a date stands where a row begins another day', () => {
  const rows = [
    row({ id: 'a', time: '2026-11-11T23:00:00.000Z' }),
    row({ id: 'b', time: '2026-11-11T23:30:00.000Z' }),
    row({ id: 'c', time: '2026-11-12T00:10:00.000Z' }),
  ];
  const painted = paintRows(rows, { today: '2026-11-12', isOpen: () => false, size: 'off' });
  assert.deepEqual(
    painted.map((one) => one.description),
    ['11Nov', '23:30', '12Nov'],
  );
});

test('what others wrote lately is new, and says where an unseen pi went on', () => {
  const rows = [row({ id: 'e:a', last: 'a' }), row({ id: 'e:b', last: 'b' })];
  const paint = (members: Partial<Parameters<typeof paintRows>[1]>) =>
    paintRows(rows, { today: '', isOpen: () => false, ...members });
  const [a, b] = paint({ fresh: new Set(['b']), outside: 'e:a' });
  assert.match(a?.description ?? '', /^‹pi›( ·|$)/);
  assert.match(a?.spoken ?? '', /Where pi went on\.$/);
  assert.doesNotMatch(a?.description ?? '', /new/);
  assert.match(b?.description ?? '', /^new( ·|$)/);
  assert.match(b?.spoken ?? '', /New\.$/);
  for (const one of paint({})) {
    assert.doesNotMatch(one.description, /new|‹pi›/);
  }
});

test('menus offer what a row can do', () => {
  const words = (members: Partial<Row>) => paint(members).words;
  assert.equal(words({}), 'user entry navigable labelable omittable');
  assert.equal(words({ flags: ['active', 'omitted'] }), 'user entry navigable labelable omitted');
  assert.equal(words({ flags: [] }), 'user entry navigable labelable');
  assert.equal(words({ kind: 'summarised' }), 'summarised entry');
  assert.equal(words({ kind: 'here', entry: null }), 'here empty');
});

test('a tooltip says who, when, what, where and how full, in plain text', () => {
  const shown = tooltip(row({ label: 'green' }), 200_000, 'Use an injected\nclock **instead**');
  assert.equal(
    shown,
    [
      'You, 12 Nov 14:31:07 · label: green',
      'Use an injected\nclock **instead**',
      'On the active branch · entry 1 · 1 entry, +1.8k',
      'context 76k of 200k, 38 %, measured',
    ].join('\n'),
  );
});

test('the context view adds up, and says where the estimate is far off', () => {
  const lines = contextLines(
    size({
      tokens: 84_000,
      estimated: 60_000,
      unexplained: 24_000,
      parts: { toolResults: 41_300, system: 18_700, images: 0 },
      largest: [{ entry: 'x', title: 'bash pytest -q', tokens: 18_200 }],
    }),
  );
  const parts = lines.find((line) => line.id === 'parts')?.inside ?? [];
  assert.deepEqual(
    parts.map((part) => `${part.label} ${part.description}`.trim()),
    [
      'tool results 41.3k · 49%',
      'system 18.7k · 22%',
      'not explained +24.0k · 29%',
      'estimate runs low here (x1.4)',
    ],
  );
  assert.equal(lines.find((line) => line.id === 'largest')?.inside?.[0]?.entry, 'x');
});

test('the context view says how many rows stand for how many entries, where that is known', () => {
  const told = (extent?: Parameters<typeof contextLines>[2]) =>
    contextLines(size({}), undefined, extent)
      .filter((line) => line.id === 'extent')
      .map((line) => `${line.label}, ${line.description}`);
  assert.deepEqual(told({ rows: 19, entries: 341, filter: 'default' }), [
    '19 rows of 341 entries, filter default',
  ]);
  assert.deepEqual(told({ rows: 1, entries: 1, filter: 'all' }), ['1 row of 1 entry, filter all']);
  assert.deepEqual(told(), []);
});

test('forks stand under what they were forked from, and are named by what was said there', () => {
  const fork = { entry: 'e', preview: 'Use an injected clock', firstMessage: 'Try time-machine' };
  const families = familiesOf([
    listed({ session: 'a', live: true, open: 2 }),
    listed({
      session: 'b',
      depth: 1,
      fork,
      contextSize: { tokens: 84_000, source: 'estimated', percent: null },
    }),
    listed({ session: 'c', depth: 2, fork }),
    listed({ session: 'd', depth: 1, fork, unsaved: true }),
    listed({ session: 'e' }),
  ]);
  assert.deepEqual(
    families.map((one) => [one.session.session, one.forks.map((inner) => inner.session.session)]),
    [
      ['a', ['b', 'd']],
      ['e', []],
    ],
  );
  const [family] = families;
  assert.ok(family?.forks[0]);
  assert.equal(titleOf(family.forks[0].session), 'Try time-machine');
  assert.equal(
    describeSession(family, '2026-11-12'),
    '42% · 14:33 · live · 2 windows · 3 forks, newest 14:33, unsaved',
  );
  assert.equal(
    describeSession(family.forks[0], '2026-11-12'),
    '~84k · 14:33 · at "Use an injected clock"',
  );
});

test('an entry is text: what looks like a fence, a link or HTML stays inside', () => {
  const shown = markdown(
    {
      type: 'message',
      id: 'r',
      timestamp: '2026-11-12T14:31:07.000Z',
      message: {
        role: 'toolResult',
        toolName: 'bash',
        isError: true,
        content: [{ type: 'text', text: '```\n<script>\u202e' }],
      },
    },
    false,
  );
  assert.equal(shown, '# Result\n\n**bash** failed\n\n````\n```\n<script>\n````\n');
});
