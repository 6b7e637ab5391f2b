/** What others did and how long work ended, in one sentence each. */

import type { Change, Grade, Progress } from '../model/wire';
import { wholePercent } from './figures';
import { cleanLine } from './plain';
import { doing, nameOf } from './status';

/** What somebody else did; undefined where the rows say enough. */
export function changeSentence(change: Change, clock: string): string | undefined {
  if (change.origin === 'repair') {
    // The daemon keeps the place in the file; nobody did anything.
    return undefined;
  }
  const who = nameOf(change.origin);
  switch (change.kind) {
    case 'navigate':
      return `${who} moved the leaf ${clock}; Alt+End reveals it.`;
    case 'compact':
      return `${who} compacted the session ${clock}.`;
    case 'append':
      return `${who} went on ${clock}.`;
    default:
      return undefined;
  }
}

/** How an operation ended badly; undefined while it runs, and when it is done. */
export function progressSentence(progress: Progress): string | undefined {
  if (progress.state !== 'failed' && progress.state !== 'cancelled') {
    return undefined;
  }
  if (progress.message != null) {
    return cleanLine(progress.message);
  }
  const what = doing(progress.operation);
  const how = progress.state === 'failed' ? 'has failed' : 'was cancelled';
  return `${what.charAt(0).toUpperCase()}${what.slice(1)} ${how}.`;
}

const RESETS: Record<string, string> = {
  overflow: 'too much happened at a time',
  rewritten: 'file rewritten',
  evicted: 'it was not in memory any more',
};

/** Why everything was read anew; undefined where there was nothing left to read. */
export function resetSentence(reason: string): string | undefined {
  return reason === 'gone' ? undefined : `Read anew: ${RESETS[reason] ?? 'it has changed'}.`;
}

const ORDER: Grade[] = ['ok', 'warn', 'high'];

/** Said once, when a threshold has been crossed upwards. */
export function thresholdSentence(
  before: Grade,
  now: Grade,
  percent: number | null,
): string | undefined {
  if (percent === null || ORDER.indexOf(now) <= ORDER.indexOf(before)) {
    return undefined;
  }
  const used = `The context is ${wholePercent(percent)}% full`;
  return now === 'high' ? `${used}; Compact… makes room.` : `${used}.`;
}
