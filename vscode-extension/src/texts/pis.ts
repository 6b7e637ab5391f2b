/** Running pi in words: how many, what each is doing, where they stand, and whether they follow. */

import type { LivePi } from '../model/wire';
import { count } from './figures';
import { cleanLine, cut } from './plain';

/** What menus and keys know of the pi that have a session open; empty: there is none. */
export type PiKey = '' | 'watched' | 'idle' | 'working' | 'waiting' | 'stalled';

const DOING: Record<LivePi['state'], string> = {
  idle: 'idle',
  turn: 'at work',
  compaction: 'compacting',
  summary: 'summarizing',
  stalled: 'not answering',
};

const MODES: Record<LivePi['mode'], string> = {
  tui: 'in a terminal',
  rpc: 'in RPC mode',
  print: 'with -p',
  json: 'with -p',
};

/** What is said first of several, the most urgent in front. */
const URGENT = ['waiting for you', 'not answering', 'at work', 'compacting', 'summarizing'];

/** `idle`, `at work`, `waiting for you`. */
export function doingOf(pi: Pick<LivePi, 'state' | 'waitingForUser'>): string {
  return pi.waitingForUser ? 'waiting for you' : (DOING[pi.state] ?? cleanLine(pi.state));
}

/** Whether it runs something that could be stopped. */
export function isAtWork(pi: LivePi): boolean {
  return pi.state !== 'idle' && pi.state !== 'stalled';
}

/** `pi idle`, `pi waiting for you`, `2 pi, 1 at work`; empty where there is none. */
export function companyOf(pis: readonly LivePi[] = []): string {
  const [one] = pis;
  if (!one) {
    return '';
  }
  if (pis.length === 1) {
    return `pi ${doingOf(one)}${one.unseen > 0 ? `, ${one.unseen} unread` : ''}`;
  }
  for (const doing of URGENT) {
    const number = pis.filter((pi) => doingOf(pi) === doing).length;
    if (number > 0) {
      return `${pis.length} pi, ${number} ${doing}`;
    }
  }
  return `${pis.length} pi`;
}

/** For menus and keys: of several the most urgent that can be driven. */
export function keyOf(pis: readonly LivePi[]): PiKey {
  const driven = pis.filter((pi) => pi.drives);
  if (driven.length === 0) {
    return pis.length > 0 ? 'watched' : '';
  }
  if (driven.some((pi) => pi.waitingForUser)) {
    return 'waiting';
  }
  if (driven.some(isAtWork)) {
    return 'working';
  }
  return driven.every((pi) => pi.state === 'stalled') ? 'stalled' : 'idle';
}

/** `pi`, and of several which: `pi 4242`. */
export function piName(pi: Pick<LivePi, 'pid'>, isOneOfSeveral: boolean): string {
  return isOneOfSeveral ? `pi ${pi.pid}` : 'pi';
}

/** What marks the row where some of all stand: `‹pi›`, `‹pi 4242›`, `‹2 pi›`. */
export function markOf(here: readonly LivePi[], number: number): string {
  const [one] = here;
  return one && here.length === 1 ? `‹${piName(one, number > 1)}›` : `‹${here.length} pi›`;
}

/** The same as a sentence. */
export function speakStanding(here: readonly LivePi[], number: number): string {
  const names = here.map((pi) => `${piName(pi, number > 1)}, ${doingOf(pi)},`);
  return `${names.join(' and ')} stands here.`;
}

/** Why it cannot be moved from here, without a full stop. */
export function whyNot(pi: LivePi): string {
  return cleanLine(pi.why ?? 'it lets nobody move it').replace(/\.$/, '');
}

/** All of one in a line: `pi 4242, in a terminal: idle, 2 entries not read`. */
export function describePi(pi: LivePi): string {
  const parts = [doingOf(pi)];
  if (pi.pending > 0) {
    parts.push(count(pi.pending, 'message waits', 'messages wait'));
  }
  if (pi.unseen > 0) {
    parts.push(`${count(pi.unseen, 'entry', 'entries')} not read`);
  }
  if (!pi.drives) {
    parts.push(`only watched: ${whyNot(pi)}`);
  }
  return `pi ${pi.pid}, ${MODES[pi.mode] ?? cleanLine(pi.mode)}: ${parts.join(', ')}`;
}

/** A pi to choose among several, as a refusal names them. */
export type PiChoice = Pick<LivePi, 'pid' | 'mode' | 'state' | 'leaf'>;

/** How one of several is offered: its name, what it does, and the title of the row it stands at. */
export function choiceLine(choice: PiChoice, title: string | undefined): [string, string] {
  const at = title === undefined ? '' : `, at “${cut(cleanLine(title), 40)}”`;
  const doing = DOING[choice.state] ?? cleanLine(choice.state);
  return [`pi ${choice.pid}`, `${MODES[choice.mode] ?? ''}: ${doing}${at}`];
}

/** What is worth a sentence above the rows. */
export function* piSentences(pis: readonly LivePi[]): Generator<string> {
  const isOneOfSeveral = pis.length > 1;
  if (isOneOfSeveral) {
    yield `${pis.length} pi have it open: a change asks which of them is to make it.`;
  }
  for (const pi of pis) {
    const name = piName(pi, isOneOfSeveral);
    if (pi.waitingForUser) {
      yield `${name} waits for you in its terminal.`;
    } else if (pi.state === 'stalled') {
      yield `${name} does not answer; look at its terminal.`;
    }
    if (pi.unseen > 0) {
      const entries = count(pi.unseen, 'entry', 'entries');
      const way = pi.drives ? '; Let pi Read Them, by the button of this view' : '';
      yield `${name} has not read ${entries} of others${way}.`;
    }
  }
}

/** What a move can do with the pi that have the session open. */
export interface Following {
  hasPi: boolean;
  /** One of them can be moved. */
  isDriven: boolean;
  /** The only one is at work, and moves when it is idle. */
  isBusy: boolean;
  /** Whether it follows, or why not; empty where there is none. */
  sentence: string;
}

export function followingOf(pis: readonly LivePi[]): Following {
  const [one] = pis;
  const isDriven = pis.some((pi) => pi.drives);
  const isBusy = pis.length === 1 && isDriven && one !== undefined && isAtWork(one);
  return { hasPi: pis.length > 0, isDriven, isBusy, sentence: followingSentence(pis, isBusy) };
}

function followingSentence(pis: readonly LivePi[], isBusy: boolean): string {
  const [one] = pis;
  if (!one) {
    return '';
  }
  if (pis.length > 1) {
    return `${pis.length} pi have it open; you are asked which one is to go.`;
  }
  if (!one.drives) {
    return `pi does not follow, and nothing else may move it: ${whyNot(one)}.`;
  }
  if (one.state === 'stalled') {
    return 'pi does not answer now; look at its terminal.';
  }
  return isBusy ? `pi is ${doingOf(one)}; it goes there when it is idle.` : 'pi follows.';
}
