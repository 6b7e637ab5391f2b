/** Rows of the branch tree as VS Code wants them. */

import * as vscode from 'vscode';
import type { LevelKey } from '../model/rows';
import type { SessionModel } from '../model/session';
import type { Row } from '../model/wire';
import { plainText } from '../texts/entries';
import type { PaintedRow } from '../texts/paint';
import { cleanText } from '../texts/plain';
import { rowUri } from './badges';
import type { CutNode } from './cut';

/** A row, the line that stands for rows which have not been read, or that of a compaction's cut. */
export type TreeNode =
  | { kind: 'row'; id: string; level: LevelKey }
  | { kind: 'more'; level: LevelKey; side: 'before' | 'after' }
  | CutNode;

export type RowNode = TreeNode & { kind: 'row' };
export type MoreNode = TreeNode & { kind: 'more' };

export function isRowNode(value: unknown): value is RowNode {
  return typeof value === 'object' && value !== null && (value as TreeNode).kind === 'row';
}

/** Characters of an entry that a tooltip shows. */
const SHOWN = 400;

/** @param version differs where VS Code is to forget whether the row was open */
export function rowItem(
  node: RowNode,
  row: Row,
  painted: PaintedRow,
  model: SessionModel,
  version: number,
): vscode.TreeItem {
  const key = model.key ?? '';
  const label =
    painted.hits.length === 0 ? painted.label : { label: painted.label, highlights: painted.hits };
  const item = new vscode.TreeItem(label, stateOf(row, model));
  item.id = `${key}\n${row.id}${version === 0 ? '' : `\n${version}`}`;
  item.description = painted.description;
  item.iconPath = new vscode.ThemeIcon(painted.icon, iconColour(painted));
  item.contextValue = painted.words;
  item.resourceUri = rowUri(key, painted);
  item.accessibilityInformation = { label: painted.spoken };
  if (row.entry !== null) {
    item.command = { command: 'pisessiond.showEntry', title: 'Show Entry', arguments: [node] };
  }
  return item;
}

function stateOf(row: Row, model: SessionModel): vscode.TreeItemCollapsibleState {
  if (row.fold === 'none') {
    return vscode.TreeItemCollapsibleState.None;
  }
  return model.isOpen(row)
    ? vscode.TreeItemCollapsibleState.Expanded
    : vscode.TreeItemCollapsibleState.Collapsed;
}

function iconColour(painted: PaintedRow): vscode.ThemeColor | undefined {
  return painted.isAside ? new vscode.ThemeColor('descriptionForeground') : undefined;
}

export function moreItem(node: MoreNode, model: SessionModel | undefined): vscode.TreeItem {
  const level = model?.level(node.level);
  const number = (node.side === 'before' ? level?.earlier : level?.later) ?? 0;
  const many = number > 1 ? `${number.toLocaleString('en')} ` : '';
  const rows = number === 1 ? 'row' : 'rows';
  const item = new vscode.TreeItem(
    `… ${many}${node.side === 'before' ? 'earlier' : 'later'} ${rows}`,
  );
  item.id = `${model?.key ?? ''}\n${node.side}:${node.level ?? ''}`;
  item.command = { command: 'pisessiond.moreRows', title: 'More Rows', arguments: [node] };
  return item;
}

/** The beginning of what a row's entry says; undefined where it stands for more than one. */
export async function bodyOf(row: Row, model: SessionModel): Promise<string | undefined> {
  if (row.entry === null || row.entries !== 1) {
    return undefined;
  }
  try {
    const answer = await model.request('session/entries', { ids: [row.entry] });
    const entry = answer.entries[0];
    return entry && cleanText(plainText(entry).slice(0, 5 * SHOWN)).slice(0, SHOWN);
  } catch {
    return undefined;
  }
}
