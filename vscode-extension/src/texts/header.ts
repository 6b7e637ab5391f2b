/** What stands above the rows: the session's name and size, and what is wrong, in sentences. */

import type { Connection } from '../daemon/connection';
import type { SessionModel } from '../model/session';
import type { EntryId, TreeFilter } from '../model/wire';
import { MAIN } from '../model/rows';
import { count, readClock } from './figures';
import { cleanLine, cut } from './plain';
import { companyOf, piSentences } from './pis';
import { figureOf, nameOf, operationText } from './status';

/** `login-fix · 42% · pi idle`, and which hit of a search is at hand. */
export function titleLine(
  model: Pick<SessionModel, 'info' | 'size'> | undefined,
  place?: string,
): string | undefined {
  const info = model?.info;
  if (!model || !info) {
    return undefined;
  }
  const id = typeof info.header.id === 'string' ? info.header.id.slice(0, 8) : 'pi';
  const marks = `${info.unsaved ? ' [+]' : ''}${info.readOnly === null ? '' : ' [RO]'}`;
  const name = cut(cleanLine(info.name ?? id), 40) + marks;
  const size = model.size ? figureOf(model.size) : '';
  const parts = [name, size, place ?? '', companyOf(info.pis)];
  return parts.filter((part) => part !== '').join(' · ');
}

type Link = Pick<Connection, 'state' | 'problem' | 'since' | 'nextTry' | 'skew'>;

export interface Message {
  /** Whether the connection has been gone for long enough to be worth a word. */
  isOffline: boolean;
  isTrusted: boolean;
  /** What has just happened. */
  news?: string | undefined;
  /** What could be done so that a pi follows. */
  hint?: string | undefined;
  now: number;
}

/** Sentences above the rows, the most urgent first; undefined when all is well. */
export function headerMessage(
  link: Link,
  model: SessionModel | undefined,
  message: Message,
): string | undefined {
  const sentences = [
    ...(message.isOffline ? [offlineSentence(link, message.now)] : []),
    ...(link.skew === undefined ? [] : [link.skew]),
    ...(message.news === undefined ? [] : [message.news]),
    ...sessionSentences(model),
    ...(message.hint === undefined ? [] : [message.hint]),
    ...(message.isTrusted ? [] : ['This folder is not trusted: sessions can only be read.']),
  ];
  return sentences.length > 0 ? sentences.join(' ') : undefined;
}

function offlineSentence({ state, problem, since, nextTry }: Link, now: number): string {
  const lost = readClock(new Date(since ?? now).toISOString())?.clock ?? '';
  if (state === 'missing') {
    // Nothing is tried before somebody asks, or comes back to the window.
    const why = cleanLine(problem ?? 'pisessiond is not installed.');
    return `Offline since ${lost}: ${why} Connect tries again.`;
  }
  const wait = nextTry === undefined ? 0 : Math.max(Math.ceil((nextTry - now) / 1000), 1);
  return `Offline since ${lost}, ${wait > 0 ? `next try in ${wait} s` : 'trying again'}.`;
}

const GONE =
  'Its file is gone: these rows are the last that were read, and nothing can be changed.';

function* sessionSentences(model: SessionModel | undefined): Generator<string> {
  if (!model) {
    return;
  }
  const info = model.info;
  if (model.problem?.kind === 'SessionNotFound') {
    yield* info ? [GONE] : [];
  } else if (model.problem) {
    yield cleanLine(model.problem.message);
  }
  if (!info) {
    return;
  }
  if (model.longOperation) {
    yield `${nameOf(model.longOperation.origin)} is ${operationText(model.longOperation)}`;
  }
  yield* piSentences(info.pis ?? []);
  if (info.leafConflict) {
    yield conflictSentence(model, info.leafConflict.theirs);
  }
  if (info.readOnly !== null) {
    yield cleanLine(info.readOnly);
  }
  if (info.problems.length > 0) {
    yield `${count(info.problems.length, 'problem')} in the file.`;
  }
  yield* hiddenSentence(model, info.entryCount);
}

function conflictSentence(model: SessionModel, theirs: EntryId | null): string {
  const title = theirs === null ? undefined : model.rowOf(theirs)?.title;
  const where = title === undefined ? 'elsewhere' : `at “${cut(cleanLine(title), 40)}”`;
  return `pi went on ${where}: Navigate There, or Stay, by the buttons of this view.`;
}

const SHOWN: Partial<Record<TreeFilter, string>> = {
  'no-tools': 'messages',
  'user-only': 'messages of yours',
  'labeled-only': 'labelled rows',
};

/** Said where a filter leaves nothing but where one is. */
function* hiddenSentence(model: SessionModel, entries: number): Generator<string> {
  const rows = model.level(MAIN)?.rows;
  const shown = SHOWN[model.filter];
  if (rows && shown && entries > 0 && rows.every((row) => row.kind === 'here')) {
    yield `No ${shown}, ${count(entries, 'entry', 'entries')} hidden.`;
  }
}
