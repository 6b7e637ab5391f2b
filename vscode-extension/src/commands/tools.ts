/** What commands share: the row they are about, asking, and refusing in one sentence. */

import * as vscode from 'vscode';
import type { Connection } from '../daemon/connection';
import type { SessionModel } from '../model/session';
import type { Graphs } from '../graph/panels';
import type { Lender } from '../lend/lender';
import type { Act, Undoable } from '../model/undo';
import type { EntryId, Progress, Row } from '../model/wire';
import { asFailure, Failure } from '../rpc/failure';
import { formatTokens } from '../texts/figures';
import { isAtWork } from '../texts/pis';
import { refusalOf, type Known, type NextStep } from '../texts/refusals';
import { nameOf } from '../texts/status';
import type { CurrentSession } from '../views/current';
import type { Documents } from '../views/documents';
import type { Header } from '../views/header';
import type { Searching } from '../views/searching';
import type { SessionsView } from '../views/sessions';
import { isRowNode } from '../views/rowItems';
import type { BranchTree } from '../views/tree';
import type { Drafts } from './drafts';
import type { Problems } from './problems';

export interface Desk {
  connection: Connection;
  current: CurrentSession;
  tree: BranchTree;
  searching: Searching;
  sessions: SessionsView;
  header: Header;
  documents: Documents;
  drafts: Drafts;
  problems: Problems;
  graphs: Graphs;
  lender: Lender;
  log: vscode.LogOutputChannel;
  extension: vscode.Extension<unknown>;
}

export type Command = (desk: Desk, ...given: unknown[]) => unknown;

/** Milliseconds a sentence stands in the status bar. */
const READ = 6000;

export function say(sentence: string): void {
  vscode.window.setStatusBarMessage(sentence, READ);
}

export function sayHasNoRow(): void {
  say('It has no row under this filter; Filter Rows chooses another.');
}

/**
 * The session at hand.
 * @throws {Failure} when none is open
 */
export function modelOf(desk: Desk): SessionModel {
  const model = desk.current.model;
  if (model?.handle === undefined) {
    throw new Failure('SessionNotFound', 'No session is open here; choose one under Sessions.');
  }
  return model;
}

const ELSEWHERE = 'Another session is shown by now; nothing was changed.';

/**
 * Has an answer count in the session that was asked about alone: while somebody thinks, a newer one
 * may have begun, or another been opened, and a fork has the same entries.
 * @throws {Failure} when another session is at hand by now
 */
export function checkStillAt(desk: Desk, model: SessionModel): void {
  if (!isAt(desk, model)) {
    throw new Failure('SessionNotFound', ELSEWHERE);
  }
}

/** Whether a session is the one that is shown. */
export function isAt(desk: Desk, model: SessionModel | undefined): boolean {
  return desk.current.model?.key === model?.key;
}

/**
 * The row of a menu or a click, else the one that is selected. A menu whose row has gone meanwhile
 * gives nothing, and means no other row.
 */
export function rowOf(desk: Desk, given: readonly unknown[]): Row | undefined {
  const row = rowsOf(desk, given.slice(0, 1))[0];
  desk.tree.keep(row);
  return row;
}

/** All rows of a menu, or those that are selected. */
export function rowsOf(desk: Desk, given: readonly unknown[]): Row[] {
  const [node, nodes] = given;
  if (given.length === 0) {
    return desk.tree.selectedRows();
  }
  const chosen: readonly unknown[] = Array.isArray(nodes) ? nodes : [node];
  return chosen.flatMap((one) => (isRowNode(one) ? (desk.tree.rowOf(one) ?? []) : []));
}

/** A row that stands for an entry; else says that there is none. */
export function entryRowOf(
  desk: Desk,
  given: readonly unknown[],
): (Row & { entry: NonNullable<Row['entry']> }) | undefined {
  const row = rowOf(desk, given);
  if (!row || row.entry === null) {
    say('Select a row that stands for an entry first.');
    return undefined;
  }
  return row as Row & { entry: NonNullable<Row['entry']> };
}

/** Does an act, and remembers how to undo it. */
export async function actUndoably(
  desk: Desk,
  now: Act,
  before: Act[],
  said: string,
): Promise<void> {
  const model = modelOf(desk);
  const answer = (await model.request(now.method, now.params)) as { rev: number };
  remember(desk, model, { acts: before, rev: answer.rev, sentence: 'It is as before.' });
  say(said);
}

