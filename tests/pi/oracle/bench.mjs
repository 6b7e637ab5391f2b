// How long pi takes over one file, in a process that does nothing else.
// `node --expose-gc oracle.mjs bench PATH` prints one line of JSON.

import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MEBIBYTE = 1024 * 1024;

function residentMb() {
  globalThis.gc?.();
  return process.memoryUsage.rss() / MEBIBYTE;
}

function timed(ask) {
  const started = performance.now();
  const value = ask();
  return [performance.now() - started, value];
}

const quantile = (values, part) =>
  [...values].sort((a, b) => a - b)[Math.floor((values.length - 1) * part)];
const median = (values) => quantile(values, 0.5);

export async function bench({ path, positions = 20, sizedAppends = 5, appends = 200 }) {
  const started = performance.now();
  const { compaction, sessions } = await import("./programs.mjs");
  const importMs = performance.now() - started;
  const folder = mkdtempSync(join(tmpdir(), "pi-bench-"));
  try {
    const copy = join(folder, "session.jsonl");
    copyFileSync(path, copy);
    const rssImportMb = residentMb();
    const [openMs, manager] = timed(() => sessions.SessionManager.open(copy));
    const rssOpenMb = residentMb();
    const size = () =>
      compaction.estimateProjectedContextTokens(
        manager.buildSessionProjection(),
        manager.getBranch(),
      );
    const [sizeMs, leafSize] = timed(size);
    const [treeMs] = timed(() => manager.getTree());
    const rssMb = residentMb();
    const leafId = manager.getLeafId();
    const ids = manager.getEntries().map((entry) => entry.id);
    const step = Math.max(1, Math.floor(ids.length / positions));
    const sampled = [];
    for (let index = step - 1; index < ids.length; index += step) {
      manager.branch(ids[index]);
      sampled.push(timed(size)[0]);
    }
    if (leafId !== null) manager.branch(leafId);
    const sizeAfterAppendMs = [];
    for (let count = 0; count < sizedAppends; count += 1) {
      manager.appendMessage({ role: "user", content: "one more line", timestamp: Date.now() });
      sizeAfterAppendMs.push(timed(size)[0]);
    }
    // As long as the lines of the file are. pi writes such a line and does not sync it.
    const text = "one more line, as long as others are; ".repeat(34);
    const appendMs = [];
    for (let count = 0; count < appends; count += 1) {
      const content = [{ type: "text", text: `${count} ${text}` }];
      const message = { role: "user", content, timestamp: Date.now() };
      appendMs.push(timed(() => manager.appendMessage(message))[0]);
    }
    return {
      entries: ids.length,
      tokens: leafSize.tokens,
      importMs,
      openMs,
      sizeMs,
      treeMs,
      rssImportMb,
      rssOpenMb,
      rssMb,
      appendMs: median(appendMs),
      appendP99Ms: quantile(appendMs, 0.99),
      sizeAfterAppendMs: median(sizeAfterAppendMs),
      sampledPositions: sampled.length,
      sampledSizeMeanMs: sampled.reduce((sum, ms) => sum + ms, 0) / Math.max(1, sampled.length),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
