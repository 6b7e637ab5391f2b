/**
 * What the extension makes of the row files that all clients share (`tests/rows` of the repository):
 * `npm run rows` remakes `NAME.vscode.txt`, a change of look is a diff there.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Row } from '../src/model/wire';
import { paintRows, type PaintedRow } from '../src/texts/paint';

export const FOLDER = join(__dirname, '..', '..', 'tests', 'rows');

export interface RowFile {
  name: string;
  today: string;
  open: string[];
  rows: Row[];
}

export function rowFiles(): RowFile[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => {
      const given = JSON.parse(readFileSync(join(FOLDER, name), 'utf8')) as Omit<RowFile, 'name'>;
      return { ...given, name: name.replace(/\.json$/, '') };
    });
}

/** The rows of a file as they are painted, in the order of the screen. */
export function paintedRows(file: RowFile): { row: Row; painted: PaintedRow }[] {
  const open = new Set(file.open);
  const painted = new Map<string, PaintedRow>();
  for (const level of new Set(file.rows.map((row) => row.level))) {
    const rows = file.rows.filter((row) => row.level === level);
    for (const one of paintRows(rows, { today: file.today, isOpen: (row) => open.has(row.id) })) {
      painted.set(one.id, one);
    }
  }
  return file.rows.map((row) => ({ row, painted: painted.get(row.id) as PaintedRow }));
}

/** One line a row: fold, icon, label, description, badge, sentence. */
export function paintedText(file: RowFile): string {
  const lines = paintedRows(file).map(({ row, painted }) => {
    const sign = painted.fold === 'none' ? ' ' : file.open.includes(row.id) ? 'v' : '>';
    const { icon, label, description, badge, spoken } = painted;
    const left = `${'  '.repeat(row.depth)}${sign} ${icon}`;
    return [left, label, description, badge, spoken].join(' | ');
  });
  return lines.join('\n') + '\n';
}
