/** The view Context: what fills it at the leaf, and the totals of the file. */

import * as vscode from 'vscode';
import { MAIN } from '../model/rows';
import type { SessionModel } from '../model/session';
import type { StatsResult } from '../model/wire';
import { contextLines, type ContextLine, type Extent } from '../texts/context';
import type { CurrentSession } from './current';

/** Milliseconds in which changes are joined. */
const JOIN = 300;

export class ContextView implements vscode.TreeDataProvider<ContextLine>, vscode.Disposable {
  readonly view: vscode.TreeView<ContextLine>;
  private readonly changed = new vscode.EventEmitter<ContextLine | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private timer: NodeJS.Timeout | undefined;
  private isDue = false;

  constructor(private readonly current: CurrentSession) {
    this.view = vscode.window.createTreeView('pisessiond.context', { treeDataProvider: this });
    this.view.onDidChangeVisibility(({ visible }) => {
      if (visible && this.isDue) {
        this.refreshSoon();
      }
    });
    current.on(() => this.refreshSoon());
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.view.dispose();
    this.changed.dispose();
  }

  async getChildren(line?: ContextLine): Promise<ContextLine[]> {
    if (line) {
      return line.inside ?? [];
    }
    const model = this.current.model;
    if (!model?.handle) {
      return [];
    }
    // What travels with each change may leave the parts out.
    const [size, totals] = await Promise.all([
      model.request('session/contextSize', {}).catch(() => model.size),
      model.request('session/stats', {}).catch((): StatsResult | undefined => undefined),
    ]);
    return size && 'tokens' in size ? contextLines(size, totals, extentOf(model)) : [];
  }

  getTreeItem(line: ContextLine): vscode.TreeItem {
    const state = !line.inside
      ? vscode.TreeItemCollapsibleState.None
      : vscode.TreeItemCollapsibleState.Expanded;
    const item = new vscode.TreeItem(line.label, state);
    item.id = line.id;
    item.description = line.description;
    item.iconPath = new vscode.ThemeIcon(line.icon);
    item.tooltip = [line.label, line.description].filter((text) => text !== '').join('\n');
    item.contextValue = line.entry === undefined ? 'line' : 'largest';
    if (line.entry !== undefined) {
      item.command = {
        command: 'pisessiond.revealEntry',
        title: 'Reveal in Branch Tree',
        arguments: [line.entry],
      };
    }
    return item;
  }

  private refreshSoon(): void {
    if (!this.view.visible) {
      this.isDue = true;
      return;
    }
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.isDue = false;
      this.changed.fire(undefined);
    }, JOIN);
  }
}

/** Counted on the main line, what has not been read of it too. */
function extentOf(model: SessionModel): Extent | undefined {
  const level = model.level(MAIN);
  return level && model.info
    ? {
        rows: level.earlier + level.rows.length + level.later,
        entries: model.info.entryCount,
        filter: model.filter,
      }
    : undefined;
}
