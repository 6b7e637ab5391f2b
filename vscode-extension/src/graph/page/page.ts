/** The page of a graph: asks for what is in sight, keeps its place, and hears mouse and keyboard. */

import type { EntryId, GraphLine, GraphResult } from '../../model/wire';
import {
  holdOf,
  type Act,
  type FromPage,
  type Kept,
  type ToPage,
  type Wish,
  type Zoom,
} from '../messages';
import { Announcer } from '../shape/announcing';
import { pressed, zoomed, type Key, type Pressed } from '../shape/keys';
import { Lines } from '../shape/lines';
import { changeSentence, textOf, zoomSentence } from '../shape/texts';
import {
  heldStill,
  missing,
  PAGE,
  scrollToMiddle,
  SPARE,
  wanted,
  type Range,
} from '../shape/viewport';
import { Bar } from './bar';
import { make } from './line';
import { List } from './list';
import { followTheme } from './theme';

/** What the editor gives a page. */
export interface Editor {
  postMessage(told: FromPage): void;
  getState(): Kept | undefined;
  setState(kept: Kept): void;
}

type Then = (result: GraphResult) => void;

export class GraphPage {
  private readonly lines = new Lines();
  private readonly list = new List(this.lines, () => this.active);
  private readonly bar: Bar;
  private readonly live = make('div', 'unseen');
  private readonly announcer = new Announcer(
    (sentence) => {
      this.live.textContent = sentence;
    },
    () => performance.now(),
    (run, milliseconds) => setTimeout(run, milliseconds),
  );
  /** The number of the line that was chosen. */
  private active = 0;
  private zoom: Zoom;
  private session: Pick<Kept, 'session' | 'path'> | undefined;
  private tickets = 0;
  private readonly waiting = new Map<number, Then>();
  /** The newest question for all that is shown; answers to older ones count no more. */
  private whole = 0;
  private isStale = false;
  /** Another place or zoom is on its way, and what was pressed meanwhile. */
  private isGoing = false;
  private readonly held: Key[] = [];
  /** The ticket of the stretch that is on its way. */
  private page: number | undefined;
  private lastTop = 0;
  private isDue = false;

  constructor(private readonly editor: Editor) {
    const kept = editor.getState();
    this.zoom = kept?.zoom ?? 'turns';
    this.bar = new Bar({
      zoom: (step) => this.zoomBy(step),
      here: () => this.goTo('here'),
    });
    this.live.setAttribute('aria-live', 'polite');
    document.body.append(this.bar.element, this.bar.notice, this.list.view, this.live);
    this.listen();
    followTheme(() => this.drawSoon());
    this.readAround(kept?.entry ?? 'here');
    editor.postMessage({ type: 'ready' });
  }

  private listen(): void {
    const { tree, view } = this.list;
    window.addEventListener('message', (event: MessageEvent<ToPage>) => this.hear(event.data));
    view.addEventListener('scroll', () => this.drawSoon(), { passive: true });
    new ResizeObserver(() => this.drawSoon()).observe(view);
    tree.addEventListener('keydown', (event) => this.press(event));
    tree.addEventListener('click', (event) => {
      const line = this.list.lineOf(event.target)?.line;
      if (line) {
        this.choose(line);
        this.act('reveal', true);
      }
    });
    tree.addEventListener('dblclick', () => this.act('show', true));
    // The page is the tree: keys go there from the first moment on.
    window.addEventListener('focus', () => {
      if (document.activeElement === document.body) {
        tree.focus({ preventScroll: true });
      }
    });
    tree.focus({ preventScroll: true });
  }

  // What the extension tells.

  private hear(told: ToPage): void {
    switch (told.type) {
      case 'session':
        this.session = { session: told.session, path: told.path };
        this.list.tree.setAttribute('aria-label', `Graph of ${told.name}`);
        this.keep();
        break;
      case 'lines':
        this.answered(told.ticket, told.result);
        break;
      case 'failed':
        this.failed(told.ticket, told.sentence);
        break;
      case 'changed':
        this.refresh();
        break;
      case 'notice':
        this.bar.say(told.sentence);
        if (told.sentence !== null) {
          this.announcer.say(told.sentence);
        }
        break;
      case 'reveal':
        this.goTo(told.entry);
        break;
    }
  }

