/** What stands above the rows, in the status bar and in the context keys of menus. */

import * as vscode from 'vscode';
import type { Connection } from '../daemon/connection';
import type { SessionModel } from '../model/session';
import type { Grade } from '../model/wire';
import { thresholdSentence } from '../texts/happenings';
import { headerMessage, titleLine } from '../texts/header';
import { statusText, type Thresholds } from '../texts/status';
import type { CurrentSession } from './current';
import type { Searching } from './searching';
import type { BranchTree } from './tree';

const COLOURS = {
  ok: undefined,
  warn: 'statusBarItem.warningBackground',
  high: 'statusBarItem.errorBackground',
} as const;

/** Milliseconds before anything says that it takes a while. */
const CALM = 300;
/** Milliseconds a sentence stands in the status bar. */
const READ = 6000;

export class Header implements vscode.Disposable {
  private readonly item: vscode.StatusBarItem;
  private readonly keys = new Map<string, unknown>();
  private readonly disposables: vscode.Disposable[] = [];
  private calm: NodeJS.Timeout | undefined;
  private isLong = false;
  private last = '';
  private news: string | undefined;
  private grade: Grade | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly current: CurrentSession,
    private readonly tree: BranchTree,
    private readonly searching: Searching,
  ) {
    searching.onChange(() => this.update());
    this.item = vscode.window.createStatusBarItem('context', vscode.StatusBarAlignment.Right, 50);
    this.item.name = 'pi context';
    this.item.command = 'pisessiond.showContext';
    current.on((happening) => {
      if (happening.what === 'switched') {
        this.grade = undefined;
      }
      this.update();
    });
    connection.onState((state) => {
      clearTimeout(this.calm);
      this.isLong = false;
      if (state === 'connecting') {
        this.calm = setTimeout(() => {
          this.isLong = true;
          this.update();
        }, CALM);
      }
      this.update();
    });
    this.disposables.push(
      this.item,
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.update()),
      vscode.workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration('pisessiond.thresholds')) {
          this.update();
        }
      }),
    );
    this.update();
  }

  dispose(): void {
    clearTimeout(this.calm);
    for (const one of this.disposables) {
      one.dispose();
    }
  }

  /** A sentence on what has just happened; undefined takes it away. */
  setNews(sentence: string | undefined): void {
    if (this.news !== sentence) {
      this.news = sentence;
      this.update();
    }
  }

  update(): void {
    const model = this.current.model;
    this.setKeys(model);
    this.setStatus(model);
    this.tree.view.description = model && titleLine(model, this.searching.walk?.place);
    this.tree.view.message = headerMessage(this.connection, model, this.isLong, this.news);
  }

  private setStatus(model: SessionModel | undefined): void {
    const shown = statusText({
      size: model?.size ?? null,
      operation: model?.longOperation ?? null,
      isUnsaved: model?.info?.unsaved ?? false,
      state: this.connection.state,
      thresholds: ownThresholds(),
    });
    const signature = JSON.stringify(shown ?? null);
    if (signature === this.last) {
      return;
    }
    this.last = signature;
    this.sayThreshold(shown?.grade, model?.size?.percent ?? null);
    if (!shown) {
      this.item.hide();
      return;
    }
    const colour = COLOURS[shown.grade];
    this.item.text = shown.text;
    this.item.tooltip = shown.tooltip;
    this.item.backgroundColor = colour && new vscode.ThemeColor(colour);
    this.item.accessibilityInformation = { label: shown.spoken };
    this.item.show();
  }

  private sayThreshold(grade: Grade | undefined, percent: number | null): void {
    const sentence = grade && this.grade && thresholdSentence(this.grade, grade, percent);
    this.grade = grade ?? this.grade;
    if (sentence) {
      vscode.window.setStatusBarMessage(sentence, READ);
    }
  }

  private setKeys(model: SessionModel | undefined): void {
    this.setKey('state', this.connection.state);
    this.setKey('hasSession', model?.handle !== undefined);
    this.setKey('noSession', model?.problem?.kind === 'SessionNotFound' || !model);
    this.setKey('busy', (model?.operation ?? null) !== null);
    this.setKey(
      'readOnly',
      !vscode.workspace.isTrusted || (model?.info?.readOnly ?? null) !== null,
    );
    this.setKey('canUndo', !this.current.undo.isEmpty);
    this.setKey('leafConflict', (model?.info?.leafConflict ?? null) !== null);
    this.setKey('searching', this.searching.walk !== undefined);
    this.setKey('marked', this.tree.marked !== undefined);
    this.setKey('filter', model?.filter ?? 'default');
  }

  private setKey(name: string, value: unknown): void {
    if (this.keys.get(name) !== value) {
      this.keys.set(name, value);
      void vscode.commands.executeCommand('setContext', `pisessiond.${name}`, value);
    }
  }
}

/** The user's own thresholds for this client, where both are set and make sense. */
function ownThresholds(): Thresholds | undefined {
  const set = vscode.workspace.getConfiguration('pisessiond').get<unknown>('thresholds');
  if (!Array.isArray(set) || set.length !== 2) {
    return undefined;
  }
  const [warn, high] = set as unknown[];
  return typeof warn === 'number' && typeof high === 'number' && warn <= high
    ? { warn, high }
    : undefined;
}
