/** The rows at which running pi stand. */

import type { EntryId, LivePi, Row } from './wire';

/**
 * By the id of the row. One that goes where the session goes stands where you are; one whose row has
 * not been read stands nowhere.
 */
export function standingOf(
  pis: readonly LivePi[],
  leaf: EntryId | null,
  rowOf: (entry: EntryId) => Row | undefined,
): Map<string, LivePi[]> {
  const found = new Map<string, LivePi[]>();
  for (const pi of pis) {
    const isHere = pi.owner || pi.leaf === leaf;
    const row = isHere ? 'here' : pi.leaf === null ? undefined : rowOf(pi.leaf)?.id;
    if (row !== undefined) {
      found.set(row, [...(found.get(row) ?? []), pi]);
    }
  }
  return found;
}
