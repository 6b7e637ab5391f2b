/** The session that this window shows: which one, and what of it outlives a restart. */

import * as vscode from 'vscode';
import type { Connection } from '../daemon/connection';
import { Emitter } from '../model/events';
import { FoldMemory } from '../model/folds';
import { keyOf } from '../model/identity';
import { SessionModel, type Happening, type Wish } from '../model/session';
import type { ListedSession, TreeFilter } from '../model/wire';
import { UndoStack } from '../model/undo';
import { Failure, type FailureKind } from '../rpc/failure';

const FOLDS = 'pisessiond.folds';
const CHOSEN = 'pisessiond.session';
const HANDED_OVER = 'pisessiond.handedOver';
/** What may be over when the file has changed again. */
const AMISS: FailureKind[] = ['SessionNotFound', 'NotASession', 'Unreadable'];
/** Milliseconds in which a new window begins with what was handed over to it. */
const HAND_OVER = 60_000;

export class CurrentSession implements vscode.Disposable {
  model: SessionModel | undefined;
  readonly undo = new UndoStack();
  /** Whether it goes along when a newer session begins in the folder. */
  follows = true;
  /** Asks which of several pi is meant; see `SessionModel.whichPi`. */
  whichPi: (model: SessionModel, choices: readonly unknown[]) => Promise<number> = () =>
    Promise.reject(new Failure('AmbiguousOwner', 'Several pi have this session open.'));

  private readonly happened = new Emitter<Happening | { what: 'switched' }>();
  private readonly folds: FoldMemory;
  /** Those that are being read, and those shown before that are still to be let go. */
  private readonly reading = new Set<SessionModel>();
  private readonly left = new Set<SessionModel>();
  private unlisten: (() => void) | undefined;
  private filter: TreeFilter = 'default';

  constructor(
    private readonly connection: Connection,
    private readonly memory: vscode.Memento,
    /** Of all windows. */
    private readonly common: vscode.Memento,
  ) {
    this.folds = new FoldMemory(memory.get(FOLDS));
  }

  on(listener: (happening: Happening | { what: 'switched' }) => void): () => void {
    return this.happened.on(listener);
  }

  /** Opens what was handed over or chosen last in this folder, else its newest session. */
  async begin(): Promise<void> {
    if (this.model) {
      return;
    }
    const handedOver = this.common.get<{ wish: Wish; at: number }>(HANDED_OVER);
    if (handedOver) {
      await this.common.update(HANDED_OVER, undefined);
      if (Date.now() - handedOver.at < HAND_OVER) {
        await this.choose(handedOver.wish);
        return;
      }
    }
    const chosen = this.memory.get<string>(CHOSEN);
    if (chosen !== undefined) {
      const model = await this.show({ path: chosen }, false);
      if (!model.problem || this.model !== model) {
        return;
      }
      // Its file is gone, or unreadable.
      await this.memory.update(CHOSEN, undefined);
    }
    const folder = currentFolder();
    if (folder !== undefined) {
      await this.show({ latest: { cwd: folder } }, true);
    }
  }

  /** Shows a session because the user chose it; what comes back may be overtaken by another one. */
  async choose(wish: Wish): Promise<SessionModel> {
    const model = await this.show(wish, false);
    if (this.model === model) {
      const path = model.info?.unsaved ? undefined : model.info?.path;
      await this.memory.update(CHOSEN, path ?? undefined);
    }
    return model;
  }

  /** Has the next window that is opened begin with a session; this one stays with its own. */
  async handOver(wish: Wish): Promise<void> {
    await this.common.update(HANDED_OVER, { wish, at: Date.now() });
  }

  /** Goes along to a newer session. */
  async follow(wish: Wish): Promise<void> {
    await this.show(wish, true);
  }

  /** Reads the session anew whose file was gone, or none, where the list of sessions has it. */
  async cameBack(sessions: readonly ListedSession[]): Promise<void> {
    const { model } = this;
    const path = model?.info?.path;
    const isAmiss = model?.problem !== undefined && AMISS.includes(model.problem.kind);
    if (model && isAmiss && path != null && sessions.some((one) => one.path === path)) {
      await model.fetch();
    }
  }

  async setFilter(filter: TreeFilter): Promise<void> {
    this.filter = filter;
    await this.model?.setFilter(filter);
  }

  /** Opened or closed by the user, and remembered. */
  setOpen(row: string, isOpen: boolean): void {
    const info = this.model?.info;
    this.model?.setOpen(row, isOpen);
    if (info) {
      this.folds.set(keyOf(info), row, isOpen);
      void this.memory.update(FOLDS, this.folds.toStored());
    }
  }

  dispose(): void {
    this.unlisten?.();
    this.left.forEach((one) => one.close());
    this.model?.close();
  }

  private async show(wish: Wish, follows: boolean): Promise<SessionModel> {
    const model = new SessionModel(this.connection, wish, this.filter, (info) =>
      this.folds.of(keyOf(info)),
    );
    model.whichPi = (choices) => this.whichPi(model, choices);
    this.unlisten?.();
    this.unlisten = model.on((happening) => this.happened.emit(happening));
    if (this.model) {
      this.left.add(this.model);
    }
    this.model = model;
    this.follows = follows;
    this.undo.clear();
    this.reading.add(model);
    await model.fetch();
    this.reading.delete(model);
    this.letGo();
    if (this.model === model) {
      this.happened.emit({ what: 'switched' });
    }
    return model;
  }

  /** Lets go of what was shown before, once it is known which session is shown now. */
  private letGo(): void {
    const { model } = this;
    if (!model || this.reading.has(model)) {
      return;
    }
    for (const one of this.left) {
      if (this.reading.has(one)) {
        // Whoever reads it comes back here.
        continue;
      }
      this.left.delete(one);
      if (one.handle === model.handle) {
        // The same session: closing it would end the subscription that the new one has.
        one.leave();
      } else {
        one.close();
      }
    }
  }
}

/** The workspace's first folder on a disk. */
export function currentFolder(): string | undefined {
  return vscode.workspace.workspaceFolders?.find((folder) => folder.uri.scheme === 'file')?.uri
    .fsPath;
}
