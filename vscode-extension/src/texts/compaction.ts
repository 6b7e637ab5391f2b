/** The dry run of a compaction, as a document: what is cut and kept, and the sizes. */

import type { CompactionPreview, ContextSize, EntryId, Row } from '../model/wire';
import { bar, count, formatCost, formatSize, formatTokens, readClock } from './figures';
import { cleanLine, cut } from './plain';

/** Characters of a line whose right end is a figure. */
const WIDTH = 72;
/** Turns and rows that are named. */
const TURNS = 5;
const KEPT = 3;

interface Stretch {
  rows: Row[];
  tokens: number;
  times: string;
}

/** What rows of the main line say of some entries. */
function stretchOf(rows: readonly Row[], ids: readonly EntryId[]): Stretch {
  const wanted = new Set(ids);
  const found = rows.filter(
    (row) =>
      row.level === null &&
      row.first !== null &&
      wanted.has(row.first) &&
      row.kind !== 'alternative' &&
      row.kind !== 'group',
  );
  const first = readClock(found[0]?.time)?.clock;
  const last = readClock(found.at(-1)?.time)?.clock;
  return {
    rows: found,
    tokens: found.reduce((sum, row) => sum + (row.tokens ?? 0), 0),
    times: first && last ? `, ${first}–${last}` : '',
  };
}

function line(left: string, right: string): string {
  const room = WIDTH - right.length - 1;
  return `${cut(left, room).padEnd(room)} ${right}`.trimEnd();
}

function figure(tokens: number, size: ContextSize | null, isMeasured: boolean): string {
  const window = size?.window ?? null;
  const percent = window === null ? null : (tokens * 100) / window;
  const source = isMeasured ? ('measured' as const) : ('estimated' as const);
  const signs = bar({ percent, window, dueAt: size?.dueAt ?? null }, 10, true);
  return `${signs}${signs === '' ? '' : ' '}${formatSize({ tokens, percent, source })}`;
}

function turnLines(stretch: Stretch): string[] {
  const turns: { title: string; tokens: number }[] = [];
  for (const row of stretch.rows) {
    if (row.kind === 'user') {
      turns.push({ title: cleanLine(row.title), tokens: 0 });
    }
    const turn = turns.at(-1);
    if (turn) {
      turn.tokens += row.tokens ?? 0;
    }
  }
  const lines = turns
    .slice(0, TURNS)
    .map((turn) => line(`  You: ${turn.title}`, `~${formatTokens(turn.tokens)}`));
  const more = turns.length - TURNS;
  return more > 0 ? [...lines, `  … ${count(more, 'more turn')}`] : lines;
}

function nowLine(tokens: number, size: ContextSize | null): string {
  const due = size?.dueAt == null ? '' : `automatic compaction at ${formatTokens(size.dueAt)}`;
  return line(`now    ${figure(tokens, size, size?.measured != null)}`, due);
}

/** The lines of the dry run; nothing is changed by it. */
export function compactionLines(
  preview: CompactionPreview,
  size: ContextSize | null,
  rows: readonly Row[],
): string[] {
  const gone = stretchOf(rows, preview.summarised);
  const kept = stretchOf(rows, preview.kept);
  const atMost = `and the summary, at most ${formatTokens(preview.summaryAtMost)}`;
  const entries = (ids: readonly EntryId[]) => count(ids.length, 'entry', 'entries');
  return [
    nowLine(preview.tokensBefore, size),
    `after  ${figure(preview.tokensAfter, size, false)} ${atMost}`,
    line(
      `summarised, ${entries(preview.summarised)}${gone.times}`,
      `~${formatTokens(gone.tokens)}`,
    ),
    ...turnLines(gone),
    cutLine(preview),
    line(`kept, ${entries(preview.kept)}${kept.times}`, `~${formatTokens(preview.tokensKept)}`),
    ...kept.rows.slice(-KEPT).map((row) => `  ${cut(cleanLine(row.title), WIDTH - 2)}`),
    ...(preview.previousSummary ? ['the earlier summary is brought up to date'] : []),
    ...writerLines(preview),
  ];
}

/**
 * The dry run as a page. The list of what can be done hangs over its first lines, so that these say
 * what needs no looking at.
 */
export function compactionPage(lines: readonly string[]): string {
  return page(
    [
      'Nothing is changed yet: the list above asks how to go on, and Escape leaves it.',
      'The summary takes the place of what stands above the cut when the model is asked;',
      'the entries stay in the file and in the tree.',
    ],
    lines,
  );
}

/** The same where there is nothing to choose from: the reason, and how full it is. */
export function refusedPage(reason: string, size: ContextSize | null): string {
  return page(['Nothing is changed.', cleanLine(reason)], size ? [nowLine(size.tokens, size)] : []);
}

function page(said: readonly string[], lines: readonly string[]): string {
  const figures = lines.length === 0 ? [] : ['', '```text', ...lines, '```'];
  return ['# Compaction, a dry run', '', ...said, ...figures, ''].join('\n');
}

function cutLine(preview: CompactionPreview): string {
  const words = preview.isSplitTurn
    ? '── cut, inside a turn: its beginning is summarised apart '
    : '── cut ';
  return words.padEnd(WIDTH, '─');
}

function writerLines(preview: CompactionPreview): string[] {
  const { readFiles, modifiedFiles } = preview;
  const files = `files in the summary: ${readFiles.length} read, ${modifiedFiles.length} modified`;
  const by = writer(preview);
  return by === undefined
    ? [files, ...(preview.noSummarizer ?? '').split('\n').map(cleanLine)]
    : [`${files} · by ${by}`];
}

/** `opus-5: 155k in, about $0.55`; undefined where nobody is set up to summarise. */
export function writer(preview: CompactionPreview): string | undefined {
  const forecast = preview.forecast;
  if (!forecast) {
    return undefined;
  }
  const cost = forecast.cost === null ? '' : `, about ${formatCost(forecast.cost)}`;
  const who = cleanLine((forecast.model ?? forecast.summarizer).replace(/^[^/]*\//, ''));
  return `${who}: ${formatTokens(forecast.tokensIn)} in${cost}`;
}
