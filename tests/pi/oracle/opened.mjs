// A session file opened by pi 1.6.0, on a copy, since pi mends what it opens.

import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { compaction, sessions } from "./programs.mjs";
import {
  attempt,
  chainsOf,
  describeError,
  describeMessages,
  describePreparation,
  sha256,
} from "./shapes.mjs";

export function withCopy(path, use) {
  const folder = mkdtempSync(join(tmpdir(), "pi-oracle-"));
  const copy = join(folder, basename(path));
  const done = () => rmSync(folder, { recursive: true, force: true });
  copyFileSync(path, copy);
  let result;
  try {
    result = use(copy);
  } catch (error) {
    done();
    throw error;
  }
  if (result instanceof Promise) return result.finally(done);
  done();
  return result;
}

/** Whether pi gives a file's entries new ids at each opening: so it does with version 1. */
function isFirstVersion(bytes) {
  for (const line of bytes.toString("utf8").split("\n")) {
    let value;
    try {
      value = JSON.parse(line);
    } catch {
      continue;
    }
    if (value) return value.type === "session" && (value.version ?? 1) < 2;
  }
  return false;
}

/** An open session, and names for its entries that are equal at each opening. */
export class Opened {
  constructor(copy, cwd) {
    const before = readFileSync(copy);
    this.copy = copy;
    this.isFirstVersion = isFirstVersion(before);
    this.before = { length: before.length, sha256: sha256(before) };
    this.manager = sessions.SessionManager.open(copy, undefined, cwd);
    this.entries = this.manager.getEntries();
    this.byId = new Map(this.entries.map((entry) => [entry.id, entry]));
    this.endless = new Map();
    this.nameOf = (id) => (id === undefined ? "<undefined>" : id);
    this.idOf = (name) => (name === "<undefined>" ? undefined : name);
    if (this.isFirstVersion) {
      const names = new Map(this.entries.map((entry, index) => [entry.id, `#${index}`]));
      const ids = new Map(this.entries.map((entry, index) => [`#${index}`, entry.id]));
      this.nameOf = (id) => names.get(id) ?? (id === undefined ? "<undefined>" : id);
      this.idOf = (name) => ids.get(name) ?? name;
    }
  }

  /** Whether pi's own walk from this entry would never end. */
  walkIsEndless(id) {
    const start = id ? this.byId.get(id) : undefined;
    // What is known of an entry holds for all below it, so that asking for each costs one pass.
    const path = [];
    let current = start;
    let endless = false;
    while (current) {
      const known = this.endless.get(current);
      if (known !== undefined) {
        endless = known;
        break;
      }
      this.endless.set(current, true); // met again before the walk ends, it is a circle
      path.push(current);
      current = current.parentId ? this.byId.get(current.parentId) : undefined;
    }
    for (const entry of path) this.endless.set(entry, endless);
    return endless;
  }

  /**
   * Whether pi's tree would never end. Its nodes are keyed by id and its edges come from the
   * lines, so a repeated id can give a node two parents and close a circle below a root.
   */
  treeIsEndless() {
    const below = new Map(this.entries.map((entry) => [entry.id, []]));
    const roots = [];
    for (const { id, parentId } of this.entries) {
      if (parentId === null || parentId === id || !below.has(parentId)) roots.push(id);
      else below.get(parentId).push(id);
    }
    const state = new Map();
    for (const root of roots) {
      const stack = [[root, 0]];
      while (stack.length > 0) {
        const top = stack.at(-1);
        const [id, next] = top;
        if (next === 0) {
          if (state.get(id) === "done") {
            stack.pop();
            continue;
          }
          state.set(id, "open");
        }
        const children = below.get(id);
        if (next === children.length) {
          state.set(id, "done");
          stack.pop();
          continue;
        }
        top[1] += 1;
        if (state.get(children[next]) === "open") return true;
        if (state.get(children[next]) !== "done") stack.push([children[next], 0]);
      }
    }
    return false;
  }

