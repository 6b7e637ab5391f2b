// Lets tests ask the real pi: one JSON request a line on standard input, one JSON answer a line
// on standard output. `{"op", ...}` is answered by `{"result"}`, or by `{"failure"}` when the
// question itself could not be asked; what pi throws is part of the result, as `{"error"}`.

import { createInterface } from "node:readline";
import { bench } from "./oracle/bench.mjs";

// Nothing but answers may stand on standard output.
console.log = console.info = console.debug = console.error;

if (process.argv[2] === "bench") {
  const [path, positions] = process.argv.slice(3);
  const measured = await bench({ path, positions: positions ? Number(positions) : undefined });
  process.stdout.write(`${JSON.stringify(measured)}\n`);
} else if (process.argv[2] === "benchList") {
  const { benchList } = await import("./oracle/listing.mjs");
  process.stdout.write(`${JSON.stringify(await benchList())}\n`);
} else {
  await serve();
}

async function serve() {
  const [
    { describeOpen },
    { describeCore },
    positions,
    { build },
    { sessions },
    writing,
    listing,
    exporting,
    summaries,
    { settings },
    { models },
  ] =
    await Promise.all([
      import("./oracle/opened.mjs"),
      import("./oracle/core.mjs"),
      import("./oracle/positions.mjs"),
      import("./oracle/build.mjs"),
      import("./oracle/programs.mjs"),
      import("./oracle/writing.mjs"),
      import("./oracle/listing.mjs"),
      import("./oracle/exporting.mjs"),
      import("./oracle/summaries.mjs"),
      import("./oracle/settings.mjs"),
      import("./oracle/models.mjs"),
    ]);

  const operations = {
    ping: () => ({ node: process.version, cwd: process.cwd() }),
    open: describeOpen,
    core: describeCore,
    sizes: positions.sizes,
    at: positions.at,
    prepare: positions.prepare,
    collect: positions.collect,
    prepareAll: summaries.prepareAll,
    collectAll: summaries.collectAll,
    compactAt: summaries.compactAt,
    settings,
    models,
    moveWithSummary: summaries.moveWithSummary,
    build,
    glance: writing.glance,
    appendMany: writing.appendMany,
    list: listing.list,
    exportBranch: exporting.exportBranch,
    renderMarkdown: exporting.renderMarkdown,
    /** JSON.parse and JSON.stringify of each text; null where it is no JSON. */
    stringify: ({ texts }) =>
      texts.map((text) => {
        try {
          return JSON.stringify(JSON.parse(text));
        } catch {
          return null;
        }
      }),
    /** Times in ms as JavaScript reads them; null where it cannot. */
    dateMs: ({ values }) => values.map((value) => new Date(value).getTime()),
    /** The ids of sibling entries in the order in which pi's tree shows them. */
    sort: ({ entries }) => {
      const header = { type: "session", version: 3, id: "sort", timestamp: "", cwd: "/" };
      const root = { type: "custom", customType: "root", id: "root", parentId: null, timestamp: "" };
      const children = entries.map((entry) => ({ type: "custom", ...entry, parentId: "root" }));
      const all = [header, root, ...children];
      const [top] = sessions.SessionManager.inMemory("/", undefined, all).getTree();
      return top.children.map((node) => node.entry.id);
    },
  };

  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    let answer;
    try {
      const { op, ...request } = JSON.parse(line);
      if (!Object.hasOwn(operations, op)) throw new Error(`no such operation: ${op}`);
      answer = { result: (await operations[op](request)) ?? null };
    } catch (error) {
      answer = { failure: error instanceof Error ? error.stack : String(error) };
    }
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
}
