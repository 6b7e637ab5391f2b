/** The view Sessions: families of forks of this folder, and of other folders below. */

import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { Connection } from '../daemon/connection';
import { keyOf } from '../model/identity';
import { SessionList } from '../model/sessionList';
import { count, todayOf } from '../texts/figures';
import { describePi } from '../texts/pis';
import { cleanLine } from '../texts/plain';
import {
  describe,
  familiesOf,
  isOpenAtFirst,
  speakSession,
  titleOf,
  type Family,
} from '../texts/sessions';
import { currentFolder, type CurrentSession } from './current';

export type SessionNode =
  | { kind: 'family'; family: Family; isElsewhere: boolean }
  | { kind: 'others' }
  | { kind: 'more'; isElsewhere: boolean };
type FamilyNode = SessionNode & { kind: 'family' };

/** Milliseconds in which changes are joined; VS Code joins refreshes for 200 ms more. */
const JOIN = 50;
const HIDES_FORKS = 'pisessiond.hidesForks';

/** What VS Code has been given of a node: how it looks, and what is inside. */
interface Drawn {
  looks: string;
  inside: string;
}

export class SessionsView implements vscode.TreeDataProvider<SessionNode>, vscode.Disposable {
  readonly view: vscode.TreeView<SessionNode>;
  readonly here: SessionList;
  private others: SessionList | undefined;
  private readonly changed = new vscode.EventEmitter<SessionNode | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly othersNode: SessionNode = { kind: 'others' };
  /** By whether it is of another folder, and its path. */
  private nodes = new Map<string, FamilyNode>();
  private drawn = new Map<SessionNode | undefined, Drawn>();
  private timer: NodeJS.Timeout | undefined;
  private hidesForks: boolean;

  constructor(
    private readonly connection: Connection,
    private readonly current: CurrentSession,
    private readonly memory: vscode.Memento,
  ) {
    this.hidesForks = memory.get(HIDES_FORKS) ?? false;
    this.here = new SessionList(connection, currentFolder(), true);
    this.here.onChange(() => {
      this.refreshSoon();
      void this.current.cameBack(this.here.sessions);
    });
    this.here.onCame((sessions) => this.followNewest(sessions));
    current.on((happening) => {
      if (happening.what === 'switched') {
        this.refreshSoon();
      }
    });
    this.view = vscode.window.createTreeView('pisessiond.sessions', { treeDataProvider: this });
    this.view.onDidChangeVisibility(({ visible }) => {
      // Families go by their newest activity again when one comes back to them.
      if (visible && this.here.isRead) {
        void this.here.read();
      }
    });
    this.tellForks();
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.here.close();
    this.others?.close();
    this.view.dispose();
    this.changed.dispose();
  }

  async getChildren(node?: SessionNode): Promise<SessionNode[]> {
    if (node === undefined && !this.here.isRead) {
      await this.here.read();
    }
    if (node?.kind === 'others') {
      await this.readOthers();
    }
    const inside = this.inside(node);
    this.drawn.set(node, this.draw(node, inside));
    inside.forEach((one) => this.drawn.set(one, this.draw(one, this.inside(one))));
    return inside;
  }

  getTreeItem(node: SessionNode): vscode.TreeItem {
    switch (node.kind) {
      case 'family':
        return this.familyItem(node);
      case 'others': {
        const item = new vscode.TreeItem(
          'other folders',
          vscode.TreeItemCollapsibleState.Collapsed,
        );
        item.id = 'others';
        item.iconPath = new vscode.ThemeIcon('folder');
        item.description = this.others?.isRead ? this.othersWords(this.others) : '';
        return item;
      }
      case 'more': {
        const item = new vscode.TreeItem('… more sessions');
        item.id = node.isElsewhere ? 'more:others' : 'more';
        item.command = {
          command: 'pisessiond.moreSessions',
          title: 'More Sessions',
          arguments: [node],
        };
        return item;
      }
    }
  }

  async more(node: SessionNode): Promise<void> {
    if (node.kind === 'more') {
      await (node.isElsewhere ? this.others : this.here)?.more();
    }
  }

  async refresh(): Promise<void> {
    await Promise.all([this.here.read(), this.others?.read()]);
  }

  /** Shows only what families began with, or forks too; remembered for the folder. */
  async setHidesForks(hidesForks: boolean): Promise<void> {
    this.hidesForks = hidesForks;
    this.tellForks();
    this.refreshSoon();
    await this.memory.update(HIDES_FORKS, hidesForks);
  }

  private tellForks(): void {
    void vscode.commands.executeCommand('setContext', HIDES_FORKS, this.hidesForks);
    const where = this.here.cwd === undefined ? 'all folders' : 'this folder';
    this.view.description = this.hidesForks ? `${where}, forks hidden` : where;
  }

  private async readOthers(): Promise<void> {
    if (!this.others) {
      this.others = new SessionList(this.connection, undefined, false);
      this.others.onChange(() => this.refreshSoon());
      await this.others.read();
    }
  }

  private othersWords(others: SessionList): string {
    const number = this.ofOthers(others).length;
    return others.hasMore ? `more than ${number}` : count(number, 'session');
  }

  private ofOthers(others: SessionList): SessionList['sessions'] {
    return others.sessions.filter((one) => one.cwd !== this.here.cwd);
  }

