/** Compaction as one does it in the editor: the dry run, the review, what is stored in the end. */

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Exports } from '../src/extension';
import { Place, reached, Talk } from './daemon';
import type { Drawn, Editor } from './editor';
import { labels, LIMIT, openWindow, until } from './windows';

function much(): Talk {
  const talk = new Talk();
  for (let turn = 0; turn < 12; turn++) {
    talk.user(`Turn ${turn}`);
    talk.step(`cat part${turn}`, 'word '.repeat(4000), 40_000 + turn * 5000);
    talk.answer(`Done ${turn}`, 42_000 + turn * 5000);
  }
  return talk;
}

describe('a window with much to compact', () => {
  const place = new Place();
  let editor: Editor;
  let path: string;

  before(async () => {
    place.enter();
    place.settings("[summarizer]\nuse = 'extract'\n");
    path = place.write(much().entries);
    editor = await openWindow(place);
  }, LIMIT);

  after(async () => {
    editor.close();
    await place.end();
  }, LIMIT);

  async function tree(): Promise<string[]> {
    return labels(await editor.draw('pisessiond.tree'));
  }

  function choosing(beginning: string): void {
    editor.choose = (items: { label: string }[]) =>
      items.find((item) => item.label.startsWith(beginning));
  }

  test(
    'the dry run is shown beside the cut in the rows, and leaving it changes nothing',
    LIMIT,
    async () => {
      const rows = await tree();
      let document = '';
      let drawn: Promise<Drawn[]> | undefined;
      editor.choose = () => {
        document = editor.documents.at(-1)?.text ?? '';
        drawn = editor.draw('pisessiond.tree');
        return undefined;
      };
      await editor.run('compact');
      assert.match(document, /\nsummarised, \d+ entries.*\n[^]*── cut\b[^]*\nkept, \d+ entries/);
      const shown = labels((await drawn) ?? []);
      assert.equal(shown.filter((label) => label === '── cut ──').length, 1);
      assert.deepEqual(
        shown.filter((label) => label !== '── cut ──'),
        rows,
      );
      assert.deepEqual(await tree(), rows);
    },
  );

  test('what the summarizer would read can be looked at', LIMIT, async () => {
    choosing('View what the summarizer would read');
    await editor.run('compact');
    assert.match(editor.shown?.text ?? '', /^# history\n[^]*Turn 0/);
  });

  test('a summary that is closed again asks nothing and stores nothing', LIMIT, async () => {
    const rows = await tree();
    choosing('Review the summary first');
    await editor.run('compact');
    // Of files, not untitled: those would ask whether to be saved.
    assert.equal(editor.shown?.uri.scheme, 'pisession-draft');
    assert.match(editor.shown?.uri.path ?? '', /^\/pisession-summary\/1\/Summary of .*\.md$/);
    await editor.closeShown();
    assert.deepEqual(await tree(), rows);
    assert.deepEqual(editor.warnings, []);
  });

  test('what was looked at is compacted, and no other branch', LIMIT, async () => {
    const other = await place.connect('other');
    const { session, leaf } = await other.request('session/open', { path });
    const rows = await tree();
    editor.choose = async (items: { label: string }[]) => {
      await other.request('session/navigate', { session, target: 'e32', exact: true });
      await until(async () => (await tree()).at(-1) !== 'you are here');
      return items.find((item) => item.label === 'Compact');
    };
    await editor.run('compact');
    assert.match(editor.warnings.pop()?.sentence ?? '', /^other moved the leaf to “.*”; nothing/);
    await other.request('session/navigate', { session, target: leaf, exact: true });
    await until(async () => (await tree()).at(-1) === 'you are here');
    assert.deepEqual(await tree(), rows);
    other.stop();
  });

  test('a summary that was reviewed and changed is the one that is stored', LIMIT, async () => {
    choosing('Review the summary first');
    await editor.run('compact');
    assert.ok(editor.shown);
    const { uri } = editor.shown;
    assert.ok((editor.keys.get('pisessiond.summaries') as string[]).includes(uri.toString()));
    editor.shown.text += '\nReviewed by me.';
    await editor.run('writeSummary');
    await until(async () => (await tree()).some((label) => label.startsWith('Compaction ')));
    assert.equal(editor.shown, undefined);
    const compaction = (await editor.draw('pisessiond.tree')).find((one) =>
      labels([one])[0]?.startsWith('Compaction '),
    );
    await editor.run('showEntry', compaction?.node);
    const shown = editor.shown as { text: string } | undefined;
    assert.match(shown?.text ?? '', /Reviewed by me\.\n$/);
  });
});

test('a summary under review outlives its daemon', LIMIT, async (context) => {
  const place = new Place();
  place.enter();
  place.settings("[summarizer]\nuse = 'extract'\n");
  place.write(much().entries);
  const editor = await openWindow(place);
  context.after(async () => {
    editor.close();
    await place.end();
  });
  editor.choose = (items: { label: string }[]) =>
    items.find((item) => item.label.startsWith('Review the summary first'));
  await editor.run('compact');
  assert.ok(editor.shown);
  editor.shown.text += '\nReviewed by me.';
  const { connection } = editor.exports as Exports;
  const { pid } = await connection.request('daemon/status', {});
  const lost = reached(connection, 'offline');
  process.kill(pid, 'SIGKILL');
  await lost;
  await reached(connection, 'ready');
  // Shown anew it is told of by another model.
  const [row] = await editor.draw('pisessiond.sessions');
  await editor.run('openSession', row?.node);
  await editor.run('writeSummary');
  assert.deepEqual(editor.warnings, []);
  await until(async () =>
    labels(await editor.draw('pisessiond.tree')).some((label) => label.startsWith('Compaction ')),
  );
  assert.equal(editor.shown, undefined);
});
