/** A row as sentences for screen readers: role, text, label, states, branch, size, time. */

import type { Row, RowFlag, RowKind } from '../model/wire';
import { readClock, wholePercent } from './figures';
import { cleanLine } from './plain';

/** What stands before the title; the titles of the other kinds say it themselves. */
const ROLES: Partial<Record<RowKind, string>> = {
  user: 'You',
  answer: 'Answer',
  work: 'Work',
  step: 'Step',
  bash: 'Shell command',
  note: 'Note',
  alternative: 'Alternative',
  group: 'Alternatives',
  meta: 'Setting',
};

const OUTCOMES: Record<string, string> = {
  error: 'Ended in an error',
  aborted: 'Aborted',
  running: 'Running',
};

const STATES: [RowFlag, string][] = [
  ['unsaved', 'Unsaved'],
  ['problem', 'A problem in the file'],
  ['omitted', 'Out of the context'],
  ['replaced', 'Replaced in the context'],
  ['external', 'Written by another program'],
];

/** The sentences of one row; every client says the same. */
export function speak(row: Row, isOpen: boolean): string {
  return [...parts(row, isOpen)].map((part) => `${part}.`).join(' ');
}

function* parts(row: Row, isOpen: boolean): Generator<string> {
  const title = cleanLine(row.title)
    .replaceAll(' → ', ' to ')
    .replaceAll('~', 'about ')
    .replace(/\.+$/, '');
  const role = ROLES[row.kind];
  yield role ? `${role}: ${title}` : title.charAt(0).toUpperCase() + title.slice(1);
  if (row.label) {
    yield `Label ${cleanLine(row.label)}`;
  }
  yield* states(row);
  if (row.fold !== 'none') {
    yield isOpen ? 'Open' : 'Closed';
  }
  if (row.kind !== 'here') {
    yield branch(row.flags);
  }
  if (row.size) {
    yield `Context ${sizeWords(row.size)}`;
  }
  const time = row.kind === 'here' ? undefined : readClock(row.time);
  if (row.kind === 'work' && row.duration !== null) {
    yield `Took ${durationWords(row.duration)}`;
  } else if (time) {
    yield time.clock;
  }
}

function* states(row: Row): Generator<string> {
  const outcome = OUTCOMES[row.outcome ?? ''];
  if (outcome) {
    yield outcome;
  }
  if (row.failed > 0) {
    yield `${row.failed} failed`;
  }
  if (row.out !== undefined && !row.flags.includes('omitted')) {
    yield `${row.out} out of the context`;
  }
  for (const [flag, words] of STATES) {
    if (row.flags.includes(flag)) {
      yield words;
    }
  }
  if (row.forks.length > 0) {
    yield row.forks.length === 1 ? '1 fork made here' : `${row.forks.length} forks made here`;
  }
}

/** Where a row is, in words. */
export function branch(flags: readonly RowFlag[]): string {
  if (flags.includes('summarised')) {
    return 'Summarised';
  }
  if (flags.includes('ahead')) {
    return 'Ahead of where you are';
  }
  return flags.includes('active') ? 'On the active branch' : 'On another branch';
}

/** `84 thousand tokens, 42 percent, measured`. */
export function sizeWords(size: {
  tokens: number;
  percent: number | null;
  source: string;
}): string {
  const percent = size.percent === null ? [] : [`${wholePercent(size.percent)} percent`];
  return [`${tokenWords(size.tokens)} tokens`, ...percent, size.source].join(', ');
}

function tokenWords(tokens: number): string {
  if (tokens < 1000) {
    return String(Math.floor(tokens));
  }
  if (tokens < 9950) {
    return `${Math.floor((tokens + 50) / 100) / 10} thousand`;
  }
  return tokens < 999_500
    ? `${Math.floor((tokens + 500) / 1000)} thousand`
    : `${Math.floor((tokens + 50_000) / 100_000) / 10} million`;
}

function durationWords(milliseconds: number): string {
  let seconds = Math.floor((milliseconds + 500) / 1000);
  const words: string[] = [];
  for (const [unit, size] of [
    ['hour', 3600],
    ['minute', 60],
    ['second', 1],
  ] as const) {
    const number = Math.floor(seconds / size);
    seconds %= size;
    if (number > 0) {
      words.push(`${number} ${unit}${number > 1 ? 's' : ''}`);
    }
  }
  return words.slice(0, 2).join(' ') || 'no time';
}
