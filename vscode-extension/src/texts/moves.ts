/** Where, then how: what each way of going somewhere would do, in numbers, the harmless one first. */

import type { MovePreview, Row } from '../model/wire';
import { count, formatCost, formatSize, formatTokens } from './figures';
import type { Following } from './pis';

export type Way =
  | 'here'
  | 'summary'
  | 'focus'
  | 'lent'
  | 'extract'
  | 'fork'
  | 'forkWithPi'
  | 'compare';

export interface WayLine {
  way: Way;
  label: string;
  description: string;
  /** What else is true of it, in a line of its own; empty where there is nothing. */
  detail: string;
}

/** What going to a row brings along; undefined where there is nothing to say. */
export function alongSentence(row: Row, preview: MovePreview): string | undefined {
  if (preview.returnsText !== null) {
    return 'Its text goes to the prompt, to be changed and sent again.';
  }
  if (row.kind === 'alternative' || row.kind === 'ahead') {
    return 'You go on at its end.';
  }
  return row.kind === 'answer' ? 'You go on after this answer.' : undefined;
}

function leftSentence({ entries, turns }: MovePreview['leaves']): string {
  if (entries === 0) {
    return '';
  }
  const those = turns > 0 ? ` (${count(turns, 'turn')})` : '';
  const stay = entries === 1 ? 'is left; it stays' : 'are left; they stay';
  const many = count(entries, 'entry', 'entries');
  return `${many}${those} ${stay} in the tree. Files are not undone.`;
}

function outsideSentence(outside: string | null, now: Date): string {
  return outside === null
    ? ''
    : `pi wrote here ${ageOf(outside, now)}: a pi in a terminal will not follow; this is safer.`;
}

function ageOf(iso: string, now: Date): string {
  const seconds = (now.getTime() - Date.parse(iso)) / 1000;
  return !(seconds >= 90) ? 'just now' : `${Math.floor(seconds / 60)} min ago`;
}

/**
 * The ways there are; summaries are offered unless pi's setting says not to ask.
 *
 * @param isLending whether the editor lends a model of its own
 * @param following what running pi can do with the move
 */
export function ways(
  preview: MovePreview,
  isSummaryOffered: boolean,
  now: Date,
  isLending = false,
  following: Following = NOBODY,
): WayLine[] {
  const isFixed = following.hasPi && !following.isDriven;
  return [
    ...(isFixed ? [] : moves(preview, isSummaryOffered, isLending, following)),
    ...forks(preview, now, following),
    way('compare', 'compare with the leaf first', ''),
  ];
}

const NOBODY: Following = { hasPi: false, isDriven: false, isBusy: false, sentence: '' };

function moves(
  preview: MovePreview,
  isSummaryOffered: boolean,
  isLending: boolean,
  { isBusy, sentence }: Following,
): WayLine[] {
  const { leaves, summary } = preview;
  const sizes = `context ${formatSize(preview.sizeNow)} → ${formatSize(preview.sizeAfter)}`;
  const detail = [sentence, leftSentence(leaves)].filter((one) => one !== '').join(' ');
  const lines = [way('here', isBusy ? 'when pi is idle' : 'here', sizes, detail)];
  if (isSummaryOffered && summary) {
    const cost = summary.cost === null ? '' : `, about ${formatCost(summary.cost)}`;
    const entries = count(leaves.entries, 'entry is', 'entries are');
    const tokens = formatTokens(summary.tokensIn);
    lines.push(
      way('summary', 'with summary', `the ${entries} summarised first, ${tokens} in${cost}`),
      way('focus', 'with summary and my own focus…', ''),
    );
  } else if (isSummaryOffered && leaves.entries > 0) {
    const description = 'made from the messages: nobody is set up to summarise';
    lines.push(way('extract', 'with an extract', description));
  }
  if (isSummaryOffered && isLending && leaves.entries > 0) {
    lines.push(way('lent', 'with summary by a model of this editor', ''));
  }
  return lines;
}

function forks(preview: MovePreview, now: Date, following: Following): WayLine[] {
  const place = preview.returnsText === null ? 'up to here' : 'before this message';
  const warning = following.hasPi ? '' : outsideSentence(preview.outside, now);
  const why = following.isDriven ? '' : following.sentence;
  const lines = [way('fork', 'as a fork', `new session ${place}`, why || warning)];
  if (following.isDriven) {
    const when = following.isBusy ? ' when it is idle' : '';
    lines.push(way('forkWithPi', `as a fork, and pi goes there${when}`, `new session ${place}`));
  }
  return lines;
}

function way(way: Way, label: string, description: string, detail = ''): WayLine {
  return { way, label, description, detail };
}