  // What is shown, and what of it has changed.

  private inside(node?: SessionNode): SessionNode[] {
    switch (node?.kind) {
      case 'family':
        return this.hidesForks ? [] : this.familyNodes(node.family.forks, node.isElsewhere);
      case 'others':
        return this.others ? this.nodesOf(this.others, true) : [];
      case 'more':
        return [];
      case undefined: {
        const nodes = this.nodesOf(this.here, false);
        const isWhole = this.here.cwd === undefined || (this.here.problem && nodes.length === 0);
        return isWhole ? nodes : [...nodes, this.othersNode];
      }
    }
  }

  private nodesOf(list: SessionList, isElsewhere: boolean): SessionNode[] {
    const sessions = isElsewhere ? this.ofOthers(list) : list.sessions;
    const nodes: SessionNode[] = this.familyNodes(familiesOf(sessions), isElsewhere);
    return list.hasMore ? [...nodes, { kind: 'more', isElsewhere }] : nodes;
  }

  /** One node for one session, whatever becomes of it: VS Code knows nodes by what they are. */
  private familyNodes(families: readonly Family[], isElsewhere: boolean): FamilyNode[] {
    return families.map((family) => {
      const key = `${isElsewhere ? 'others' : 'here'}:${keyOf(family.session)}`;
      const node = this.nodes.get(key) ?? { kind: 'family', family, isElsewhere };
      node.family = family;
      this.nodes.set(key, node);
      return node;
    });
  }

  private draw(node: SessionNode | undefined, inside: readonly SessionNode[]): Drawn {
    return {
      looks: node ? JSON.stringify(this.getTreeItem(node)) : '',
      inside: inside.map((one) => this.getTreeItem(one).id).join('\n'),
    };
  }

  private refreshSoon(): void {
    // What comes while it is hidden is drawn when the list is read for whoever looks again.
    if (this.view.visible) {
      this.timer ??= setTimeout(() => {
        this.timer = undefined;
        this.redraw();
      }, JOIN);
    }
  }

  /** Tells VS Code of the smallest parts that look different. */
  private redraw(): void {
    const roots = this.inside();
    const isEmpty =
      this.here.isRead && this.here.sessions.length === 0 && this.here.cwd !== undefined;
    this.view.message =
      isEmpty && !this.here.problem ? 'No pi session in this folder yet.' : undefined;
    const before = this.drawn;
    this.drawn = new Map();
    this.redrawOne(undefined, roots, before, false);
  }

  private redrawOne(
    node: SessionNode | undefined,
    inside: readonly SessionNode[],
    before: ReadonlyMap<SessionNode | undefined, Drawn>,
    isTold: boolean,
  ): void {
    const known = before.get(node);
    if (!known) {
      return;
    }
    const now = this.draw(node, inside);
    this.drawn.set(node, now);
    const tells = !isTold && (now.looks !== known.looks || now.inside !== known.inside);
    if (tells) {
      this.changed.fire(node);
    }
    inside.forEach((one) => this.redrawOne(one, this.inside(one), before, isTold || tells));
  }

  private familyItem({ family, isElsewhere }: FamilyNode): vscode.TreeItem {
    const { session } = family;
    const forks = this.hidesForks ? [] : family.forks;
    const state =
      forks.length === 0
        ? vscode.TreeItemCollapsibleState.None
        : isOpenAtFirst(family)
          ? vscode.TreeItemCollapsibleState.Expanded
          : vscode.TreeItemCollapsibleState.Collapsed;
    const item = new vscode.TreeItem(titleOf(session), state);
    const isOpen = keyOf(session) === this.current.model?.key;
    const folder = isElsewhere ? ` · ${cleanLine(basename(session.cwd))}` : '';
    const today = todayOf();
    // A row that was drawn without forks would stay closed over its first one.
    item.id = `${forks.length > 0 ? 'family' : 'session'}:${keyOf(session)}`;
    item.description = describe(family, today) + folder;
    item.iconPath = new vscode.ThemeIcon(
      isOpen ? 'circle-filled' : session.fork ? 'repo-forked' : 'circle-outline',
    );
    item.contextValue = session.unsaved ? 'session unsaved' : 'session saved';
    item.tooltip = [
      titleOf(session),
      count(session.messages, 'message'),
      cleanLine(session.cwd),
      ...(session.pis ?? []).map(describePi),
    ].join('\n');
    item.accessibilityInformation = {
      label: (isOpen ? 'Open here. ' : '') + speakSession(family, today),
    };
    item.command = {
      command: 'pisessiond.openSession',
      title: 'Open Session',
      arguments: [{ kind: 'family', family, isElsewhere }],
    };
    return item;
  }

  /** Goes along when a newer session begins in the folder, unless the user has chosen one. */
  private followNewest(sessions: readonly Family['session'][]): void {
    const info = this.current.model?.info;
    const began = typeof info?.header.timestamp === 'string' ? info.header.timestamp : '';
    const newest = sessions
      .filter((one) => !one.fork && (one.created ?? '') > began)
      .sort((a, b) => ((a.created ?? '') < (b.created ?? '') ? 1 : -1))[0];
    if (newest && this.current.follows) {
      void this.current.follow(
        newest.path !== null && !newest.unsaved
          ? { path: newest.path }
          : { session: newest.session },
      );
    }
  }
}
