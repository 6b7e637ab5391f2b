/** The view Branch Tree: the rows of the session at hand, one level a call. */

import * as vscode from 'vscode';
import { MAIN, type LevelKey } from '../model/rows';
import type { SessionModel } from '../model/session';
import type { EntryId, Row } from '../model/wire';
import { todayOf } from '../texts/figures';
import {
  paintRows,
  tooltip,
  type PaintedRow,
  type PaintOptions,
  type SizeColumn,
} from '../texts/paint';
import { operationText } from '../texts/status';
import { bring } from './bringing';
import type { CurrentSession } from './current';
import { Cut, cutItem } from './cut';
import { bodyOf, isRowNode, moreItem, rowItem, type RowNode, type TreeNode } from './rowItems';

export type { TreeNode };

/** Milliseconds in which changes are joined; VS Code joins refreshes for 200 ms more. */
const JOIN = 50;
/** Milliseconds a row of somebody else is `new` while the view is in sight. */
const NEW_FOR = 3000;

/** After which rows may look different. */
const REPAINTS = ['rows', 'reset', 'progress', 'running', 'pis'];

/** What of a level VS Code has been given. */
interface Shown {
  /** How many rows there are around those that are known. */
  around: string;
  /** How each looks, in their order. */
  painted: Map<string, string>;
}

/** What was searched for, as rows show it. */
export type Hits = NonNullable<PaintOptions['hits']>;

export class BranchTree implements vscode.TreeDataProvider<TreeNode>, vscode.Disposable {
  readonly view: vscode.TreeView<TreeNode>;
  size: SizeColumn = 'context';
  /** What is marked to be compared, as it was then. */
  marked: Row | undefined;

