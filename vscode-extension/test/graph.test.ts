/** The graph without a page: what is in sight, how lanes are shaped, where keys lead. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { holdOf, ZOOMS } from '../src/graph/messages';
import { Announcer, PAUSE } from '../src/graph/shape/announcing';
import { contrast, readColour, standingOut, type Colour } from '../src/graph/shape/colours';
import { pressed, zoomed, type Key } from '../src/graph/shape/keys';
import { BUNDLE, centre, partsOf, scaleFor, widthOf } from '../src/graph/shape/lanes';
import { Lines } from '../src/graph/shape/lines';
import { changeSentence, textOf } from '../src/graph/shape/texts';
import {
  drawn,
  heldStill,
  inSight,
  LINE,
  missing,
  PAGE,
  scrollTo,
  scrollToMiddle,
  wanted,
} from '../src/graph/shape/viewport';
import { pageHtml } from '../src/graph/html';
import { lane, line, page } from './graphs';

// What is in sight.

test('lines in sight are those of which something is seen, and a few more are drawn', () => {
  const scrolled = { top: 10 * LINE + 5, height: 4 * LINE, total: 1000 };
  assert.deepEqual(inSight(scrolled), { start: 10, stop: 15 });
  assert.deepEqual(drawn(scrolled), { start: 0, stop: 27 });
  assert.deepEqual(inSight({ top: 0, height: 500, total: 3 }), { start: 0, stop: 3 });
  assert.deepEqual(inSight({ top: 9999, height: 500, total: 3 }), { start: 3, stop: 3 });
});

test('a page is asked for from the first unknown line on, or up to the last when going up', () => {
  const known = (line: number) => line < 110 || line >= 190;
  const wanted = { start: 100, stop: 130 };
  assert.deepEqual(missing(wanted, known, false), { start: 110, count: PAGE });
  assert.deepEqual(missing({ start: 170, stop: 200 }, known, true), {
    start: 0,
    count: PAGE,
  });
  assert.equal(missing({ start: 90, stop: 110 }, known, false), undefined);
});

test('more is wanted where one is scrolling to, as far as there are lines', () => {
  assert.deepEqual(wanted({ start: 50, stop: 90 }, 1000, false), { start: 50, stop: 190 });
  assert.deepEqual(wanted({ start: 50, stop: 90 }, 100, false), { start: 50, stop: 100 });
  assert.deepEqual(wanted({ start: 50, stop: 90 }, 1000, true), { start: 0, stop: 90 });
});

test('it is scrolled only as far as a line needs to be seen', () => {
  const scrolled = { top: 10 * LINE, height: 5 * LINE, total: 100 };
  assert.equal(scrollTo(12, scrolled), 10 * LINE);
  assert.equal(scrollTo(3, scrolled), 3 * LINE);
  assert.equal(scrollTo(20, scrolled), 16 * LINE);
  assert.equal(scrollToMiddle(20, 5 * LINE), 18 * LINE);
  assert.equal(heldStill(100, 7, 12), 100 + 5 * LINE);
});

// Lanes.

const SCALE = scaleFor(3, 200_000, 900);

test('lanes share one scale, and never take more than their part of the room', () => {
  assert.equal(SCALE.pitch, 34);
  assert.equal(widthOf(200_000, SCALE), SCALE.widest);
  assert.equal(widthOf(100_000, SCALE), SCALE.widest / 2);
  assert.equal(widthOf(900_000, SCALE), SCALE.widest);
  assert.equal(widthOf(10, SCALE), 3);
  assert.equal(widthOf(null, SCALE), 3);
  for (const room of [200, 400, 1600]) {
    const { pitch } = scaleFor(10, 200_000, room);
    assert.ok(pitch >= 10 && pitch * 10 <= Math.max(room * 0.4, 100));
  }
});

test('a lane leaves a line as wide as it enters the next', () => {
  const first = line({ id: 'a', tokens: 50_000, next: 1 });
  const second = line({ id: 'b', tokens: 150_000, parent: 0, next: 2 });
  const [upper] = partsOf(first, undefined, SCALE);
  const [lower] = partsOf(second, first, SCALE);
  assert.ok(upper?.shape === 'strip' && lower?.shape === 'strip');
  const bottom = (path: string) => path.split('Z')[0]?.split('L')[1]?.split(' ')[0];
  const x = centre(0, SCALE);
  const half = widthOf(50_000, SCALE) / 2;
  assert.ok(lower.fill.startsWith(`M${x - half} 0`), lower.fill);
  assert.equal(bottom(upper.fill), String(x - half));
});

test('a compaction is a waist with a bar, whatever stands on either side', () => {
  const before = line({ id: 'a', tokens: 186_000, next: 1 });
  const compaction = line({ id: 'c', kind: 'compaction', tokens: 180_000, parent: 0, next: 2 });
  const parts = partsOf(compaction, before, SCALE);
  const waist = parts.find((part) => part.shape === 'strip');
  const x = centre(0, SCALE);
  assert.ok(waist?.shape === 'strip' && waist.fill.includes(`${x - 1.5} ${LINE / 2}`));
  assert.ok(!waist.edges.includes('H'), 'no cap in the middle');
  const mark = parts.find((part) => part.shape === 'mark');
  assert.ok(mark?.shape === 'mark' && mark.mark === 'compaction' && mark.width === SCALE.widest);
});

test('a lane that only leads to its branch is a thread until its first line', () => {
  const point = line({ id: 'p', next: 3, leaving: [lane(1, 2, { leads: true })] });
  const between = line({ id: 'q', parent: 0, next: 3, passing: [lane(1, 2, { leads: true })] });
  const first = line({ id: 'f', lane: 1, parent: 0, next: null });
  const shapes = (parts: ReturnType<typeof partsOf>, number: number) =>
    parts.filter((part) => 'lane' in part && part.lane === number).map((part) => part.shape);
  assert.deepEqual(shapes(partsOf(point, undefined, SCALE), 1), ['thread']);
  assert.deepEqual(shapes(partsOf(between, point, SCALE), 1), ['thread']);
  assert.deepEqual(shapes(partsOf(first, between, SCALE), 1), ['thread', 'strip', 'mark']);
});

test('the bundle says how many branches it holds where that changes', () => {
  const some = line({ id: 'a', next: 2, passing: [lane(BUNDLE, 5, { count: 3 })] });
  const same = line({ id: 'b', parent: 0, next: 2, passing: [lane(BUNDLE, 5, { count: 3 })] });
  const more = line({
    id: 'c',
    parent: 0,
    next: 4,
    passing: [lane(BUNDLE, 5, { count: 3 })],
    leaving: [lane(BUNDLE, 9, { count: 2 })],
  });
  const told = (parts: ReturnType<typeof partsOf>) =>
    parts.flatMap((part) => (part.shape === 'count' ? [part.text] : []));
  assert.deepEqual(told(partsOf(some, undefined, SCALE)), ['+3']);
  assert.deepEqual(told(partsOf(same, some, SCALE)), []);
  assert.deepEqual(told(partsOf(more, same, SCALE)), ['+5']);
});

test('a branch comes out of the bundle on a way of its own, not from above', () => {
  const out = line({ id: 'o', lane: 2, parent: 0, comesOut: true, next: 9 });
  const parts = partsOf(out, undefined, SCALE);
  const way = parts.find((part) => part.shape === 'thread');
  assert.ok(way?.shape === 'thread' && way.path.endsWith('V0'));
  const strip = parts.find((part) => part.shape === 'strip');
  assert.ok(strip?.shape === 'strip' && !strip.fill.includes(' 0L'), strip?.fill);
});

// Colours.

test('colours are read as browsers tell them', () => {
  assert.deepEqual(readColour('#f80'), [255, 136, 0]);
  assert.deepEqual(readColour(' #FF8800 '), [255, 136, 0]);
  assert.deepEqual(readColour('rgb(1, 2, 3)'), [1, 2, 3]);
  assert.deepEqual(readColour('rgba(255, 255, 255, 0.5)', [0, 0, 0]), [128, 128, 128]);
  assert.deepEqual(readColour('#ffffff80', [0, 0, 0]), [128, 128, 128]);
  assert.equal(readColour('color-mix(in srgb, red, blue)'), undefined);
  assert.equal(readColour(''), undefined);
});

test('a colour is changed only as far as it needs to stand out', () => {
  const white: Colour = [255, 255, 255];
  const black: Colour = [0, 0, 0];
  assert.equal(Math.round(contrast(black, white)), 21);
  assert.deepEqual(standingOut([0, 0, 200], white, black), [0, 0, 200]);
  const yellow = standingOut([255, 220, 0], white, black);
  assert.ok(contrast(yellow, white) >= 3 && contrast(yellow, white) < 3.6, String(yellow));
  assert.ok((yellow[0] ?? 0) > (yellow[2] ?? 0), 'still yellow');
});

// Keys.

function key(name: string, more: Partial<Key> = {}): Key {
  return { key: name, ctrlKey: false, metaKey: false, altKey: false, ...more };
}

/** A trunk of lines 0, 1, 4; from 1 lane 1 leaves with 2, and lane 2 with 3. */
function small(): Lines {
  const lines = new Lines();
  lines.replace(
    page(
      [
        line({ id: 'a', next: 1 }),
        line({ id: 'b', parent: 0, next: 4, leaving: [lane(1, 2), lane(2, 3)] }),
        line({ id: 'c', lane: 1, parent: 1, next: null, passing: [lane(0, 4), lane(2, 3)] }),
        line({ id: 'd', lane: 2, parent: 1, next: null, passing: [lane(0, 4)] }),
        line({ id: 'here', kind: 'here', parent: 1, next: null }),
      ],
      { here: 4 },
    ),
  );
  return lines;
}

