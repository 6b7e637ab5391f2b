/** The view Branch Tree: the rows of the session at hand, one level a call. */

import * as vscode from 'vscode';
import { MAIN, type LevelKey } from '../model/rows';
import type { SessionModel } from '../model/session';
import type { EntryId, Row } from '../model/wire';
import { todayOf } from '../texts/figures';
import { plainText } from '../texts/entries';
import { paintRows, tooltip, type PaintedRow, type SizeColumn } from '../texts/paint';
import { cleanText } from '../texts/plain';
import { operationText } from '../texts/status';
import { rowUri } from './badges';
import type { CurrentSession } from './current';

/** Milliseconds in which changes are joined; VS Code joins refreshes for 200 ms more. */
const JOIN = 50;
/** Milliseconds a row of somebody else is `new` while the view is in sight. */
const NEW_FOR = 3000;

/** After which rows may look different. */
const REPAINTS = ['rows', 'reset', 'progress'];

/** A row, or the line that stands for rows which have not been read. */
export type TreeNode =
  | { kind: 'row'; id: string; level: LevelKey }
  | { kind: 'more'; level: LevelKey; side: 'before' | 'after' };

export function isRowNode(value: unknown): value is TreeNode & { kind: 'row' } {
  return typeof value === 'object' && value !== null && (value as TreeNode).kind === 'row';
}

/** What of a level VS Code has been given. */
interface Shown {
  ids: string;
  painted: Map<string, string>;
}

export class BranchTree implements vscode.TreeDataProvider<TreeNode>, vscode.Disposable {
  readonly view: vscode.TreeView<TreeNode>;
  size: SizeColumn = 'context';

  private readonly changed = new vscode.EventEmitter<TreeNode | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly nodes = new Map<string, TreeNode>();
  private readonly painted = new Map<string, PaintedRow>();
  private shown = new Map<LevelKey, Shown>();
  /** Levels that were asked for and could not be read. */
  private readonly unread = new Set<LevelKey>();
  private cut: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  private forgetting: NodeJS.Timeout | undefined;
  private isDue = false;

  constructor(private readonly current: CurrentSession) {
    this.view = vscode.window.createTreeView('pisessiond.tree', {
      treeDataProvider: this,
      canSelectMany: true,
      showCollapseAll: true,
    });
    this.view.onDidExpandElement(({ element }) => this.folded(element, true));
    this.view.onDidCollapseElement(({ element }) => this.folded(element, false));
    this.view.onDidChangeVisibility(({ visible }) => {
      if (visible && this.isDue) {
        this.refreshSoon();
      }
    });
    current.on((happening) => {
      if (happening.what === 'switched') {
        this.forget();
      } else if (happening.what === 'reset' && this.unread.size > 0) {
        // There is a daemon again, or a session: what could not be read may be there now.
        this.unread.clear();
        this.changed.fire(undefined);
      } else if (REPAINTS.includes(happening.what)) {
        this.refreshSoon();
      }
    });
  }

  dispose(): void {
    clearTimeout(this.timer);
    clearTimeout(this.forgetting);
    this.view.dispose();
    this.changed.dispose();
  }

  // What VS Code asks.

  async getChildren(node?: TreeNode): Promise<TreeNode[]> {
    const model = this.model;
    if (!model || node?.kind === 'more') {
      return [];
    }
    const key = node ? node.id : MAIN;
    if (key !== MAIN) {
      await model.inside(key);
    }
    const level = model.level(key);
    if (!level) {
      this.unread.add(key);
      return [];
    }
    this.unread.delete(key);
    this.shown.set(key, this.paint(key, model));
    const nodes: TreeNode[] = level.rows.map((row) => this.nodeOf(row));
    if (level.earlier > 0) {
      nodes.unshift(this.moreNode(key, 'before'));
    }
    if (level.later > 0) {
      nodes.push(this.moreNode(key, 'after'));
    }
    return nodes;
  }

  getTreeItem(node: TreeNode): vscode.TreeItem {
    return node.kind === 'more' ? this.moreItem(node) : this.rowItem(node.id);
  }

