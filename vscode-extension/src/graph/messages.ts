/** What the page of a graph and the extension tell each other. Nothing in it is ever run or marked up. */

import type { EntryId, GraphLine, GraphParams, GraphResult } from '../model/wire';

export type Zoom = NonNullable<GraphParams['zoom']>;

/** From the coarsest on. */
export const ZOOMS: readonly Zoom[] = ['branches', 'turns', 'entries'];

/** A stretch of lines; those with `around` stand about the middle of it. */
export interface Wish {
  zoom: Zoom;
  start?: number;
  around?: EntryId | 'here';
  count: number;
}

/** What can be done with a line. */
export type Act = 'reveal' | 'show' | 'navigate';

/** What the page keeps over reloads of the window, and the extension opens it anew from. */
export interface Kept {
  /** Handle of the session, and its file where it has one. */
  session: string;
  path: string | null;
  zoom: Zoom;
  /** The entry of the line that was chosen; null: none. */
  entry: EntryId | 'here' | null;
}

export type FromPage =
  | { type: 'ready' }
  /** Answered by `lines` or `failed` with the same ticket. */
  | { type: 'want'; ticket: number; wish: Wish }
  /** By the mouse a line is only looked at: no view is opened for it. */
  | { type: 'act'; act: Act; line: GraphLine; isClick: boolean };

export type ToPage =
  /** Which session it is: comes first, and again when it is saved or renamed. */
  | { type: 'session'; session: string; path: string | null; name: string }
  | { type: 'lines'; ticket: number; result: GraphResult }
  | { type: 'failed'; ticket: number; sentence: string }
  /** Lines may be others now: who shows some asks again. At most every 200 ms. */
  | { type: 'changed' }
  /** What is amiss, above the lines; null: all is well. */
  | { type: 'notice'; sentence: string | null }
  /** Brings the line of an entry into sight. */
  | { type: 'reveal'; entry: EntryId | 'here' };

/** The entry by which a line is found again. */
export function holdOf(line: Pick<GraphLine, 'kind' | 'entry'>): EntryId | 'here' {
  return line.kind === 'here' || line.entry === null ? 'here' : line.entry;
}
