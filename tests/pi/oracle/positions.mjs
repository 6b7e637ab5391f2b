// Questions about one place in a session, or about every place.

import { branches, compaction, messages as messageTools, sessions, text } from "./programs.mjs";
import { describeError } from "./shapes.mjs";
import { Opened, withCopy } from "./opened.mjs";

const ENDLESS = "pi would not return: the path is a circle";

function moveTo(opened, name) {
  if (name === undefined) return;
  if (name === null) opened.manager.resetLeaf();
  else opened.manager.branch(opened.idOf(name));
}

function openAt({ path, cwd, id }, use) {
  return withCopy(path, (copy) => {
    let opened;
    try {
      opened = new Opened(copy, cwd);
      moveTo(opened, id);
      if (opened.walkIsEndless(opened.manager.getLeafId())) throw new Error(ENDLESS);
    } catch (error) {
      return { error: describeError(error).replaceAll(copy, "<copy>") };
    }
    return use(opened);
  });
}

/** `branch(id)`, or `resetLeaf()` for null, and the context there. */
export function at(request) {
  return openAt(request, (opened) => {
    const described = opened.contextMembers();
    if (request.messages) described.messages = opened.manager.buildSessionContext().messages;
    return described;
  });
}

/**
 * The size at every entry, or at `ids`. Takes time by the square of the file's length, as pi
 * itself walks to the root for each, but memory by its length alone.
 */
export function sizes({ path, cwd, ids }) {
  return withCopy(path, (copy) => {
    const opened = new Opened(copy, cwd);
    const { entries, byId } = opened;
    const wanted = ids ? ids.map(opened.idOf) : [...byId.keys()];
    return wanted.map((id) => ({ id: opened.nameOf(id), ...sizeAt(opened, entries, byId, id) }));
  });
}

function sizeAt(opened, entries, byId, id) {
  if (!byId.has(id)) return { error: `Error: Entry ${id} not found` };
  if (opened.walkIsEndless(id)) return { error: ENDLESS };
  try {
    const projection = sessions.buildSessionProjection(entries, id, byId);
    const branch = [];
    for (let entry = byId.get(id); entry; ) {
      branch.push(entry);
      entry = entry.parentId ? byId.get(entry.parentId) : undefined;
    }
    branch.reverse();
    const size = compaction.estimateProjectedContextTokens(projection, branch);
    return {
      tokens: size.tokens,
      usageTokens: size.usageTokens,
      measured: size.lastUsageIndex !== null,
      estimated: estimateAll(projection, branch),
    };
  } catch (error) {
    return { error: describeError(error) };
  }
}

/** The size without trust in any usage: pi's own answer when no message has one. */
function estimateAll(projection, branch) {
  const messages = projection.messages.map((message) =>
    message.role === "assistant" ? { ...message, usage: undefined } : message,
  );
  try {
    return compaction.estimateProjectedContextTokens({ ...projection, messages }, branch).tokens;
  } catch {
    return null; // a message further back than the usage makes pi throw
  }
}

const conversationOf = (messages) => text.serializeConversation(messageTools.convertToLlm(messages));

function describeFiles(fileOps) {
  return {
    read: [...fileOps.read].sort(),
    written: [...fileOps.written].sort(),
    edited: [...fileOps.edited].sort(),
    ...text.computeFileLists(fileOps),
  };
}

/** What pi would summarise if it compacted here. */
export function prepare(request) {
  return openAt(request, (opened) => {
    try {
      const prepared = opened.prepare(request.keepRecentTokens, request.reserveTokens);
      if (!prepared) return null;
      return {
        firstKeptEntryId: opened.nameOf(prepared.firstKeptEntryId),
        isSplitTurn: prepared.isSplitTurn,
        tokensBefore: prepared.tokensBefore,
        previousSummary: prepared.previousSummary ?? null,
        messagesToSummarize: prepared.messagesToSummarize,
        turnPrefixMessages: prepared.turnPrefixMessages,
        conversation: conversationOf(prepared.messagesToSummarize),
        turnPrefixConversation: conversationOf(prepared.turnPrefixMessages),
        fileOps: describeFiles(prepared.fileOps),
      };
    } catch (error) {
      return { error: describeError(error) };
    }
  });
}

/** What pi would tell of the branch it leaves when going from one entry to another. */
export function collect({ path, cwd, from, target, budget = 0 }) {
  return openAt({ path, cwd }, (opened) => {
    try {
      const start = from === null ? null : opened.idOf(from);
      const collected = branches.collectEntriesForBranchSummary(
        opened.manager,
        start,
        opened.idOf(target),
      );
      const prepared = branches.prepareBranchEntries(collected.entries, budget);
      return {
        entryIds: collected.entries.map((entry) => opened.nameOf(entry.id)),
        commonAncestorId: opened.nameOf(collected.commonAncestorId),
        totalTokens: prepared.totalTokens,
        messages: prepared.messages,
        conversation: conversationOf(prepared.messages),
        fileOps: describeFiles(prepared.fileOps),
      };
    } catch (error) {
      return { error: describeError(error) };
    }
  });
}
