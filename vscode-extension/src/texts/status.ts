/** The status bar's item: the context size in few cells. No text of a session goes here. */

import type { State } from '../daemon/connection';
import type { ContextSize, Grade, LivePi, Origin, Progress } from '../model/wire';
import { bar, formatSize, formatTokens, tilde, wholePercent } from './figures';
import { describePi } from './pis';
import { cleanLine } from './plain';
import { sizeWords } from './speak';

export interface StatusInput {
  size: ContextSize | null;
  operation: Progress | null;
  isUnsaved: boolean;
  state: State;
  thresholds?: Thresholds;
  /** Running pi that have the session open. */
  pis?: readonly LivePi[];
}

/** Percents from which a size is `warn` and `high`. */
export interface Thresholds {
  warn: number;
  high: number;
}

export interface StatusText {
  text: string;
  /** What colours it; theme colours repeat what the text says. */
  grade: Grade;
  tooltip: string;
  spoken: string;
}

/** By the daemon's settings, or by the user's own thresholds for this client. */
export function gradeOf(size: ContextSize, own?: Thresholds): Grade {
  if (own && size.percent !== null) {
    return size.percent >= own.high ? 'high' : size.percent >= own.warn ? 'warn' : 'ok';
  }
  return size.grade;
}

/** `42%`, `~17% (was 93%)`, or tokens alone where the window is unknown. */
export function figureOf(size: ContextSize): string {
  const sign = tilde(size.source);
  if (size.percent === null) {
    return sign + formatTokens(size.tokens);
  }
  const shown = `${sign}${wholePercent(size.percent)}%`;
  return size.before !== null && size.window
    ? `${shown} (was ${wholePercent((size.before * 100) / size.window)}%)`
    : shown;
}

const DOING: Record<Progress['operation'], string> = {
  compact: 'compacting',
  summarise: 'summarizing',
  fork: 'forking',
  navigate: 'moving',
};

/** What an operation does, for sentences: `compacting`. */
export function doing(operation: string): string {
  return DOING[operation as Progress['operation']] ?? 'busy';
}

/** `compacting, 1.2k received`. */
export function operationText(operation: Pick<Progress, 'operation' | 'received'>): string {
  const what = doing(operation.operation);
  return operation.received > 0
    ? `${what}, ${formatTokens(operation.received)} received`
    : `${what}…`;
}

/** Who did something, in a word. */
export function nameOf(origin: Origin): string {
  if (typeof origin === 'object') {
    return cleanLine(origin.client);
  }
  return origin === 'external' ? 'pi' : 'pisessiond';
}

/** Nothing where no session is open. */
export function statusText(input: StatusInput): StatusText | undefined {
  const { size, operation, state } = input;
  if (state === 'offline' || state === 'connecting' || state === 'missing') {
    return size ? offline(size) : undefined;
  }
  if (operation) {
    const text = operationText(operation);
    const who = `${nameOf(operation.origin)} is ${text}`;
    return { text: `$(sync~spin) pi ${text}`, grade: 'ok', tooltip: who, spoken: `pi ${text}` };
  }
  return size ? calm(size, input) : undefined;
}

function offline(size: ContextSize): StatusText {
  const figure =
    size.percent === null ? formatTokens(size.tokens) : `${wholePercent(size.percent)}%`;
  return {
    text: `$(debug-disconnect) pi (${figure})`,
    grade: 'ok',
    tooltip: 'There is no connection to pisessiond; the size is the last one known.',
    spoken: `pi context ${figure}, offline`,
  };
}

function calm(size: ContextSize, input: StatusInput): StatusText {
  const grade = size.due ? 'high' : gradeOf(size, input.thresholds);
  const icon = { ok: '', warn: '$(warning) ', high: '$(error) ' }[grade];
  const signs = bar(size, 5);
  const words = [
    `${icon}pi`,
    ...(signs === '' ? [] : [signs]),
    figureOf(size),
    ...(grade === 'high' ? ['compact?'] : []),
    ...(input.isUnsaved ? ['+'] : []),
  ];
  return {
    text: words.join(' '),
    grade,
    tooltip: [
      `Context ${formatSize(size)}, ${size.source}`,
      ...(size.due ? ['A compaction is due.'] : []),
      ...(input.pis ?? []).map(describePi),
      ...(input.isUnsaved ? ['Not on disk yet: pi writes a session with its first answer.'] : []),
    ].join('\n'),
    spoken: spokenSize(size),
  };
}

/** `pi context 42 percent used, measured`. */
export function spokenSize(size: ContextSize): string {
  return size.percent === null
    ? `pi context ${sizeWords(size)}`
    : `pi context ${wholePercent(size.percent)} percent used, ${size.source}`;
}