  private answered(ticket: number, result: GraphResult): void {
    const then = this.waiting.get(ticket);
    this.waiting.delete(ticket);
    this.page = this.page === ticket ? undefined : this.page;
    then?.(result);
    if (ticket === this.whole) {
      this.whole = 0;
      if (this.isStale) {
        this.refresh();
      }
    }
  }

  private failed(ticket: number, sentence: string): void {
    this.waiting.delete(ticket);
    if (ticket === this.whole) {
      this.whole = 0;
      this.isStale = this.isGoing = false;
      this.held.length = 0;
    }
    // `page` stays: it is asked for again with the next change, not at once for ever.
    if (this.lines.isEmpty) {
      this.bar.say(sentence);
    }
  }

  // Asking.

  private ask(wish: Omit<Wish, 'zoom'>, then: Then): number {
    const ticket = ++this.tickets;
    this.waiting.set(ticket, then);
    this.editor.postMessage({ type: 'want', ticket, wish: { zoom: this.zoom, ...wish } });
    return ticket;
  }

  /** Asks for lines that take the place of all there are; older questions like it are dropped. */
  private askAround(entry: EntryId | 'here', then: Then): void {
    const { start, stop } = this.list.inSight;
    const count = Math.max(PAGE, 2 * (stop - start + SPARE));
    this.isStale = false;
    this.page = undefined;
    this.waiting.clear();
    this.whole = this.ask({ around: entry, count }, (result) => {
      this.isGoing = false;
      if (this.lines.replace(result) === 'taken') {
        then(result);
      }
    });
  }

  /** Shows the line of an entry in the middle, and chooses it. */
  private readAround(entry: EntryId | 'here', sentence?: (result: GraphResult) => string): void {
    this.askAround(entry, (result) => {
      const number = result.found ?? result.here;
      this.setActive(number);
      this.list.scrollTo(scrollToMiddle(number, this.list.scrolled.height));
      this.draw();
      this.bar.show(this.zoom);
      if (sentence) {
        this.announcer.say(sentence(result));
      }
      while (this.held.length > 0 && !this.isGoing) {
        this.obey(this.held.shift() as Key);
      }
    });
    this.isGoing = true;
  }

  /** Reads anew what is shown, and keeps it where it stands. */
  private refresh(): void {
    if (this.whole !== 0) {
      this.isStale = true;
      return;
    }
    if (this.lines.isEmpty) {
      this.readAround(this.editor.getState()?.entry ?? 'here');
      return;
    }
    const held = this.heldNumber();
    const line = this.lines.at(held);
    const total = this.lines.total;
    const chosen = this.lines.at(this.active);
    this.askAround(line ? holdOf(line) : 'here', (result) => {
      const number = (line && this.lines.numberOf(line.id)) ?? result.found ?? result.here;
      // From where it is by now: somebody may be scrolling.
      this.list.scrollTo(heldStill(this.list.view.scrollTop, held, number));
      this.findActive(chosen, number - held);
      this.draw();
      if (result.total !== total) {
        const here = this.lines.at(result.here);
        this.announcer.say(changeSentence(total, result.total, here));
      }
    });
  }

  /** The line that stays where it stands: the chosen one while it is seen, else the uppermost. */
  private heldNumber(): number {
    if (this.list.isInSight(this.active) && this.lines.at(this.active)) {
      return this.active;
    }
    const { start, stop } = this.list.inSight;
    for (let number = start; number < stop; number++) {
      if (this.list.isInSight(number) && this.lines.at(number)) {
        return number;
      }
    }
    return this.lines.here;
  }

