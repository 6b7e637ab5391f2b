/** The line in the rows where a compaction would cut, drawn while its dry run is looked at. */

import * as vscode from 'vscode';
import { MAIN, type LevelKey } from '../model/rows';
import type { SessionModel } from '../model/session';
import type { EntryId, Row } from '../model/wire';

export interface CutNode {
  kind: 'cut';
  level: LevelKey;
}

export class Cut {
  readonly node: CutNode = { kind: 'cut', level: MAIN };
  private kept: ReadonlySet<string> = new Set();

  /** It stands in front of what is kept; of nothing, nowhere. */
  set(kept: readonly EntryId[]): void {
    this.kept = new Set(kept.map(String));
  }

  /** Its place among the rows of a level; -1 where it is not. */
  placeIn(key: LevelKey, rows: readonly Row[]): number {
    return key === MAIN && this.kept.size > 0
      ? rows.findIndex((row) => row.first !== null && this.kept.has(String(row.first)))
      : -1;
  }
}

export function cutItem(model: SessionModel | undefined): vscode.TreeItem {
  const item = new vscode.TreeItem('── cut ──');
  item.id = `${model?.key ?? ''}\ncut`;
  item.tooltip = 'What is above would be summarised, what is below is kept.';
  item.accessibilityInformation = { label: `Cut. ${item.tooltip}` };
  return item;
}