test('arrows go along the lane and to the next one, and say where nothing lies', () => {
  const lines = small();
  const at = (from: number, name: string) => pressed(key(name), from, lines, 3);
  assert.deepEqual(at(0, 'ArrowDown'), { go: 1 });
  assert.deepEqual(at(1, 'ArrowDown'), { go: 4 });
  assert.deepEqual(at(1, 'ArrowRight'), { go: 2 });
  assert.deepEqual(at(2, 'ArrowRight'), { go: 3 });
  assert.deepEqual(at(3, 'ArrowLeft'), { go: 4 });
  assert.deepEqual(at(3, 'ArrowUp'), { go: 1 });
  assert.deepEqual(at(2, 'ArrowDown'), { end: 'The branch ends here.' });
  assert.deepEqual(at(0, 'ArrowUp'), { end: 'This is the root.' });
  assert.deepEqual(at(0, 'ArrowLeft'), { end: 'There is no lane to the left.' });
  assert.deepEqual(at(3, 'ArrowRight'), { end: 'There is no lane to the right.' });
  assert.deepEqual(at(3, 'Home'), { go: 0 });
  assert.deepEqual(at(0, 'End'), { go: 4 });
  assert.deepEqual(at(0, 'PageDown'), { go: 3 });
  assert.deepEqual(at(4, '['), { go: 1 });
  assert.deepEqual(at(0, ']'), { go: 1 });
  assert.deepEqual(at(1, ']'), { end: 'There is no branch point below.' });
});

