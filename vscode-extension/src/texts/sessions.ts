/** Lines of the view Sessions: titles, states in words, and families of forks. */

import type { ListedSession } from '../model/wire';
import { count, formatTokens, shortTime, tilde, wholePercent } from './figures';
import { companyOf } from './pis';
import { cleanLine, cut } from './plain';

/** Forks of a session that stand open by themselves. */
const OPEN_FORKS = 2;
/** Characters of the entry a fork left its parent at. */
const POINT = 24;

/** A session with the forks below it. */
export interface Family {
  session: ListedSession;
  forks: Family[];
}

/** What names it: its own name, what was first said after the fork, or at all. */
export function titleOf(one: ListedSession): string {
  const title = cleanLine(one.name ?? one.fork?.firstMessage ?? one.firstMessage ?? '');
  return title === '' ? 'nothing said yet' : title;
}

/** The list as trees; it comes with each member of a family before its forks. */
export function familiesOf(listed: readonly ListedSession[]): Family[] {
  const roots: Family[] = [];
  const line: Family[] = [];
  for (const session of listed) {
    const family: Family = { session, forks: [] };
    // A depth without the one above it: that one is on another page, or not there any more.
    const depth = Math.min(session.depth, line.length);
    line.length = depth;
    (line.at(-1)?.forks ?? roots).push(family);
    line.push(family);
  }
  return roots;
}

function below(family: Family): ListedSession[] {
  return family.forks.flatMap((fork) => [fork.session, ...below(fork)]);
}

/** Families of many forks are closed at first. */
export function isOpenAtFirst(family: Family): boolean {
  return below(family).length <= OPEN_FORKS;
}

/** What stands behind a title: size, time, states, where a fork began, and what a family holds. */
export function describe(family: Family, today: string): string {
  const { session } = family;
  const words: string[] = [];
  if (session.contextSize) {
    const { source, tokens, percent } = session.contextSize;
    const size = percent === null ? formatTokens(tokens) : `${wholePercent(percent)}%`;
    words.push(tilde(source) + size);
  }
  words.push(shortTime(session.modified, today));
  words.push(...states(session));
  if (session.fork?.preview) {
    words.push(`at "${cut(cleanLine(session.fork.preview), POINT)}"`);
  }
  const forks = below(family);
  if (forks.length > OPEN_FORKS) {
    words.push(familyWords(forks, today));
  }
  return words.filter((word) => word !== '').join(' · ');
}

function states(session: ListedSession): string[] {
  return [
    session.unsaved ? 'unsaved' : '',
    companyOf(session.pis) || (session.live ? 'live' : ''),
    session.open > 1 ? `${session.open} windows` : '',
    session.cwdMissing ? 'folder gone' : '',
  ];
}

/** How many forks, the newest, and what is urgent in them. */
function familyWords(forks: readonly ListedSession[], today: string): string {
  const newest = forks.reduce((last, one) => (one.modified > last ? one.modified : last), '');
  const state =
    companyOf(forks.flatMap((one) => one.pis ?? [])) ||
    (forks.some((one) => one.live) ? 'live' : '') ||
    (forks.some((one) => one.unsaved) ? 'unsaved' : '');
  const words = `${count(forks.length, 'fork')}, newest ${shortTime(newest, today)}`;
  return state === '' ? words : `${words}, ${state}`;
}

/** One sentence for screen readers. */
export function speakSession(family: Family, today: string): string {
  return `${titleOf(family.session)}. ${describe(family, today).replaceAll(' · ', '. ')}.`;
}
