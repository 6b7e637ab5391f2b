/** What is asked of a running pi: a prompt, a word between its steps, a stop, reading what it missed. */

import * as vscode from 'vscode';
import type { SessionModel } from '../model/session';
import type { LivePi } from '../model/wire';
import { asFailure, Failure } from '../rpc/failure';
import { choiceLine, doingOf, isAtWork, piName, whyNot, type PiChoice } from '../texts/pis';
import { withoutIcons } from '../texts/plain';
import { checkStillAt, isAt, modelOf, patiently, say, type Command, type Desk } from './tools';

/** `steer`: between the steps of a run, where there is one. */
type Delivery = 'prompt' | 'steer';

export const promptPi: Command = (desk) => write(desk, 'prompt');
export const steerPi: Command = (desk) => write(desk, 'steer');

const ASKED: Record<Delivery, string> = {
  prompt: 'Prompt for pi; empty: write it in an editor',
  steer: 'What pi is to hear between its steps; empty: write it in an editor',
};

async function write(desk: Desk, how: Delivery): Promise<void> {
  const model = modelOf(desk);
  drivenOf(model);
  const text = await vscode.window.showInputBox({ prompt: ASKED[how] });
  if (text === undefined) {
    return;
  }
  if (text.trim() === '') {
    await openForPi(desk, model, '', how);
    return;
  }
  try {
    checkStillAt(desk, model);
    await deliver(desk, text, how);
  } catch (error) {
    // Not a word is lost; where pi may have it, it is not offered to be sent twice.
    if (asFailure(error).kind !== 'PiUnknown') {
      await openForPi(desk, model, text, how);
    }
    throw error;
  }
}

/** Opens a document that is given to the pi of a session when it is sent. */
export async function openForPi(
  desk: Desk,
  model: SessionModel,
  text: string,
  how: Delivery = 'prompt',
): Promise<void> {
  const send = (body: string) => {
    checkStillAt(desk, model);
    return deliver(desk, body, how);
  };
  await desk.drafts.openPrompt(text, send, 'piPrompt');
  say('Send to pi gives it to pi, whose answer comes here.');
}

async function deliver(desk: Desk, text: string, how: Delivery): Promise<void> {
  if (text.trim() === '') {
    throw new Failure('InvalidEntry', 'An empty prompt is not sent.');
  }
  const model = modelOf(desk);
  const driven = drivenOf(model);
  const params = {
    text,
    deliverAs: !driven.some(isAtWork) ? null : how === 'steer' ? 'steer' : 'followUp',
  } as const;
  const answer = await patiently(
    'Waiting for pi, which may be asking in its terminal whether this editor may prompt it',
    (signal) => model.request('session/prompt', params, signal),
  );
  say(takenSentence(answer.queued, how));
  if (isAt(desk, model)) {
    await desk.tree.reveal('here');
  }
}

function takenSentence(isQueued: boolean, how: Delivery): string {
  if (!isQueued) {
    return 'pi has it; its answer comes here.';
  }
  return how === 'steer' ? 'pi has it for between its steps.' : 'pi has it for after its run.';
}

/**
 * Those that can be prompted.
 * @throws {Failure} why there is none
 */
function drivenOf(model: SessionModel): LivePi[] {
  const [one] = model.pis;
  if (!one) {
    const needs = 'a pi that has it open';
    throw new Failure('Unsupported', 'No running pi has this session open.', { needs });
  }
  const driven = model.pis.filter((pi) => pi.drives);
  if (driven.length === 0) {
    throw new Failure('ReadOnly', `pi is only watched: ${whyNot(one)}.`);
  }
  return driven;
}

/** Stops a run of pi's, after a question. */
export const stopPi: Command = async (desk) => {
  const model = modelOf(desk);
  const working = model.pis.filter((pi) => pi.drives && isAtWork(pi));
  const [one] = working;
  if (!one) {
    say('No pi is at work here.');
    return;
  }
  const chosen = working.length === 1 ? one : working.find(({ pid }) => pid === model.chosenPi);
  const pid = chosen?.pid ?? (await whichPi(model, working));
  const pi = working.find((other) => other.pid === pid) ?? one;
  const name = piName(pi, model.pis.length > 1);
  const choice = await vscode.window.showWarningMessage(
    `Stop ${name}, which is ${doingOf(pi)}? What it has said and done so far stays.`,
    { modal: true },
    'Stop',
  );
  if (choice === 'Stop') {
    await model.request('session/abort', { pi: pi.pid });
    say(`${name} was told to stop.`);
  }
};

/** Lets each pi read what others have written to its file. */
export const letPiRead: Command = async (desk) => {
  const model = modelOf(desk);
  const behind = model.pis.filter((pi) => pi.drives && pi.unseen > 0);
  if (behind.length === 0) {
    say('pi has read all there is.');
    return;
  }
  for (const { pid } of behind) {
    await model.request('session/reread', { pi: pid });
  }
  say('pi has read what it missed.');
};

/**
 * Asks which of several pi is meant.
 * @throws {Failure} `Cancelled`
 */
export async function whichPi(model: SessionModel, choices: readonly unknown[]): Promise<number> {
  const items = choices.filter(isChoice).map((choice) => {
    const title = choice.leaf === null ? undefined : model.rowOf(choice.leaf)?.title;
    const [label, description] = choiceLine(choice, title);
    return { label, description: withoutIcons(description), pid: choice.pid };
  });
  const chosen = await vscode.window.showQuickPick(items, {
    title: 'Several pi have this session open',
    placeHolder: 'Which one is to do it? A fork would keep them apart.',
  });
  if (!chosen) {
    throw new Failure('Cancelled', 'No pi was chosen.');
  }
  return chosen.pid;
}

function isChoice(value: unknown): value is PiChoice {
  return typeof (value as Partial<PiChoice> | null)?.pid === 'number';
}
