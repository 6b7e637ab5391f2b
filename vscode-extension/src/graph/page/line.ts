/** One line of the graph as elements: lanes, and texts beside them. Texts are never marked up. */

import type { GraphLine } from '../../model/wire';
import { partsOf, lanesWidth, type Part, type Scale } from '../shape/lanes';
import { textOf, tooltipOf, type LineText } from '../shape/texts';
import { LINE } from '../shape/viewport';

const SVG = 'http://www.w3.org/2000/svg';

/** What a line is drawn from. */
export interface LineInput {
  line: GraphLine;
  number: number;
  above: GraphLine | undefined;
  total: number;
  lanes: number;
  window: number | null;
  scale: Scale;
}

export class LineElement {
  readonly element = make('div', 'line');
  private signature = '';
  private input: LineInput | undefined;
  private number = -1;
  private isActive = false;

  constructor(
    id: string,
    public line: GraphLine,
  ) {
    this.element.id = id;
    this.element.setAttribute('role', 'treeitem');
    this.element.setAttribute('aria-selected', 'false');
  }

  /** Draws it anew where anything of it has changed, and puts it in its place. */
  update(input: LineInput): void {
    this.line = input.line;
    const { number, line, above, total, lanes, window, scale } = input;
    if (this.number !== number) {
      this.number = number;
      this.element.style.top = `${number * LINE}px`;
      this.element.setAttribute('aria-posinset', String(number + 1));
    }
    if (this.input && isSame(this.input, input)) {
      return;
    }
    this.input = input;
    const signature = JSON.stringify([line, lanesOf(above), total, lanes, window, scale]);
    if (signature !== this.signature) {
      this.signature = signature;
      this.draw(input);
    }
  }

  setActive(isActive: boolean): void {
    if (this.isActive !== isActive) {
      this.isActive = isActive;
      this.element.classList.toggle('active', isActive);
      this.element.setAttribute('aria-selected', String(isActive));
    }
  }

  private draw({ line, above, total, lanes, window, scale }: LineInput): void {
    const text = textOf(line, above, total === 1);
    const { element } = this;
    element.dataset.kind = line.kind;
    element.classList.toggle('aside', text.isAside);
    element.title = tooltipOf(line, window);
    element.setAttribute('aria-label', text.spoken);
    element.setAttribute('aria-level', String(line.lane + 1));
    element.setAttribute('aria-setsize', String(total));
    if (line.leaving.length > 0) {
      element.setAttribute('aria-expanded', 'true');
    } else {
      element.removeAttribute('aria-expanded');
    }
    const shown = columns(line, text, drawLanes(line, above, lanes, scale));
    // The sentence says all of it.
    shown.forEach((column) => column.setAttribute('aria-hidden', 'true'));
    element.replaceChildren(...shown);
  }
}

/** Whether it is the very same, as it is from one frame to the next. */
function isSame(one: LineInput, other: LineInput): boolean {
  return (Object.keys(one) as (keyof LineInput)[]).every(
    (key) => key === 'number' || one[key] === other[key],
  );
}

/** What of the line above counts for the picture of this one. */
function lanesOf(above: GraphLine | undefined): unknown {
  return above && [above.lane, above.size, above.passing, above.leaving, above.next, above.time];
}

function columns(line: GraphLine, text: LineText, lanes: SVGSVGElement): Element[] {
  const title = make('span', 'title');
  if (text.label !== '') {
    title.append(make('span', 'label', text.label), ' ');
  }
  title.append(text.title);
  const end = make('span', `end lane-${line.lane}`, text.end);
  return [
    make('span', 'time', text.time),
    lanes,
    make('span', 'glyph', text.glyph),
    title,
    make('span', 'marks', text.marks),
    ...(text.end === '' ? [] : [end]),
    make('span', 'size', text.size),
  ];
}

function drawLanes(
  line: GraphLine,
  above: GraphLine | undefined,
  lanes: number,
  scale: Scale,
): SVGSVGElement {
  const svg = draw('svg', 'lanes', {
    width: lanesWidth(lanes, scale),
    height: LINE,
  });
  svg.append(...partsOf(line, above, scale).flatMap(drawPart));
  return svg as SVGSVGElement;
}

function drawPart(part: Part): Element[] {
  switch (part.shape) {
    case 'strip':
      return [
        draw('path', `fill lane-${part.lane}`, { d: part.fill }),
        draw('path', `edge lane-${part.lane}`, { d: part.edges }),
      ];
    case 'thread':
      return [
        draw('path', 'halo', { d: part.path }),
        draw('path', `thread lane-${part.lane}`, { d: part.path }),
      ];
    case 'count': {
      const text = draw('text', 'count', { x: part.x, y: LINE - 7 });
      text.textContent = part.text;
      return [text];
    }
    case 'mark':
      return drawMark(part);
  }
}

function drawMark({ mark, lane, x, width }: Part & { shape: 'mark' }): Element[] {
  const y = LINE / 2;
  const disc = (name: string, r: number) =>
    draw('circle', `${name} lane-${lane}`, { cx: x, cy: y, r });
  switch (mark) {
    case 'compaction': {
      const d = `M${x - width / 2} ${y}H${x + width / 2}`;
      return [draw('path', `bar lane-${lane}`, { d })];
    }
    case 'here':
      return [disc('ring', 6.5), disc('disc', 3)];
    case 'fork':
      return [disc('ring', 4.5)];
    case 'turn':
      return [disc('disc', 4)];
    case 'dot':
      return [disc('dot', 2.5)];
  }
}

/** An element with a class and a text. */
export function make<K extends keyof HTMLElementTagNameMap>(
  name: K,
  classes: string,
  text = '',
): HTMLElementTagNameMap[K] {
  const element = document.createElement(name);
  element.className = classes;
  element.textContent = text;
  return element;
}

function draw(name: string, classes: string, attributes: Record<string, unknown>): Element {
  const element = document.createElementNS(SVG, name);
  element.setAttribute('class', classes);
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, String(value));
  }
  return element;
}
