/** Where, then how; forks and clones. */

import * as vscode from 'vscode';
import type { ForkResult, NavigateParams, NavigateResult, Row } from '../model/wire';
import { cleanLine, cut, withoutIcons } from '../texts/plain';
import { readClock } from '../texts/figures';
import { alongSentence, ways, type Way } from '../texts/moves';
import { followingOf } from '../texts/pis';
import { compareWithLeaf } from './comparing';
import { openPrompt } from './prompting';
import {
  checkStillAt,
  entryRowOf,
  isAt,
  modelOf,
  patiently,
  remember,
  say,
  sayHasNoRow,
  withProgress,
  type Command,
  type Desk,
} from './tools';

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
  const following = followingOf(model.pis);
  const choice = await vscode.window.showQuickPick(
    ways(answer.preview, isSummaryOffered, new Date(), desk.lender.isOn, following).map(
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
    checkStillAt(desk, model);
    await goBy(desk, row, choice.way, from, following.isBusy);
  }
}

function titleOf(row: Row): string {
  return withoutIcons(cut(cleanLine(row.title), 50));
}

async function goBy(
  desk: Desk,
  row: EntryRow,
  way: Way,
  from: NavigateParams['target'],
  isBusy: boolean,
) {
  const go = (how: Partial<NavigateParams>) =>
    goWith(desk, row, from, isBusy ? { ...how, whenIdle: true } : how);
  switch (way) {
    case 'here':
      return go({});
    case 'summary':
      return go({ summarize: true });
    case 'lent':
      return go({ summarize: true, summarizer: 'client' });
    case 'extract':
      return go({ summarize: true, summarizer: 'extract' });
    case 'focus': {
      const model = modelOf(desk);
      const focus = await vscode.window.showInputBox({ prompt: 'What the summary is to look at' });
      checkStillAt(desk, model);
      return focus ? go({ summarize: true, customInstructions: focus }) : undefined;
    }
    case 'fork':
      return forkAt(desk, row);
    case 'forkWithPi':
      return forkAlong(desk, row);
    case 'compare':
      return compareWithLeaf(desk, row);
  }
}

/** Moves the leaf, if it is still where it was seen; a pi that is waited for moves it until then. */
async function goWith(
  desk: Desk,
  row: EntryRow,
  from: NavigateParams['target'],
  how: Partial<NavigateParams>,
): Promise<void> {
  const model = modelOf(desk);
  const base = how.whenIdle ? {} : { baseLeaf: from };
  const params = { target: row.entry, ...base, ...how };
  const answer: NavigateResult = how.summarize
    ? await withProgress(desk, 'Summarising the branch that is left', (signal) =>
        model.request('session/navigate', params, signal),
      )
    : how.whenIdle
      ? await patiently('Waiting until pi is idle', (signal) =>
          model.request('session/navigate', params, signal),
        )
      : await model.request('session/navigate', params);
  // Where a pi stood that was waited for is not where it was seen.
  if (!how.whenIdle) {
    remember(desk, model, {
      acts: [{ method: 'session/navigate', params: { target: from, exact: true } }],
      rev: answer.rev,
      sentence: 'Back where you were.',
    });
  }
  if (isAt(desk, model)) {
    await desk.tree.reveal('here');
  }
  const back = how.whenIdle ? '.' : '; Undo takes you back.';
  say(`Moved to “${cut(cleanLine(row.title), 40)}”${back}`);
  if (answer.editorText != null) {
    await openPrompt(desk, model, answer.editorText);
  }
}

/** Goes to where another program went on, after it has been asked how. */
export const goToTheirs: Command = async (desk) => {
  const theirs = modelOf(desk).info?.leafConflict?.theirs;
  if (theirs == null) {
    return;
  }
  const row = await desk.tree.reveal(theirs);
  if (row && row.entry !== null) {
    await navigateTo(desk, { ...row, entry: row.entry });
  } else {
    sayHasNoRow();
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

/** The same, and the pi that has the session open goes there. */
export const forkWithPi: Command = async (desk, ...given) => {
  const row = entryRowOf(desk, given);
  if (row) {
    await forkAlong(desk, row);
  }
};

function forkOf(row: EntryRow) {
  return { entry: row.entry, position: row.kind === 'user' ? 'before' : 'at' } as const;
}

async function forkAt(desk: Desk, row: EntryRow): Promise<void> {
  await made(desk, await modelOf(desk).request('session/fork', forkOf(row)));
}

/** Shows the fork that pi went to; where pi stayed, says why. */
async function forkAlong(desk: Desk, row: EntryRow): Promise<void> {
  const params = { ...forkOf(row), takePi: true, whenIdle: true };
  const answer = await patiently('Waiting until pi is idle', (signal) =>
    modelOf(desk).request('session/fork', params, signal),
  );
  if (answer.piStayed != null) {
    const why = cleanLine(answer.piStayed);
    void vscode.window.showWarningMessage(`The fork is made; pi stays where it was: ${why}`);
    return;
  }
  const fork = await desk.current.choose(wishOf(answer));
  await desk.tree.arrive();
  say('The fork is made, and pi is in it.');
  if (answer.editorText != null) {
    await openPrompt(desk, fork, answer.editorText);
  }
}

function wishOf(answer: ForkResult): { path: string } | { session: string } {
  return answer.path !== null && !answer.unsaved
    ? { path: answer.path }
    : { session: answer.session };
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
  const wish = wishOf(answer);
  if (choice === 'Open in New Window') {
    await desk.current.handOver(wish);
    await vscode.commands.executeCommand('workbench.action.duplicateWorkspaceInNewWindow');
    return;
  }
  const fork = await desk.current.choose(wish);
  if (answer.editorText != null) {
    await openPrompt(desk, fork, answer.editorText);
  }
}
