/**
 * Rows as VS Code draws them: icon, label, description, badge, and what is said of them. A pure
 * function of what the daemon answers; `tests/rows` holds rows and what becomes of them.
 */

import type { Grade, LivePi, Row, RowKind } from '../model/wire';
import {
  count,
  formatDetail,
  formatDuration,
  formatTokens,
  readClock,
  tilde,
  wholePercent,
} from './figures';
import { stretchesOf, type Stretch } from './hits';
import { describePi, markOf, speakStanding } from './pis';
import { cleanLine, cut } from './plain';
import { branch, speak } from './speak';

export type SizeColumn = 'context' | 'own' | 'off';

export interface PaintOptions {
  /** Today's day, so that a date stands where a row begins another one. */
  today: string;
  isOpen: (row: Row) => boolean;
  size?: SizeColumn;
  /** Entries that somebody else has added lately. */
  fresh?: ReadonlySet<string>;
  /** The row that another program wrote last, a short while ago. */
  outside?: string;
  /** Running pi by the rows they stand at, and how many there are. */
  standing?: ReadonlyMap<string, readonly LivePi[]>;
  pis?: number;
  /** The row that is marked to be compared. */
  marked?: string;
  /** What was searched for, in words, and the entries that say it. */
  hits?: { words: readonly string[]; entries: ReadonlySet<string> };
  /** What runs, said on the row where one is. */
  doing?: string;
  /** False where badges are turned off: then the percent leads the description. */
  badges?: boolean;
}

export interface PaintedRow {
  id: string;
  icon: string;
  label: string;
  /** Stretches of the label that say what was searched for. */
  hits: Stretch[];
  description: string;
  /** Two characters at most; empty where the percent is not known. */
  badge: string;
  grade: Grade;
  /** Off the active branch, or out of the context. */
  isAside: boolean;
  /** Whether it can be opened, and how it stands at first. */
  fold: Row['fold'];
  /** Words that menus look for. */
  words: string;
  spoken: string;
}

const ICONS: Record<RowKind, string> = {
  user: 'account',
  answer: 'hubot',
  work: 'tools',
  step: 'wrench',
  bash: 'terminal',
  note: 'info',
  compaction: 'fold',
  summarised: 'archive',
  branchSummary: 'note',
  alternative: 'git-branch',
  group: 'layers',
  ahead: 'chevron-down',
  here: 'target',
  meta: 'circle-small',
};

/** Where one goes most: their tokens are worth the room, for others the badge says enough. */
const WITH_TOKENS: RowKind[] = ['user', 'summarised', 'alternative', 'branchSummary'];

/** Rows of one level, in their order. */
export function paintRows(rows: readonly Row[], options: PaintOptions): PaintedRow[] {
  let day = options.today;
  return rows.map((row) => {
    const painted = paintRow(row, day, options);
    day = readClock(row.time)?.day ?? day;
    return painted;
  });
}

function paintRow(row: Row, day: string, options: PaintOptions): PaintedRow {
  const isActive = row.flags.includes('active') || row.kind === 'here';
  const { badge, lead } = badgeOf(row, options);
  const label = labelOf(row, options);
  const states = [...stateWords(row, options)];
  return {
    id: row.id,
    icon: ICONS[row.kind] ?? ICONS.meta,
    label,
    hits: isHit(row, options) ? stretchesOf(label, options.hits?.words ?? []) : [],
    description: [...lead, ...states, ...figures(row, day, options)].join(' · '),
    badge,
    grade: options.size === 'off' ? 'ok' : (row.size?.grade ?? 'ok'),
    isAside: !isActive || row.flags.includes('omitted'),
    fold: row.fold,
    words: menuWords(row).join(' '),
    spoken: [speak(row, options.isOpen(row)), ...spokenHere(row, options)].join(' '),
  };
}