test('keys of others are left to them', () => {
  const lines = small();
  assert.deepEqual(pressed(key('Enter'), 0, lines, 3), { act: 'show' });
  assert.deepEqual(pressed(key('Enter', { ctrlKey: true }), 0, lines, 3), { act: 'navigate' });
  assert.deepEqual(pressed(key('Enter', { metaKey: true }), 0, lines, 3), { act: 'navigate' });
  assert.equal(pressed(key('End', { altKey: true }), 0, lines, 3), undefined);
  assert.equal(pressed(key('ArrowDown', { ctrlKey: true }), 0, lines, 3), undefined);
  assert.equal(pressed(key('F1'), 0, lines, 3), undefined);
  assert.equal(pressed(key('Tab'), 0, lines, 3), undefined);
});

test('branch points beyond what is known are those that the page was told of', () => {
  const lines = new Lines();
  const stretch = [line({ id: 'm', next: 101 }), line({ id: 'n', next: 102 })];
  lines.replace(page(stretch, { start: 100, total: 500, pointBefore: 7, pointAfter: 300 }));
  assert.equal(lines.point(100, -1), 7);
  assert.equal(lines.point(100, 1), 300);
});

test('zoom ends at both ends', () => {
  assert.deepEqual(
    ZOOMS.map((zoom) => [zoomed(zoom, -1), zoomed(zoom, 1)]),
    [
      [undefined, 'turns'],
      ['branches', 'entries'],
      ['turns', undefined],
    ],
  );
});

