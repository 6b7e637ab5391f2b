/** What acting says beforehand and afterwards, without an editor and without a daemon. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Change, MovePreview } from '../src/model/wire';
import { compactionLines } from '../src/texts/compaction';
import { changeSentence, thresholdSentence } from '../src/texts/happenings';
import { alongSentence, ways } from '../src/texts/moves';
import { refusalOf } from '../src/texts/refusals';
import { Failure } from '../src/rpc/failure';
import { row, RUNNING, size } from './values';

const PREVIEW: MovePreview = {
  leaf: '1',
  leaves: { entries: 6, turns: 1 },
  sizeNow: size(),
  sizeAfter: size({ tokens: 74_000, percent: 37 }),
  returnsText: 'Use…',
  outside: '2026-11-12T14:30:00.000Z',
  summary: { summarizer: 'demo', model: 'demo/opus-5', tokensIn: 10_000, cost: 0.04 },
};

const THEN = new Date('2026-11-12T14:33:00.000Z');

test('a move says what it leaves and costs, the harmless way first', () => {
  assert.equal(
    alongSentence(row(), PREVIEW),
    'Its text goes to the prompt, to be changed and sent again.',
  );
  assert.deepEqual(
    ways(PREVIEW, true, THEN).map((one) => `${one.way}: ${one.description} | ${one.detail}`),
    [
      'here: context 84k 42% → 74k 37% | ' +
        '6 entries (1 turn) are left; they stay in the tree. Files are not undone.',
      'summary: the 6 entries are summarised first, 10k in, about $0.04 | ',
      'focus:  | ',
      'fork: new session before this message | ' +
        'pi wrote here 3 min ago: a pi in a terminal will not follow; this is safer.',
      'compare:  | ',
    ],
  );
});

test('of a move only what is true is said', () => {
  const quiet = { ...PREVIEW, leaves: { entries: 0, turns: 0 }, outside: null, returnsText: null };
  assert.deepEqual(
    ways(quiet, false, THEN).map((one) => one.detail),
    ['', '', ''],
  );
  assert.equal(alongSentence(row({ kind: 'note' }), quiet), undefined);
  assert.equal(alongSentence(row({ kind: 'ahead' }), quiet), 'You go on at its end.');
});

test('without a summarizer an extract is offered, and nothing where pi is not to ask', () => {
  const preview = { ...PREVIEW, summary: null };
  assert.ok(ways(preview, true, THEN).some((one) => one.way === 'extract'));
  assert.deepEqual(
    ways(preview, false, THEN).map((one) => one.way),
    ['here', 'fork', 'compare'],
  );
});

test('a dry run draws the cut between what is summarised and what is kept', () => {
  const rows = [
    row({ id: 'e:1', first: '1', tokens: 41_000, title: 'Port the store' }),
    row({ id: 'e:2', first: '2', kind: 'answer', title: 'Labels survive' }),
  ];
  const lines = compactionLines(
    {
      firstKept: '2',
      isSplitTurn: true,
      summarised: ['1'],
      turnPrefix: [],
      kept: ['2'],
      tokensBefore: 186_000,
      tokensKept: 20_000,
      previousSummary: false,
      readFiles: ['a'],
      modifiedFiles: [],
      summaryAtMost: 13_000,
      tokensAfter: 31_000,
      forecast: null,
      noSummarizer: 'Nobody is set up to summarise.',
    },
    size({ tokens: 186_000, percent: 93 }),
    rows,
  );
  const at = lines.findIndex((line) => line.startsWith('── cut, inside a turn'));
  assert.match(lines[at - 1] ?? '', /You: Port the store +~41k$/);
  assert.match(lines[at + 1] ?? '', /^kept, 1 entry.* ~20k$/);
  assert.match(lines[0] ?? '', /^now {4}▰+▱*│? 186k 93% +automatic compaction at 184k$/);
  assert.equal(lines.at(-1), 'Nobody is set up to summarise.');
});

test('what others did is told, and nothing of what the daemon does for itself', () => {
  const by = (origin: Change['origin']) => changeSentence({ kind: 'append', origin }, '14:40');
  assert.equal(by('external'), 'pi went on 14:40.');
  assert.equal(by({ client: 'nvim\u202e', clientId: 'n' }), 'nvim went on 14:40.');
  assert.equal(by('repair'), undefined);
});

test('a threshold is said when it is crossed upwards', () => {
  assert.equal(thresholdSentence('ok', 'warn', 71.6), 'The context is 72% full.');
  assert.equal(
    thresholdSentence('warn', 'high', 91),
    'The context is 91% full; Compact… makes room.',
  );
  assert.equal(thresholdSentence('high', 'warn', 80), undefined);
  assert.equal(thresholdSentence('warn', 'warn', 80), undefined);
});

test('a refusal is one sentence with what can be done next', () => {
  const busy = new Failure('Busy', 'x', { client: 'nvim', operation: 'compact' });
  assert.deepEqual(refusalOf(busy), {
    sentence: 'nvim is compacting; nothing was changed.',
    steps: ['Wait', 'Cancel It'],
  });
  assert.equal(
    refusalOf(busy, { operation: RUNNING })?.sentence,
    'nvim is compacting, 1.2k received; nothing was changed.',
  );
  assert.equal(refusalOf(new Failure('Cancelled', 'x')), undefined);
  const other = new Failure('CannotShrink', 'It would not help.');
  assert.deepEqual(refusalOf(other), { sentence: 'It would not help.', steps: [] });
});

test('a leaf that has moved is told with who moved it, and where to', () => {
  const moved = new Failure('LeafMoved', 'x', { leaf: '7' });
  assert.deepEqual(refusalOf(moved, { mover: 'nvim', title: 'Use an injected clock instead' }), {
    sentence: 'nvim moved the leaf to “Use an injected clock instead”; nothing was changed.',
    steps: ['Go On from There', 'Show'],
  });
  assert.equal(
    refusalOf(moved)?.sentence,
    'The leaf has moved in the meantime; nothing was changed.',
  );
});
