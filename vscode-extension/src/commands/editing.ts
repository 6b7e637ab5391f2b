/** Labels, names, out of the context and back, and undoing each of them. */

import * as vscode from 'vscode';
import type { SessionModel } from '../model/session';
import type { Act } from '../model/undo';
import type { EditContextParams, EntryId, JsonObject, Row } from '../model/wire';
import type { ContextLine } from '../texts/context';
import { count, formatTokens } from '../texts/figures';
import { reasonAgainstOmitting } from '../texts/paint';
import { isRowNode } from '../views/rowItems';
import {
  actUndoably,
  checkStillAt,
  entryRowOf,
  modelOf,
  remember,
  rowsOf,
  say,
  type Command,
  type Desk,
} from './tools';

const NOTE = 'This result was taken out of the context.';

export const label: Command = async (desk, ...given) => {
  const row = entryRowOf(desk, given);
  if (!row) {
    return;
  }
  const model = modelOf(desk);
  const old = row.label ?? '';
  const text = await vscode.window.showInputBox({ prompt: 'Label (empty clears it)', value: old });
  if (text === undefined || text.trim() === old) {
    return;
  }
  checkStillAt(desk, model);
  const named = (value: string): Act => ({
    method: 'session/label',
    params: { target: row.entry, label: value === '' ? null : value },
  });
  await actUndoably(desk, named(text.trim()), [named(old)], saidOf(text.trim()));
};

export const rename: Command = async (desk) => {
  const model = modelOf(desk);
  const old = model.info?.name ?? '';
  const text = await vscode.window.showInputBox({ prompt: 'Name (empty clears it)', value: old });
  if (text === undefined || text.trim() === old) {
    return;
  }
  checkStillAt(desk, model);
  const named = (value: string): Act => ({
    method: 'session/rename',
    params: { name: value === '' ? null : value },
  });
  await actUndoably(desk, named(text.trim()), [named(old)], saidOf(text.trim()));
};

function saidOf(value: string): string {
  return value === '' ? 'Cleared; Undo brings it back.' : 'Named; Undo takes it back.';
}

/** Undoes my last act by acting again; nothing of others is undone. */
export const undo: Command = async (desk) => {
  const model = modelOf(desk);
  const last = desk.current.undo.last(model.foreignRev);
  if (typeof last === 'string') {
    say(last);
    return;
  }
  // Whoever asks again at once means the act before.
  desk.current.undo.forget(last);
  const left = [...last.acts];
  try {
    for (const act of last.acts) {
      await model.request(act.method, act.params);
      left.shift();
    }
  } finally {
    if (left.length > 0) {
      remember(desk, model, { ...last, acts: left });
    }
  }
  desk.header.update();
  say(last.sentence);
};

export const omit: Command = async (desk, ...given) => {
  const entry = entryOfLine(given[0]);
  await (entry === undefined
    ? edit(desk, rowsOf(desk, given), false)
    : change(desk, modelOf(desk), [entry], false));
};
export const restore: Command = (desk, ...given) => edit(desk, rowsOf(desk, given), true);

/** What Delete does: takes out, or puts back what is out. */
export const toggleOmitted: Command = (desk, ...given) => {
  const rows = rowsOf(desk, given);
  return edit(desk, rows, rows.length > 0 && rows.every(isOut));
};

/** The entry of a line of the view Context. */
function entryOfLine(given: unknown): EntryId | undefined {
  const isLine = typeof given === 'object' && given !== null && !isRowNode(given);
  return isLine ? (given as Partial<ContextLine>).entry : undefined;
}

function isOut(row: Row): boolean {
  return row.flags.includes('omitted') || row.flags.includes('replaced');
}

/** Why a row stays as it is, in a sentence; undefined when it can be changed. */
function reasonAgainst(row: Row, isBack: boolean): string | undefined {
  if (isBack) {
    return isOut(row) || row.out != null ? undefined : 'Nothing of it is out of the context.';
  }
  return isOut(row) ? 'It is out of the context already.' : reasonAgainstOmitting(row);
}

/** Takes out, or puts back, what can be of some rows. */
async function edit(desk: Desk, rows: readonly Row[], isBack: boolean): Promise<void> {
  const fit = rows.filter((row) => reasonAgainst(row, isBack) === undefined);
  const [first] = rows;
  if (fit.length === 0) {
    say((first && reasonAgainst(first, isBack)) ?? 'Select a row first.');
    return;
  }
  const model = modelOf(desk);
  const ids = await Promise.all(fit.map((row) => entriesOf(model, row, isBack)));
  await change(desk, model, ids.flat(), isBack, rows.length - fit.length);
}

async function change(
  desk: Desk,
  model: SessionModel,
  ids: EntryId[],
  isBack: boolean,
  unfit = 0,
): Promise<void> {
  if (ids.length === 0) {
    return;
  }
  const before = model.size?.tokens;
  const { entries } = await model.request('session/entries', { ids });
  const acts: Act[] = [];
  let rev = 0;
  try {
    for (const body of entries) {
      rev = (await model.request('session/editContext', changeOf(body, isBack))).rev;
      acts.push({ method: 'session/editContext', params: changeOf(body, !isBack) });
    }
  } finally {
    // What was done before one was refused can be undone, too.
    if (acts.length > 0) {
      remember(desk, model, { acts, rev, sentence: 'It is as before.' });
    }
  }
  const after = await model.request('session/contextSize', {});
  const left = unfit === 0 ? '' : ` ${count(unfit, 'row')} stayed as before.`;
  say(
    ('tokens' in after && typeof after.tokens === 'number' && before !== undefined
      ? saidOfSize(before, after.tokens)
      : 'Done; Undo takes it back.') + left,
  );
}

/** Of work its results that are not yet as they are to be, else the row's own entry. */
async function entriesOf(model: SessionModel, row: Row, isBack: boolean): Promise<EntryId[]> {
  if (row.kind !== 'work') {
    return row.entry === null ? [] : [row.entry];
  }
  const params = { level: row.id, count: 2000, filter: model.filter };
  const page = await model.request('session/rows', params);
  const steps = page.rows.filter((one) => one.kind === 'step' && isOut(one) === isBack);
  return steps.flatMap((one) => one.entry ?? []);
}

/** A result is replaced by a note, so that its call keeps one. */
function changeOf(body: JsonObject, isBack: boolean): Omit<EditContextParams, 'session'> {
  const message = body.message as JsonObject | undefined;
  const isResult = message?.role === 'toolResult';
  const gone = isResult ? { content: [{ type: 'text', text: NOTE }] } : null;
  return {
    target: body.id as EditContextParams['target'],
    replacement: isBack ? 'restore' : gone,
  };
}

function saidOfSize(before: number, after: number): string {
  const sign = after <= before ? '−' : '+';
  const change = `${sign}${formatTokens(Math.abs(after - before))}`;
  return `${change}, ${formatTokens(before)} → ${formatTokens(after)}; Undo takes it back.`;
}
