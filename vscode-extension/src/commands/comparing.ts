/** Two branches side by side: figures, and a diff of what was said since they parted. */

import * as vscode from 'vscode';
import type { EntriesParams, EntriesResult, EntryId, Row } from '../model/wire';
import { comparisonLines } from '../texts/comparison';
import { markdown, plainText, SAYS } from '../texts/entries';
import { readClock } from '../texts/figures';
import { cleanLine, cut } from '../texts/plain';
import { showPreview } from '../views/documents';
import { entryRowOf, modelOf, rowsOf, say, type Command, type Desk } from './tools';

interface Side {
  entry: EntryId;
  name: string;
}

/** Two selected rows, else the one with the leaf. */
export const compare: Command = async (desk, ...given) => {
  const rows = rowsOf(desk, given).filter((row) => row.entry !== null);
  const [a, b] = rows;
  if (a && b) {
    await show(desk, sideOf(a), sideOf(b));
  } else {
    await compareRowWithLeaf(desk, ...given);
  }
};

/** Marks a row, to be compared with another one; marked again it is not any more. */
export const mark: Command = (desk, ...given) => {
  const row = entryRowOf(desk, given);
  if (row) {
    desk.tree.mark(desk.tree.marked?.id === row.id ? undefined : row);
    desk.header.update();
  }
};

export const compareWithMarked: Command = async (desk, ...given) => {
  const marked = desk.tree.marked;
  const row = entryRowOf(desk, given);
  if (marked && row) {
    await show(desk, sideOf(marked), sideOf(row));
  }
};

export const compareRowWithLeaf: Command = async (desk, ...given) => {
  const row = entryRowOf(desk, given);
  if (row) {
    await compareWithLeaf(desk, row);
  }
};

export async function compareWithLeaf(desk: Desk, row: Row): Promise<void> {
  const leaf = modelOf(desk).leaf;
  if (leaf === null) {
    say('There is nothing at the leaf to compare with.');
    return;
  }
  await show(desk, { entry: leaf, name: 'active branch' }, sideOf(row));
}

function sideOf(row: Row): Side {
  return { entry: row.entry as EntryId, name: cut(cleanLine(row.label ?? row.title), 40) };
}

async function show(desk: Desk, a: Side, b: Side): Promise<void> {
  if (a.entry === b.entry) {
    say('Both are the same entry; choose a row of another branch.');
    return;
  }
  const answer = await modelOf(desk).request('session/compare', { a: a.entry, b: b.entry });
  const [since, left, right] = await Promise.all([
    readTitle(desk, answer.ancestor),
    readBranch(desk, a.entry, answer.ancestor),
    readBranch(desk, b.entry, answer.ancestor),
  ]);
  const lines = comparisonLines(answer, [a.name, b.name], since);
  await showPreview(desk.documents.add('Compared', '```\n' + lines.join('\n') + '\n```\n'));
  await vscode.commands.executeCommand(
    'vscode.diff',
    desk.documents.add(a.name, left),
    desk.documents.add(b.name, right),
    `${a.name} ↔ ${b.name}`,
    { preview: false },
  );
}

/** What an entry says, in one line with its time; undefined where there is none. */
async function readTitle(desk: Desk, id: EntryId | null): Promise<string | undefined> {
  if (id === null) {
    return undefined;
  }
  const model = modelOf(desk);
  const { entries } = await model.request('session/entries', { ids: [id] });
  const [entry] = entries;
  const said = model.rowOf(id)?.title ?? (entry && plainText(entry).slice(0, 400));
  const clock = readClock(typeof entry?.timestamp === 'string' ? entry.timestamp : undefined);
  return said === undefined ? undefined : `${cut(cleanLine(said), 48)} · ${clock?.clock ?? ''}`;
}

/** What a branch says behind an entry, as Markdown; read page by page. */
async function readBranch(desk: Desk, end: EntryId, ancestor: EntryId | null): Promise<string> {
  const model = modelOf(desk);
  const parts: string[] = [];
  let isBehind = ancestor === null;
  let cursor: string | null = null;
  do {
    const params: Omit<EntriesParams, 'session'> = { branch: end, limit: 1000, cursor };
    const page: EntriesResult = await model.request('session/entries', params);
    for (const body of page.entries) {
      if (isBehind && SAYS.has(String(body.type))) {
        parts.push(markdown(body, false));
      }
      isBehind ||= body.id === ancestor;
    }
    cursor = page.cursor;
  } while (cursor !== null);
  return parts.join('\n');
}
