// Real pi beside another writer, and a quick look at many files.

import { readFileSync } from "node:fs";
import { sessions } from "./programs.mjs";
import { withCopy } from "./opened.mjs";
import { attempt } from "./shapes.mjs";

const { SessionManager } = sessions;

/** Where pi stands in each file, and what it holds: `{leafId, entries: [[id, parentId]]}`. */
export function glance({ paths }) {
  return paths.map((path) =>
    attempt(() =>
      withCopy(path, (copy) => {
        const manager = SessionManager.open(copy);
        return {
          leafId: manager.getLeafId(),
          entries: manager.getEntries().map(({ id, parentId }) => [id, parentId ?? null]),
          branch: manager.getBranch().map(({ id }) => id),
        };
      }),
    ),
  );
}

/**
 * Opens a file and appends `count` messages in bursts of at most `burst`, with pauses between them.
 * Gives the ids, and the lines as pi spells them.
 */
export async function appendMany({ path, count, burst, pauseMs, seed, text = "" }) {
  const manager = SessionManager.open(path);
  const random = mulberry32(seed);
  const ids = [];
  while (ids.length < count) {
    const size = Math.min(count - ids.length, 1 + Math.floor(random() * burst));
    for (let i = 0; i < size; i += 1) {
      const content = `pi ${ids.length} ${text}`;
      ids.push(manager.appendMessage({ role: "user", content, timestamp: Date.now() }));
    }
    await new Promise((done) => setTimeout(done, random() * pauseMs));
  }
  const lines = ids.map((id) => JSON.stringify(manager.getEntry(id)));
  return { ids, lines, bytes: readFileSync(path).length };
}

/** Numbers in [0, 1) that are the same for the same seed. */
function mulberry32(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}
