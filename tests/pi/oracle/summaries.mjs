// What pi would have summarised at many places of one session, and what it then writes.

import { readFileSync, writeFileSync } from "node:fs";
import { branches, compaction, messages as messageTools, text } from "./programs.mjs";
import { describeError } from "./shapes.mjs";
import { Opened, withCopy } from "./opened.mjs";

const WORDED = new Set(["bashExecution", "branchSummary", "compactionSummary"]);
const ENDLESS = "pi would not return: the path is a circle";

/**
 * The conversation as pi gives it to a summarizer, but that what pi puts into words of its own
 * stands as the number of its message between two U+0001. Whether such a message is told at all,
 * where and as whose word, is pi's say.
 */
function conversationOf(messages) {
  const marked = messages.flatMap((message, number) => {
    if (!WORDED.has(message.role)) return [message];
    const told = messageTools.convertToLlm([message]);
    return told.map(({ role }) => ({ role, content: `\u0001${number}\u0001` }));
  });
  return text.serializeConversation(messageTools.convertToLlm(marked));
}

function describeFiles(fileOps) {
  const { readFiles, modifiedFiles } = text.computeFileLists(fileOps);
  return {
    read: [...fileOps.read].sort(),
    written: [...fileOps.written].sort(),
    edited: [...fileOps.edited].sort(),
    details: { readFiles, modifiedFiles },
    lists: text.formatFileOperations(readFiles, modifiedFiles),
  };
}

function stand(opened, name) {
  if (name === null) opened.manager.resetLeaf();
  else opened.manager.branch(opened.idOf(name));
  if (opened.walkIsEndless(opened.manager.getLeafId())) throw new Error(ENDLESS);
}

function told(ask) {
  try {
    return ask();
  } catch (error) {
    return { error: describeError(error) };
  }
}

/** What a compaction at each of `places`, `{id, keep}`, would summarise; null for nothing. */
export function prepareAll({ path, places }) {
  return withCopy(path, (copy) => {
    const opened = new Opened(copy);
    return places.map(({ id, keep }) =>
      told(() => {
        stand(opened, id);
        const prepared = opened.prepare(keep);
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
          files: describeFiles(prepared.fileOps),
        };
      }),
    );
  });
}

/** What each of `moves`, `{from, target, budget}`, would tell of the branch it leaves. */
export function collectAll({ path, moves }) {
  return withCopy(path, (copy) => {
    const opened = new Opened(copy);
    return moves.map(({ from, target, budget }) =>
      told(() => {
        for (const end of [from, target]) if (end !== null) stand(opened, end);
        const start = from === null ? null : opened.idOf(from);
        const end = opened.idOf(target);
        const { entries, commonAncestorId } = branches.collectEntriesForBranchSummary(
          opened.manager,
          start,
          end,
        );
        const prepared = branches.prepareBranchEntries(entries, budget);
        return {
          entryIds: entries.map((entry) => opened.nameOf(entry.id)),
          commonAncestorId: opened.nameOf(commonAncestorId),
          totalTokens: prepared.totalTokens,
          messages: prepared.messages,
          conversation: conversationOf(prepared.messages),
          files: describeFiles(prepared.fileOps),
        };
      }),
    );
  });
}

/** A model that answers each call with the next text, and keeps what it was asked. */
function scripted(answers) {
  const asked = [];
  const streamFn = (_model, context) => {
    asked.push(context.messages.map(({ content }) => content[0].text).join("\n"));
    const { text: answer, usage } = answers[asked.length - 1];
    const content = [{ type: "text", text: answer }];
    return { result: async () => ({ role: "assistant", content, usage, stopReason: "stop" }) };
  };
  return { asked, streamFn };
}

const MODEL = { id: "demo-1", provider: "demo", reasoning: false };

/** The last line of the file; pi has written it by now, for every session here has an answer. */
function lastLine(copy) {
  const text = readFileSync(copy, "utf8").replace(/\n$/, "");
  return text.slice(text.lastIndexOf("\n") + 1);
}

/**
 * pi's whole compaction at `id`, with a model that answers `answers`, as its agent session does
 * it; with `inPlace` the file itself is written to. `{summary, line, text, asked}`, or null.
 */
export function compactAt({ path, id, keep, answers, inPlace }) {
  return withCopy(path, async (copy) => {
    const opened = new Opened(copy);
    stand(opened, id);
    const prepared = opened.prepare(keep);
    if (!prepared) return null;
    const { asked, streamFn } = scripted(answers);
    const compacted = await compaction.compact(
      prepared, MODEL, undefined, undefined, undefined, undefined, undefined, streamFn,
    );
    const { summary, firstKeptEntryId, tokensBefore, details, usage } = compacted;
    opened.manager.appendCompaction(summary, firstKeptEntryId, tokensBefore, details, false, usage);
    if (inPlace) writeFileSync(path, readFileSync(copy));
    return { summary, line: lastLine(copy), asked };
  });
}

/** pi's whole move from `from` to `target` with a summary; `{summary, line, asked}`, or null. */
export function moveWithSummary({ path, from, target, newLeaf, window, reserve, answers }) {
  return withCopy(path, async (copy) => {
    const opened = new Opened(copy);
    stand(opened, from);
    const { entries } = branches.collectEntriesForBranchSummary(opened.manager, from, target);
    if (entries.length === 0) return null;
    const { asked, streamFn } = scripted(answers);
    let written;
    try {
      const model = { ...MODEL, contextWindow: window };
      const how = { model, reserveTokens: reserve, streamFn };
      written = await branches.generateBranchSummary(entries, how);
    } catch (error) {
      return { error: describeError(error) };
    }
    const { summary, usage, readFiles = [], modifiedFiles = [] } = written;
    const details = { readFiles, modifiedFiles };
    opened.manager.branchWithSummary(newLeaf, summary, details, false, usage);
    return { summary, line: lastLine(copy), asked };
  });
}
