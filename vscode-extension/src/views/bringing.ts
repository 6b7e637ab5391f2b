/** Bringing a row of a tree into sight, also while VS Code reads its rows anew. */

import type * as vscode from 'vscode';

/** How often VS Code is told to show a row before it counts as failed. */
const TRIES = 4;
/** Milliseconds in which VS Code says that it has selected a row, and between two looks. */
const SELECTED = 400;
const LOOK = 50;

/**
 * Selects a row and opens the folds it stands in. VS Code 1.139 gives up, or forgets a fold on the
 * way, where it happens to ask for the same rows for itself; so it is told again.
 */
export async function bring<T>(view: vscode.TreeView<T>, node: T, focus = false): Promise<void> {
  const before = view.selection[0];
  for (let tries = 1; tries <= TRIES; tries++) {
    try {
      await view.reveal(node, { select: true, focus });
    } catch (error) {
      if (tries === TRIES) {
        throw error;
      }
    }
    // With another row selected the user has been quicker.
    if (before === node || (await isOther(view, before))) {
      return;
    }
  }
}

/** Whether something else is selected than before; VS Code tells of it a moment later. */
async function isOther<T>(view: vscode.TreeView<T>, before: T | undefined): Promise<boolean> {
  for (let waited = 0; waited < SELECTED && view.selection[0] === before; waited += LOOK) {
    await new Promise((resolve) => setTimeout(resolve, LOOK));
  }
  return view.selection[0] !== before;
}