/** Undo is for the session that is shown: what was done in another one is not remembered. */
export function remember(desk: Desk, model: SessionModel, undoable: Undoable): void {
  if (isAt(desk, model)) {
    desk.current.undo.remember(undoable);
    desk.header.update();
  }
}

/** Runs something that takes its time, with what has come of it and a button that ends it. */
export async function withProgress<T>(
  desk: Desk,
  title: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const model = modelOf(desk);
  const abort = new AbortController();
  const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
  return vscode.window.withProgress(options, async (progress, token) => {
    token.onCancellationRequested(() => abort.abort());
    const unlisten = model.on((happening) => {
      if (happening.what === 'progress' && isMine(happening.progress, desk)) {
        const { received } = happening.progress;
        progress.report({ message: received > 0 ? `${formatTokens(received)} received` : '' });
      }
    });
    try {
      return await work(abort.signal);
    } finally {
      unlisten();
    }
  });
}

function isMine(progress: Progress, desk: Desk): boolean {
  return (
    typeof progress.origin === 'object' && progress.origin.clientId === desk.connection.clientId
  );
}

/** Milliseconds after which what is waited for is said. */
const CALM = 700;

/** Waits for an answer; when it takes its time, a sentence says for what, with a button that ends it. */
export async function patiently<T>(
  title: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController();
  const answer = work(abort.signal);
  const over = answer.then(
    () => true,
    () => true,
  );
  const calm = new Promise<boolean>((resolve) => setTimeout(() => resolve(false), CALM));
  if (!(await Promise.race([over, calm]))) {
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    await vscode.window.withProgress(options, (_progress, token) => {
      token.onCancellationRequested(() => abort.abort());
      return over;
    });
  }
  return answer;
}

/**
 * Says why something was refused, and does what the user chooses next.
 * @param model what it was about: the sentence may stand there for long, and its buttons mean no
 *   other session
 */
export async function refuse(
  desk: Desk,
  model: SessionModel | undefined,
  error: unknown,
  again: () => unknown,
): Promise<void> {
  const failure = asFailure(error);
  desk.log.info(`${failure.kind}: ${failure.message}`);
  const refusal = refusalOf(failure, knownOf(model, failure));
  if (refusal) {
    const step = await vscode.window.showWarningMessage(refusal.sentence, ...refusal.steps);
    if (step === undefined || ANYWHERE.includes(step) || isAt(desk, model)) {
      await goOn(desk, step, again);
    } else {
      say(ELSEWHERE);
    }
  }
}

/** Steps that are about no session. */
const ANYWHERE: readonly NextStep[] = ['Log', 'Walkthrough'];

function knownOf(model: SessionModel | undefined, { data }: Failure): Known {
  const leaf = data.leaf as EntryId | null | undefined;
  const title = leaf == null ? undefined : model?.rowOf(leaf)?.title;
  return {
    ...(model?.mover === undefined ? {} : { mover: nameOf(model.mover) }),
    ...(title === undefined ? {} : { title }),
    operation: model?.operation ?? null,
  };
}

/** Comes back when nothing runs in the session any more, and no pi is at work in it. */
async function untilIdle(model: SessionModel): Promise<void> {
  await new Promise<void>((resolve) => {
    const look = () => {
      if (!model.operation && !model.pis.some(isAtWork)) {
        unlisten();
        resolve();
      }
    };
    const unlisten = model.on(look);
    look();
  });
}

async function goOn(desk: Desk, step: NextStep | undefined, again: () => unknown): Promise<void> {
  switch (step) {
    case 'Show':
      await desk.tree.reveal('here');
      break;
    case 'Go On from There':
      await again();
      break;
    case 'Wait':
      await untilIdle(modelOf(desk));
      await again();
      break;
    case 'Cancel It':
      await vscode.commands.executeCommand('pisessiond.cancel');
      break;
    case 'Stop pi':
      await vscode.commands.executeCommand('pisessiond.stopPi');
      break;
    case 'Let pi Read':
      await vscode.commands.executeCommand('pisessiond.letPiRead');
      break;
    case 'Continue in pi':
      await vscode.commands.executeCommand('pisessiond.continueInPi');
      break;
    case 'Log':
      desk.log.show();
      break;
    case 'Walkthrough':
      await vscode.commands.executeCommand('pisessiond.walkthrough');
      break;
    case undefined:
      break;
  }
}
