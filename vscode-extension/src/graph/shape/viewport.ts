/** Which lines are in sight, which have to be asked for, and where to scroll: numbers alone. */

/** Pixels a line is high; dashes of lanes repeat within it. */
export const LINE = 22;
/** Lines kept ready on either side of what is in sight. */
export const SPARE = 12;
/** Lines asked for at once. */
export const PAGE = 200;
/** Lines known in the direction of scrolling before they are needed. */
const AHEAD = 100;

/** Numbers of lines; `stop` is the first behind. */
export interface Range {
  start: number;
  stop: number;
}

export interface Scrolled {
  top: number;
  height: number;
  /** Lines there are. */
  total: number;
}

/** The lines of which something is in sight. */
export function inSight({ top, height, total }: Scrolled): Range {
  const start = Math.min(Math.max(Math.floor(top / LINE), 0), total);
  const stop = Math.min(Math.max(Math.ceil((top + height) / LINE), start), total);
  return { start, stop };
}

/** The lines that are drawn: those in sight and a few more. */
export function drawn(scrolled: Scrolled): Range {
  const { start, stop } = inSight(scrolled);
  return { start: Math.max(start - SPARE, 0), stop: Math.min(stop + SPARE, scrolled.total) };
}

/** The lines that should be known: those that are drawn, and more where one is scrolling to. */
export function wanted({ start, stop }: Range, total: number, isGoingUp: boolean): Range {
  return isGoingUp
    ? { start: Math.max(start - AHEAD, 0), stop }
    : { start, stop: Math.min(stop + AHEAD, total) };
}

/**
 * What to ask for so that these lines are known: one stretch from the first unknown one on, or up
 * to the last; undefined where all are known.
 */
export function missing(
  wanted: Range,
  isKnown: (line: number) => boolean,
  isGoingUp: boolean,
): { start: number; count: number } | undefined {
  let { start, stop } = wanted;
  while (start < stop && isKnown(start)) {
    start++;
  }
  while (stop > start && isKnown(stop - 1)) {
    stop--;
  }
  if (start >= stop) {
    return undefined;
  }
  const count = Math.max(PAGE, stop - start);
  return isGoingUp ? { start: Math.max(stop - count, 0), count } : { start, count };
}

/** Where to scroll so that a line is in sight; where one is when it is already. */
export function scrollTo(line: number, { top, height }: Scrolled): number {
  const begin = line * LINE;
  if (begin < top) {
    return begin;
  }
  return begin + LINE > top + height ? Math.max(begin + LINE - height, 0) : top;
}

/** Where to scroll so that a line stands in the middle. */
export function scrollToMiddle(line: number, height: number): number {
  return Math.max(line * LINE - Math.floor((height - LINE) / 2), 0);
}

/** Where to scroll so that a line which has another number now stands where it stood. */
export function heldStill(top: number, before: number, now: number): number {
  return Math.max(top + (now - before) * LINE, 0);
}
