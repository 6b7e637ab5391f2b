/** What stands beside the lanes of a line, and what is said of it. */

import type { GraphLine, Row } from '../../model/wire';
import { count, formatDuration, formatSize, readClock } from '../../texts/figures';
import { tooltip } from '../../texts/paint';
import { cleanLine } from '../../texts/plain';
import { speak } from '../../texts/speak';
import type { Zoom } from '../messages';
import { BUNDLE } from './lanes';

export interface LineText {
  time: string;
  glyph: string;
  /** The user's own word; empty without one. */
  label: string;
  title: string;
  /** `+` unsaved, `!n` failed, and so on; each is said in words too. */
  marks: string;
  /** `end · 14`; empty where the branch goes on. */
  end: string;
  size: string;
  spoken: string;
  /** Off the active branch, or out of the context. */
  isAside: boolean;
}

const GLYPHS: Record<GraphLine['kind'], string> = {
  user: '»',
  answer: '«',
  work: '≡',
  step: '·',
  bash: '$',
  note: 'i',
  compaction: '▬',
  summarised: '▬',
  branchSummary: '~',
  alternative: '─▸',
  group: '─▸',
  ahead: '▸',
  here: '●',
  meta: '·',
};

/** A line as the row of the tree that it is. */
export function rowOf(line: GraphLine): Row {
  return { ...line, level: null, after: null, rows: 0, depth: 0, fold: 'none' };
}

/**
 * A line's texts.
 *
 * @param above the line over it, whose day need not be said again
 * @param isAlone nothing else is in the session
 */
export function textOf(line: GraphLine, above: GraphLine | undefined, isAlone = false): LineText {
  const title = isAlone && line.kind === 'here' ? 'you are here, nothing yet' : line.title;
  const isActive = line.flags.includes('active') || line.kind === 'here';
  return {
    time: timeOf(line, above),
    glyph: GLYPHS[line.kind] ?? GLYPHS.meta,
    label: line.label ? cleanLine(line.label) : '',
    title: cleanLine(title),
    marks: [...marksOf(line)].join(' '),
    end: endOf(line),
    size: line.size ? formatSize(line.size) : '',
    spoken: spokenLine(line, title),
    isAside: !isActive || line.flags.includes('omitted'),
  };
}

function timeOf(line: GraphLine, above: GraphLine | undefined): string {
  const time = line.kind === 'here' ? undefined : readClock(line.time);
  if (!time) {
    return '';
  }
  const before = readClock(above?.time)?.day;
  return before !== undefined && before !== time.day ? time.date : time.clock;
}

function* marksOf(line: GraphLine): Generator<string> {
  const has = (flag: GraphLine['flags'][number]) => line.flags.includes(flag);
  if (line.kind === 'work' && line.duration !== null) {
    yield formatDuration(line.duration);
  }
  if (has('unsaved')) {
    yield '+';
  }
  if (line.failed > 0) {
    yield `!${line.failed}`;
  } else if (has('problem')) {
    yield '!';
  }
  if (has('omitted') || (line.out ?? 0) > 0) {
    yield 'x';
  }
  if (has('replaced')) {
    yield '±';
  }
  if (line.forks.length > 0) {
    yield `⑂${line.forks.length}`;
  }
}

function endOf({ end, kind }: GraphLine): string {
  if (!end || kind === 'here') {
    return '';
  }
  // At the zoom of branches the line is the end, and its title has the number.
  return kind === 'alternative' ? 'end' : `end · ${end.entries}`;
}

/** A line in sentences: the row's, then what only the graph shows. */
function spokenLine(line: GraphLine, title: string): string {
  return [speak({ ...rowOf(line), title }, false), ...laneSentences(line)].join(' ');
}

function* laneSentences(line: GraphLine): Generator<string> {
  if (line.lane !== 0) {
    yield line.lane === BUNDLE ? 'In the bundle of lanes.' : `Lane ${line.lane + 1}.`;
  }
  if (line.leaving.length > 0) {
    const leaving = line.leaving.reduce((sum, one) => sum + (one.count ?? 1), 0);
    yield `${count(leaving, 'branch leaves', 'branches leave')} here.`;
  }
  if (line.end && line.kind !== 'here') {
    const { entries } = line.end;
    yield `The branch ends here, after ${count(entries, 'entry', 'entries')}.`;
  }
}

/** What is shown while the mouse rests on a line. */
export function tooltipOf(line: GraphLine, window: number | null): string {
  return tooltip(rowOf(line), window);
}

const ZOOM_NAMES: Record<Zoom, string> = {
  branches: 'Branches',
  turns: 'Turns',
  entries: 'Entries',
};

export function zoomName(zoom: Zoom): string {
  return ZOOM_NAMES[zoom];
}

/** What is said when a zoom is shown. */
export function zoomSentence(zoom: Zoom, total: number): string {
  return `${zoomName(zoom)}, ${count(total, 'line')}.`;
}

/** What is said when lines have come or gone, and one stays where one was. */
export function changeSentence(before: number, now: number, here: GraphLine | undefined): string {
  const lines =
    now > before ? `${count(now - before, 'line')} more.` : `${count(now, 'line')} now.`;
  return here ? `${lines} ${speak(rowOf(here), false)}` : lines;
}