/** What only this window knows of a row. */
function* spokenHere(row: Row, options: PaintOptions): Generator<string> {
  if (isNew(row, options)) {
    yield 'New.';
  }
  if (options.outside === row.id) {
    yield 'Where pi went on.';
  }
  const here = options.standing?.get(row.id);
  if (here) {
    yield speakStanding(here, options.pis ?? here.length);
  }
  if (options.marked === row.id) {
    yield 'Marked to be compared.';
  }
}

function isHit(row: Row, options: PaintOptions): boolean {
  const entries = options.hits?.entries;
  return entries !== undefined && row.last !== null && entries.has(String(row.last));
}

function isNew(row: Row, options: PaintOptions): boolean {
  return row.kind !== 'here' && row.last !== null && !!options.fresh?.has(String(row.last));
}

function labelOf(row: Row, options: PaintOptions): string {
  if (row.kind === 'here' && options.doing !== undefined) {
    return options.doing;
  }
  const label = row.label ? `[${cleanLine(row.label)}] ` : '';
  return `${label}${cleanLine(row.title)}`;
}

function badgeOf(row: Row, options: PaintOptions): { badge: string; lead: string[] } {
  const percent = row.size?.percent;
  if (percent === null || percent === undefined || (options.size ?? 'context') !== 'context') {
    return { badge: '', lead: [] };
  }
  if (options.badges === false) {
    return { badge: '', lead: [`${tilde(row.size?.source ?? '')}${wholePercent(percent)}%`] };
  }
  return { badge: percent >= 100 ? '!!' : String(wholePercent(Math.min(percent, 99))), lead: [] };
}

/** States that the daemon tells by a flag, in words. */
const STATES: [Row['flags'][number], string][] = [
  ['problem', 'problem'],
  ['omitted', 'out of context'],
  ['replaced', 'replaced'],
];

/** What went wrong inside, and what of it is out of the context. */
function* countWords(row: Row): Generator<string> {
  if (row.failed > 0) {
    yield `${row.failed} failed`;
  }
  if (row.out !== undefined && !row.flags.includes('omitted')) {
    yield `${row.out} out of context`;
  }
}

/** Where a pi stands, or went on as far as can be guessed. */
function* piWords(row: Row, options: PaintOptions): Generator<string> {
  if (options.outside === row.id) {
    yield '‹pi›';
  }
  const here = options.standing?.get(row.id);
  if (here) {
    yield markOf(here, options.pis ?? here.length);
  }
}

function* stateWords(row: Row, options: PaintOptions): Generator<string> {
  if (options.marked === row.id) {
    yield 'A';
  }
  yield* piWords(row, options);
  if (row.flags.includes('unsaved')) {
    yield 'unsaved';
  }
  if (row.outcome === 'running') {
    yield 'running';
  }
  yield* countWords(row);
  for (const [flag, words] of STATES) {
    if (row.flags.includes(flag)) {
      yield words;
    }
  }
  if (row.kind === 'alternative' && row.flags.includes('external')) {
    yield 'pi, outside';
  }
  if (row.forks.length > 0) {
    yield count(row.forks.length, 'fork');
  }
  if (row.kind === 'here') {
    yield* row.size?.grade === 'high' ? ['nearly full'] : [];
  } else if (isNew(row, options)) {
    yield 'new';
  }
}

function* figures(row: Row, day: string, options: PaintOptions): Generator<string> {
  const size = options.size ?? 'context';
  if (row.kind === 'here') {
    if (row.size && size === 'context') {
      yield sizeOfWindow(row.size);
    }
    return;
  }
  const time = readClock(row.time);
  if (row.kind === 'work' && row.duration !== null) {
    yield formatDuration(row.duration);
  } else if (time) {
    yield time.day === day ? time.clock : time.date;
  }
  if (size === 'own' && row.tokens !== null) {
    yield `+${formatTokens(row.tokens)}`;
  } else if (size === 'context' && row.size && WITH_TOKENS.includes(row.kind)) {
    yield `${tilde(row.size.source)}${formatTokens(row.size.tokens)}`;
  }
}

