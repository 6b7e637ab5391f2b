// What pi's SettingsManager makes of the texts of a global and a project settings file.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SettingsManager } from "@earendil-works/pi-coding-agent";

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
    proxy: manager.getGlobalSettings().httpProxy ?? null,
  };
}

function attempt(ask) {
  try {
    return ask();
  } catch (error) {
    return { error: error.message };
  }
}
