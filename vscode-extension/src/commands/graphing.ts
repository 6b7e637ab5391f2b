/** The graph: opening it, finding a row in it, and what is done with its lines. */

import * as vscode from 'vscode';
import type { FromPage, Kept } from '../graph/messages';
import type { GraphPanel } from '../graph/panel';
import { rowOf as rowOfLine } from '../graph/shape/texts';
import type { OpenResult } from '../model/wire';
import { Failure } from '../rpc/failure';
import { showPreview } from '../views/documents';
import { navigateTo } from './navigating';
import { checkStillAt, modelOf, refuse, rowOf, say, type Command, type Desk } from './tools';

/** The graph of the session at hand, with where one is in sight. */
export const graph: Command = (desk) => {
  desk.graphs.show(whichOf(desk), 'here');
};

/** The graph with a row's line in sight. */
export const showInGraph: Command = (desk, ...given) => {
  desk.graphs.show(whichOf(desk), rowOf(desk, given)?.entry ?? 'here');
};

function whichOf(desk: Desk): Pick<Kept, 'session' | 'path'> {
  const { session, path, unsaved } = modelOf(desk).info as OpenResult;
  return { session, path: unsaved ? null : path };
}

type Told = FromPage & { type: 'act' };

/** Does what was asked for in a graph; what goes wrong is said in one sentence. */
export async function actInGraph(desk: Desk, told: Told, graph: GraphPanel): Promise<void> {
  try {
    await act(desk, told, graph);
  } catch (error) {
    await refuse(desk, desk.current.model, error, () => actInGraph(desk, told, graph));
  }
}

async function act(desk: Desk, { act: what, line, isClick }: Told, graph: GraphPanel) {
  if (!graph.isShown) {
    if (isClick) {
      // To look at another session's graph does not change which one the views show.
      return;
    }
    const { session, path } = graph.which;
    const model = await desk.current.choose(path === null ? { session } : { path });
    // Another one may have been clicked meanwhile.
    checkStillAt(desk, model);
  }
  const row = rowOfLine(line);
  if (what === 'reveal') {
    await reveal(desk, line, isClick);
  } else if (row.entry === null) {
    say('This line stands for no entry.');
  } else if (what === 'show') {
    const { key } = modelOf(desk);
    const uri = desk.documents.entryUri(key ?? '', row.entry, row.title);
    // The graph stays in sight.
    await showPreview(uri, false, vscode.ViewColumn.Beside);
  } else if (!vscode.workspace.isTrusted) {
    throw new Failure(
      'ReadOnly',
      'This folder is not trusted, so that sessions can only be read; trust it first.',
    );
  } else {
    modelOf(desk).chosenPi = undefined;
    await navigateTo(desk, { ...row, entry: row.entry });
  }
}

/** A click does not open the view of the tree where it is closed. */
async function reveal(desk: Desk, line: Told['line'], isClick: boolean): Promise<void> {
  const entry = line.kind === 'here' ? 'here' : line.entry;
  if (entry === null || (isClick && !desk.tree.view.visible)) {
    return;
  }
  if (await desk.tree.revealRow(line.id)) {
    return;
  }
  if (await desk.tree.reveal(entry)) {
    // The entry of work is its last step; its own row has been read by now.
    await desk.tree.revealRow(line.id);
  } else {
    say('It has no row in the tree under this filter; Filter Rows chooses another.');
  }
}
