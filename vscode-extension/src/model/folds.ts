/** What the user opened and closed in the sessions last shown, to be kept over restarts. */

/** Sessions, and rows of each. */
const SESSIONS = 30;
const ROWS = 300;

/** As it is stored: the newest session last. */
export type StoredFolds = [string, [string, boolean][]][];

export class FoldMemory {
  private readonly sessions: Map<string, Map<string, boolean>>;

  constructor(stored: unknown) {
    this.sessions = new Map();
    if (Array.isArray(stored)) {
      for (const [session, rows] of stored as StoredFolds) {
        this.sessions.set(session, new Map(rows));
      }
    }
  }

  of(session: string): Iterable<[string, boolean]> {
    return this.sessions.get(session) ?? [];
  }

  set(session: string, row: string, isOpen: boolean): void {
    const rows = this.sessions.get(session) ?? new Map<string, boolean>();
    this.sessions.delete(session);
    this.sessions.set(session, rows);
    rows.delete(row);
    rows.set(row, isOpen);
    shorten(rows, ROWS);
    shorten(this.sessions, SESSIONS);
  }

  toStored(): StoredFolds {
    return [...this.sessions].map(([session, rows]) => [session, [...rows]]);
  }
}

/** What was set longest ago goes. */
function shorten(map: Map<string, unknown>, length: number): void {
  for (const key of map.keys()) {
    if (map.size <= length) {
      return;
    }
    map.delete(key);
  }
}
