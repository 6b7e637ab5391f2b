/** Lends a model of the editor to the daemon for summaries, where the user has allowed it. */

import * as vscode from 'vscode';
import type { Answers } from '../rpc/peer';
import type { SummarizeParams, SummarizeResult } from '../rpc/protocol';
import { formatTokens } from '../texts/figures';
import { cleanLine, withoutIcons } from '../texts/plain';
import {
  cancelled,
  nameOf,
  refused,
  wishOf,
  writeSummary,
  type EditorModel,
  type Wish,
} from './writing';

export const SETTING = 'lendModel';

export class Lender {
  /** What the user was asked last: a compaction may want two texts at once. */
  private asked: { operation: string; model: ReturnType<typeof ask> } | undefined;

  private get wish(): Wish {
    return wishOf(vscode.workspace.getConfiguration('pisessiond').get(SETTING));
  }

  /** Whether the user allows it. */
  get isOn(): boolean {
    return this.wish.kind !== 'off';
  }

  /** What the daemon may ask; nothing unless the user allows it. */
  answers(): Answers {
    return this.isOn
      ? { 'session/summarize': (params, signal) => this.summarize(params, signal) }
      : {};
  }

  private async summarize(params: SummarizeParams, signal: AbortSignal): Promise<SummarizeResult> {
    const model = await this.choose(params, signal);
    return writeSummary(adapt(model), params, signal);
  }

  private async choose(
    params: SummarizeParams,
    signal: AbortSignal,
  ): Promise<vscode.LanguageModelChat> {
    const { wish } = this;
    const models = await vscode.lm.selectChatModels(
      wish.kind === 'model' ? { vendor: wish.vendor, id: wish.id } : {},
    );
    if (models.length === 0) {
      throw refused(
        wish.kind === 'model'
          ? `VS Code has no model ${wish.vendor}/${wish.id} now.`
          : 'VS Code has no language model to lend.',
      );
    }
    const model = wish.kind === 'ask' ? await this.askOnce(models, params, signal) : models[0];
    if (!model) {
      throw signal.aborted ? cancelled() : refused('The user of VS Code chose no model for it.');
    }
    return model;
  }

  private askOnce(
    models: readonly vscode.LanguageModelChat[],
    params: SummarizeParams,
    signal: AbortSignal,
  ): ReturnType<typeof ask> {
    const operation = params.operationId;
    if (this.asked?.operation !== operation) {
      this.asked = { operation, model: ask(models, params, signal) };
    }
    return this.asked.model;
  }
}

async function ask(
  models: readonly vscode.LanguageModelChat[],
  { system, prompt }: SummarizeParams,
  signal: AbortSignal,
): Promise<vscode.LanguageModelChat | undefined> {
  const source = cancelling(signal);
  const items = models.map((model) => ({ ...itemOf(model), model }));
  const characters = formatTokens(system.length + prompt.length);
  const options = {
    title: `A summary is to be written; ${characters} characters of the session are sent`,
    placeHolder: 'Which model writes it? Escape lends none',
    ignoreFocusOut: true,
  };
  return (await vscode.window.showQuickPick(items, options, source.token))?.model;
}

/** A model in a list to choose from. */
export function itemOf(model: vscode.LanguageModelChat): vscode.QuickPickItem {
  const input = model.maxInputTokens > 0 ? ` · ${formatTokens(model.maxInputTokens)} tokens` : '';
  return {
    label: withoutIcons(cleanLine(model.name)),
    description: withoutIcons(`${cleanLine(nameOf(model))}${input}`),
  };
}

function adapt(model: vscode.LanguageModelChat): EditorModel {
  const { id, name, vendor, maxInputTokens } = model;
  return {
    id,
    name,
    vendor,
    maxInputTokens,
    countTokens: async (text, signal) => model.countTokens(text, cancelling(signal).token),
    ask: async (text, signal) => {
      const messages = [vscode.LanguageModelChatMessage.User(text)];
      const options = { justification: 'To summarise a part of a pi session.' };
      return (await model.sendRequest(messages, options, cancelling(signal).token)).text;
    },
  };
}

/** Cancels with a signal. */
function cancelling(signal: AbortSignal): vscode.CancellationTokenSource {
  const source = new vscode.CancellationTokenSource();
  if (signal.aborted) {
    source.cancel();
  }
  signal.addEventListener('abort', () => source.cancel(), { once: true });
  return source;
}
