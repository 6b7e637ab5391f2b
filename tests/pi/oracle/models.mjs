// What pi makes of a models.json, an auth.json and environment variables.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ModelRuntime } from "@earendil-works/pi-coding-agent";

/** For each of `cases` ({models, auth, env, names}): the file's error, and each named model. */
export async function models({ cases }) {
  const answers = [];
  for (const one of cases) answers.push(await inFolder(one));
  return answers;
}

async function inFolder({ models, auth, env, names }) {
  const folder = mkdtempSync(join(tmpdir(), "pi-models-"));
  const before = { ...process.env };
  Object.assign(process.env, env);
  try {
    if (models !== null) writeFileSync(join(folder, "models.json"), models);
    if (auth !== null) writeFileSync(join(folder, "auth.json"), auth);
    const runtime = await ModelRuntime.create({
      authPath: join(folder, "auth.json"),
      modelsPath: join(folder, "models.json"),
      refreshOnCreate: false,
    });
    const found = [];
    for (const [provider, id] of names) found.push(await describe(runtime, provider, id));
    return { hasError: runtime.getError() !== undefined, models: found };
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    rmSync(folder, { recursive: true });
  }
}

async function describe(runtime, provider, id) {
  const model = runtime.getModel(provider, id);
  if (model === undefined) return null;
  const { api, baseUrl, contextWindow, maxTokens, cost, samplingParams } = model;
  let auth;
  try {
    auth = (await runtime.getAuth(model)) ?? null;
  } catch {
    auth = { failed: true };
  }
  return { api, baseUrl, contextWindow, maxTokens, cost, samplingParams: samplingParams ?? {}, auth };
}
