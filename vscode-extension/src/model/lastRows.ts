/** The end of a long level: there one has been last. */

import type { EntryId, RowsResult } from '../rpc/protocol';
import type { RowsWish } from './rows';

/**
 * The last rows of a level, or all of them. The daemon names no last row, so that one is looked for
 * by the entry the level ends with.
 */
export async function readLast(
  ask: (wish: RowsWish) => Promise<RowsResult>,
  level: string,
  end: EntryId | null,
  count: number,
): Promise<RowsResult> {
  const first = await ask({ level, count });
  if (first.after == null || end === null) {
    return first;
  }
  const found = await ask({ around: end, count });
  if (found.level === level) {
    return found;
  }
  // The entry is further inside: what is in front of the row that holds it, and what is behind.
  const path = found.path ?? [];
  const holder = path.includes(level) ? path[path.indexOf(level) + 1] : undefined;
  const front = holder === undefined ? first : await ask({ level, before: holder, count });
  const from = front.rows.at(-1)?.id;
  if (front === first || from === undefined) {
    return first;
  }
  const back = await ask({ level, after: from, count });
  return { ...front, rows: [...front.rows, ...back.rows], after: back.after ?? null };
}
