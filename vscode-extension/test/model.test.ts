/** The model without a daemon: pages, changes laid over them, and what outlives a window. */

import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { Daemon, State } from '../src/daemon/connection';
import { skewOf } from '../src/daemon/connection';
import { findProgram } from '../src/daemon/program';
import { Emitter } from '../src/model/events';
import { FoldMemory } from '../src/model/folds';
import { Level } from '../src/model/level';
import { MAIN } from '../src/model/rows';
import { SessionModel } from '../src/model/session';
import { UndoStack } from '../src/model/undo';
import type { Change, DidChange, OpenResult, Row, RowsResult } from '../src/model/wire';
import { Failure } from '../src/rpc/failure';
import type { Message, Method, Params, Result } from '../src/rpc/peer';

function row(id: string, after: string | null, members: Partial<Row> = {}): Row {
  return {
    id,
    kind: 'user',
    level: null,
    after,
    entry: id,
    first: id,
    last: id,
    entries: 1,
    title: id,
    label: null,
    counts: [],
    failed: 0,
    outcome: null,
    time: null,
    duration: null,
    tokens: null,
    size: null,
    rows: 0,
    depth: 0,
    fold: 'none',
    flags: ['active'],
    forks: [],
    by: null,
    ...members,
  };
}

function rowsOf(ids: string): Row[] {
  return [...ids].map((id, at) => row(id, ids[at - 1] ?? null));
}

function page(ids: string, members: Partial<RowsResult> = {}): RowsResult {
  return { rev: 1, level: null, total: ids.length, rows: rowsOf(ids), ...members };
}

function shown(level: Level | undefined): string {
  return (level?.rows ?? []).map((one) => one.id).join('');
}

describe('a level', () => {
  test('grows where a row stands behind another, and applying twice changes nothing', () => {
    const level = new Level(page('abc'));
    for (let twice = 0; twice < 2; twice++) {
      level.upsert(row('x', 'b'));
      assert.equal(shown(level), 'abxc');
      assert.equal(level.total, 4);
    }
    level.upsert(row('x', null));
    assert.equal(shown(level), 'xabc');
    level.remove('a');
    level.remove('a');
    assert.equal(shown(level), 'xbc');
    assert.equal(level.total, 3);
  });

  test('leaves out a row whose place has not been read; it comes with its page', () => {
    const level = new Level(page('def', { before: 'd', total: 6 }));
    level.upsert(row('x', 'b'));
    assert.equal(shown(level), 'def');
    level.extendBefore(page('abxc', { total: 7 }));
    assert.equal(shown(level), 'abxcdef');
    assert.equal(level.earlier, 0);
  });

  test('says how many rows stand before those it knows', () => {
    const level = new Level(page('def', { before: 'd', total: 1243 }));
    assert.equal(level.earlier, 1240);
    assert.equal(level.later, 0);
  });

  test('keeps what is left over in front of a page until that is read anew', () => {
    const level = new Level(page('abcdef'));
    level.replace(page('cdX', { before: 'c', total: 5 }));
    assert.equal(shown(level), 'abcdX');
    level.replace(page('aX', { total: 2 }));
    assert.equal(shown(level), 'aX');
  });

  test('shows a row once, wherever a page puts it', () => {
    const level = new Level(page('abcdef'));
    level.replace(page('cdb', { before: 'c', total: 6 }));
    assert.equal(shown(level), 'acdb');
  });
});

/** A daemon that answers as it is told and counts what it is asked. */
class Scripted implements Daemon {
  readonly clientId = 'me';
  state: State = 'ready';
  readonly asked: { method: string; params: Record<string, unknown> }[] = [];
  answers: Record<string, (params: Record<string, unknown>) => unknown> = {};
  private readonly told = new Emitter<Message>();
  private readonly states = new Emitter<State>();

  onState(listener: (state: State) => void): () => void {
    return this.states.on(listener);
  }
  onTold(listener: (message: Message) => void): () => void {
    return this.told.on(listener);
  }
  async request<M extends Method>(method: M, params: Params<M>): Promise<Result<M>> {
    this.asked.push({ method, params: params as Record<string, unknown> });
    const answer = this.answers[method];
    if (!answer) {
      throw new Failure('MethodNotFound', method);
    }
    return (await answer(params as Record<string, unknown>)) as Result<M>;
  }
  become(state: State): void {
    this.state = state;
    this.states.emit(state);
  }
  tell(delta: Partial<DidChange>): void {
    const whole = { session: 's', epoch: 'one', base: 1, rev: 2, leaf: 'c', contextSize: null };
    this.told.emit({
      method: 'session/didChange',
      params: { ...whole, changes: [], ...delta },
    });
  }
  count(method: string): number {
    return this.asked.filter((one) => one.method === method).length;
  }
}

