/** Where, then how: what each way of going somewhere would do, in numbers, the harmless one first. */

import type { MovePreview, Row } from '../model/wire';
import { count, formatCost, formatSize, formatTokens } from './figures';

export type Way = 'here' | 'summary' | 'focus' | 'extract' | 'fork' | 'compare';

export interface WayLine {
  way: Way;
  label: string;
  description: string;
}

/** What comes along, and what is left; each sentence is there only when it is true. */
export function moveSentences(row: Row, preview: MovePreview, now: Date): string[] {
  const sentences: string[] = [];
  if (preview.returnsText !== null) {
    sentences.push('Its text goes to the prompt, to be changed and sent again.');
  } else if (row.kind === 'answer') {
    sentences.push('You go on after this answer.');
  } else if (row.kind === 'alternative' || row.kind === 'ahead') {
    sentences.push('You go on at its end.');
  }
  const { entries, turns } = preview.leaves;
  if (entries > 0) {
    const those = turns > 0 ? ` (${count(turns, 'turn')})` : '';
    const stay = entries === 1 ? 'is left; it stays' : 'are left; they stay';
    const many = count(entries, 'entry', 'entries');
    sentences.push(`${many}${those} ${stay} in the tree. Files are not undone.`);
  }
  if (preview.outside !== null) {
    const age = ageOf(preview.outside, now);
    sentences.push(`pi wrote here ${age}: a pi in a terminal will not follow; a fork is safer.`);
  }
  return sentences;
}

function ageOf(iso: string, now: Date): string {
  const seconds = (now.getTime() - Date.parse(iso)) / 1000;
  return !(seconds >= 90) ? 'just now' : `${Math.floor(seconds / 60)} min ago`;
}

/** The ways there are; summaries are offered unless pi's setting says not to ask. */
export function ways(preview: MovePreview, isSummaryOffered: boolean): WayLine[] {
  const { leaves, summary } = preview;
  const sizes = `context ${formatSize(preview.sizeNow)} → ${formatSize(preview.sizeAfter)}`;
  const lines: WayLine[] = [{ way: 'here', label: 'here', description: sizes }];
  if (isSummaryOffered && summary) {
    const cost = summary.cost === null ? '' : `, about ${formatCost(summary.cost)}`;
    const entries = count(leaves.entries, 'entry is', 'entries are');
    lines.push(
      {
        way: 'summary',
        label: 'with summary',
        description: `the ${entries} summarised first, ${formatTokens(summary.tokensIn)} in${cost}`,
      },
      { way: 'focus', label: 'with summary and my own focus…', description: '' },
    );
  } else if (isSummaryOffered && leaves.entries > 0) {
    const description = 'made from the messages: nobody is set up to summarise';
    lines.push({ way: 'extract', label: 'with an extract', description });
  }
  const place = preview.returnsText === null ? 'up to here' : 'before this message';
  lines.push({ way: 'fork', label: 'as a fork', description: `new session ${place}` });
  lines.push({ way: 'compare', label: 'compare with the leaf first', description: '' });
  return lines;
}
