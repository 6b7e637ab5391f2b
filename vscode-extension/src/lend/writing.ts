/** A summary by a model of the editor: what it is asked, and how that may fail. No editor in it. */

import { Failure } from '../rpc/failure';
import type { SummarizeParams, SummarizeResult } from '../rpc/protocol';
import { formatTokens } from '../texts/figures';
import { cleanLine, cut } from '../texts/plain';

/** A model that an editor has. */
export interface EditorModel {
  id: string;
  name: string;
  vendor: string;
  /** In tokens of its own; 0 where it is not known. */
  maxInputTokens: number;
  countTokens(text: string, signal: AbortSignal): Promise<number>;
  /** Its answer as it comes. */
  ask(text: string, signal: AbortSignal): Promise<AsyncIterable<string>>;
}

/** `vendor/id`, as settings name it. */
export function nameOf(model: Pick<EditorModel, 'vendor' | 'id'>): string {
  return `${model.vendor}/${model.id}`;
}

/** What the model is goes before what it is asked: editors pass on no system prompt. */
export function promptOf({ system, prompt }: Pick<SummarizeParams, 'system' | 'prompt'>): string {
  return system === '' ? prompt : `${system}\n\n${prompt}`;
}

/**
 * What the model wrote.
 * @throws {Failure} `SummaryFailed` with the reason in a sentence
 */
export async function writeSummary(
  model: EditorModel,
  params: Pick<SummarizeParams, 'system' | 'prompt'>,
  signal: AbortSignal,
): Promise<SummarizeResult> {
  const text = promptOf(params);
  try {
    await checkLength(model, text, signal);
    let summary = '';
    for await (const part of await model.ask(text, signal)) {
      signal.throwIfAborted();
      summary += part;
    }
    signal.throwIfAborted();
    return { summary, model: nameOf(model) };
  } catch (error) {
    throw signal.aborted ? cancelled() : failureOf(error, model);
  }
}

async function checkLength(model: EditorModel, text: string, signal: AbortSignal): Promise<void> {
  if (model.maxInputTokens <= 0) {
    return;
  }
  const tokens = await model.countTokens(text, signal);
  if (tokens > model.maxInputTokens) {
    const [is, takes] = [tokens, model.maxInputTokens].map(formatTokens);
    throw refused(`${cleanLine(model.name)} takes ${takes} tokens, and this would be ${is}.`);
  }
}

/** Why there is no summary, by the names that VS Code gives to errors of models. */
const REASONS: Partial<Record<string, (model: string) => string>> = {
  NoPermissions: (model) => `It was not allowed to use ${model} for pi Sessions.`,
  NotFound: (model) => `There is no ${model} any more; Choose a Model for Summaries names another.`,
  Blocked: (model) => `${model} is not to be had now: its quota is used up, or it is blocked.`,
};

function failureOf(error: unknown, model: Pick<EditorModel, 'name'>): Failure {
  if (error instanceof Failure) {
    return error;
  }
  const name = cleanLine(model.name);
  const { code, message, cause } = error as Partial<Error & { code: string }>;
  const reason = REASONS[code ?? '']?.(name);
  if (reason !== undefined) {
    return refused(reason);
  }
  const told = (cause as Partial<Error> | undefined)?.message ?? message ?? '';
  const why = cut(cleanLine(told), 200);
  return refused(why === '' ? `${name} failed.` : `${name} failed: ${why}`);
}

/** That there is no summary, and why. */
export function refused(sentence: string): Failure {
  return new Failure('SummaryFailed', sentence);
}

export function cancelled(): Failure {
  return new Failure('Cancelled', 'It was cancelled.');
}

/** What the setting says: no model is lent, one is asked for each time, or one by its name. */
export type Wish =
  | { kind: 'off' }
  | { kind: 'ask' }
  | { kind: 'model'; vendor: string; id: string };

/** Whatever is no such word lends nothing. */
export function wishOf(setting: unknown): Wish {
  if (setting === 'ask') {
    return { kind: 'ask' };
  }
  const [, vendor, id] = /^([^/]+)\/(.+)$/.exec(typeof setting === 'string' ? setting : '') ?? [];
  return vendor !== undefined && id !== undefined ? { kind: 'model', vendor, id } : { kind: 'off' };
}
