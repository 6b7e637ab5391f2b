/**
 * The piece of each lane that stands beside one line, as paths of SVG. Lines are drawn one by one,
 * so pieces end where those of the next line begin: as wide, and at the same place of their dash.
 */

import type { GraphLane, GraphLine } from '../../model/wire';
import { LINE } from './viewport';

/** The lane of all branches that no other was free for. */
export const BUNDLE = 9;
/** Pixels that a lane under way is wide at least. */
const THINNEST = 3;
/** Pixels between two lanes at their widest. */
const GAP = 6;
/** The part of the room that lanes may take. */
const SHARE = 0.4;
const MIDDLE = LINE / 2;
/** Where a lane that begins or ends in a line does so, and how round threads turn. */
const CAP = 5;
const ROUND = 5;

export interface Scale {
  /** Pixels from the middle of one lane to that of the next. */
  pitch: number;
  /** Pixels of a full context window. */
  widest: number;
  /** Tokens of that window; 0 where nothing is known of any size. */
  full: number;
}

/** One scale for all lanes. */
export function scaleFor(lanes: number, full: number, room: number): Scale {
  const pitch = Math.min(Math.max(Math.floor((room * SHARE) / lanes), 10), 34);
  return { pitch, widest: pitch - GAP, full };
}

/** Pixels that all lanes take together; behind the bundle there is room for how many it holds. */
export function lanesWidth(lanes: number, { pitch }: Scale): number {
  return lanes * pitch + GAP + (lanes > BUNDLE ? 24 : 0);
}

/** The middle of a lane. */
export function centre(lane: number, { pitch }: Scale): number {
  return GAP / 2 + lane * pitch + pitch / 2;
}

/** Pixels of a context size; thin where it is not known. */
export function widthOf(tokens: number | null | undefined, { widest, full }: Scale): number {
  if (!tokens || full <= 0) {
    return THINNEST;
  }
  return Math.max(Math.min(tokens / full, 1) * widest, THINNEST);
}

/** What stands on a lane in its own line. */
export type Mark = 'turn' | 'dot' | 'compaction' | 'here' | 'fork';

export type Part =
  /** A lane as wide as the context: what is filled, and its edges. */
  | { shape: 'strip'; lane: number; fill: string; edges: string }
  /** A way to a lane, and a lane whose branch has not begun. */
  | { shape: 'thread'; lane: number; path: string }
  | { shape: 'mark'; lane: number; mark: Mark; x: number; width: number }
  /** How many branches the bundle holds. */
  | { shape: 'count'; x: number; text: string };

/** A lane as it reaches the edge of a line: pixels, `thread`, or nothing where it does not. */
type Reach = number | 'thread' | undefined;

/**
 * All that stands beside a line, the lowest first.
 *
 * @param above the line over it, where it is known
 */
export function partsOf(line: GraphLine, above: GraphLine | undefined, scale: Scale): Part[] {
  const passing = line.passing.flatMap((lane) => passingPart(lane, scale));
  const threads = [...waysOut(line, scale), ...wayOutOfBundle(line, scale)];
  return [
    ...passing,
    ...ownPart(line, above, scale),
    ...threads,
    markOf(line, scale),
    ...counts(line, above, scale),
  ];
}

function passingPart(lane: GraphLane, scale: Scale): Part[] {
  const x = centre(lane.lane, scale);
  if (lane.leads || lane.lane === BUNDLE) {
    return threadsDown(lane.lane, x, 0, LINE);
  }
  const width = widthOf(lane.tokens, scale);
  return [strip(lane.lane, x, width, width, 0, LINE)];
}

/** The bundle is three threads, so that it is told apart without its colour. */
function threadsDown(lane: number, x: number, from: number, to: number): Part[] {
  const offsets = lane === BUNDLE ? [-4, 0, 4] : [0];
  const path = offsets.map((offset) => `M${x + offset} ${from}V${to}`).join('');
  return [{ shape: 'thread', lane, path }];
}

function ownPart(line: GraphLine, above: GraphLine | undefined, scale: Scale): Part[] {
  const { lane } = line;
  const x = centre(lane, scale);
  const now = widthOf(line.size?.tokens, scale);
  const up: Reach = comesFromAbove(line) ? reachFrom(above, lane, scale, now) : undefined;
  const down: Reach = line.next === null ? undefined : now;
  if (lane === BUNDLE) {
    return threadsDown(lane, x, up === undefined ? MIDDLE : 0, down === undefined ? MIDDLE : LINE);
  }
  const parts = up === 'thread' ? threadsDown(lane, x, 0, MIDDLE) : [];
  if (typeof up === 'number' && down !== undefined) {
    parts.push(
      line.kind === 'compaction' ? waist(lane, x, up, down) : strip(lane, x, up, down, 0, LINE),
    );
  } else if (typeof up === 'number') {
    parts.push(strip(lane, x, up, now, 0, LINE - CAP));
  } else {
    parts.push(strip(lane, x, now, now, CAP, down === undefined ? LINE - CAP : LINE));
  }
  return parts;
}

