/** Two branches side by side: the figures, as a document. */

import type { ComparedSide, CompareResult, ContextSize } from '../model/wire';
import { count, formatCost, formatDuration, formatSize, formatTokens } from './figures';
import { cleanLine, cut } from './plain';

const NAME = 17;
const SIDE = 30;

function row(name: string, left: string, right: string): string {
  return `${name.padEnd(NAME)} ${left.padEnd(SIDE)} ${right}`.trimEnd();
}

function sizeOf(side: ComparedSide, ancestor: ContextSize | null): string {
  if (!ancestor) {
    return formatSize(side.size);
  }
  const more = side.size.tokens - ancestor.tokens;
  return `${formatSize(side.size)}  (${more < 0 ? '−' : '+'}${formatTokens(Math.abs(more))})`;
}

/**
 * The figures of a comparison; `names` are of the two branches, as the user calls them, and `since`
 * says what both have in common last.
 */
export function comparisonLines(
  answer: CompareResult,
  names: [string, string],
  since?: string,
): string[] {
  const { a, b, ancestorSize } = answer;
  const [title, other] = names.map((name) => cut(cleanLine(name), SIDE - 4));
  const entries = (side: ComparedSide) => `${side.entries}, ${count(side.turns, 'turn')}`;
  const spent = (side: ComparedSide) =>
    `${formatDuration(side.seconds * 1000)}  ${formatCost(side.cost)}`;
  const both = a.files.modified.filter((path) => b.files.modified.includes(path));
  const only = (side: ComparedSide) =>
    side.files.modified.filter((path) => !both.includes(path)).map(cleanLine);
  const left = only(a);
  const right = only(b);
  const lines = [
    ...(since === undefined ? [] : [row('since', cut(cleanLine(since), 2 * SIDE), '')]),
    row('', `A  ${title}`, `B  ${other}`),
    row('entries', entries(a), entries(b)),
    row('context', sizeOf(a, ancestorSize), sizeOf(b, ancestorSize)),
    row('time, cost', spent(a), spent(b)),
    ...fileLines('files, both', both.map(cleanLine), []),
    ...fileLines('files, one only', left, right),
  ];
  return lines;
}

/** A line for each file, so that long paths stay whole. */
function fileLines(name: string, left: readonly string[], right: readonly string[]): string[] {
  const length = Math.max(left.length, right.length);
  return Array.from({ length }, (_, at) =>
    row(at === 0 ? name : '', left[at] ?? '', right[at] ?? ''),
  );
}
