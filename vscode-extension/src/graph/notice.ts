/** What stands above a graph when something is amiss. */

import type { Connection } from '../daemon/connection';
import type { SessionModel } from '../model/session';
import { readClock } from '../texts/figures';
import { cleanLine } from '../texts/plain';

/** One sentence; null when all is well. */
export function noticeOf(
  link: Pick<Connection, 'state' | 'problem' | 'since'>,
  model: Pick<SessionModel, 'problem'> | undefined,
): string | null {
  if (link.state === 'missing') {
    return cleanLine(link.problem ?? 'pisessiond is not installed.');
  }
  if (link.state === 'offline' || (link.state === 'connecting' && link.since !== undefined)) {
    const since = link.since === undefined ? undefined : new Date(link.since).toISOString();
    return `Offline since ${readClock(since)?.clock ?? 'just now'}; lines are as they were last.`;
  }
  return model?.problem ? cleanLine(model.problem.message) : null;
}
