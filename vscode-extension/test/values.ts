/** Rows, sizes and sessions as the daemon answers them, for tests of what becomes of them. */

import type { ContextSize, ListedSession, Progress, Row } from '../src/model/wire';

export function size(members: Partial<ContextSize> = {}): ContextSize {
  return {
    tokens: 84_000,
    source: 'measured',
    estimated: 80_000,
    measured: 84_000,
    measuredAt: '2026-11-12T14:33:00.000Z',
    before: null,
    window: 200_000,
    percent: 42,
    model: 'demo/opus-5',
    grade: 'ok',
    dueAt: 184_000,
    due: false,
    ...members,
  };
}

export const RUNNING: Progress = {
  session: 's',
  operation: 'compact',
  operationId: 'o',
  origin: { client: 'nvim', clientId: 'n' },
  reason: 'manual',
  state: 'report',
  received: 1200,
  summarizer: 'demo',
};

export function row(members: Partial<Row> = {}): Row {
  return {
    id: 'e:1',
    kind: 'user',
    level: null,
    after: null,
    entry: '1',
    first: '1',
    last: '1',
    entries: 1,
    title: 'Use an injected clock instead',
    label: null,
    counts: [],
    failed: 0,
    outcome: null,
    time: '2026-11-12T14:31:07.000Z',
    duration: null,
    tokens: 1800,
    size: { tokens: 76_000, percent: 38, source: 'measured', grade: 'ok' },
    rows: 0,
    depth: 0,
    fold: 'none',
    flags: ['active'],
    forks: [],
    by: null,
    ...members,
  };
}

export function listed(members: Partial<ListedSession>): ListedSession {
  return {
    session: 's',
    path: '/s',
    cwd: '/w',
    name: null,
    firstMessage: 'Fix it',
    messages: 3,
    created: '2026-11-12T10:00:00.000Z',
    modified: '2026-11-12T14:33:00.000Z',
    parentSession: null,
    open: 0,
    unsaved: false,
    lastExternal: null,
    live: false,
    fork: null,
    contextSize: { tokens: 84_000, source: 'measured', percent: 42 },
    cwdMissing: false,
    root: '/s',
    depth: 0,
    ...members,
  };
}
