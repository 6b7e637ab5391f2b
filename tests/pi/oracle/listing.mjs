// What real pi lists of a folder, and how long it takes over an agent dir.

import { sessions } from "./programs.mjs";

const { SessionManager } = sessions;
const MEBIBYTE = 1024 * 1024;

const time = (date) => (Number.isNaN(date.getTime()) ? null : date.getTime());

/** The sessions of a folder, of `cwd` alone when it is given, newest first. */
export async function list({ dir, cwd }) {
  const infos = cwd ? await SessionManager.list(cwd, dir) : await SessionManager.listAll(dir);
  return infos.map((info) => ({
    path: info.path,
    id: info.id ?? null,
    cwd: info.cwd,
    name: info.name ?? null,
    parentSessionPath: info.parentSessionPath ?? null,
    created: time(info.created),
    modified: time(info.modified),
    messageCount: info.messageCount,
    firstMessage: info.firstMessage,
  }));
}

/** How long pi takes to list the agent dir of its environment, in ms, and what it occupies then. */
export async function benchList() {
  const started = performance.now();
  const infos = await SessionManager.listAll();
  const ms = performance.now() - started;
  return { sessions: infos.length, ms, rssMb: process.memoryUsage.rss() / MEBIBYTE };
}
