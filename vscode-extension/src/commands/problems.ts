/** What is wrong in the file, in the view Problems. */

import * as vscode from 'vscode';
import type { Problem } from '../model/wire';
import { count } from '../texts/figures';
import { cleanLine } from '../texts/plain';
import type { CurrentSession } from '../views/current';
import { modelOf, say, type Command } from './tools';

/** Columns of a line that are underlined: all there are. */
const WHOLE = 1_000_000;

/** Problems of the session at hand; they go when another one is shown, or the file is read anew. */
export class Problems implements vscode.Disposable {
  private readonly shown = vscode.languages.createDiagnosticCollection('pi Sessions');

  constructor(current: CurrentSession) {
    current.on(({ what }) => {
      if (what === 'switched' || what === 'lost') {
        this.shown.clear();
      }
    });
  }

  dispose(): void {
    this.shown.dispose();
  }

  show(path: string, problems: readonly Problem[]): void {
    this.shown.set(vscode.Uri.file(path), problems.map(diagnosticOf));
  }
}

function diagnosticOf(problem: Problem): vscode.Diagnostic {
  const line = Math.max((problem.line ?? 1) - 1, 0);
  const diagnostic = new vscode.Diagnostic(
    new vscode.Range(line, 0, line, WHOLE),
    cleanLine(`${problem.message} ${problem.consequence}`),
    vscode.DiagnosticSeverity.Warning,
  );
  diagnostic.source = 'pi Sessions';
  diagnostic.code = problem.kind;
  return diagnostic;
}

/** Looks through the whole file and shows what is found, line by line. */
export const problems: Command = async (desk) => {
  const model = modelOf(desk);
  const path = model.info?.path;
  const { problems: found } = await model.request('session/check', {});
  if (path != null) {
    desk.problems.show(path, found);
  }
  if (found.length === 0) {
    say('No problems in the file.');
    return;
  }
  say(`${count(found.length, 'problem')} in the file.`);
  await vscode.commands.executeCommand('workbench.actions.view.problems');
};
