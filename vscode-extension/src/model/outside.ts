/** The row that another program wrote last, as long as that was a short while ago. */

import type { Row } from './wire';

/** Milliseconds in which another program that wrote counts as going on. */
const LIVE = 15 * 60_000;

export interface Outside {
  row: string;
  /** When it does not count any more; milliseconds since 1970. */
  until: number;
}

/** Nothing where no other program goes on, or its row has not been read. */
export function outsideRow(
  rows: Iterable<Row>,
  lastExternal: string | null | undefined,
  now: number,
): Outside | undefined {
  const until = Date.parse(lastExternal ?? '') + LIVE;
  if (!(until > now)) {
    return undefined;
  }
  let found: string | undefined;
  let newest = -Infinity;
  for (const row of rows) {
    const time = row.by === 'external' ? Date.parse(row.time ?? '') : NaN;
    // Of work and its last step, which end at one moment, the step comes later and is meant.
    if (time >= newest) {
      found = row.id;
      newest = time;
    }
  }
  return found === undefined ? undefined : { row: found, until };
}
