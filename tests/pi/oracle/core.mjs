// A session file opened by agent-core 0.80.2: the members of `core0802` in an oracle file.

import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { core } from "./programs.mjs";
import { attempt, describeError, describeMessages, describePreparation, sha256 } from "./shapes.mjs";
import { withCopy } from "./opened.mjs";

/** agent-core's errors carry a code; the path in them is the copy's. */
function describeSessionError(error, copy) {
  if (error?.code === undefined) return describeError(error);
  return { name: error.name, code: error.code, message: error.message.replaceAll(copy, "<copy>") };
}

function walkIsEndless(entries, leafId) {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const seen = new Set();
  let current = leafId ? byId.get(leafId) : undefined;
  while (current) {
    if (seen.has(current)) return true;
    seen.add(current);
    current = current.parentId ? byId.get(current.parentId) : undefined;
  }
  return false;
}

export function describeCore({ path }) {
  return withCopy(path, async (copy) => {
    const program = await core();
    const before = sha256(readFileSync(copy));
    const failure = (error) => ({ error: describeSessionError(error, copy) });
    let session;
    try {
      const files = new program.NodeExecutionEnv({ cwd: dirname(copy) });
      session = new program.Session(await program.JsonlSessionStorage.open(files, copy));
    } catch (error) {
      return failure(error);
    }
    const { path: _, ...metadata } = await session.getMetadata();
    const entries = await session.getEntries();
    const described = { metadata, entriesLength: entries.length };
    let branch;
    try {
      described.leafId = await session.getLeafId();
      described.cycleOnLeafPath = walkIsEndless(entries, described.leafId);
      if (described.cycleOnLeafPath) return described;
      branch = await session.getBranch();
    } catch (error) {
      described.branch = failure(error);
      return described;
    }
    described.branchLength = branch.length;
    try {
      const context = await session.buildContext();
      described.context = describeMessages(context.messages, { each: false });
      described.thinkingLevel = context.thinkingLevel;
      described.model = context.model;
      described.activeToolNames = context.activeToolNames;
      described.estimateContextTokens = attempt(() =>
        program.estimateContextTokens(context.messages),
      );
    } catch (error) {
      described.context = { error: describeError(error) };
    }
    described.labels = {};
    for (const { id } of entries) {
      const label = await session.getLabel(id);
      if (label !== undefined) described.labels[id] = label;
    }
    try {
      described.name = (await session.getSessionName()) ?? null;
    } catch (error) {
      described.name = { error: describeError(error) };
    }
    const prepare = (settings) =>
      attempt(() => {
        const prepared = program.prepareCompaction(branch, {
          ...program.DEFAULT_COMPACTION_SETTINGS,
          ...settings,
        });
        return prepared.ok ? describePreparation(prepared.value) : failure(prepared.error);
      });
    described.prepareCompaction = {
      default: prepare({}),
      keep2000: prepare({ keepRecentTokens: 2000 }),
      keep200: prepare({ keepRecentTokens: 200 }),
    };
    described.unchangedByOpen = sha256(readFileSync(copy)) === before;
    return described;
  });
}
