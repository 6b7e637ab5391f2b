/** Messages of the user's: written in an untitled document, appended when they are sent. */

import * as vscode from 'vscode';
import type { SessionModel } from '../model/session';
import { Failure } from '../rpc/failure';
import { openForPi } from './running';
import { checkStillAt, modelOf, say, type Command, type Desk } from './tools';

/** Opens the prompt with a text that came back in a session, for the pi that has the session open, if one has. */
export async function openPrompt(desk: Desk, model: SessionModel, text: string): Promise<void> {
  await (model.pis.some((pi) => pi.drives)
    ? openForPi(desk, model, text)
    : openForAppending(desk, model, text));
}

/** Opens a message to append; with an empty text the draft that is there. */
async function openForAppending(desk: Desk, model: SessionModel, text: string): Promise<void> {
  await desk.drafts.openPrompt(text, (body) => {
    checkStillAt(desk, model);
    return append(desk, body);
  });
  say('Append to Session sends it; the session goes on when pi answers.');
}

async function append(desk: Desk, text: string): Promise<void> {
  if (text.trim() === '') {
    throw new Failure('InvalidEntry', 'An empty message is not appended.');
  }
  const content = [{ type: 'text', text }];
  const message = { role: 'user', content, timestamp: Date.now() };
  await modelOf(desk).request('session/append', { entry: { type: 'message', message } });
  await desk.tree.reveal('here');
  say('Appended; pi answers it when it goes on with the session.');
}

export const openAppend: Command = (desk) => openForAppending(desk, modelOf(desk), '');

export const send: Command = (desk) => desk.drafts.send();

/** A terminal with pi on this session, in the session's folder. */
export const continueInPi: Command = async (desk) => {
  const { info, pis } = modelOf(desk);
  if (!info || info.unsaved || info.path === null) {
    say('The session is not on disk yet; pi can go on with it after the first answer.');
    return;
  }
  if (pis.length > 0 && !(await mayBeAnother())) {
    return;
  }
  const program = vscode.workspace.getConfiguration('pisessiond').get('pi', 'pi');
  const cwd = typeof info.header.cwd === 'string' ? info.header.cwd : undefined;
  // The program is started itself, with no shell to read what a path may hold.
  const options = { name: 'pi', shellPath: program, shellArgs: ['--session', info.path] };
  vscode.window.createTerminal({ ...options, ...(cwd === undefined ? {} : { cwd }) }).show();
};

async function mayBeAnother(): Promise<boolean> {
  const choice = await vscode.window.showWarningMessage(
    'A pi has this session open already. Two of them do not see what the other writes.',
    { modal: true },
    'Start Another',
  );
  return choice !== undefined;
}
