/** What the daemon refuses, as one sentence with the next step. */

import type { Progress } from '../model/wire';
import type { Failure } from '../rpc/failure';
import { cleanLine, cut } from './plain';
import { doing, operationText } from './status';

/** What can be done about a refusal, by the words on its buttons. */
export type NextStep = 'Go On from There' | 'Show' | 'Wait' | 'Cancel It' | 'Log' | 'Walkthrough';

export interface Refusal {
  sentence: string;
  steps: NextStep[];
}

/** What the window knows of the session besides. */
export interface Known {
  /** Who moved the leaf last, and what stands there now. */
  mover?: string;
  title?: string;
  /** What runs. */
  operation?: Progress | null;
}

/** Nothing where there is nothing to say: the user cancelled. */
export function refusalOf(failure: Failure, known: Known = {}): Refusal | undefined {
  switch (failure.kind) {
    case 'Cancelled':
      return undefined;
    case 'LeafMoved':
      return { sentence: leafMoved(known), steps: ['Go On from There', 'Show'] };
    case 'Busy':
      return busy(failure, known);
    case 'NoSummarizer':
      return { sentence: noSummarizer(failure), steps: [] };
    case 'NotInstalled':
      return { sentence: failure.message, steps: ['Walkthrough'] };
    case 'Offline':
    case 'InternalError':
      return { sentence: cleanLine(failure.message), steps: ['Log'] };
    default:
      return { sentence: cleanLine(failure.message), steps: [] };
  }
}

function leafMoved({ mover, title }: Known): string {
  const who = mover === undefined ? 'The leaf has moved' : `${cleanLine(mover)} moved the leaf`;
  const where = title === undefined ? ' in the meantime' : ` to “${cut(cleanLine(title), 40)}”`;
  return `${who}${where}; nothing was changed.`;
}

function busy(failure: Failure, { operation: running }: Known): Refusal {
  const { client, operation } = failure.data;
  const who = typeof client === 'string' ? cleanLine(client) : 'Somebody';
  const name = typeof operation === 'string' ? operation : '';
  const what = running?.operation === name ? operationText(running) : doing(name);
  return {
    sentence: `${who} is ${what.replace(/…$/, '')}; nothing was changed.`,
    steps: ['Wait', 'Cancel It'],
  };
}

function noSummarizer(failure: Failure): string {
  const choices = Array.isArray(failure.data.choices) ? failure.data.choices : [];
  const names = choices.filter((name) => typeof name === 'string');
  const message = cleanLine(failure.message);
  return names.length > 0 ? `${message} There are ${names.join(', ')}.` : message;
}
