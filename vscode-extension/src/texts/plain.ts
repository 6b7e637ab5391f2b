/**
 * Text from sessions made fit to be shown: it may hold whatever a model or a web page wrote, and
 * nothing of it may turn the reading direction, hide, or act.
 */

const ESCAPES =
  /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)|\x1b[ -/]*[0-~]|\x9b[0-?]*[ -/]*[@-~]/g;
const BREAKS = /\r\n?|[\n\v\f\x1c-\x1e\x85\u2028\u2029]/g;
const UNSEEN =
  /[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]/gu;
const LONE_SURROGATES = /\p{Surrogate}/gu;

function plain(line: string): string {
  return line.replace(UNSEEN, '').replace(LONE_SURROGATES, '\ufffd');
}

/** One line: breaks, tabs and runs of blanks are one space. */
export function cleanLine(text: string): string {
  const line = text.replace(ESCAPES, '').replace(BREAKS, ' ').replaceAll('\t', ' ');
  return plain(line)
    .replace(/[ \t\u00a0]+/g, ' ')
    .trim();
}

/** The text with its line breaks, tabs as four spaces. */
export function cleanText(text: string): string {
  const lines = text.replace(ESCAPES, '').replace(BREAKS, '\n').replaceAll('\t', '    ');
  return lines.split('\n').map(plain).join('\n');
}

/** The beginning of a text, with a mark where something is missing; no character is cut in two. */
export function cut(text: string, length: number): string {
  if (text.length <= length) {
    return text;
  }
  const end = /[\ud800-\udbff]/.test(text.charAt(length - 2)) ? length - 2 : length - 1;
  return text.slice(0, end).trimEnd() + '…';
}

/** A text for a label that draws `$(name)` as an icon: pickers, the status bar. */
export function withoutIcons(text: string): string {
  return text.replaceAll('$(', '$\u200b(');
}
