// The two programs that the tests ask, taken from where npm put them.
// Both packages export less than we ask for, so their files are imported by path.

const scope = new URL("../node_modules/@earendil-works/", import.meta.url);
const from = (file) => import(new URL(file, scope).href);

export const sessions = await from("pi-coding-agent/dist/core/session-manager.js");
export const compaction = await from("pi-coding-agent/dist/core/compaction/compaction.js");
export const branches = await from("pi-coding-agent/dist/core/compaction/branch-summarization.js");
export const text = await from("pi-coding-agent/dist/core/compaction/utils.js");
export const messages = await from("pi-coding-agent/dist/core/messages.js");

/** agent-core 0.80.2, which alone writes `leaf` entries; imported when first asked for. */
export async function core() {
  const [storage, session, preparation, environment] = await Promise.all([
    from("pi-agent-core/dist/harness/session/jsonl-storage.js"),
    from("pi-agent-core/dist/harness/session/session.js"),
    from("pi-agent-core/dist/harness/compaction/compaction.js"),
    from("pi-agent-core/dist/harness/env/nodejs.js"),
  ]);
  return { ...storage, ...session, ...preparation, ...environment };
}
