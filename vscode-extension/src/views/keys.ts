/** Context keys, by which package.json knows when commands and menus are of use. */

import * as vscode from 'vscode';
import type { SessionModel } from '../model/session';
import { isAtWork, keyOf } from '../texts/pis';

export class ContextKeys {
  private readonly known = new Map<string, unknown>();

  /** Tells those that have changed. */
  set(keys: Record<string, unknown>): void {
    for (const [name, value] of Object.entries(keys)) {
      if (this.known.get(name) !== value) {
        this.known.set(name, value);
        void vscode.commands.executeCommand('setContext', `pisessiond.${name}`, value);
      }
    }
  }
}

/** What the session at hand allows. */
export function sessionKeys(model: SessionModel | undefined): Record<string, unknown> {
  const info = model?.info;
  const pis = model?.pis ?? [];
  return {
    hasSession: model?.handle !== undefined,
    noSession: !model || model.problem?.kind === 'SessionNotFound',
    busy: model !== undefined && model.operation !== null,
    readOnly: !vscode.workspace.isTrusted || (info !== undefined && info.readOnly !== null),
    leafConflict: info?.leafConflict != null,
    hasProblems: info !== undefined && info.problems.length > 0,
    filter: model?.filter ?? 'default',
    pi: keyOf(pis),
    piDrives: pis.some((pi) => pi.drives),
    piWorks: pis.some((pi) => pi.drives && isAtWork(pi)),
    piUnseen: pis.some((pi) => pi.drives && pi.unseen > 0),
  };
}
