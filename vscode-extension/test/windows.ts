/** Looking at a stand-in of the editor, and waiting for what it shows. */

import assert from 'node:assert/strict';
import type { Place } from './daemon';
import { Editor, type Drawn } from './editor';

export const LIMIT = { timeout: 30_000 };

/** Looks again until something holds. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await holds())) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export function labels(drawn: Drawn[]): string[] {
  return drawn.map(({ item }) => {
    const { label } = item as { label: string | { label: string } };
    return typeof label === 'string' ? label : label.label;
  });
}

/** A window on a place whose session has been read. */
export async function openWindow(place: Place): Promise<Editor> {
  const editor = new Editor(place.work);
  editor.settings.set('pisessiond.path', place.program);
  editor.activate();
  await until(() => editor.keys.get('pisessiond.hasSession') === true);
  await until(async () => (await editor.draw('pisessiond.tree')).length > 0);
  return editor;
}

/** The line of a view that says this; what it is inside has to be open. */
export async function find(
  editor: Editor,
  label: string,
  view = 'pisessiond.tree',
): Promise<Drawn> {
  const all = (drawn: Drawn[]): Drawn[] => drawn.flatMap((one) => [one, ...all(one.inside)]);
  const found = all(await editor.draw(view)).find((one) => labels([one])[0] === label);
  assert.ok(found, `no row says ${label}`);
  return found;
}

/** Selects rows as a click does. */
export async function select(editor: Editor, ...names: string[]): Promise<void> {
  const found = await Promise.all(names.map((name) => find(editor, name)));
  (editor.views.get('pisessiond.tree') as { selection: unknown[] }).selection = found.map(
    ({ node }) => node as unknown,
  );
}
