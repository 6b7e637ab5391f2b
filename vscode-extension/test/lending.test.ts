/** Lending a model of the editor: what it is asked, and what becomes of its failures. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wishOf, writeSummary, type EditorModel } from '../src/lend/writing';
import { asFailure } from '../src/rpc/failure';

const ASKED = { system: 'You summarise.', prompt: 'What was said?' };

async function* parts(...texts: string[]): AsyncIterable<string> {
  for (const text of texts) {
    await Promise.resolve();
    yield text;
  }
}

function model(more: Partial<EditorModel> = {}): EditorModel {
  return {
    id: 'large/1',
    name: 'Large One',
    vendor: 'acme',
    maxInputTokens: 1000,
    countTokens: (text) => Promise.resolve(text.length),
    ask: () => Promise.resolve(parts('It was ', 'so.')),
    ...more,
  };
}

async function failure(more: Partial<EditorModel>, signal = new AbortController().signal) {
  try {
    await writeSummary(model(more), ASKED, signal);
  } catch (error) {
    return asFailure(error);
  }
  throw new Error('it did not fail');
}

test('the answer comes in parts, and says who wrote it', async () => {
  const asked: string[] = [];
  const given = model({
    ask: (text) => {
      asked.push(text);
      return Promise.resolve(parts('It was ', 'so.'));
    },
  });
  const answer = await writeSummary(given, ASKED, new AbortController().signal);
  assert.deepEqual(answer, { summary: 'It was so.', model: 'acme/large/1' });
  assert.deepEqual(asked, ['You summarise.\n\nWhat was said?']);
});

test('what is too long for the model is not sent', async () => {
  const asked: string[] = [];
  const { kind, message } = await failure({
    maxInputTokens: 20,
    ask: (text) => {
      asked.push(text);
      return Promise.resolve(parts());
    },
  });
  assert.equal(kind, 'SummaryFailed');
  assert.equal(message, 'Large One takes 20 tokens, and this would be 30.');
  assert.deepEqual(asked, []);
});

test('refusals of the editor are sentences', async () => {
  const refusals: [object, string][] = [
    [{ code: 'NoPermissions' }, 'It was not allowed to use Large One for pi Sessions.'],
    [
      { code: 'NotFound' },
      'There is no Large One any more; Choose a Model for Summaries names another.',
    ],
    [
      { code: 'Blocked' },
      'Large One is not to be had now: its quota is used up, or it is blocked.',
    ],
    [{ code: 'Unknown', cause: new Error('out\nof luck') }, 'Large One failed: out of luck'],
    [{ message: 'broken' }, 'Large One failed: broken'],
    [{}, 'Large One failed.'],
  ];
  for (const [error, sentence] of refusals) {
    // VS Code's errors are errors; what counts is what they carry.
    const given = Object.assign(new Error(''), error);
    const { kind, message } = await failure({ ask: () => Promise.reject(given) });
    assert.deepEqual([kind, message], ['SummaryFailed', sentence]);
  }
});

test('what is cancelled in the middle stops there', async () => {
  const abort = new AbortController();
  let came = 0;
  async function* endless(): AsyncIterable<string> {
    for (;;) {
      await Promise.resolve();
      came++;
      if (came === 3) {
        abort.abort();
      }
      yield 'more';
    }
  }
  const { kind } = await failure({ ask: () => Promise.resolve(endless()) }, abort.signal);
  assert.equal(kind, 'Cancelled');
  assert.equal(came, 3);
});

test('only the words that the setting knows lend anything', () => {
  assert.deepEqual(wishOf('off'), { kind: 'off' });
  assert.deepEqual(wishOf('ask'), { kind: 'ask' });
  assert.deepEqual(wishOf('acme/large/1'), { kind: 'model', vendor: 'acme', id: 'large/1' });
  for (const other of [undefined, null, 5, '', 'on', '/x', 'x/']) {
    assert.deepEqual(wishOf(other), { kind: 'off' });
  }
});