// Lines that are known.

test('a stretch of another revision is not mixed in', () => {
  const lines = new Lines();
  lines.replace(page([line({ id: 'a', next: 1 })], { rev: 5, total: 9 }));
  const more = [line({ id: 'b', parent: 0, next: 2 })];
  assert.equal(lines.merge(page(more, { rev: 5, total: 9, start: 1 })), 'taken');
  assert.equal(lines.numberOf('b'), 1);
  assert.equal(lines.merge(page(more, { rev: 6, total: 10, start: 1 })), 'torn');
  assert.equal(lines.merge(page(more, { rev: 4, total: 9, start: 1 })), 'stale');
  assert.equal(lines.replace(page(more, { rev: 4 })), 'stale');
  assert.equal(lines.replace(page(more, { rev: 4, zoom: 'entries' })), 'taken');
});

// Texts.

test('a line says what it is, its states in signs and words, and how its branch ends', () => {
  const work = line({
    id: 'w',
    kind: 'work',
    title: '3 steps: bash 3',
    lane: 1,
    failed: 2,
    duration: 61_000,
    flags: ['unsaved'],
    forks: ['x'],
    end: { row: 'b:w', entry: 'w', entries: 7, title: 'Try', label: null },
  });
  const text = textOf(work, undefined);
  assert.equal(text.marks, '1m01s + !2 ⑂1');
  assert.equal(text.end, 'end · 7');
  assert.equal(text.isAside, true);
  assert.ok(text.spoken.startsWith('Work: 3 steps: bash 3. 2 failed. Unsaved. 1 fork made here.'));
  assert.ok(text.spoken.endsWith('Lane 2. The branch ends here, after 7 entries.'), text.spoken);
});

test('what a session says is text and stands on one line', () => {
  const text = textOf(line({ id: 'a', title: '<b>x</b>\u202e\n$(bug)', label: 'a\nb' }), undefined);
  assert.equal(text.title, '<b>x</b> $(bug)');
  assert.equal(text.label, 'a b');
});

test('a day is said where it begins', () => {
  const before = line({ id: 'a', time: '2026-11-12T10:00:00Z' });
  const after = line({ id: 'b', time: '2026-11-13T10:00:00Z' });
  assert.equal(textOf(after, before).time, '13Nov');
  assert.equal(textOf(after, after).time, '10:00');
  assert.equal(textOf(after, undefined).time, '10:00');
});

test('a line is found again by its entry, and where one is by that', () => {
  assert.equal(holdOf(line({ id: 'a' })), 'a');
  assert.equal(holdOf(line({ id: 'here', kind: 'here' })), 'here');
  assert.equal(changeSentence(3, 5, undefined), '2 lines more.');
  assert.equal(changeSentence(5, 3, undefined), '3 lines now.');
});

// What is told by ear.

test('one sentence in two seconds is told, the newest', () => {
  const told: string[] = [];
  const due: [() => void, number][] = [];
  let now = 0;
  const announcer = new Announcer(
    (sentence) => told.push(sentence),
    () => now,
    (run, milliseconds) => due.push([run, milliseconds]),
  );
  announcer.say('one');
  now = 500;
  announcer.say('two');
  now = 900;
  announcer.say('three');
  assert.deepEqual(told, ['one']);
  assert.deepEqual(
    due.map(([, milliseconds]) => milliseconds),
    [PAUSE - 500],
  );
  now = PAUSE;
  due[0]?.[0]();
  assert.deepEqual(told, ['one', 'three']);
  now = 2 * PAUSE;
  announcer.say('four');
  assert.deepEqual(told, ['one', 'three', 'four']);
});

test('the page allows its own script and nothing else', () => {
  const html = pageHtml({ script: 's.js', style: 's.css', source: 'https://x', nonce: 'abc' });
  const policy = /content="(default-src[^"]*)"/.exec(html)?.[1];
  assert.equal(policy, "default-src 'none'; style-src https://x; script-src 'nonce-abc'");
  assert.equal(html.match(/<script/g)?.length, 1);
  assert.ok(!/ style=| on\w+=/.test(html));
});