function opened(ids: string, members: Partial<OpenResult> = {}): OpenResult {
  return {
    session: 's',
    path: '/s.jsonl',
    header: {},
    epoch: 'one',
    rev: 1,
    leaf: 'c',
    unsaved: false,
    readOnly: null,
    lastExternal: null,
    name: null,
    entryCount: ids.length,
    mode: 'snapshot',
    contextSize: null,
    problems: [],
    operation: null,
    clients: [],
    rows: page(ids),
    skipBranchPrompt: false,
    ...members,
  };
}

function upserting(...upsert: Row[]): Change[] {
  return [{ kind: 'rows', origin: 'external', upsert }];
}

async function open(daemon: Scripted, ids = 'abc'): Promise<SessionModel> {
  daemon.answers['session/open'] = () => opened(ids);
  const model = new SessionModel(daemon, { path: '/s.jsonl' });
  await model.fetch();
  return model;
}

/** Lets what was begun come to its end. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
}

describe('a session', () => {
  test('applies what follows, and ignores what it knows', async () => {
    const daemon = new Scripted();
    const model = await open(daemon);
    daemon.tell({ changes: upserting(row('d', 'c')) });
    assert.equal(shown(model.level(MAIN)), 'abcd');
    daemon.tell({ changes: upserting(row('e', 'c')) });
    assert.equal(shown(model.level(MAIN)), 'abcd');
    assert.equal(model.info?.rev, 2);
    assert.equal(daemon.count('session/open'), 1);
  });

  test('asks anew after a gap and in another epoch, and shows the old rows until then', async () => {
    for (const delta of [{ base: 5, rev: 6 }, { epoch: 'two' }]) {
      const daemon = new Scripted();
      const model = await open(daemon);
      daemon.answers['session/open'] = () => opened('abcxyz', { epoch: 'two', rev: 6 });
      daemon.tell(delta);
      assert.equal(shown(model.level(MAIN)), 'abc');
      await settle();
      assert.equal(shown(model.level(MAIN)), 'abcxyz');
      assert.equal(daemon.count('session/open'), 2);
    }
  });

  test('lays what came meanwhile over a page that was made before', async () => {
    const daemon = new Scripted();
    let answer: (page: RowsResult) => void = () => undefined;
    daemon.answers['session/rows'] = () =>
      new Promise<RowsResult>((resolve) => {
        answer = resolve;
      });
    const model = await open(daemon);
    daemon.tell({ changes: [{ kind: 'rows', origin: 'external', stale: [null] }] });
    daemon.tell({ base: 2, rev: 3, changes: upserting(row('e', 'd')) });
    answer(page('abcd', { rev: 2 }));
    await settle();
    assert.equal(shown(model.level(MAIN)), 'abcde');
  });

  test('leaves a stale level as it is until its page comes, whatever a joined change says of it', async () => {
    const daemon = new Scripted();
    let answer: (page: RowsResult) => void = () => undefined;
    daemon.answers['session/rows'] = () =>
      new Promise<RowsResult>((resolve) => {
        answer = resolve;
      });
    const model = await open(daemon);
    // `c` went behind a row that has left this level in the same step.
    const change = { kind: 'rows', origin: 'external' as const, upsert: [row('c', 'moved')] };
    daemon.tell({ rev: 9, changes: [{ ...change, stale: [null] }] });
    assert.equal(shown(model.level(MAIN)), 'abc');
    answer(page('axc', { rev: 9 }));
    await settle();
    assert.equal(shown(model.level(MAIN)), 'axc');
  });

  test('forgets a stale level that is closed, and reads one that is open', async () => {
    const daemon = new Scripted();
    const closed = row('a', null, { fold: 'closed' });
    daemon.answers['session/open'] = () => opened('', { rows: { ...page(''), rows: [closed] } });
    daemon.answers['session/rows'] = () => page('x', { level: 'a' });
    const model = new SessionModel(daemon, { path: '/s.jsonl' });
    await model.fetch();
    await model.inside('a');
    assert.equal(shown(model.level('a')), 'x');
    const stale: Change[] = [{ kind: 'rows', origin: 'external', stale: ['a'] }];
    daemon.tell({ changes: stale });
    assert.equal(model.level('a'), undefined);
    model.setOpen('a', true);
    await model.inside('a');
    daemon.answers['session/rows'] = () => page('xy', { level: 'a' });
    daemon.tell({ base: 2, rev: 3, changes: stale });
    await settle();
    assert.equal(shown(model.level('a')), 'xy');
  });

  test('says why the rows could not be read anew, keeps them, and forgets it once they were', async () => {
    const daemon = new Scripted();
    const stale: Change[] = [{ kind: 'rows', origin: 'external', stale: [null] }];
    const model = await open(daemon);
    daemon.answers['session/rows'] = () => {
      throw new Failure('InternalError', 'A fault of the daemon.');
    };
    daemon.tell({ changes: stale });
    await settle();
    assert.equal(model.problem?.kind, 'InternalError');
    assert.equal(shown(model.level(MAIN)), 'abc');
    daemon.answers['session/rows'] = () => page('abx');
    daemon.tell({ base: 2, rev: 3, changes: stale });
    await settle();
    assert.equal(model.problem, undefined);
    assert.equal(shown(model.level(MAIN)), 'abx');
  });

  test('asks once for a level that is wanted twice at a time', async () => {
    const daemon = new Scripted();
    daemon.answers['session/rows'] = () => page('x', { level: 'a' });
    const model = await open(daemon);
    const [one, other] = await Promise.all([model.inside('a'), model.inside('a')]);
    assert.equal(shown(one), 'x');
    assert.equal(other, one);
    assert.equal(daemon.count('session/rows'), 1);
  });

  test('reads everything again when the daemon is back', async () => {
    const daemon = new Scripted();
    const model = await open(daemon);
    daemon.become('offline');
    assert.equal(shown(model.level(MAIN)), 'abc');
    daemon.answers['session/open'] = () => opened('abcd', { epoch: 'two' });
    daemon.become('ready');
    await settle();
    assert.equal(shown(model.level(MAIN)), 'abcd');
  });

  test('brings its header up to date with each change', async () => {
    const daemon = new Scripted();
    const model = await open(daemon);
    const other = { client: 'nvim', clientId: 'other' };
    daemon.tell({
      changes: [
        { kind: 'rename', origin: other, name: 'login-fix' },
        { kind: 'leafConflict', origin: 'external', ours: 'a', theirs: 'b' },
      ],
    });
    assert.equal(model.info?.name, 'login-fix');
    assert.deepEqual(model.info?.leafConflict, { ours: 'a', theirs: 'b' });
    assert.equal(model.foreignRev, 2);
    daemon.tell({
      base: 2,
      rev: 3,
      changes: [{ kind: 'navigate', origin: { client: 'vscode', clientId: 'me' } }],
    });
    assert.equal(model.info?.leafConflict, null);
    assert.equal(model.foreignRev, 2);
  });
});

describe('what a window remembers', () => {
  test('undo goes back one act at a time, and never past what others did', () => {
    const undo = new UndoStack();
    assert.equal(typeof undo.last(0), 'string');
    const one = { acts: [], rev: 3, sentence: 'one' };
    const two = { acts: [], rev: 5, sentence: 'two' };
    undo.remember(one);
    undo.remember(two);
    assert.equal(undo.last(4), two);
    assert.match(undo.last(6) as string, /^Others came between/);
    undo.forget(two);
    assert.equal(undo.last(2), one);
    assert.equal(undo.isEmpty, false);
  });

  test('folds come back after a restart, those of the sessions last shown', () => {
    const folds = new FoldMemory(undefined);
    for (let session = 0; session < 40; session++) {
      folds.set(`s${session}`, 'w:1', true);
    }
    folds.set('s39', 'w:1', false);
    const restored = new FoldMemory(JSON.parse(JSON.stringify(folds.toStored())));
    assert.deepEqual([...restored.of('s39')], [['w:1', false]]);
    assert.deepEqual([...restored.of('s0')], []);
  });
});

describe('the program', () => {
  test('is the one of the setting, else the first on the path, and never of a relative folder', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'piv-'));
    const program = join(folder, 'pisessiond');
    writeFileSync(program, '#!/bin/sh\n');
    assert.equal(await findProgram('', folder, []), undefined);
    chmodSync(program, 0o755);
    assert.equal(await findProgram('', `/nowhere:${folder}`, []), program);
    assert.equal(await findProgram('', '.', []), undefined);
    assert.equal(await findProgram('', '', [folder]), program);
    assert.equal(await findProgram(program, '', []), program);
    assert.equal(await findProgram('pisessiond', folder, []), undefined);
    assert.equal(await findProgram(folder, '', []), undefined);
    rmSync(folder, { recursive: true });
  });

  test('that is too old is said to be, with what it lacks', () => {
    const limits = {} as Parameters<typeof skewOf>[0]['limits'];
    const methods = ['session/open', 'session/list', 'session/contextSize'];
    const server = { protocolVersion: 1, build: '0.0.1', limits, methods };
    assert.match(
      skewOf(server) ?? '',
      /^The running pisessiond 0\.0\.1 is older .* session\/rows;/,
    );
    assert.equal(skewOf({ ...server, methods: [...methods, 'session/rows'] }), undefined);
  });
});
