/** The events of pi's that are watched: documented ones, each of which only makes us look. */

import { guard } from './guard.js';

/** @typedef {{ type: string, aborted?: boolean }} Heard */

export const WATCHED = [
  'message_end',
  'turn_end',
  'agent_start',
  'agent_end',
  'agent_settled',
  'session_tree',
  'session_compact',
  'session_compact_failed',
  'session_info_changed',
  'model_select',
  'thinking_level_select',
  'ui_prompt_start',
  'ui_prompt_end',
];

/**
 * @param {import('./types.js').ExtensionAPI} api
 * @param {(event: Heard) => void} hear
 */
export function watchEvents(api, hear) {
  for (const name of WATCHED) {
    // Names that an older pi does not know are never called.
    const on = /** @type {(name: string, handler: (event: any) => void) => unknown} */ (
      /** @type {unknown} */ (api.on)
    );
    on.call(api, name, guard(`event.${name}`, hear));
  }
}
