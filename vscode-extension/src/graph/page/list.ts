/** The lines in sight as elements: a few more than are seen, however many there are. */

import { lanesWidth, scaleFor, type Scale } from '../shape/lanes';
import type { Lines } from '../shape/lines';
import { drawn, inSight, LINE, scrollTo, type Range, type Scrolled } from '../shape/viewport';
import { LineElement, make } from './line';

export class List {
  /** What scrolls. */
  readonly view = make('div', 'view');
  /** What holds the lines, and the keyboard. */
  readonly tree = make('div', 'tree');
  private readonly elements = new Map<string, LineElement>();
  private number = 0;
  private scale: Scale = { pitch: 0, widest: 0, full: 0 };
  private shared = '';

  constructor(
    private readonly lines: Lines,
    /** The number of the line that was chosen; it is kept drawn for who reads by ear. */
    private readonly active: () => number,
  ) {
    this.tree.setAttribute('role', 'tree');
    this.tree.tabIndex = 0;
    this.view.append(this.tree);
  }

  get scrolled(): Scrolled {
    return { top: this.view.scrollTop, height: this.view.clientHeight, total: this.lines.total };
  }

  get inSight(): Range {
    return inSight(this.scrolled);
  }

  isInSight(number: number): boolean {
    const { top, height } = this.scrolled;
    return number * LINE >= top && (number + 1) * LINE <= top + height;
  }

  /** Scrolls after the height has been set, for there may be more lines than before. */
  scrollTo(top: number): void {
    this.tree.style.height = `${this.lines.total * LINE}px`;
    this.view.scrollTop = top;
  }

  show(number: number): void {
    this.scrollTo(scrollTo(number, this.scrolled));
  }

  /** The line an element belongs to. */
  lineOf(target: EventTarget | null): LineElement | undefined {
    const element = target instanceof Element ? target.closest('.line') : null;
    return element ? [...this.elements.values()].find((one) => one.element === element) : undefined;
  }

  /** Draws what is in sight; says which lines that is. */
  draw(): Range {
    const range = drawn(this.scrolled);
    this.measure();
    const kept = new Set<string>();
    let next = this.tree.firstElementChild;
    for (const number of this.numbers(range)) {
      const element = this.update(number);
      if (element) {
        kept.add(element.line.id);
        if (element.element === next) {
          next = next.nextElementSibling;
        } else {
          this.tree.insertBefore(element.element, next);
        }
      }
    }
    for (const [id, { element }] of this.elements) {
      if (!kept.has(id)) {
        element.remove();
        this.elements.delete(id);
      }
    }
    this.pointAtActive();
    return range;
  }

  /** Sets what all lines share, where it has changed. */
  private measure(): void {
    const { lanes, window, largest, total } = this.lines;
    const scale = scaleFor(lanes, window ?? largest, this.view.clientWidth);
    const shared = JSON.stringify([scale, lanes, total]);
    if (shared !== this.shared) {
      this.shared = shared;
      this.scale = scale;
      this.tree.style.height = `${total * LINE}px`;
      this.tree.style.setProperty('--lanes', `${lanesWidth(lanes, scale)}px`);
    }
  }

  private numbers({ start, stop }: Range): number[] {
    const numbers = Array.from({ length: stop - start }, (_, at) => start + at);
    const active = this.active();
    if (active < start) {
      numbers.unshift(active);
    } else if (active >= stop) {
      numbers.push(active);
    }
    return numbers;
  }

  private update(number: number): LineElement | undefined {
    const { lines, scale } = this;
    const line = lines.at(number);
    if (!line) {
      return undefined;
    }
    const known = this.elements.get(line.id) ?? new LineElement(`l${++this.number}`, line);
    this.elements.set(line.id, known);
    const { total, lanes, window } = lines;
    known.update({ line, number, above: lines.at(number - 1), total, lanes, window, scale });
    known.setActive(number === this.active());
    return known;
  }

  private pointAtActive(): void {
    const line = this.lines.at(this.active());
    const element = line && this.elements.get(line.id);
    if (element) {
      this.tree.setAttribute('aria-activedescendant', element.element.id);
    } else {
      this.tree.removeAttribute('aria-activedescendant');
    }
  }
}
