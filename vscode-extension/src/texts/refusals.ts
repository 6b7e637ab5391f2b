/** What the daemon refuses, as one sentence with the next step. */

import type { Progress } from '../model/wire';
import type { Failure } from '../rpc/failure';
import { cleanLine, cut } from './plain';
import { doing, operationText } from './status';

/** What can be done about a refusal, by the words on its buttons. */
export type NextStep =
  | 'Go On from There'
  | 'Show'
  | 'Wait'
  | 'Cancel It'
  | 'Stop pi'
  | 'Let pi Read'
  | 'Continue in pi'
  | 'Log'
  | 'Walkthrough';

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
      return byPi(failure) ?? { sentence: cleanLine(failure.message), steps: [] };
  }
}

/** What a running pi cannot or may not do; nothing where the daemon's sentence says it. */
function byPi({ kind, data }: Failure): Refusal | undefined {
  switch (kind) {
    case 'Unsupported':
      if (data.needs === 'session/reread') {
        return { sentence: 'pi has not read that entry yet.', steps: ['Let pi Read'] };
      }
      return data.needs === 'a pi that has it open'
        ? { sentence: 'No running pi has this session open.', steps: ['Continue in pi'] }
        : undefined;
    case 'SessionChanged':
      return {
        sentence: 'That pi has another session open by now; nothing was changed.',
        steps: [],
      };
    case 'PiUnknown':
      return {
        sentence: 'pi gave no answer and may have done it; look at the rows before trying again.',
        steps: ['Show'],
      };
    default:
      return undefined;
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
  if (client === 'pi') {
    return busyPi(name);
  }
  const what = running?.operation === name ? operationText(running) : doing(name);
  return {
    sentence: `${who} is ${what.replace(/…$/, '')}; nothing was changed.`,
    steps: ['Wait', 'Cancel It'],
  };
}

function busyPi(operation: string): Refusal {
  if (operation === 'pi does not answer') {
    return {
      sentence: 'pi does not answer; look at its terminal. Nothing was changed.',
      steps: [],
    };
  }
  const doing = { compaction: 'compacting', summary: 'summarizing' }[operation] ?? 'at work';
  return { sentence: `pi is ${doing}; nothing was changed.`, steps: ['Wait', 'Stop pi'] };
}

function noSummarizer(failure: Failure): string {
  const choices = Array.isArray(failure.data.choices) ? failure.data.choices : [];
  const names = choices.filter((name) => typeof name === 'string');
  const message = cleanLine(failure.message);
  return names.length > 0 ? `${message} There are ${names.join(', ')}.` : message;
}
