// What pi's SettingsManager makes of the texts of a global and a project settings file.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SettingsManager } from "@earendil-works/pi-coding-agent";

// The package does not export what takes its proxy in.
const dispatcher = "../node_modules/@earendil-works/pi-coding-agent/dist/core/http-dispatcher.js";
const { applyHttpProxySettings } = await import(new URL(dispatcher, import.meta.url).href);

/** For each of `cases` ({global, project, models}): every value asked for, or what pi throws. */
export function settings({ cases }) {
  return cases.map(({ global, project, models }) => {
    const folder = mkdtempSync(join(tmpdir(), "pi-settings-"));
    try {
      return ask(folder, global, project, models);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}

function ask(folder, global, project, models) {
  const agent = join(folder, "agent");
  const cwd = join(folder, "project");
  for (const [place, text] of [[agent, global], [join(cwd, ".pi"), project]]) {
    mkdirSync(place, { recursive: true });
    if (text !== null) writeFileSync(join(place, "settings.json"), text);
  }
  const manager = SettingsManager.create(cwd, agent);
  const named = models.map((name) => {
    if (name === null) return undefined;
    const cut = name.indexOf("/");
    return { provider: name.slice(0, cut), id: name.slice(cut + 1) };
  });
  return {
    unread: manager.drainErrors().map(({ scope }) => scope),
    compaction: named.map((model) => attempt(() => manager.getCompactionSettings(model))),
    branch: manager.getBranchSummarySettings(),
    retry: manager.getRetrySettings(),
    provider: manager.getProviderRetrySettings(),
    idle: attempt(() => manager.getHttpIdleTimeoutMs()),
    proxy: attempt(() => proxy(manager.getGlobalSettings().httpProxy)),
  };
}

/** The proxy pi uses where the environment names none, or what pi ends with as it starts. */
function proxy(setting) {
  const names = ["HTTP_PROXY", "HTTPS_PROXY"];
  const before = names.map((name) => process.env[name]);
  try {
    for (const name of names) delete process.env[name];
    applyHttpProxySettings(setting);
    return process.env.HTTP_PROXY ?? null;
  } finally {
    names.forEach((name, at) => {
      if (before[at] === undefined) delete process.env[name];
      else process.env[name] = before[at];
    });
  }
}

function attempt(ask) {
  try {
    return ask();
  } catch (error) {
    return { error: error.message };
  }
}
