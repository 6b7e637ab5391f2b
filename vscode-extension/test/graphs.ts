/** Lines of graphs as the daemon tells them, for tests of what becomes of them. */

import type { GraphLane, GraphLine, GraphResult } from '../src/model/wire';

/** A line of the main line with a size of 50k, unless told otherwise. */
export function line(
  told: Partial<Omit<GraphLine, 'size' | 'tokens'>> & { id: string; tokens?: number },
): GraphLine {
  const { tokens = 50_000, ...members } = told;
  return {
    kind: 'answer',
    entry: told.id,
    first: told.id,
    last: told.id,
    entries: 1,
    title: told.id,
    label: null,
    counts: [],
    failed: 0,
    outcome: null,
    time: null,
    duration: null,
    tokens: 10,
    size: { tokens, percent: tokens / 2000, source: 'measured', grade: 'ok' },
    flags: [],
    forks: [],
    by: null,
    lane: 0,
    parent: null,
    next: null,
    passing: [],
    leaving: [],
    ...members,
  };
}

export function lane(number: number, next: number, more: Partial<GraphLane> = {}): GraphLane {
  return { lane: number, tokens: 50_000, percent: 25, next, ...more };
}

export function page(lines: GraphLine[], more: Partial<GraphResult> = {}): GraphResult {
  return {
    rev: 1,
    zoom: 'turns',
    total: lines.length,
    lanes: 3,
    window: 200_000,
    here: lines.length - 1,
    start: 0,
    lines,
    pointBefore: null,
    pointAfter: null,
    ...more,
  };
}