function comesFromAbove(line: GraphLine): boolean {
  return line.parent !== null && !line.comesOut;
}

/** How a lane comes out of the line above; as it goes on where that is not known. */
function reachFrom(
  above: GraphLine | undefined,
  lane: number,
  scale: Scale,
  otherwise: number,
): Reach {
  if (!above) {
    return otherwise;
  }
  const beside = [...above.passing, ...above.leaving].find((one) => one.lane === lane);
  if (beside) {
    return beside.leads ? 'thread' : widthOf(beside.tokens, scale);
  }
  return above.lane === lane ? widthOf(above.size?.tokens, scale) : otherwise;
}

function strip(
  lane: number,
  x: number,
  above: number,
  below: number,
  from: number,
  to: number,
): Part {
  const [a, b] = [above / 2, below / 2];
  const left = side(x - a, x - b, from, to);
  const right = side(x + b, x + a, to, from);
  const top = from > 0 ? `M${x - a} ${from}H${x + a}` : '';
  const bottom = to < LINE ? `M${x - b} ${to}H${x + b}` : '';
  return {
    shape: 'strip',
    lane,
    fill: `M${left}L${right}Z`,
    edges: `M${left}M${side(x + a, x + b, from, to)}${top}${bottom}`,
  };
}

/** From one place to another, first straight, then turning. */
function side(x1: number, x2: number, y1: number, y2: number): string {
  const middle = (y1 + y2) / 2;
  return x1 === x2
    ? `${x1} ${y1}L${x2} ${y2}`
    : `${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`;
}

/** A compaction: narrow in the middle, whatever the sizes on either side of it. */
function waist(lane: number, x: number, above: number, below: number): Part {
  const upper = strip(lane, x, above, THINNEST, 0, MIDDLE) as Part & { shape: 'strip' };
  const lower = strip(lane, x, THINNEST, below, MIDDLE, LINE) as Part & { shape: 'strip' };
  // No caps where the halves meet.
  const edges = [upper, lower].map((part) => part.edges.replace(/M[\d.]+ [\d.]+H[\d.]+/g, ''));
  return { shape: 'strip', lane, fill: upper.fill + lower.fill, edges: edges.join('') };
}

/** From the middle of the line to where each lane that begins here goes down. */
function waysOut(line: GraphLine, scale: Scale): Part[] {
  const from = centre(line.lane, scale);
  // The nearest last, so that it is not hidden by those that go on beside it.
  const leaving = [...line.leaving].sort(
    (a, b) => Math.abs(b.lane - line.lane) - Math.abs(a.lane - line.lane),
  );
  return leaving.map(({ lane }) => ({
    shape: 'thread',
    lane,
    path: turn(from, MIDDLE, centre(lane, scale), LINE),
  }));
}

function wayOutOfBundle(line: GraphLine, scale: Scale): Part[] {
  if (!line.comesOut) {
    return [];
  }
  const path = turn(centre(line.lane, scale), MIDDLE, centre(BUNDLE, scale), 0);
  return [{ shape: 'thread', lane: line.lane, path }];
}

/** Sideways, then up or down with a round corner. */
function turn(x1: number, y1: number, x2: number, y2: number): string {
  if (x1 === x2) {
    return `M${x1} ${y1}V${y2}`;
  }
  const across = x2 - Math.sign(x2 - x1) * ROUND;
  const along = y1 + Math.sign(y2 - y1) * ROUND;
  return `M${x1} ${y1}H${across}Q${x2} ${y1} ${x2} ${along}V${y2}`;
}

function markOf(line: GraphLine, scale: Scale): Part {
  const width = line.kind === 'compaction' ? scale.widest : 0;
  return {
    shape: 'mark',
    lane: line.lane,
    mark: markKind(line),
    x: centre(line.lane, scale),
    width,
  };
}

function markKind(line: GraphLine): Mark {
  if (line.kind === 'here' || line.kind === 'compaction') {
    return line.kind;
  }
  return line.forks.length > 0 ? 'fork' : line.kind === 'user' ? 'turn' : 'dot';
}

/** The bundle says how many it holds where that changes. */
function counts(line: GraphLine, above: GraphLine | undefined, scale: Scale): Part[] {
  const now = bundled(line);
  return now > 1 && (!above || bundled(above) !== now)
    ? [{ shape: 'count', x: centre(BUNDLE, scale) + GAP, text: `+${now}` }]
    : [];
}

/** Branches in the bundle below a line. */
function bundled(line: GraphLine): number {
  const beside = [...line.passing, ...line.leaving].filter(({ lane }) => lane === BUNDLE);
  const own = line.lane === BUNDLE && line.next !== null ? 1 : 0;
  return beside.reduce((sum, { count }) => sum + (count ?? 1), own);
}
