// Sessions written by real pi from a list of operations.

import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sessions } from "./programs.mjs";
import { describeError } from "./shapes.mjs";

const { SessionManager } = sessions;

const STATIC = {
  /** args: [options?] with `id` and `parentSession`. */
  create: ({ dir, cwd }, [options]) => SessionManager.create(cwd, dir, options),
  /** args: [path] */
  open: ({ dir }, [path]) => SessionManager.open(path, dir),
  /** args: [path, cwd?, options?] */
  forkFrom: ({ dir, cwd }, [path, target, options]) =>
    SessionManager.forkFrom(path, target ?? cwd, dir, options),
};

const kept = new Map();

const METHODS = new Set([
  "appendMessage",
  "appendThinkingLevelChange",
  "appendModelChange",
  "appendUsage",
  "appendCompaction",
  "appendCustomEntry",
  "appendSessionInfo",
  "appendCustomMessageEntry",
  "appendContextEdit",
  "appendLabelChange",
  "branch",
  "resetLeaf",
  "branchWithSummary",
  "createBranchedSession",
]);

/**
 * Runs `ops` in turn. What an operation gave (an id, or a path) is referred to by its number,
 * as an argument `{"ref": 3}`; `{"undefined": true}` is an argument not given. An operation that
 * throws is noted and the rest goes on, as a caller of pi that catches would. A manager that is
 * kept under a name goes on in the next list that names it, as a pi in a terminal would.
 */
export function build({ dir, cwd, ops, keep }) {
  mkdirSync(dir, { recursive: true });
  let manager = kept.get(keep);
  const results = [];
  const argument = (value) => {
    if (value === null || typeof value !== "object") return value;
    const keys = Object.keys(value);
    if (keys.length === 1 && Number.isInteger(value.ref)) return results[value.ref];
    if (keys.length === 1 && value.undefined === true) return undefined;
    return value;
  };
  for (const { op, args = [] } of ops) {
    const given = args.map(argument);
    try {
      if (op in STATIC) {
        manager = STATIC[op]({ dir, cwd }, given);
        results.push(manager.getSessionFile());
      } else if (METHODS.has(op)) {
        const answer = manager[op](...given);
        results.push((typeof answer === "object" ? answer?.id : answer) ?? null);
      } else {
        throw new Error(`no such operation: ${op}`);
      }
    } catch (error) {
      results.push({ error: describeError(error) });
    }
  }
  if (keep !== undefined) kept.set(keep, manager);
  const path = manager?.getSessionFile();
  const files = {};
  for (const name of readdirSync(dir).sort()) {
    if (name.endsWith(".jsonl")) files[join(dir, name)] = readFileSync(join(dir, name), "utf8");
  }
  return {
    path: path ?? null,
    text: path && existsSync(path) ? readFileSync(path, "utf8") : null,
    leafId: manager?.getLeafId() ?? null,
    results,
    files,
  };
}
