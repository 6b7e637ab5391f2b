/** The composition root: everything is made and joined here, and ended with the window. */

import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import { offerBridge } from './commands/bridge';
import { Drafts } from './commands/drafts';
import { actInGraph } from './commands/graphing';
import { Problems } from './commands/problems';
import { whichPi } from './commands/running';
import { registerCommands } from './commands/table';
import type { Desk } from './commands/tools';
import { Connection } from './daemon/connection';
import { findProgram, missingSentence } from './daemon/program';
import { Graphs } from './graph/panels';
import { Lender, SETTING } from './lend/lender';
import { RowDecorations } from './views/badges';
import { ContextView } from './views/context';
import { CurrentSession, currentFolder } from './views/current';
import { Documents, SCHEME } from './views/documents';
import { Happenings } from './views/happenings';
import { Header } from './views/header';
import { Searching } from './views/searching';
import { SessionsView } from './views/sessions';
import { BranchTree } from './views/tree';

/** What tests look into. */
export type Exports = Pick<Desk, 'connection' | 'current' | 'tree' | 'sessions'>;

export function activate(context: vscode.ExtensionContext): Exports {
  const log = vscode.window.createOutputChannel('pi Sessions', { log: true });
  const lender = new Lender();
  const connection = connect(context, log, lender);
  const current = new CurrentSession(connection, context.workspaceState, context.globalState);
  current.whichPi = whichPi;
  const tree = new BranchTree(current);
  const searching = new Searching(current, tree);
  const desk: Desk = {
    connection,
    current,
    tree,
    searching,
    sessions: new SessionsView(connection, current, context.workspaceState),
    header: new Header(connection, current, tree, searching),
    documents: new Documents(current),
    drafts: new Drafts(),
    problems: new Problems(current),
    graphs: new Graphs({
      connection,
      current,
      folder: context.extensionUri,
      act: (told, graph) => actInGraph(desk, told, graph),
    }),
    lender,
    log,
    extension: context.extension,
  };
  context.subscriptions.push(
    log,
    current,
    tree,
    desk.sessions,
    desk.header,
    desk.documents,
    desk.drafts,
    desk.problems,
    desk.graphs,
    new ContextView(current),
    new Happenings(current, tree, desk.header),
    offerBridge(desk, context.globalState),
    vscode.workspace.registerTextDocumentContentProvider(SCHEME, desk.documents),
    vscode.window.registerFileDecorationProvider(new RowDecorations()),
    { dispose: () => connection.stop() },
    ...registerCommands(desk),
    ...beginWhenWanted(desk),
  );
  return { connection, current, tree, sessions: desk.sessions };
}

function settings(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration('pisessiond');
}

function connect(
  context: vscode.ExtensionContext,
  log: vscode.LogOutputChannel,
  lender: Lender,
): Connection {
  const path = () => settings().get('path', '').trim();
  const { version } = context.extension.packageJSON as { version: string };
  return new Connection({
    clientId: `vscode-${process.pid}-${randomBytes(4).toString('hex')}`,
    clientName: 'vscode',
    version,
    cwd: currentFolder(),
    findProgram: () => findProgram(path()),
    missing: () => missingSentence(path()),
    answers: () => lender.answers(),
    log: (line) => log.info(line),
  });
}

/** With the window, or with the first look at a view; once more when there may be a program now. */
function beginWhenWanted(desk: Desk): vscode.Disposable[] {
  const { connection, current, lender } = desk;
  let wasLending = lender.isOn;
  let hasBegun = false;
  const begin = () => {
    if (!hasBegun) {
      hasBegun = true;
      connection.start();
      void current.begin();
    }
  };
  if (settings().get('connectOnStartup', true)) {
    begin();
  }
  return [
    ...[desk.tree.view, desk.sessions.view].map((view) =>
      view.onDidChangeVisibility(({ visible }) => {
        if (visible) {
          begin();
        }
      }),
    ),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('pisessiond.path')) {
        connection.reconnect();
      }
      if (event.affectsConfiguration(`pisessiond.${SETTING}`) && lender.isOn !== wasLending) {
        wasLending = lender.isOn;
        connection.renew();
      }
      if (event.affectsConfiguration('explorer.decorations.badges')) {
        desk.tree.refreshSoon();
      }
    }),
    vscode.window.onDidChangeWindowState(({ focused }) => {
      if (focused && connection.state === 'missing') {
        connection.reconnect();
      }
    }),
  ];
}
