/** Without a pi that is seen: what is said of prompts, and the bridge offered once and installed. */

import assert from 'node:assert/strict';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Place, Talk } from './daemon';
import type { Editor } from './editor';
import { LIMIT, openWindow, until } from './windows';

describe('a window on a session that no pi with the bridge has open', () => {
  const place = new Place();
  const settings = join(place.folder, 'agent', 'settings.json');
  let editor: Editor;
  let path: string;

  before(async () => {
    place.enter();
    const talk = new Talk();
    talk.user('Fix it');
    talk.answer('Done', 20_000);
    path = place.write(talk.entries);
    editor = await openWindow(place);
  }, LIMIT);

  after(async () => {
    editor.close();
    await place.end();
  }, LIMIT);

  const message = () =>
    (editor.views.get('pisessiond.tree') as { message: string | undefined }).message ?? '';

  test('a prompt is refused with the next step, and pi has no buttons', LIMIT, async () => {
    assert.deepEqual(
      ['pi', 'piDrives', 'piWorks', 'piUnseen', 'offersBridge'].map((key) =>
        editor.keys.get(`pisessiond.${key}`),
      ),
      ['', false, false, false, false],
    );
    await editor.run('promptPi');
    assert.deepEqual(editor.warnings, [
      { sentence: 'No running pi has this session open.', steps: ['Continue in pi'] },
    ]);
    await editor.run('letPiRead');
    await editor.run('stopPi');
    assert.deepEqual(editor.said.slice(-2), [
      'pi has read all there is.',
      'No pi is at work here.',
    ]);
  });

  test('what another program appends has the bridge offered once', LIMIT, async () => {
    append(path, 'f1', 'e2');
    await until(() => message().includes('Install the Bridge into pi'));
    assert.equal(editor.keys.get('pisessiond.offersBridge'), true);
    assert.equal(editor.common.get('pisessiond.bridgeOffered'), true);
    assert.deepEqual(editor.warnings.length, 1);
  });

  test('it is installed by one command, and offered no more', LIMIT, async () => {
    const told: string[] = [];
    editor.press = (sentence) => {
      told.push(sentence);
      return undefined;
    };
    assert.equal(existsSync(settings), false);
    await editor.run('installBridge');
    assert.deepEqual(told, ['pi loads the bridge now; in a pi that runs, enter /reload.']);
    const { packages } = JSON.parse(readFileSync(settings, 'utf8')) as { packages: string[] };
    assert.equal(packages.length, 1);
    assert.equal(editor.keys.get('pisessiond.offersBridge'), false);
    append(path, 'f2', 'f1');
    await until(async () => (await editor.draw('pisessiond.tree')).length >= 5);
    assert.ok(!message().includes('Install the Bridge'));
    await editor.run('installBridge');
    assert.match(told.at(-1) ?? '', /^pi loads the bridge already/);
  });
});

/** What a pi without the bridge does. */
function append(path: string, id: string, parentId: string): void {
  const content = [{ type: 'text', text: `Said outside ${id}` }];
  const message = { role: 'user', content, timestamp: Date.now() };
  const timestamp = new Date().toISOString();
  appendFileSync(
    path,
    `${JSON.stringify({ type: 'message', id, parentId, timestamp, message })}\n`,
  );
}