  getParent(node: TreeNode): TreeNode | undefined {
    const row = node.level === MAIN ? undefined : this.model?.row(node.level);
    return row && this.nodeOf(row);
  }

  /** The tooltip tells what the entry says, which is asked for only when one stays on the row. */
  async resolveTreeItem(
    item: vscode.TreeItem,
    node: TreeNode,
    token: vscode.CancellationToken,
  ): Promise<vscode.TreeItem> {
    const row = node.kind === 'row' ? this.model?.row(node.id) : undefined;
    if (!row || !this.model) {
      return item;
    }
    const body = await this.bodyOf(row, this.model);
    if (!token.isCancellationRequested) {
      item.tooltip = tooltip(row, this.model.size?.window ?? null, body);
    }
    return item;
  }

  // What others ask of it.

  /** The rows that are selected, in the order of the screen as far as VS Code keeps it. */
  selectedRows(): Row[] {
    return this.view.selection.flatMap((node) => this.rowOf(node) ?? []);
  }

  rowOf(node: TreeNode | undefined): Row | undefined {
    return node?.kind === 'row' ? this.model?.row(node.id) : undefined;
  }

  /**
   * Brings the row of an entry into sight and selects it; folds on the way are opened.
   * @returns whether it has a row under the filter at hand
   */
  async reveal(entry: EntryId | 'here', focus = false): Promise<boolean> {
    const found = await this.model?.find(entry);
    if (!found) {
      return false;
    }
    clearTimeout(this.timer);
    this.refresh();
    await this.view.reveal(this.nodeOf(found.row), { select: true, focus });
    return true;
  }

  /** Keeps the leaf selected and in sight when it has moved on. */
  async follow(): Promise<void> {
    const here = this.nodes.get('here');
    if (here) {
      clearTimeout(this.timer);
      this.refresh();
      await this.view.reveal(here, { select: true, focus: false });
    }
  }

  /** Shows where a compaction would cut; undefined: not any more. */
  showCut(firstKept: EntryId | undefined): void {
    this.cut = firstKept === undefined ? undefined : String(firstKept);
    this.refreshSoon();
  }

  setSize(size: SizeColumn): void {
    this.size = size;
    this.refreshSoon();
  }

  /** Rows are painted anew, where what is drawn of them has changed. */
  refreshSoon(): void {
    if (!this.view.visible) {
      this.isDue = true;
      return;
    }
    this.timer ??= setTimeout(() => this.refresh(), JOIN);
  }

  // Painting.

  private get model(): SessionModel | undefined {
    return this.current.model;
  }

  private forget(): void {
    this.nodes.clear();
    this.painted.clear();
    this.shown.clear();
    this.unread.clear();
    this.changed.fire(undefined);
  }

  private refresh(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.isDue = false;
    const model = this.model;
    if (!model) {
      return;
    }
    const before = this.shown;
    this.shown = new Map();
    for (const [key, shown] of before) {
      this.refreshLevel(key, shown, model);
    }
    this.forgetFresh(model);
  }

  private refreshLevel(key: LevelKey, before: Shown, model: SessionModel): void {
    const node = key === MAIN ? undefined : this.nodes.get(key);
    if (!model.level(key)) {
      // It was closed and has changed: VS Code asks again when it is opened.
      if (node) {
        this.changed.fire(node);
      }
      return;
    }
    const now = this.paint(key, model);
    this.shown.set(key, now);
    if (now.ids !== before.ids) {
      this.changed.fire(node);
      return;
    }
    for (const [id, signature] of now.painted) {
      if (before.painted.get(id) !== signature) {
        this.changed.fire(this.nodes.get(id));
      }
    }
  }