  /** The chosen line has another number now; where it is not known yet it is asked for. */
  private findActive(chosen: GraphLine | undefined, moved: number): void {
    const number = chosen && this.lines.numberOf(chosen.id);
    if (number !== undefined) {
      this.active = number;
    } else if (chosen) {
      this.active = Math.max(this.active + moved, 0);
      this.ask({ around: holdOf(chosen), count: 1 }, (result) => {
        this.lines.merge(result);
        this.active = result.found ?? this.active;
        this.draw();
      });
    } else {
      this.active = Math.min(this.active, Math.max(this.lines.total - 1, 0));
    }
  }

  private askMissing(range: Range): void {
    const top = this.list.view.scrollTop;
    const isGoingUp = top < this.lastTop;
    this.lastTop = top;
    if (this.whole !== 0 || this.page !== undefined) {
      return;
    }
    const known = (number: number) => this.lines.at(number) !== undefined;
    const wish = missing(wanted(range, this.lines.total, isGoingUp), known, isGoingUp);
    if (wish) {
      this.page = this.ask(wish, (result) => {
        const taken = this.lines.merge(result);
        if (taken === 'torn') {
          this.refresh();
        } else if (taken === 'taken' && result.lines.length > 0) {
          this.draw();
        }
      });
    }
  }

  // Drawing.

  private drawSoon(): void {
    if (!this.isDue) {
      this.isDue = true;
      requestAnimationFrame(() => this.draw());
    }
  }

  private draw(): void {
    this.isDue = false;
    const range = this.list.draw();
    this.askMissing(range);
  }

  // Choosing and acting.

  private press(event: KeyboardEvent): void {
    if (this.meaning(event)) {
      event.preventDefault();
      event.stopPropagation();
      const { key, ctrlKey, metaKey, altKey } = event;
      this.obey({ key, ctrlKey, metaKey, altKey });
    }
  }

  private meaning(key: Key): Pressed | undefined {
    const { start, stop } = this.list.inSight;
    return pressed(key, this.active, this.lines, Math.max(stop - start - 2, 1));
  }

  /** Does what a key means, where one will be once that has come. */
  private obey(key: Key): void {
    if (this.isGoing) {
      this.held.push(key);
      return;
    }
    const meant = this.meaning(key);
    if (!meant) {
      return;
    }
    if ('go' in meant) {
      this.setActive(meant.go);
      this.list.show(meant.go);
      this.draw();
    } else if ('act' in meant) {
      this.act(meant.act, false);
    } else if ('zoom' in meant) {
      this.zoomBy(meant.zoom);
    } else {
      this.announcer.say(meant.end);
    }
  }

  private act(act: Act, isClick: boolean): void {
    const line = this.lines.at(this.active);
    if (line) {
      this.editor.postMessage({ type: 'act', act, line, isClick });
    }
  }

  private choose(line: GraphLine): void {
    const number = this.lines.numberOf(line.id);
    if (number !== undefined) {
      this.setActive(number);
      this.draw();
    }
  }

  private setActive(number: number): void {
    this.active = number;
    this.keep();
  }

  private zoomBy(step: -1 | 1): void {
    const zoom = zoomed(this.zoom, step);
    if (!zoom) {
      this.announcer.say(step > 0 ? 'Every entry is shown.' : 'Only branches are shown.');
      return;
    }
    const line = this.lines.at(this.active);
    this.zoom = zoom;
    this.bar.show(zoom);
    this.readAround(line ? holdOf(line) : 'here', ({ total }) => zoomSentence(zoom, total));
  }

  private goTo(entry: EntryId | 'here'): void {
    this.readAround(entry, (result) => {
      const line = this.lines.at(result.found ?? result.here);
      return line ? textOf(line, undefined).spoken : '';
    });
    this.list.tree.focus({ preventScroll: true });
  }

  private keep(): void {
    const line = this.lines.at(this.active);
    if (this.session) {
      const entry = line ? holdOf(line) : (this.editor.getState()?.entry ?? null);
      this.editor.setState({ ...this.session, zoom: this.zoom, entry });
    }
  }
}
