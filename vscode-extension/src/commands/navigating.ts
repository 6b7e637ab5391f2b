/** Where, then how; forks and clones. */

import * as vscode from 'vscode';
import type { ForkResult, NavigateParams, NavigateResult, Row } from '../model/wire';
import { cleanLine, cut, withoutIcons } from '../texts/plain';
import { readClock } from '../texts/figures';
import { alongSentence, ways, type Way } from '../texts/moves';
import { compareWithLeaf } from './comparing';
import { openPrompt } from './prompting';
import { entryRowOf, modelOf, remember, say, withProgress, type Command, type Desk } from './tools';

type EntryRow = Row & { entry: NonNullable<Row['entry']> };

/** Asks how to go to the row's entry, and goes. */
export const navigate: Command = async (desk, ...given) => {
  const row = entryRowOf(desk, given);
  if (row) {
    await navigateTo(desk, row);
  }
};

/** Asks how to go to a row's entry, and goes. */
export async function navigateTo(desk: Desk, row: EntryRow): Promise<void> {
  const model = modelOf(desk);
  if (row.entry === model.leaf && row.kind !== 'user') {
    say('You are here already.');
    return;
  }
  const from = model.leaf;
  const answer = await model.request('session/navigate', { target: row.entry, dryRun: true });
  if (!answer.preview) {
    return;
  }
  const isSummaryOffered = !(model.info?.skipBranchPrompt ?? false);
  const choice = await vscode.window.showQuickPick(
    ways(answer.preview, isSummaryOffered, new Date(), desk.lender.isOn).map(
      ({ way, label, description, detail }) => ({
        way,
        label,
        description,
        ...(detail === '' ? {} : { detail }),
      }),
    ),
    {
      title: `Navigate to “${titleOf(row)}” ${readClock(row.time)?.clock ?? ''}`.trim(),
      placeHolder: alongSentence(row, answer.preview) ?? 'How?',
    },
  );
  if (choice) {
    await goBy(desk, row, choice.way, from);
  }
}

function titleOf(row: Row): string {
  return withoutIcons(cut(cleanLine(row.title), 50));
}

async function goBy(desk: Desk, row: EntryRow, way: Way, from: NavigateParams['target']) {
  switch (way) {
    case 'here':
      return go(desk, row, from, {});
    case 'summary':
      return go(desk, row, from, { summarize: true });
    case 'lent':
      return go(desk, row, from, { summarize: true, summarizer: 'client' });
    case 'extract':
      return go(desk, row, from, { summarize: true, summarizer: 'extract' });
    case 'focus': {
      const focus = await vscode.window.showInputBox({ prompt: 'What the summary is to look at' });
      return focus
        ? go(desk, row, from, { summarize: true, customInstructions: focus })
        : undefined;
    }
    case 'fork':
      return forkAt(desk, row);
    case 'compare':
      return compareWithLeaf(desk, row);
  }
}

/** Moves the leaf, if it is still where it was seen. */
async function go(
  desk: Desk,
  row: EntryRow,
  from: NavigateParams['target'],
  how: Partial<NavigateParams>,
): Promise<void> {
  const model = modelOf(desk);
  const params = { target: row.entry, baseLeaf: from, ...how };
  const answer: NavigateResult = how.summarize
    ? await withProgress(desk, 'Summarising the branch that is left', (signal) =>
        model.request('session/navigate', params, signal),
      )
    : await model.request('session/navigate', params);
  remember(desk, {
    acts: [{ method: 'session/navigate', params: { target: from, exact: true } }],
    rev: answer.rev,
    sentence: 'Back where you were.',
  });
  await desk.tree.reveal('here');
  say(`Moved to “${cut(cleanLine(row.title), 40)}”; Undo takes you back.`);
  if (answer.editorText != null) {
    await openPrompt(desk, answer.editorText);
  }
}

/** Goes to where another program went on, after it has been asked how. */
export const goToTheirs: Command = async (desk) => {
  const theirs = modelOf(desk).info?.leafConflict?.theirs;
  if (theirs != null && (await desk.tree.reveal(theirs))) {
    await navigate(desk);
  }
};

/** Stays where the daemon's clients are; the conflict is over with it. */
export const stay: Command = async (desk) => {
  const conflict = modelOf(desk).info?.leafConflict;
  if (conflict) {
    const params = { target: conflict.ours, exact: true };
    await modelOf(desk).request('session/navigate', params);
  }
};

export const fork: Command = async (desk, ...given) => {
  const row = entryRowOf(desk, given);
  if (row) {
    await forkAt(desk, row);
  }
};

async function forkAt(desk: Desk, row: EntryRow): Promise<void> {
  const position = row.kind === 'user' ? 'before' : 'at';
  await made(desk, await modelOf(desk).request('session/fork', { entry: row.entry, position }));
}

export const clone: Command = async (desk) => {
  await made(desk, await modelOf(desk).request('session/clone', {}));
};

/** Opens what was made only where the user wants it. */
async function made(desk: Desk, answer: ForkResult): Promise<void> {
  const choice = await vscode.window.showInformationMessage(
    'The new session is made; Sessions lists it under this one.',
    'Open Here',
    'Open in New Window',
  );
  if (choice === undefined) {
    return;
  }
  const wish =
    answer.path !== null && !answer.unsaved ? { path: answer.path } : { session: answer.session };
  if (choice === 'Open in New Window') {
    await desk.current.handOver(wish);
    await vscode.commands.executeCommand('workbench.action.duplicateWorkspaceInNewWindow');
    return;
  }
  await desk.current.choose(wish);
  if (answer.editorText != null) {
    await openPrompt(desk, answer.editorText);
  }
}
