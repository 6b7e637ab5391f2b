/** Every command by its name, and which of them change a session. */

import * as vscode from 'vscode';
import { Failure } from '../rpc/failure';
import { cancel, compact } from './compacting';
import { compare, compareRowWithLeaf, compareWithMarked, mark } from './comparing';
import { connect, log, restartDaemon, showContext, status, walkthrough } from './daemon';
import { label, omit, rename, restore, toggleOmitted, undo } from './editing';
import { graph, showInGraph } from './graphing';
import { installBridge } from './bridge';
import * as looking from './looking';
import { chooseModel } from './lending';
import { clone, fork, forkWithPi, goToTheirs, navigate, stay } from './navigating';
import { problems } from './problems';
import { continueInPi, openAppend, send } from './prompting';
import { letPiRead, promptPi, steerPi, stopPi } from './running';
import * as sessions from './sessions';
import { refuse, type Command, type Desk } from './tools';

const READING: Record<string, Command> = {
  allSessions: sessions.allSessions,
  chooseModel,
  compare,
  compareWithLeaf: compareRowWithLeaf,
  compareWithMarked,
  connect,
  copyId: looking.copyId,
  copyText: looking.copyText,
  defaultFilter: looking.defaultFilter,
  export: looking.exportBranch,
  filter: looking.filter,
  findBranch: looking.findBranch,
  graph,
  endSearch: looking.endSearch,
  hideForks: sessions.hideForks,
  log,
  mark,
  moreRows: looking.moreRows,
  moreSessions: sessions.moreSessions,
  nextHit: looking.nextHit,
  openSession: sessions.openSession,
  previousHit: looking.previousHit,
  problems,
  refreshSessions: sessions.refreshSessions,
  restartDaemon,
  revealEntry: looking.revealEntry,
  revealLeaf: looking.revealLeaf,
  search: looking.search,
  searchSessions: sessions.searchSessions,
  showContext,
  showEntry: looking.showEntry,
  showForks: sessions.showForks,
  showInGraph,
  sizeColumn: looking.sizeColumn,
  status,
  walkthrough,
};

const CHANGING: Record<string, Command> = {
  append: openAppend,
  cancel,
  clone,
  compact,
  continueInPi,
  fork,
  forkWithPi,
  goToTheirs,
  installBridge,
  label,
  letPiRead,
  navigate,
  newSession: sessions.newSession,
  omit,
  promptPi,
  rename,
  restore,
  send,
  sendToPi: send,
  stay,
  steerPi,
  stopPi,
  toggleOmitted,
  undo,
  writeSummary: send,
};

/** What is selected now, as a menu would give it: who tries again later means the same rows. */
function selected(desk: Desk): unknown[] {
  const nodes = desk.tree.view.selection;
  return nodes.length > 0 ? [nodes[0], nodes] : [];
}

/** Registers all of them; what goes wrong in one is said in one sentence. */
export function registerCommands(desk: Desk): vscode.Disposable[] {
  const table = [
    ...Object.entries(READING).map(([name, command]) => ({ name, command, changes: false })),
    ...Object.entries(CHANGING).map(([name, command]) => ({ name, command, changes: true })),
  ];
  return table.map(({ name, command, changes }) => {
    const run = async (...given: unknown[]): Promise<void> => {
      const again = given.length > 0 ? given : selected(desk);
      const { model } = desk.current;
      try {
        if (changes && !vscode.workspace.isTrusted) {
          throw new Failure(
            'ReadOnly',
            'This folder is not trusted, so that sessions can only be read; trust it first.',
          );
        }
        if (model) {
          model.chosenPi = undefined;
        }
        desk.connection.start();
        await command(desk, ...given);
      } catch (error) {
        await refuse(desk, model, error, () => run(...again));
      }
    };
    return vscode.commands.registerCommand(`pisessiond.${name}`, run);
  });
}
