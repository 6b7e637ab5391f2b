/** Numbers as people read them: sizes, percents, times. */

import type { ContextSize } from '../model/wire';

function tenths(tokens: number, unit: number): string {
  return (Math.floor((tokens + unit / 2) / unit) / 10).toFixed(1);
}

/** `812`, `9.4k`, `84k`, `1.2M`: three digits at most, in the steps of pi's footer. */
export function formatTokens(tokens: number): string {
  if (tokens < 1000) {
    return String(Math.floor(tokens));
  }
  // A figure that rounds up to the next step is written in that step: 10k, not 10.0k.
  if (tokens < 9950) {
    return `${tenths(tokens, 100)}k`;
  }
  if (tokens < 999_500) {
    return `${Math.floor((tokens + 500) / 1000)}k`;
  }
  return tokens < 9_950_000
    ? `${tenths(tokens, 100_000)}M`
    : `${Math.floor((tokens + 500_000) / 1_000_000)}M`;
}

/** `84.1k`: one decimal, for figures that are looked at closely. */
export function formatDetail(tokens: number): string {
  if (tokens < 1000) {
    return String(tokens);
  }
  return tokens < 999_950 ? `${tenths(tokens, 100)}k` : `${tenths(tokens, 100_000)}M`;
}

/** `42`. */
export function wholePercent(percent: number): number {
  return Math.floor(percent + 0.5);
}

interface Sized {
  tokens: number;
  percent: number | null;
  source: 'measured' | 'estimated';
}

export function tilde(source: string): string {
  return source === 'measured' ? '' : '~';
}

/** `84k 42%`, `~31k ~16%`, or tokens alone where the window is unknown. */
export function formatSize(size: Sized): string {
  const sign = tilde(size.source);
  const percent = size.percent === null ? '' : ` ${sign}${wholePercent(size.percent)}%`;
  return `${sign}${formatTokens(size.tokens)}${percent}`;
}

/**
 * `▰▰▱▱▱`: rounded, one cell from above 0 %, never full below 100 %; with `due` the cell in which
 * automatic compaction starts is a line. Empty where the window is unknown.
 */
export function bar(
  size: Pick<ContextSize, 'percent' | 'dueAt' | 'window'>,
  cells: number,
  due = false,
): string {
  if (size.percent === null) {
    return '';
  }
  let full = Math.floor((size.percent / 100) * cells + 0.5);
  full = size.percent > 0 ? Math.max(full, 1) : full;
  full = size.percent >= 100 ? cells : Math.min(full, cells - 1);
  const signs: string[] = Array.from({ length: cells }, (_, at) => (at < full ? '▰' : '▱'));
  if (due && size.dueAt !== null && size.window) {
    signs[Math.min(Math.floor((size.dueAt / size.window) * cells), cells - 1)] = '│';
  }
  return signs.join('');
}

/** `45s`, `6m12s`, `1h05m`, `2d04h`. */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.floor((milliseconds + 500) / 1000);
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  const two = (number: number) => String(number).padStart(2, '0');
  if (seconds < 60) {
    return `${seconds}s`;
  }
  if (minutes < 60) {
    return `${minutes}m${two(seconds % 60)}s`;
  }
  return hours < 24
    ? `${hours}h${two(minutes % 60)}m`
    : `${Math.floor(hours / 24)}d${two(hours % 24)}h`;
}

/** US dollars, with more digits where they are all there is. */
export function formatCost(cost: number): string {
  return cost >= 0.01 || cost === 0 ? `$${cost.toFixed(2)}` : `$${cost.toFixed(4)}`;
}

/** `1 entry`, `2,100 entries`. */
export function count(number: number, one: string, many = `${one}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? one : many}`;
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** A time in the reader's zone. */
export interface Clock {
  /** `14:31`. */
  clock: string;
  /** `14:31:07`. */
  exact: string;
  /** `12Nov`, in English whatever the locale, since it has to be short. */
  date: string;
  /** To be compared with another time's. */
  day: string;
}

/** Nothing where the time cannot be read. */
export function readClock(iso: string | null | undefined): Clock | undefined {
  const at = iso ? new Date(iso) : undefined;
  if (!at || Number.isNaN(at.getTime())) {
    return undefined;
  }
  const two = (number: number) => String(number).padStart(2, '0');
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}`;
  return {
    clock,
    exact: `${clock}:${two(at.getSeconds())}`,
    date: `${at.getDate()}${MONTHS[at.getMonth()]}`,
    day: `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`,
  };
}

/** `14:31` today, else `12Nov`. */
export function shortTime(iso: string | null | undefined, today: string): string {
  const read = readClock(iso);
  return !read ? '' : read.day === today ? read.clock : read.date;
}

export function todayOf(now: Date = new Date()): string {
  return readClock(now.toISOString())?.day ?? '';
}
