/** Where keys lead in a graph. */

import type { GraphLine } from '../../model/wire';
import { ZOOMS, type Act, type Zoom } from '../messages';
import type { Lines } from './lines';

export interface Key {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

export type Pressed =
  | { go: number }
  | { act: Act }
  | { zoom: -1 | 1 }
  /** Nothing lies there; a sentence says so. */
  | { end: string };

/**
 * What a key means on a line; undefined where it is none of ours.
 *
 * @param number of the line at hand
 * @param page how many lines Page Up and Page Down go
 */
export function pressed(key: Key, number: number, lines: Lines, page: number): Pressed | undefined {
  if (key.altKey) {
    return undefined;
  }
  if (key.ctrlKey || key.metaKey) {
    return key.key === 'Enter' ? { act: 'navigate' } : undefined;
  }
  return ACTS[key.key] ?? moved(key.key, number, lines, page);
}

const ACTS: Partial<Record<string, Pressed>> = {
  Enter: { act: 'show' },
  ' ': { act: 'reveal' },
  '-': { zoom: -1 },
  '+': { zoom: 1 },
  '=': { zoom: 1 },
};

function moved(key: string, number: number, lines: Lines, page: number): Pressed | undefined {
  const line = lines.at(number);
  const last = Math.max(lines.total - 1, 0);
  switch (key) {
    case 'Home':
      return { go: 0 };
    case 'End':
      return { go: lines.here };
    case 'PageUp':
      return { go: Math.max(number - page, 0) };
    case 'PageDown':
      return { go: Math.min(number + page, last) };
    case 'ArrowUp':
      return orEnd(line?.parent, 'This is the root.');
    case 'ArrowDown':
      return orEnd(line?.next, 'The branch ends here.');
    case 'ArrowLeft':
      return orEnd(line && beside(line, -1), 'There is no lane to the left.');
    case 'ArrowRight':
      return orEnd(line && beside(line, 1), 'There is no lane to the right.');
    case '[':
      return orEnd(lines.point(number, -1), 'There is no branch point above.');
    case ']':
      return orEnd(lines.point(number, 1), 'There is no branch point below.');
    default:
      return undefined;
  }
}

function orEnd(number: number | null | undefined, end: string): Pressed {
  return typeof number === 'number' ? { go: number } : { end };
}

/** The next line in the nearest lane on one side. */
function beside(line: GraphLine, side: 1 | -1): number | undefined {
  const lanes = [...line.passing, ...line.leaving]
    .filter(({ lane, next }) => (lane - line.lane) * side > 0 && next !== null)
    .sort((a, b) => (a.lane - b.lane) * side || (a.next ?? 0) - (b.next ?? 0));
  return lanes[0]?.next ?? undefined;
}

/** The next zoom on one side; undefined where there is none. */
export function zoomed(zoom: Zoom, step: -1 | 1): Zoom | undefined {
  return ZOOMS[ZOOMS.indexOf(zoom) + step];
}
