/** Looking at rows and entries, finding them, and taking them along. */

import * as vscode from 'vscode';
import { isRowNode, type TreeNode } from '../views/rowItems';
import { HitWalk } from '../model/hitWalk';
import type { Branch, EntryId, ExportParams, TreeFilter } from '../model/wire';
import { plainText } from '../texts/entries';
import { count, formatTokens, shortTime, todayOf } from '../texts/figures';
import type { SizeColumn } from '../texts/paint';
import { cleanLine, cut, withoutIcons } from '../texts/plain';
import { showPreview } from '../views/documents';
import {
  checkStillAt,
  entryRowOf,
  modelOf,
  patiently,
  rowOf,
  rowsOf,
  say,
  sayHasNoRow,
  type Command,
} from './tools';

/** Shows what the row's entry says, without taking the focus from the rows. */
export const showEntry: Command = async (desk, ...given) => {
  const row = rowOf(desk, given);
  const model = modelOf(desk);
  if (row && row.entry !== null && model.key !== undefined) {
    await showPreview(desk.documents.entryUri(model.key, row.entry, row.title));
  }
};

/** The text of all rows that are selected, in their order. */
export const copyText: Command = async (desk, ...given) => {
  const ids = rowsOf(desk, given).flatMap((row) => (row.entry === null ? [] : [row.entry]));
  if (ids.length === 0) {
    say('Select a row that stands for an entry first.');
    return;
  }
  const { entries } = await modelOf(desk).request('session/entries', { ids });
  const text = entries.map(plainText).join('\n\n');
  await vscode.env.clipboard.writeText(text);
  say(`Copied ${count(text.split('\n').length, 'line')}.`);
};

export const copyId: Command = async (desk, ...given) => {
  const row = entryRowOf(desk, given);
  if (row) {
    await vscode.env.clipboard.writeText(String(row.entry));
    say('Copied the id.');
  }
};

export const revealLeaf: Command = (desk) => desk.tree.reveal('here', true);

export const revealEntry: Command = async (desk, entry) => {
  if (typeof entry === 'string' || typeof entry === 'number') {
    await revealOrSay(desk, entry);
  }
};

async function revealOrSay(desk: Parameters<Command>[0], entry: EntryId): Promise<void> {
  await vscode.commands.executeCommand('pisessiond.tree.focus');
  if (!(await desk.tree.reveal(entry, true))) {
    sayHasNoRow();
  }
}

export const moreRows: Command = async (desk, node) => {
  const more = node as TreeNode | undefined;
  if (more && !isRowNode(more) && more.kind === 'more') {
    await modelOf(desk).more(more.level, more.side);
  }
};

const FILTERS: { filter: TreeFilter; label: string; description: string }[] = [
  { filter: 'default', label: 'Default', description: 'messages, work folded by turn' },
  { filter: 'no-tools', label: 'No tools', description: 'every text of the assistant, no work' },
  { filter: 'user-only', label: 'User only', description: 'what you said' },
  { filter: 'labeled-only', label: 'Labelled', description: 'labelled rows, flat' },
  { filter: 'all', label: 'All', description: 'settings and other entries too' },
];

export const filter: Command = async (desk) => {
  const now = modelOf(desk).filter;
  const items = FILTERS.map((one) => ({ ...one, picked: one.filter === now }));
  const chosen = await vscode.window.showQuickPick(items, { placeHolder: 'Rows to show' });
  if (chosen) {
    await desk.current.setFilter(chosen.filter);
    await desk.tree.reveal('here');
  }
};

export const defaultFilter: Command = (desk) => desk.current.setFilter('default');

const NEXT_SIZE: Record<SizeColumn, SizeColumn> = { context: 'own', own: 'off', off: 'context' };
const SIZES: Record<SizeColumn, string> = {
  context: 'Rows say the context size one would have there.',
  own: 'Rows say their own tokens.',
  off: 'Rows say no sizes.',
};

