/** The graph of one session in the editor area. */

import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';
import { asFailure } from '../rpc/failure';
import { cleanLine, cut } from '../texts/plain';
import type { Named } from '../model/identity';
import type { EntryId } from '../model/wire';
import type { CurrentSession } from '../views/current';
import type { Connection } from '../daemon/connection';
import { GraphFeed } from './feed';
import { pageHtml } from './html';
import type { FromPage, ToPage } from './messages';
import { noticeOf } from './notice';

export const VIEW = 'pisessiond.graph';

/** What a graph needs of the window it is in. */
export interface Surroundings {
  connection: Connection;
  current: CurrentSession;
  /** The extension's folder. */
  folder: vscode.Uri;
  act: (told: FromPage & { type: 'act' }, panel: GraphPanel) => unknown;
}

export class GraphPanel {
  private readonly feed: GraphFeed;
  private readonly ends: (() => void)[];
  private notice: string | null = null;
  /** Said to the page when it is there. */
  private wanted: EntryId | 'here' | undefined;
  private isReady = false;

  constructor(
    readonly panel: vscode.WebviewPanel,
    readonly which: Named,
    private readonly around: Surroundings,
  ) {
    const { connection, current } = around;
    const shown = {
      which: () => current.model?.info,
      onRead: (listener: () => void) =>
        current.on(({ what }) => {
          if (what === 'reset' || what === 'switched') {
            listener();
          }
        }),
    };
    this.feed = new GraphFeed(connection, which, shown, () => this.post({ type: 'changed' }));
    this.ends = [
      connection.onState(() => this.updateNotice()),
      current.on(({ what }) => {
        if (what !== 'progress') {
          this.updateName();
          this.updateNotice();
        }
      }),
    ];
    panel.webview.options = { enableScripts: true, localResourceRoots: resources(around.folder) };
    panel.webview.onDidReceiveMessage((told: FromPage) => void this.hear(told));
    panel.onDidChangeViewState(() => {
      // While it is hidden there is no page.
      this.isReady &&= panel.visible;
    });
    panel.webview.html = this.html();
    this.updateName();
  }

  /** Whether it is of the session that the window shows. */
  get isShown(): boolean {
    return this.feed.isShown;
  }

  /** Brings an entry's line into sight. */
  reveal(entry: EntryId | 'here'): void {
    this.wanted = entry;
    this.panel.reveal(undefined, false);
    this.sayWanted();
  }

  close(): void {
    this.ends.forEach((end) => end());
    this.feed.close();
  }

  private async hear(told: FromPage): Promise<void> {
    switch (told.type) {
      case 'ready':
        this.isReady = true;
        this.post({ type: 'session', ...this.which, name: this.name() });
        this.updateNotice(true);
        this.sayWanted();
        break;
      case 'want':
        await this.answer(told);
        break;
      case 'act':
        await this.around.act(told, this);
        break;
    }
  }

  private async answer({ ticket, wish }: FromPage & { type: 'want' }): Promise<void> {
    try {
      this.post({ type: 'lines', ticket, result: await this.feed.lines(wish) });
      this.updateName();
    } catch (error) {
      const failure = asFailure(error);
      this.post({ type: 'failed', ticket, sentence: cleanLine(failure.message) });
    }
  }

  private sayWanted(): void {
    if (this.isReady && this.wanted !== undefined) {
      this.post({ type: 'reveal', entry: this.wanted });
      this.wanted = undefined;
    }
  }

  private updateName(): void {
    const title = `Graph: ${this.name()}`;
    if (this.panel.title !== title) {
      this.panel.title = title;
      this.post({ type: 'session', ...this.which, name: this.name() });
    }
  }

  private updateNotice(always = false): void {
    const { connection, current } = this.around;
    const sentence = noticeOf(connection, this.isShown ? current.model : undefined);
    if (always || sentence !== this.notice) {
      this.notice = sentence;
      this.post({ type: 'notice', sentence });
    }
  }

  private name(): string {
    const info = this.isShown ? this.around.current.model?.info : this.feed.info;
    return cut(cleanLine(info?.name ?? this.which.session.slice(0, 8)), 30);
  }

  private post(told: ToPage): void {
    // A page that is hidden is gone; it asks for everything when it comes back.
    void this.panel.webview.postMessage(told);
  }

  private html(): string {
    const { webview } = this.panel;
    const address = (...names: string[]) =>
      webview.asWebviewUri(vscode.Uri.joinPath(this.around.folder, ...names)).toString();
    return pageHtml({
      script: address('dist', 'graph.js'),
      style: address('media', 'graph.css'),
      source: webview.cspSource,
      nonce: randomBytes(16).toString('base64'),
    });
  }
}

function resources(folder: vscode.Uri): vscode.Uri[] {
  return ['dist', 'media'].map((name) => vscode.Uri.joinPath(folder, name));
}
