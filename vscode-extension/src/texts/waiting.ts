/** What stands in a view that has no rows; package.json has the sentence and the buttons of each. */

import type { State } from '../daemon/connection';
import type { FailureKind } from '../rpc/failure';

/** For how long nothing has come: not worth a word, worth one, worth a look into the log. */
export type Waited = 'calm' | 'long' | 'slow';

export interface Emptiness {
  state: State;
  /** Why there is no connection; undefined while the first one is being made. */
  linkProblem: FailureKind | undefined;
  /** Why the session cannot be shown. */
  problem: FailureKind | undefined;
  /** Whether there is a session to be read. */
  isWished: boolean;
  hasFolder: boolean;
  waited: Waited;
}

export type Welcome =
  | ''
  | 'missing'
  | 'offline'
  | 'versions'
  | 'starting'
  | 'startingSlowly'
  | 'reading'
  | 'noSession'
  | 'noFolder'
  | 'notASession'
  | 'unreadable'
  | 'refused';

const REFUSED: Partial<Record<FailureKind, Welcome>> = {
  NotASession: 'notASession',
  Unreadable: 'unreadable',
};

/** Which of them it is; empty where nothing is to be said yet. */
export function welcomeOf(empty: Emptiness): Welcome {
  switch (empty.state) {
    case 'idle':
      return '';
    case 'missing':
      return 'missing';
    case 'connecting':
    case 'offline':
      return withoutDaemon(empty);
    case 'ready':
      return withDaemon(empty);
  }
}

function withoutDaemon({ state, linkProblem, waited }: Emptiness): Welcome {
  if (linkProblem === 'VersionUnsupported') {
    return 'versions';
  }
  // While it is tried again and again, what is said stays.
  if (state === 'offline' || linkProblem !== undefined) {
    return 'offline';
  }
  return waited === 'calm' ? '' : waited === 'long' ? 'starting' : 'startingSlowly';
}

function withDaemon({ problem, isWished, hasFolder, waited }: Emptiness): Welcome {
  if (!isWished || problem === 'SessionNotFound') {
    return hasFolder ? 'noSession' : 'noFolder';
  }
  if (problem !== undefined) {
    return REFUSED[problem] ?? 'refused';
  }
  return waited === 'calm' ? '' : 'reading';
}