/** `84k of 200k`; the window is what the percent tells of it. */
function sizeOfWindow(size: NonNullable<Row['size']>): string {
  const tokens = `${tilde(size.source)}${formatTokens(size.tokens)}`;
  const window = size.percent ? (size.tokens * 100) / size.percent : 0;
  return window > 0 ? `${tokens} of ${formatTokens(Math.round(window))}` : tokens;
}

function menuWords(row: Row): string[] {
  const words: string[] = [row.kind];
  const has = (flag: Row['flags'][number]) => row.flags.includes(flag);
  if (row.entry === null) {
    return row.kind === 'here' ? [...words, 'empty'] : words;
  }
  words.push('entry');
  if (!STANDS_FOR_MANY.includes(row.kind)) {
    words.push('navigable', 'labelable');
  }
  const isOut = has('omitted') || has('replaced');
  if (isOut || row.out != null) {
    words.push('omitted');
  }
  if (!isOut && reasonAgainstOmitting(row) === undefined) {
    words.push('omittable');
  }
  return words;
}

/** Not one place to go to. */
const STANDS_FOR_MANY: RowKind[] = ['here', 'group', 'summarised'];

const NEVER_OMITTED: RowKind[] = [
  'summarised',
  'alternative',
  'group',
  'ahead',
  'here',
  'compaction',
];

/** Why a row cannot be taken out of the context, in a sentence; undefined when it can. */
export function reasonAgainstOmitting(row: Row): string | undefined {
  if (row.entry === null) {
    return 'This row stands for nothing that could be taken out.';
  }
  if (row.flags.includes('notInContext') || row.kind === 'summarised') {
    return 'It is summarised and no longer in the context.';
  }
  if (!row.flags.includes('active')) {
    return 'Only what is on the active branch is in the context; navigate there first.';
  }
  return NEVER_OMITTED.includes(row.kind)
    ? 'This row cannot be taken out of the context.'
    : undefined;
}

/**
 * What is said of a row that one stays on.
 *
 * @param body what its entry says, where that is known
 * @param here the running pi that stand there
 */
export function tooltip(
  row: Row,
  window: number | null,
  body?: string,
  here: readonly LivePi[] = [],
): string {
  const time = readClock(row.time);
  const when = time ? `, ${time.date.replace(/^(\d+)/, '$1 ')} ${time.exact}` : '';
  const label = row.label ? ` · label: ${cleanLine(row.label)}` : '';
  const states = [...stateWords(row, NO_OPTIONS)].map((word) => ` · ${word}`).join('');
  const own = row.tokens === null ? '' : `, +${formatDetail(row.tokens)}`;
  const entry = row.entry === null ? '' : ` · entry ${cut(cleanLine(String(row.entry)), 40)}`;
  const lines = [
    `${roleOf(row.kind)}${when}${label}${states}`,
    cut(body ?? cleanLine(row.title), 400),
    `${branch(row.flags)}${entry} · ${count(row.entries, 'entry', 'entries')}${own}`,
  ];
  if (row.size) {
    const of = window === null ? '' : ` of ${formatTokens(window)}`;
    const percent = row.size.percent === null ? '' : `, ${wholePercent(row.size.percent)} %`;
    const tokens = formatTokens(row.size.tokens);
    lines.push(`context ${tokens}${of}${percent}, ${row.size.source}`);
  }
  return [...lines, ...here.map(describePi)].join('\n');
}

const NO_OPTIONS: PaintOptions = { today: '', isOpen: () => false };

function roleOf(kind: RowKind): string {
  const names: Partial<Record<RowKind, string>> = {
    user: 'You',
    bash: 'Shell command',
    branchSummary: 'Branch summary',
    here: 'You are here',
  };
  return names[kind] ?? kind.charAt(0).toUpperCase() + kind.slice(1);
}
