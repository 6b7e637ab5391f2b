/** What stands above the rows: the session's name and size, and what is wrong, in sentences. */

import type { Connection } from '../daemon/connection';
import type { SessionModel } from '../model/session';
import { MAIN } from '../model/rows';
import { count, readClock } from './figures';
import { cleanLine, cut } from './plain';
import { figureOf, nameOf, operationText } from './status';

/** `login-fix · 42%`, and which hit of a search is at hand. */
export function titleLine(
  model: Pick<SessionModel, 'info' | 'size'>,
  place?: string,
): string | undefined {
  const info = model.info;
  if (!info) {
    return undefined;
  }
  const id = typeof info.header.id === 'string' ? info.header.id.slice(0, 8) : 'pi';
  const marks = `${info.unsaved ? ' [+]' : ''}${info.readOnly === null ? '' : ' [RO]'}`;
  const name = cut(cleanLine(info.name ?? id), 40) + marks;
  const parts = [name, model.size ? figureOf(model.size) : '', place ?? ''];
  return parts.filter((part) => part !== '').join(' · ');
}

type Link = Pick<Connection, 'state' | 'problem' | 'since' | 'nextTry' | 'skew'>;

/** Sentences above the rows, the most urgent first; undefined when all is well. */
export function headerMessage(
  link: Link,
  model: SessionModel | undefined,
  isLong: boolean,
  news?: string,
): string | undefined {
  const sentences = [
    ...linkSentences(link, model, isLong),
    ...(news === undefined ? [] : [news]),
    ...sessionSentences(model),
  ];
  return sentences.length > 0 ? sentences.join(' ') : undefined;
}

function* linkSentences(
  link: Link,
  model: SessionModel | undefined,
  isLong: boolean,
): Generator<string> {
  if (link.state === 'connecting' && isLong) {
    yield 'Starting pisessiond…';
  } else if (link.state === 'offline' && model?.info) {
    const since = link.since === undefined ? undefined : new Date(link.since).toISOString();
    yield `Offline since ${readClock(since)?.clock ?? 'just now'}; rows are as they were last.`;
  } else if (link.state === 'offline' && link.problem) {
    yield cleanLine(link.problem);
  }
  if (link.skew) {
    yield link.skew;
  }
}

function* sessionSentences(model: SessionModel | undefined): Generator<string> {
  if (!model) {
    return;
  }
  if (model.problem && model.problem.kind !== 'SessionNotFound') {
    yield cleanLine(model.problem.message);
  }
  const info = model.info;
  if (!info) {
    return;
  }
  if (model.longOperation) {
    yield `${nameOf(model.longOperation.origin)} is ${operationText(model.longOperation)}`;
  }
  if (info.leafConflict) {
    yield 'pi went on elsewhere: the menu of this view goes there, or stays here.';
  }
  if (info.readOnly !== null) {
    yield cleanLine(info.readOnly);
  }
  if (info.problems.length > 0) {
    yield `${count(info.problems.length, 'problem')} in the file.`;
  }
  const rows = model.level(MAIN)?.rows.length ?? 0;
  if (model.filter === 'labeled-only' && rows <= 1) {
    yield `No labelled rows, ${count(info.entryCount, 'entry', 'entries')} hidden.`;
  }
}
