/** The view Sessions: families of forks of this folder, and of other folders below. */

import { basename } from 'node:path';
import * as vscode from 'vscode';
import type { Connection } from '../daemon/connection';
import { SessionList } from '../model/sessionList';
import { todayOf } from '../texts/figures';
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

export class SessionsView implements vscode.TreeDataProvider<SessionNode>, vscode.Disposable {
  readonly view: vscode.TreeView<SessionNode>;
  readonly here: SessionList;
  private others: SessionList | undefined;
  private readonly changed = new vscode.EventEmitter<SessionNode | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly othersNode: SessionNode = { kind: 'others' };

  constructor(
    private readonly connection: Connection,
    private readonly current: CurrentSession,
  ) {
    this.here = new SessionList(connection, currentFolder(), true);
    this.here.onChange(() => this.changed.fire(undefined));
    this.here.onCame((sessions) => this.followNewest(sessions));
    current.on((happening) => {
      if (happening.what === 'switched') {
        this.changed.fire(undefined);
      }
    });
    this.view = vscode.window.createTreeView('pisessiond.sessions', { treeDataProvider: this });
  }

  dispose(): void {
    this.here.close();
    this.others?.close();
    this.view.dispose();
    this.changed.dispose();
  }

  async getChildren(node?: SessionNode): Promise<SessionNode[]> {
    if (node?.kind === 'family') {
      return node.family.forks.map((family) => ({ ...node, family }));
    }
    if (node?.kind === 'others') {
      return this.nodesOf(await this.readOthers(), true);
    }
    if (node) {
      return [];
    }
    if (!this.here.isRead) {
      await this.here.read();
    }
    const nodes = this.nodesOf(this.here, false);
    const isEmpty = nodes.length === 0 && this.here.cwd !== undefined && !this.here.problem;
    this.view.message = isEmpty ? 'No pi session in this folder yet.' : undefined;
    const isWhole = this.here.cwd === undefined || this.here.problem;
    return isWhole ? nodes : [...nodes, this.othersNode];
  }

  getTreeItem(node: SessionNode): vscode.TreeItem {
    switch (node.kind) {
      case 'family':
        return this.familyItem(node.family, node.isElsewhere);
      case 'others': {
        const item = new vscode.TreeItem(
          'other folders',
          vscode.TreeItemCollapsibleState.Collapsed,
        );
        item.id = 'others';
        item.iconPath = new vscode.ThemeIcon('folder');
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

  private async readOthers(): Promise<SessionList> {
    if (!this.others) {
      this.others = new SessionList(this.connection, undefined, false);
      this.others.onChange(() => this.changed.fire(this.othersNode));
      await this.others.read();
    }
    return this.others;
  }

  private nodesOf(list: SessionList, isElsewhere: boolean): SessionNode[] {
    const sessions = isElsewhere
      ? list.sessions.filter((one) => one.cwd !== this.here.cwd)
      : list.sessions;
    const nodes: SessionNode[] = familiesOf(sessions).map((family) => ({
      kind: 'family',
      family,
      isElsewhere,
    }));
    return list.hasMore ? [...nodes, { kind: 'more', isElsewhere }] : nodes;
  }

  private familyItem(family: Family, isElsewhere: boolean): vscode.TreeItem {
    const { session, forks } = family;
    const state =
      forks.length === 0
        ? vscode.TreeItemCollapsibleState.None
        : isOpenAtFirst(family)
          ? vscode.TreeItemCollapsibleState.Expanded
          : vscode.TreeItemCollapsibleState.Collapsed;
    const item = new vscode.TreeItem(titleOf(session), state);
    const isOpen = session.session === this.current.model?.handle;
    const folder = isElsewhere ? ` · ${cleanLine(basename(session.cwd))}` : '';
    const today = todayOf();
    // A row that was drawn without forks would stay closed over its first one.
    item.id = `${forks.length > 0 ? 'family' : 'session'}:${session.path ?? session.session}`;
    item.description = describe(family, today) + folder;
    item.iconPath = new vscode.ThemeIcon(
      isOpen ? 'circle-filled' : session.fork ? 'repo-forked' : 'circle-outline',
    );
    item.contextValue = session.unsaved ? 'session unsaved' : 'session saved';
    item.tooltip = [titleOf(session), `${session.messages} messages`, session.cwd].join('\n');
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