  fileAfterOpen() {
    const after = readFileSync(this.copy);
    const changed = sha256(after) !== this.before.sha256;
    return {
      bytes: after.length,
      changed,
      appendedNewlineOnly:
        changed &&
        after.length === this.before.length + 1 &&
        after.at(-1) === 0x0a &&
        sha256(after.subarray(0, -1)) === this.before.sha256,
      // New ids at each opening make a new file at each opening.
      sha256: this.isFirstVersion ? null : sha256(after),
      lines: after.reduce((count, byte) => count + (byte === 0x0a ? 1 : 0), 0),
    };
  }

  /** The context as it stands at the leaf, and what is derived from it. */
  contextMembers() {
    const { manager } = this;
    const described = {
      branchLength: manager.getBranch().length,
      contextEntryIds: attempt(() =>
        manager.buildContextEntries().map((entry) => this.nameOf(entry.id)),
      ),
    };
    let projection;
    try {
      projection = manager.buildSessionProjection();
      described.context = describeMessages(projection.messages);
    } catch (error) {
      described.context = { error: describeError(error) };
      return described;
    }
    described.thinkingLevel = projection.thinkingLevel;
    described.model = projection.model;
    described.estimateContextTokens = attempt(() =>
      compaction.estimateContextTokens(projection.messages),
    );
    described.estimateProjectedContextTokens = attempt(() =>
      compaction.estimateProjectedContextTokens(projection, manager.getBranch()),
    );
    return described;
  }

  prepare(keepRecentTokens, reserveTokens) {
    const settings = { ...compaction.DEFAULT_COMPACTION_SETTINGS };
    if (keepRecentTokens !== undefined) settings.keepRecentTokens = keepRecentTokens;
    if (reserveTokens !== undefined) settings.reserveTokens = reserveTokens;
    return compaction.prepareCompaction(this.manager.getBranch(), settings);
  }

  describePreparation(keepRecentTokens) {
    return attempt(() => {
      const described = describePreparation(this.prepare(keepRecentTokens));
      if (described) described.firstKeptEntryId = this.nameOf(described.firstKeptEntryId);
      return described;
    });
  }
}

/** The members of `pi160.open` in an oracle file. */
export function describeOpen({ path, cwd }) {
  return withCopy(path, (copy) => {
    let opened;
    try {
      opened = new Opened(copy, cwd);
    } catch (error) {
      return { error: describeError(error).replaceAll(copy, "<copy>") };
    }
    const { manager } = opened;
    const stood = (folder) => (folder === process.cwd() ? "<cwd>" : folder);
    const header = { ...manager.getHeader() };
    if ("cwd" in header) header.cwd = stood(header.cwd);
    const described = {
      sessionId: manager.getSessionId(),
      cwd: stood(manager.getCwd()),
      header,
      entryCount: manager.getEntryCount(),
      entriesLength: opened.entries.length,
      leafId: opened.nameOf(manager.getLeafId()),
      cycleOnLeafPath: opened.walkIsEndless(manager.getLeafId()),
    };
    if (described.cycleOnLeafPath) {
      described.note = "pi's getBranch()/buildSessionContext() would not return";
      described.fileAfterOpen = opened.fileAfterOpen();
      return described;
    }
    described.tree = opened.treeIsEndless()
      ? "NOT CALLED: cyclic node graph, pi's getTree() would not return"
      : attempt(() => chainsOf(manager.getTree(), opened.nameOf));
    Object.assign(described, opened.contextMembers());
    described.labels = {};
    for (const id of opened.byId.keys()) {
      const label = manager.getLabel(id);
      if (label !== undefined) described.labels[opened.nameOf(id)] = label;
    }
    // Label entries without a target, whether they set a label or clear one.
    described.labelsOnMissing = opened.entries.filter(
      (entry) => entry.type === "label" && !opened.byId.has(entry.targetId),
    ).length;
    described.name = attempt(() => manager.getSessionName() ?? null);
    described.prepareCompaction = {
      default: opened.describePreparation(),
      keep2000: opened.describePreparation(2000),
      keep200: opened.describePreparation(200),
    };
    described.fileAfterOpen = opened.fileAfterOpen();
    return described;
  });
}
