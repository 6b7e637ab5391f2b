/** Which model of the editor writes summaries; by default none does. */

import * as vscode from 'vscode';
import { itemOf, SETTING } from '../lend/lender';
import { nameOf } from '../lend/writing';
import { say, type Command } from './tools';

type Item = vscode.QuickPickItem & { value?: string };

/** Chooses a model, or that none is lent; the setting holds what was chosen. */
export const chooseModel: Command = async () => {
  const models = await vscode.lm.selectChatModels();
  const settings = vscode.workspace.getConfiguration('pisessiond');
  const now = settings.get(SETTING, 'off');
  const items: Item[] = [
    { label: 'None', description: 'off: no model of this editor is lent', value: 'off' },
    { label: 'Ask each time', description: 'ask', value: 'ask' },
    { label: 'Models', kind: vscode.QuickPickItemKind.Separator },
    ...models.map((model) => ({ ...itemOf(model), value: nameOf(model) })),
  ];
  const chosen = await vscode.window.showQuickPick(
    items.map((item) => (item.value === now ? { ...item, detail: 'chosen now' } : item)),
    {
      title: 'Choose a model for summaries',
      placeHolder:
        models.length === 0
          ? 'VS Code has no language model now'
          : 'It is sent what a summary is made from, and only when a summary is asked for',
    },
  );
  if (chosen?.value !== undefined) {
    await settings.update(SETTING, chosen.value, vscode.ConfigurationTarget.Global);
    say(
      chosen.value === 'off'
        ? 'No model of this editor is lent.'
        : 'Compact and Navigate offer the model of this editor.',
    );
  }
};
