/** What stands above the rows, in the status bar and in the context keys of menus. */

import * as vscode from 'vscode';
import type { Connection } from '../daemon/connection';
import type { SessionModel } from '../model/session';
import type { Grade } from '../model/wire';
import { MAIN } from '../model/rows';
import { thresholdSentence } from '../texts/happenings';
import { headerMessage, titleLine } from '../texts/header';
import { statusText, type StatusText, type Thresholds } from '../texts/status';
import { cleanLine } from '../texts/plain';
import { welcomeOf, type Welcome } from '../texts/waiting';
import { currentFolder, type CurrentSession } from './current';
import { ContextKeys, sessionKeys } from './keys';
import { Waiting } from './waiting';
import type { Searching } from './searching';
import type { BranchTree } from './tree';

const COLOURS = {
  ok: undefined,
  warn: 'statusBarItem.warningBackground',
  high: 'statusBarItem.errorBackground',
} as const;

/** Milliseconds a sentence stands in the status bar. */
const READ = 6000;

export class Header implements vscode.Disposable {
  private readonly item: vscode.StatusBarItem;
  private readonly keys = new ContextKeys();
  private readonly disposables: vscode.Disposable[] = [];
  private readonly waiting = new Waiting(() => this.update());
  private readonly losing = new Waiting(() => this.update());
  private last = '';
  private news: string | undefined;
  private hint: string | undefined;
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
    connection.onState(() => this.update());
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
    this.waiting.take(false);
    this.losing.take(false);
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

  /** A sentence on what could be done so that a pi follows; undefined takes it away. */
  setHint(sentence: string | undefined): void {
    if (this.hint !== sentence) {
      this.hint = sentence;
      this.update();
    }
  }

  update(): void {
    const model = this.current.model;
    const { state, since } = this.connection;
    const hasRows = model?.level(MAIN) !== undefined;
    this.losing.take(since !== undefined && state !== 'ready');
    this.waiting.take(!hasRows && (state === 'connecting' || state === 'ready'));
    this.setKeys(model);
    this.setStatus(model);
    this.tree.view.description = titleLine(model, this.searching.place) ?? this.reason(model);
    // A message would take the place of what is offered where there are no rows.
    this.tree.view.message = hasRows
      ? headerMessage(this.connection, model, {
          isOffline: this.losing.waited !== 'calm',
          isTrusted: vscode.workspace.isTrusted,
          news: this.news,
          hint: this.hint,
          now: Date.now(),
        })
      : undefined;
  }

  private welcome(model: SessionModel | undefined): Welcome {
    return welcomeOf({
      state: this.connection.state,
      linkProblem: this.connection.problemKind,
      problem: model?.problem?.kind,
      isWished: model !== undefined,
      hasFolder: currentFolder() !== undefined,
      waited: this.waiting.waited,
    });
  }

  /** Why there are no rows, where that is more than the view itself can say. */
  private reason(model: SessionModel | undefined): string | undefined {
    const why =
      this.connection.state === 'offline' ? this.connection.problem : model?.problem?.message;
    return why === undefined ? undefined : cleanLine(why);
  }

  private statusOf(model: SessionModel | undefined): StatusText | undefined {
    const size = model?.size ?? null;
    const { state } = this.connection;
    return statusText({
      size,
      operation: model?.longOperation ?? null,
      isUnsaved: model?.info?.unsaved === true,
      // What is over at once would only blink.
      state: size && this.losing.waited === 'calm' ? 'ready' : state,
      thresholds: ownThresholds(),
      pis: model?.pis ?? [],
    });
  }

  private setStatus(model: SessionModel | undefined): void {
    const shown = this.statusOf(model);
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
    this.keys.set({
      ...sessionKeys(model),
      state: this.connection.state,
      welcome: model?.level(MAIN) ? '' : this.welcome(model),
      canUndo: !this.current.undo.isEmpty,
      searching: this.searching.walk !== undefined,
      marked: this.tree.marked !== undefined,
      offersBridge: this.hint !== undefined,
    });
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