  private readonly changed = new vscode.EventEmitter<TreeNode | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly nodes = new Map<string, TreeNode>();
  private readonly painted = new Map<string, PaintedRow>();
  private shown = new Map<LevelKey, Shown>();
  /** Levels that were asked for and could not be read. */
  private readonly unread = new Set<LevelKey>();
  /** Folds opened in passing, which are not the user's. */
  private readonly passing = new Set<string>();
  /** How often each fold was closed by us: VS Code closes none that it has seen open. */
  private readonly versions = new Map<string, number>();
  private hits: Hits | undefined;
  private readonly cut = new Cut();
  private timer: NodeJS.Timeout | undefined;
  private forgetting: NodeJS.Timeout | undefined;
  private going: NodeJS.Timeout | undefined;
  private isDue = false;
  /** Whether VS Code has asked for rows: before that there is nothing to be read anew. */
  private isAsked = false;
  /** The session whose rows were begun with at the leaf. */
  private arrivedIn: string | undefined;

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
    clearTimeout(this.going);
    this.view.dispose();
    this.changed.dispose();
  }

  // What VS Code asks.

  async getChildren(node?: TreeNode): Promise<TreeNode[]> {
    this.isAsked = true;
    const model = this.model;
    if (!model || (node && node.kind !== 'row')) {
      return [];
    }
    const key = node ? node.id : MAIN;
    if (node) {
      this.asked(node, model);
      await model.inside(key);
    }
    const level = model.level(key);
    if (!level) {
      this.unread.add(key);
      return [];
    }
    this.unread.delete(key);
    if (key === MAIN && model.key !== this.arrivedIn) {
      this.arrivedIn = model.key;
      setTimeout(() => {
        if (this.view.visible) {
          // Whoever looks does not hear that there was no more to look at.
          this.arrive().catch(() => undefined);
        }
      });
    }
    this.shown.set(key, this.paint(key, model));
    const nodes: TreeNode[] = level.rows.map((row) => this.nodeOf(row));
    const cut = this.cut.placeIn(key, level.rows);
    if (cut >= 0) {
      nodes.splice(cut, 0, this.cut.node);
    }
    if (level.earlier > 0) {
      nodes.unshift(this.moreNode(key, 'before'));
    }
    if (level.later > 0) {
      nodes.push(this.moreNode(key, 'after'));
    }
    return nodes;
  }

  getTreeItem(node: TreeNode): vscode.TreeItem {
    if (node.kind === 'more') {
      return moreItem(node, this.model);
    }
    if (node.kind === 'cut') {
      return cutItem(this.model);
    }
    const painted = this.painted.get(node.id);
    const row = this.model?.row(node.id);
    return painted && row && this.model
      ? rowItem(node, row, painted, this.model, this.versions.get(node.id) ?? 0)
      : new vscode.TreeItem('');
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
    const body = await bodyOf(row, this.model);
    if (!token.isCancellationRequested) {
      const here = this.model.standing.get(row.id);
      item.tooltip = tooltip(row, this.model.size?.window ?? null, body, here);
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
   * @returns the row, which VS Code may not have selected; undefined where it has none under the
   *   filter at hand
   */
  async reveal(entry: EntryId | 'here', focus = false): Promise<Row | undefined> {
    const found = await this.model?.find(entry);
    if (found) {
      this.refresh();
      await bring(this.view, this.nodeOf(found.row), focus);
    }
    return found?.row;
  }

  /**
   * The same for a row by its id, with no fold opened but those it stands in.
   * @returns whether it has been read
   */
  async revealRow(id: string): Promise<boolean> {
    const row = this.model?.row(id);
    if (row) {
      await bring(this.view, this.nodeOf(row));
    }
    return row !== undefined;
  }

  /** Goes to where one is in a session just opened, unless the user has been quicker elsewhere. */
  async arrive(): Promise<void> {
    this.arrivedIn = this.model?.key;
    const found = await this.model?.find('here');
    const isElsewhere = this.view.selection.some(
      (node) => isRowNode(node) && node.id !== 'here' && this.nodes.get(node.id) === node,
    );
    if (found && !isElsewhere) {
      await this.reveal('here');
    }
  }

  /**
   * Selects the row of an entry in passing: folds that it opens are closed by `close`, unless the
   * user does something there.
   * @returns the folds it stands in; undefined where it has no row under the filter at hand
   */
  async pass(entry: EntryId): Promise<readonly string[] | undefined> {
    const found = await this.model?.find(entry);
    if (found) {
      found.opened.forEach((id) => this.passing.add(id));
      this.refresh();
      await bring(this.view, this.nodeOf(found.row));
    }
    return found?.path;
  }

  /** Closes the folds that were opened in passing, but for some. */
  close(except: readonly string[] = []): void {
    const closed = [...this.passing].filter((id) => !except.includes(id));
    for (const id of closed) {
      this.passing.delete(id);
      this.model?.setOpen(id, false);
      this.versions.set(id, (this.versions.get(id) ?? 0) + 1);
      this.nodes.delete(id);
    }
    for (const level of new Set(closed.map((id) => this.model?.row(id)?.level ?? MAIN))) {
      this.changed.fire(level === MAIN ? undefined : this.nodes.get(level));
    }
  }

  /** The innermost row in sight of one that stands in folds opened in passing. */
  async selectAround(): Promise<void> {
    let around: Row | undefined;
    for (let row = this.selectedRows()[0]; row; row = this.around(row)) {
      around = this.passing.has(row.id) ? row : around;
    }
    this.close();
    if (around) {
      await bring(this.view, this.nodeOf(around));
    }
  }

  /** Keeps the folds that a row stands in: the user has done something there. */
  keep(row: Row | undefined): void {
    for (let one = row && this.around(row); one; one = this.around(one)) {
      if (this.passing.delete(one.id)) {
        this.current.setOpen(one.id, true);
      }
    }
  }

  private around(row: Row): Row | undefined {
    return row.level === MAIN ? undefined : this.model?.row(row.level);
  }

  /** Keeps the leaf selected and in sight when it has moved on. */
  async follow(): Promise<void> {
    const here = this.nodes.get('here');
    if (here) {
      this.refresh();
      await bring(this.view, here);
    }
  }

  /** Draws where a compaction would cut, in front of what it keeps; of nothing: not any more. */
  async showCut(kept: readonly EntryId[]): Promise<void> {
    this.cut.set(kept);
    this.refresh();
    if (this.view.visible && this.cut.placeIn(MAIN, this.model?.level(MAIN)?.rows ?? []) >= 0) {
      await this.view.reveal(this.cut.node, { select: false, focus: false });
    }
  }

  /** Has rows show what was searched for; undefined: nothing. */
  showHits(hits: Hits | undefined): void {
    this.hits = hits;
    this.refreshSoon();
  }

  mark(row: Row | undefined): void {
    this.marked = row;
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
    this.passing.clear();
    this.versions.clear();
    this.marked = this.hits = undefined;
    if (this.isAsked) {
      this.changed.fire(undefined);
    }
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
    this.keepSelection(before, model);
    this.forgetFresh(model);
  }

  /** A selected row that is no more gives way to the nearest above it. */
  private keepSelection(before: ReadonlyMap<LevelKey, Shown>, model: SessionModel): void {
    const [node] = this.view.selection;
    if (!isRowNode(node) || model.row(node.id) || !this.shown.has(node.level)) {
      return;
    }
    const order = [...(before.get(node.level)?.painted.keys() ?? [])];
    const above = order.slice(0, Math.max(order.indexOf(node.id), 0));
    const row = model.row(above.findLast((id) => model.row(id)) ?? node.level ?? 'here');
    if (row && order.includes(node.id)) {
      void bring(this.view, this.nodeOf(row));
    }
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
    if (now.around !== before.around || !areSame(now.painted.keys(), before.painted.keys())) {
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
    const painted = paintRows(level?.rows ?? [], {
      today: todayOf(),
      isOpen: (row) => model.isOpen(row),
      size: this.size,
      fresh: model.fresh,
      outside: this.outside(model),
      standing: model.standing,
      pis: model.pis.length,
      marked: this.marked?.id,
      hits: this.hits,
      doing: model.longOperation ? operationText(model.longOperation) : undefined,
      badges: vscode.workspace.getConfiguration('explorer').get('decorations.badges', true),
    });
    for (const one of painted) {
      this.painted.set(one.id, one);
    }
    return {
      around: `${level?.earlier ?? 0}/${level?.later ?? 0}/${this.cut.placeIn(key, level?.rows ?? [])}`,
      painted: new Map(painted.map((one) => [one.id, JSON.stringify(one)])),
    };
  }

  /** The row another program wrote last; looked at again when that is long ago. */
  private outside(model: SessionModel): string | undefined {
    const now = Date.now();
    const outside = model.outside(now);
    if (outside) {
      this.going ??= setTimeout(
        () => {
          this.going = undefined;
          this.refreshSoon();
        },
        outside.until - now + 1000,
      );
    }
    return outside?.row;
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

  /**
   * VS Code asks for what is inside of open rows alone. That one was opened it does not tell while
   * it reads all anew.
   */
  private asked(node: RowNode, model: SessionModel): void {
    const row = model.row(node.id);
    if (row && !model.isOpen(row)) {
      this.folded(node, true);
    }
  }

  private folded(node: TreeNode, isOpen: boolean): void {
    if (node.kind !== 'row' || (isOpen && this.passing.has(node.id))) {
      return;
    }
    this.passing.delete(node.id);
    this.current.setOpen(node.id, isOpen);
    this.refreshSoon();
  }
}

function areSame(some: Iterable<string>, others: Iterable<string>): boolean {
  return [...some].join('\n') === [...others].join('\n');
}
