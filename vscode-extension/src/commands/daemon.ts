/** The daemon: how it is, restarting it, and what to do without one. */

import * as vscode from 'vscode';
import { asFailure, Failure } from '../rpc/failure';
import { count } from '../texts/figures';
import { say, type Command } from './tools';

/** Others who use it are asked about first; all of them come back by themselves. */
export const restartDaemon: Command = async (desk) => {
  try {
    if (desk.connection.problemKind === 'VersionUnsupported') {
      throw new Failure('Busy', 'Others may understand a daemon that this extension does not.');
    }
    await desk.connection.restartDaemon(true);
  } catch (error) {
    const failure = asFailure(error);
    if (failure.kind !== 'Busy') {
      throw failure;
    }
    const choice = await vscode.window.showWarningMessage(
      'Others use pisessiond now, or entries are not on disk yet; clients come back by themselves.',
      { modal: true },
      'Restart Anyway',
    );
    if (choice === undefined) {
      return;
    }
    await desk.connection.restartDaemon(false);
  }
  say('pisessiond restarts.');
};

export const status: Command = async (desk) => {
  const now = await desk.connection.request('daemon/status', {});
  const clients = count(now.clients.length, 'client');
  const sessions = count(now.sessions.length, 'session');
  await vscode.window.showInformationMessage(
    `pisessiond ${now.version}, process ${now.pid}: ${clients}, ${sessions} in memory.`,
  );
};

export const log: Command = (desk) => desk.log.show();

/** The one thing tried without being asked for: whether there is a program now. */
export const connect: Command = (desk) => {
  desk.connection.start();
  desk.connection.reconnect();
};

export const walkthrough: Command = (desk) =>
  vscode.commands.executeCommand(
    'workbench.action.openWalkthrough',
    `${desk.extension.id}#pisessiond.start`,
    false,
  );

export const showContext: Command = () =>
  vscode.commands.executeCommand('pisessiond.context.focus');
