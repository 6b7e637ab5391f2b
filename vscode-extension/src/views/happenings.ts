/** Tells in the view what others did, and follows the leaf for whoever stands on it. */

import type * as vscode from 'vscode';
import { readClock } from '../texts/figures';
import { changeSentence, progressSentence, resetSentence } from '../texts/happenings';
import type { CurrentSession } from './current';
import type { Header } from './header';
import { isRowNode } from './rowItems';
import type { BranchTree } from './tree';

/** Milliseconds a sentence stands above the rows. */
const READ = 20_000;

export class Happenings implements vscode.Disposable {
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly current: CurrentSession,
    private readonly tree: BranchTree,
    private readonly header: Header,
  ) {
    current.on((happening) => {
      switch (happening.what) {
        case 'acts':
          this.tellActs(happening.changes);
          break;
        case 'progress':
          this.tell(progressSentence(happening.progress));
          break;
        case 'lost':
          this.tell(resetSentence(happening.reason));
          break;
        case 'switched':
          this.header.setNews(undefined);
          break;
        default:
          break;
      }
    });
  }

  dispose(): void {
    clearTimeout(this.timer);
  }

  private tellActs(changes: Parameters<typeof changeSentence>[0][]): void {
    const model = this.current.model;
    const clock = readClock(new Date().toISOString())?.clock ?? '';
    for (const change of changes) {
      if (model?.isOther(change.origin)) {
        this.tell(changeSentence(change, clock));
      }
    }
    if (changes.some((change) => change.kind === 'append')) {
      this.follow();
    }
  }

  private tell(sentence: string | undefined): void {
    if (sentence === undefined) {
      return;
    }
    this.header.setNews(sentence);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.header.setNews(undefined), READ);
  }

  /** The view goes along only where the selection was on the leaf. */
  private follow(): void {
    const [node] = this.tree.view.selection;
    if (this.tree.view.visible && isRowNode(node) && node.id === 'here') {
      void this.tree.follow();
    }
  }
}
