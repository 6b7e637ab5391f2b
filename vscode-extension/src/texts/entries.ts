/** Bodies of entries for reading: as plain text, and as Markdown that stays text. */

import type { JsonObject } from '../model/wire';
import { readClock } from './figures';
import { cleanLine, cleanText } from './plain';

interface Block {
  type?: unknown;
  text?: unknown;
  thinking?: unknown;
  name?: unknown;
  arguments?: unknown;
}

function blocksOf(content: unknown): Block[] {
  if (typeof content === 'string') {
    return [{ type: 'text', text: content }];
  }
  return Array.isArray(content) ? content.filter((one): one is Block => isObject(one)) : [];
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null;
}

function string(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function texts(content: unknown): string {
  return blocksOf(content)
    .map((block) => (block.type === 'image' ? '[image]' : string(block.text)))
    .filter((text) => text !== '')
    .join('\n');
}

function messageOf(entry: JsonObject): JsonObject {
  return isObject(entry.message) ? entry.message : {};
}

/** What an entry says, as it would be pasted. */
export function plainText(entry: JsonObject): string {
  const message = messageOf(entry);
  if (entry.type === 'message') {
    return message.role === 'bashExecution'
      ? `${string(message.command)}\n${string(message.output)}`
      : texts(message.content);
  }
  if (entry.type === 'custom_message') {
    return texts(entry.content);
  }
  return typeof entry.summary === 'string' ? entry.summary : JSON.stringify(entry, undefined, 2);
}

const ROLES: Record<string, string> = {
  user: 'You',
  assistant: 'Answer',
  toolResult: 'Result',
  bashExecution: 'Shell',
  system: 'System',
};
const TYPES: Record<string, string> = {
  compaction: 'Compaction',
  branch_summary: 'Branch summary',
  custom_message: 'Note',
};

function headingOf(entry: JsonObject, isTimed: boolean): string {
  const role = ROLES[string(messageOf(entry).role)];
  const type = string(entry.type);
  const clock = isTimed ? readClock(string(entry.timestamp)) : undefined;
  const when = clock ? ` · ${clock.date} ${clock.clock}` : '';
  return `# ${role ?? TYPES[type] ?? (cleanLine(type) || 'Entry')}${when}`;
}

function fenced(text: string, language = ''): string {
  let fence = '```';
  while (text.includes(fence)) {
    fence += '`';
  }
  return `${fence}${language}\n${text}\n${fence}`;
}

function* answerParts(message: JsonObject): Generator<string> {
  for (const block of blocksOf(message.content)) {
    if (block.type === 'text') {
      yield cleanText(string(block.text));
    } else if (block.type === 'thinking') {
      yield `*thinking*\n\n${fenced(cleanText(string(block.thinking)))}`;
    } else if (block.type === 'toolCall') {
      const call = cleanText(JSON.stringify(block.arguments ?? {}, undefined, 2));
      yield `**${cleanLine(string(block.name)) || 'call'}**\n\n${fenced(call, 'json')}`;
    }
  }
  if (typeof message.errorMessage === 'string') {
    yield `error: ${cleanLine(message.errorMessage)}`;
  }
}

function* partsOf(entry: JsonObject): Generator<string> {
  const message = messageOf(entry);
  if (message.role === 'assistant') {
    yield* answerParts(message);
  } else if (message.role === 'toolResult') {
    const failed = message.isError === true ? ' failed' : '';
    const output = cleanText(texts(message.content));
    yield `**${cleanLine(string(message.toolName)) || 'tool'}**${failed}\n\n${fenced(output)}`;
  } else if (message.role === 'bashExecution') {
    const command = cleanText(string(message.command));
    yield `${fenced(command, 'sh')}\n\n${fenced(cleanText(string(message.output)))}`;
  } else if (message.role !== undefined || SAYS.has(string(entry.type))) {
    yield cleanText(plainText(entry));
  } else {
    yield fenced(cleanText(plainText(entry)), 'json');
  }
}

/** An entry as Markdown; without its time where two are compared. */
export function markdown(entry: JsonObject, isTimed = true): string {
  const parts = [headingOf(entry, isTimed), ...partsOf(entry)];
  return parts.filter((part) => part !== '').join('\n\n') + '\n';
}

/** Types of entries that say something to a reader. */
export const SAYS: ReadonlySet<string> = new Set([
  'message',
  'branch_summary',
  'compaction',
  'custom_message',
]);