  private paint(key: LevelKey, model: SessionModel): Shown {
    const level = model.level(key);
    const rows = level?.rows ?? [];
    const painted = paintRows(rows, {
      today: todayOf(),
      isOpen: (row) => model.isOpen(row),
      size: this.size,
      fresh: model.fresh,
      cut: this.cut,
      doing: model.operation ? operationText(model.operation) : undefined,
      badges: vscode.workspace.getConfiguration('explorer').get('decorations.badges', true),
    });
    for (const one of painted) {
      this.painted.set(one.id, one);
    }
    const around = `${level?.earlier ?? 0}/${level?.later ?? 0}`;
    return {
      ids: [around, ...rows.map((row) => row.id)].join('\n'),
      painted: new Map(painted.map((one) => [one.id, JSON.stringify(one)])),
    };
  }

  private forgetFresh(model: SessionModel): void {
    if (model.fresh.size > 0 && this.view.visible && this.forgetting === undefined) {
      this.forgetting = setTimeout(() => {
        this.forgetting = undefined;
        model.fresh.clear();
        this.refreshSoon();
      }, NEW_FOR);
    }
  }

  private nodeOf(row: Row): TreeNode {
    const known = this.nodes.get(row.id);
    if (known?.level === row.level) {
      return known;
    }
    const node: TreeNode = { kind: 'row', id: row.id, level: row.level };
    this.nodes.set(row.id, node);
    return node;
  }

  private moreNode(level: LevelKey, side: 'before' | 'after'): TreeNode {
    const id = `${side}:${level ?? ''}`;
    const node = this.nodes.get(id) ?? { kind: 'more', level, side };
    this.nodes.set(id, node);
    return node;
  }

  private rowItem(id: string): vscode.TreeItem {
    const painted = this.painted.get(id);
    const row = this.model?.row(id);
    if (!painted || !row) {
      return new vscode.TreeItem('');
    }
    const item = new vscode.TreeItem(painted.label, this.stateOf(row));
    item.id = `${this.model?.handle ?? ''}\n${id}`;
    item.description = painted.description;
    item.iconPath = new vscode.ThemeIcon(painted.icon, iconColour(painted));
    item.contextValue = painted.words;
    item.resourceUri = rowUri(this.model?.handle ?? '', painted);
    item.accessibilityInformation = { label: painted.spoken };
    if (row.entry !== null) {
      item.command = {
        command: 'pisessiond.showEntry',
        title: 'Show Entry',
        arguments: [this.nodeOf(row)],
      };
    }
    return item;
  }

  private stateOf(row: Row): vscode.TreeItemCollapsibleState {
    if (row.fold === 'none') {
      return vscode.TreeItemCollapsibleState.None;
    }
    return this.model?.isOpen(row)
      ? vscode.TreeItemCollapsibleState.Expanded
      : vscode.TreeItemCollapsibleState.Collapsed;
  }

  private moreItem(node: TreeNode & { kind: 'more' }): vscode.TreeItem {
    const level = this.model?.level(node.level);
    const number = (node.side === 'before' ? level?.earlier : level?.later) ?? 0;
    const many = number > 1 ? `${number.toLocaleString('en')} ` : '';
    const rows = number === 1 ? 'row' : 'rows';
    const item = new vscode.TreeItem(
      `… ${many}${node.side === 'before' ? 'earlier' : 'later'} ${rows}`,
    );
    item.id = `${this.model?.handle ?? ''}\n${node.side}:${node.level ?? ''}`;
    item.command = { command: 'pisessiond.moreRows', title: 'More Rows', arguments: [node] };
    return item;
  }

  private folded(node: TreeNode, isOpen: boolean): void {
    if (node.kind === 'row') {
      this.current.setOpen(node.id, isOpen);
      this.refreshSoon();
    }
  }

  private async bodyOf(row: Row, model: SessionModel): Promise<string | undefined> {
    if (row.entry === null || row.entries !== 1) {
      return undefined;
    }
    try {
      const answer = await model.request('session/entries', { ids: [row.entry] });
      const entry = answer.entries[0];
      return entry && cleanText(plainText(entry)).slice(0, 400);
    } catch {
      return undefined;
    }
  }
}

function iconColour(painted: PaintedRow): vscode.ThemeColor | undefined {
  return painted.isAside ? new vscode.ThemeColor('descriptionForeground') : undefined;
}