export const sizeColumn: Command = (desk) => {
  const next = NEXT_SIZE[desk.tree.size];
  desk.tree.setSize(next);
  say(SIZES[next]);
};

/** Picks a branch by its label, first or last text, and goes to its row. */
export const findBranch: Command = async (desk) => {
  const { branches } = await modelOf(desk).request('session/branches', { limit: 500 });
  const chosen = await vscode.window.showQuickPick(branches.map(branchItem), {
    placeHolder: 'Branch by its label, first or last text',
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (chosen) {
    await revealOrSay(desk, chosen.entry);
  }
};

function branchItem(branch: Branch): vscode.QuickPickItem & { entry: EntryId } {
  const label = branch.label === null ? '' : `[${cleanLine(branch.label)}] `;
  const size = branch.size ? ` · ${formatTokens(branch.size.tokens)}` : '';
  const when = shortTime(branch.time, todayOf());
  const active = branch.active ? 'active · ' : '';
  return {
    entry: branch.entry,
    label: withoutIcons(label + cut(cleanLine(branch.first), 60)),
    description: `${active}${count(branch.entries, 'entry', 'entries')} · ${when}${size}`,
    detail: withoutIcons(`… ${cut(cleanLine(branch.last), 80)}`),
  };
}

/** Searches folded rows and bodies too, and goes to the first hit. */
export const search: Command = async (desk) => {
  const model = modelOf(desk);
  const query = await vscode.window.showInputBox({
    prompt: 'Search in session, folded rows and results too',
    value: desk.searching.walk?.query ?? '',
  });
  if (!query?.trim()) {
    return;
  }
  checkStillAt(desk, model);
  const params = { query, limit: 100 };
  const first = await model.request('session/search', params);
  checkStillAt(desk, model);
  if (first.hits.length === 0) {
    say(
      first.pending > 0
        ? 'The session is still being read; search again.'
        : 'Nothing here says that.',
    );
    return;
  }
  await vscode.commands.executeCommand('pisessiond.tree.focus');
  const walk = new HitWalk(query, first, (cursor) =>
    model.request('session/search', { ...params, cursor }),
  );
  if (await desk.searching.begin(walk)) {
    say(
      `${walk.count} ${walk.count === '1' ? 'hit' : 'hits'}: F3 and Shift+F3 walk them, Escape ends the search.`,
    );
  } else {
    say('What says so has no row under this filter; Filter Rows chooses another.');
  }
};

export const nextHit: Command = (desk) => desk.searching.step(1);
export const previousHit: Command = (desk) => desk.searching.step(-1);
export const endSearch: Command = (desk) => desk.searching.end();

const FORMATS: { label: string; description: string; ending: string; how: Export }[] = [
  {
    label: 'Markdown of the branch',
    description: 'to be read, tool output folded',
    ending: 'md',
    how: { format: 'markdown' },
  },
  {
    label: 'HTML of the branch',
    description: 'a page that needs nothing else',
    ending: 'html',
    how: { format: 'html' },
  },
  {
    label: 'HTML of the whole tree',
    description: 'with all its branches',
    ending: 'html',
    how: { format: 'html', whole: true },
  },
  {
    label: 'JSONL of the branch',
    description: 'a session of its own, as pi exports one',
    ending: 'jsonl',
    how: { format: 'jsonl' },
  },
];
type Export = Pick<ExportParams, 'format' | 'whole'>;

export const exportBranch: Command = async (desk) => {
  const model = modelOf(desk);
  const chosen = await vscode.window.showQuickPick(FORMATS, { placeHolder: 'Export as' });
  const target =
    chosen &&
    (await vscode.window.showSaveDialog({
      filters: { [chosen.ending]: [chosen.ending] },
      title: 'Export to a new file',
    }));
  if (target) {
    const params = { ...chosen.how, path: target.fsPath };
    const answer = await patiently('Exporting', (signal) =>
      model.request('session/export', params, signal),
    );
    say(`Exported ${formatTokens(answer.bytes)} bytes.`);
  }
};
