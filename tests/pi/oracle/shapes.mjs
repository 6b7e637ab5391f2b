// How answers are written down: the shapes of tests/golden/corpus/oracle.

import { createHash } from "node:crypto";

export const sha256 = (data) => createHash("sha256").update(data).digest("hex");

/** JSON with keys sorted by UTF-16 code unit, without spaces, absent members left out. */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item ?? null)).join(",")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const members = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key])}`);
  return `{${members.join(",")}}`;
}

export function describeError(error) {
  if (!(error instanceof Error)) return String(error);
  return `${error.name}: ${error.message}`;
}

/** The value of `ask`, or `{error}` where the program throws. */
export function attempt(ask) {
  try {
    return ask();
  } catch (error) {
    return { error: describeError(error) };
  }
}

export function roleRuns(messages) {
  const runs = [];
  for (const { role } of messages) {
    if (runs.length > 0 && runs.at(-1)[0] === role) runs.at(-1)[1] += 1;
    else runs.push([role, 1]);
  }
  return runs;
}

export function describeMessages(messages, { each = true } = {}) {
  const described = {
    count: messages.length,
    roles: roleRuns(messages),
    sha256: sha256(canonical(messages)),
  };
  if (each) {
    described.messageSha12 = messages.map((message) => sha256(canonical(message)).slice(0, 12));
  }
  return described;
}

/** What a preparation says, without its texts. */
export function describePreparation(preparation) {
  if (!preparation) return null;
  const { previousSummary, fileOps } = preparation;
  return {
    firstKeptEntryId: preparation.firstKeptEntryId,
    isSplitTurn: preparation.isSplitTurn,
    tokensBefore: preparation.tokensBefore,
    messagesToSummarize: preparation.messagesToSummarize.length,
    turnPrefixMessages: preparation.turnPrefixMessages.length,
    previousSummary: previousSummary === undefined ? null : sha256(previousSummary).slice(0, 16),
    readFiles: fileOps.read.size,
    written: fileOps.written.size,
    edited: fileOps.edited.size,
    summarizeRoleRuns: roleRuns(preparation.messagesToSummarize).length,
  };
}

/**
 * A tree as chains: `[id, id, ..., [chain, chain]?]`. Without recursion, for a session may be
 * thousands deep.
 */
export function chainsOf(roots, nameOf) {
  const chains = [];
  const open = [...roots].reverse().map((node) => ({ node, into: chains }));
  while (open.length > 0) {
    let { node, into } = open.pop();
    const chain = [];
    into.push(chain);
    for (;;) {
      chain.push(nameOf(node.entry.id));
      if (node.children.length !== 1) break;
      node = node.children[0];
    }
    if (node.children.length > 1) {
      const below = [];
      chain.push(below);
      // Pushed in reverse, taken from the end: children come out in their order.
      for (const child of [...node.children].reverse()) open.push({ node: child, into: below });
    }
  }
  return chains;
}
