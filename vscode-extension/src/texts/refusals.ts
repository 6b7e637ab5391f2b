/** What the daemon refuses, as one sentence with the next step. */

import type { Failure } from '../rpc/failure';
import { cleanLine } from './plain';
import { doing } from './status';

/** What can be done about a refusal, by the words on its buttons. */
export type NextStep = 'Show' | 'Try Again' | 'Cancel It' | 'Log' | 'Walkthrough';

export interface Refusal {
  sentence: string;
  steps: NextStep[];
}

/** Nothing where there is nothing to say: the user cancelled. */
export function refusalOf(failure: Failure): Refusal | undefined {
  switch (failure.kind) {
    case 'Cancelled':
      return undefined;
    case 'LeafMoved':
      return {
        sentence: 'The leaf has moved in the meantime; nothing was changed.',
        steps: ['Show', 'Try Again'],
      };
    case 'Busy':
      return busy(failure);
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

function busy(failure: Failure): Refusal {
  const { client, operation } = failure.data;
  const who = typeof client === 'string' ? cleanLine(client) : 'Somebody';
  const what = doing(typeof operation === 'string' ? operation : '');
  return { sentence: `${who} is ${what}; nothing was changed.`, steps: ['Cancel It'] };
}

function noSummarizer(failure: Failure): string {
  const choices = Array.isArray(failure.data.choices) ? failure.data.choices : [];
  const names = choices.filter((name) => typeof name === 'string');
  const message = cleanLine(failure.message);
  return names.length > 0 ? `${message} There are ${names.join(', ')}.` : message;
}
