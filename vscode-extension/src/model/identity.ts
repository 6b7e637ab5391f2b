/** Which session something is about, also after a daemon was begun anew. */

/** A session as the daemon named it: its handle then, and its file; null where it has none. */
export interface Named {
  session: string;
  path: string | null;
}

/**
 * Whether both are one session. A handle is a daemon's own: where two files carry one session id,
 * the next daemon may name them the other way round, so that the file counts where there is one.
 */
export function isSameSession(one: Named, other: Named): boolean {
  return one.path === null ? one.session === other.session : one.path === other.path;
}

/** What a session is called here for as long as it is shown: other daemons change its handle. */
export function keyOf({ path, session }: Named): string {
  return path ?? session;
}
