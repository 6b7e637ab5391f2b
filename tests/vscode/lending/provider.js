// Models for tests: each behaves as its name says, and tells in a file what it was asked.
const { appendFileSync } = require('node:fs');
const { join } = require('node:path');
const vscode = require('vscode');

const MODELS = ['good', 'slow', 'broken', 'small'];

function note(model, line) {
  appendFileSync(join(process.env.HOME, `acme-${model}.txt`), `${line}\n`);
}

function textOf(message) {
  const parts = typeof message === 'string' ? [message] : [message.content].flat();
  return parts.map((part) => part.value ?? String(part)).join('');
}

const provider = {
  provideLanguageModelChatInformation: () =>
    MODELS.map((id) => ({
      id,
      name: `Acme ${id}`,
      family: 'acme',
      version: '1',
      maxInputTokens: id === 'small' ? 10 : 1_000_000,
      maxOutputTokens: 10_000,
      capabilities: {},
    })),
  async provideLanguageModelChatResponse(model, messages, _options, progress, token) {
    note(model.id, `asked ${JSON.stringify(messages.map((one) => [one.role, textOf(one)]))}`);
    if (model.id === 'broken') {
      throw new Error('The quota of Acme is used up.');
    }
    progress.report(new vscode.LanguageModelTextPart('## Goal\n'));
    if (model.id === 'slow') {
      await new Promise((resolve) => token.onCancellationRequested(resolve));
      note(model.id, 'cancelled');
      return;
    }
    progress.report(new vscode.LanguageModelTextPart('Written by Acme.'));
  },
  provideTokenCount: async (_model, text) => textOf(text).length,
};

exports.activate = (context) => {
  context.subscriptions.push(vscode.lm.registerLanguageModelChatProvider('acme', provider));
};
