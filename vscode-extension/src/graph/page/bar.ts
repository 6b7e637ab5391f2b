/** What stands above the lines: how much is shown, the way to where one is, and what is amiss. */

import type { Zoom } from '../messages';
import { zoomed } from '../shape/keys';
import { zoomName } from '../shape/texts';
import { make } from './line';

export interface BarActs {
  zoom: (step: -1 | 1) => void;
  here: () => void;
}

export class Bar {
  readonly element = make('div', 'bar');
  readonly notice = make('div', 'notice');
  private readonly less = make('button', 'zoom', '−');
  private readonly more = make('button', 'zoom', '+');
  private readonly name = make('span', 'name');

  constructor(acts: BarActs) {
    const here = make('button', 'here', '● Where You Are');
    this.less.title = 'Show less (-)';
    this.more.title = 'Show more (+)';
    here.title = 'Go to where you are (End)';
    this.less.setAttribute('aria-label', 'Show less');
    this.more.setAttribute('aria-label', 'Show more');
    here.setAttribute('aria-label', 'Go to where you are');
    this.less.addEventListener('click', () => acts.zoom(-1));
    this.more.addEventListener('click', () => acts.zoom(1));
    here.addEventListener('click', acts.here);
    this.element.setAttribute('role', 'toolbar');
    this.element.setAttribute('aria-label', 'Graph');
    this.element.append(this.less, this.name, this.more, here);
    this.notice.hidden = true;
  }

  show(zoom: Zoom): void {
    this.name.textContent = zoomName(zoom);
    this.less.disabled = zoomed(zoom, -1) === undefined;
    this.more.disabled = zoomed(zoom, 1) === undefined;
  }

  /** A sentence on what is amiss; null takes it away. */
  say(sentence: string | null): void {
    this.notice.hidden = sentence === null;
    this.notice.textContent = sentence ?? '';
  }
}
