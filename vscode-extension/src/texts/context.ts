/** What fills the context at the leaf, as lines of the view Context. */

import type { ContextSize, EntryId, StatsResult, TreeFilter } from '../model/wire';
import { bar, count, formatCost, formatDetail, formatTokens, readClock, tilde } from './figures';
import { cleanLine } from './plain';

export interface ContextLine {
  id: string;
  icon: string;
  label: string;
  description: string;
  /** The entry it leads to. */
  entry?: EntryId;
  inside?: ContextLine[];
}

const PARTS: Record<string, string> = {
  toolResults: 'tool results',
  toolCalls: 'tool calls',
};

function share(tokens: number, whole: number): string {
  return whole > 0 ? `${Math.floor((tokens * 100) / whole + 0.5)}%` : '';
}

/** How much of the session the rows of the tree stand for. */
export interface Extent {
  rows: number;
  entries: number;
  filter: TreeFilter;
}

/** The lines, from the figure down to the totals; what is not known is left out. */
export function contextLines(
  size: ContextSize,
  totals?: StatsResult,
  extent?: Extent,
): ContextLine[] {
  const lines = [figureLine(size), modelLine(size)];
  if (size.dueAt !== null) {
    lines.push(line('due', 'history', 'compaction due', `from ${formatTokens(size.dueAt)}`));
  }
  if (size.parts) {
    const inside = partLines(size);
    lines.push({ ...line('parts', 'pie-chart', 'parts', 'estimated'), inside });
  }
  const largest = size.largest ?? [];
  if (largest.length > 0) {
    lines.push({
      ...line('largest', 'list-ordered', `${largest.length} largest`, ''),
      inside: largest.map((one, rank) => ({
        ...line(`largest:${rank}`, 'symbol-ruler', cleanLine(one.title), ''),
        description: [
          `${formatDetail(one.tokens)} · ${share(one.tokens, size.tokens)}`,
          readClock(one.time)?.clock ?? '',
        ]
          .filter((word) => word !== '')
          .join(' · '),
        entry: one.entry,
      })),
    });
  }
  if (extent) {
    lines.push(extentLine(extent));
  }
  if (totals) {
    lines.push(totalsLine(totals));
  }
  return lines;
}

function line(id: string, icon: string, label: string, description: string): ContextLine {
  return { id, icon, label, description };
}

function figureLine(size: ContextSize): ContextLine {
  const sign = tilde(size.source);
  const percent = size.percent === null ? '' : ` ${sign}${size.percent.toFixed(1)}%`;
  const clock = size.source === 'measured' ? readClock(size.measuredAt)?.clock : undefined;
  const signs = bar(size, 10, true);
  const words = [signs, size.source, clock, size.due ? 'compact?' : undefined];
  return line(
    'figure',
    'target',
    `${sign}${formatDetail(size.tokens)}${percent}`,
    words.filter((word) => word !== undefined && word !== '').join(' '),
  );
}

function modelLine(size: ContextSize): ContextLine {
  const window = size.window === null ? 'window unknown' : `window ${formatTokens(size.window)}`;
  return line('model', 'chip', cleanLine(size.model ?? 'no model'), window);
}

/** The parts, the largest first, what they do not explain, and a word where that is much. */
function partLines(size: ContextSize): ContextLine[] {
  const parts = Object.entries(size.parts ?? {})
    .filter(([, tokens]) => tokens > 0)
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
    .map(([name, tokens]) => {
      const figure = `${formatDetail(tokens)} · ${share(tokens, size.tokens)}`;
      return line(`part:${name}`, 'circle-small', PARTS[name] ?? name, figure);
    });
  const rest = size.unexplained ?? 0;
  if (rest !== 0) {
    const figure = `${rest < 0 ? '−' : '+'}${formatDetail(Math.abs(rest))}`;
    const percent = share(Math.abs(rest), size.tokens);
    parts.push(line('part:rest', 'circle-small', 'not explained', `${figure} · ${percent}`));
  }
  const words = estimateWords(size);
  return words === undefined ? parts : [...parts, line('part:words', 'info', words, '')];
}

/** Said only where the estimate is off by more than a fifth. */
function estimateWords(size: ContextSize): string | undefined {
  const rest = size.unexplained ?? 0;
  if (!size.estimated || Math.abs(rest) * 5 <= size.tokens) {
    return undefined;
  }
  const factor = (size.tokens / size.estimated).toFixed(1);
  return `estimate runs ${rest > 0 ? 'low' : 'high'} here (x${factor})`;
}

function extentLine({ rows, entries, filter }: Extent): ContextLine {
  const label = `${count(rows, 'row')} of ${count(entries, 'entry', 'entries')}`;
  return line('extent', 'list-tree', label, `filter ${filter}`);
}

function totalsLine(totals: StatsResult): ContextLine {
  const { tokens, cost } = totals.file;
  const read = tokens.input + tokens.cacheRead + tokens.cacheWrite;
  const figures = `${formatTokens(read)} in, ${formatTokens(tokens.output)} out, ${formatCost(cost)}`;
  return line('totals', 'symbol-numeric', 'totals, whole file', figures);
}
