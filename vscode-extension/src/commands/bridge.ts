/** The bridge that lets a running pi be seen and moved: offering it once, and adding it to pi. */

import * as vscode from 'vscode';
import type { Change } from '../model/wire';
import { Failure } from '../rpc/failure';
import { cleanLine } from '../texts/plain';
import { say, type Command, type Desk } from './tools';

/** In the memory of all windows: that it was offered. */
const OFFERED = 'pisessiond.bridgeOffered';

interface Installing {
  changed?: boolean;
  installed?: unknown[];
  error?: { message?: string };
}

/** Adds the bridge to pi's packages; nothing else of pi's settings changes. */
export const installBridge: Command = async (desk) => {
  const answer = await ask(desk, 'install');
  desk.header.setHint(undefined);
  const now = answer.changed ? 'now' : 'already';
  await vscode.window.showInformationMessage(
    `pi loads the bridge ${now}; in a pi that runs, enter /reload.`,
  );
};

/** @throws {Failure} that it could not be asked, or refused */
async function ask(desk: Desk, what: 'install' | 'status'): Promise<Installing> {
  const said = await desk.connection.run(['pi', what, '--json']);
  let answer: Installing;
  try {
    answer = JSON.parse(said.stdout) as Installing;
  } catch {
    const why = cleanLine(said.stderr.trim().split('\n')[0] ?? '');
    throw new Failure('InternalError', why || 'pisessiond said nothing that could be read.');
  }
  if (answer.error) {
    throw new Failure('InternalError', cleanLine(answer.error.message ?? 'It was refused.'));
  }
  return answer;
}

/** Says once what lets a pi follow, when one writes that nobody sees running. */
export function offerBridge(desk: Desk, memory: vscode.Memento): vscode.Disposable {
  const unlisten = desk.current.on((happening) => {
    if (happening.what === 'switched' || (happening.what === 'pis' && hasPi(desk))) {
      desk.header.setHint(undefined);
    } else if (
      happening.what === 'acts' &&
      happening.changes.some(isForeign) &&
      !hasPi(desk) &&
      memory.get(OFFERED) === undefined
    ) {
      void memory.update(OFFERED, true);
      offer(desk).catch((error: unknown) => desk.log.info(String(error)));
    }
  });
  return { dispose: unlisten };
}

function isForeign(change: Change): boolean {
  return change.kind === 'append' && change.origin === 'external';
}

function hasPi(desk: Desk): boolean {
  return (desk.current.model?.pis.length ?? 0) > 0;
}

async function offer(desk: Desk): Promise<void> {
  const isInstalled = ((await ask(desk, 'status')).installed ?? []).length > 0;
  if (hasPi(desk)) {
    return;
  }
  if (isInstalled) {
    say('/reload in pi lets it follow what is done here.');
  } else {
    desk.header.setHint(
      'Install the Bridge into pi, by the button of this view, lets pi follow what is done here.',
    );
  }
}
