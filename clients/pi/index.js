/**
 * The extension: lets pisessiond follow and move this pi.
 *
 * The first care is the pi it runs in. Nothing is done while it is loaded, nothing is waited for when
 * a session begins, nothing throws into pi, and nothing reaches the model that its user did not send.
 */

import { VERSION } from '@earendil-works/pi-coding-agent';
import { Bridge, COMMAND } from './bridge.js';
import { leakedJob, runCommand, tellDead, WORDS } from './command.js';
import { watchEvents } from './events.js';
import { guard } from './guard.js';
import { beforeCompact, beforeTree } from './hooks.js';
import { Link } from './link.js';
import { isTooOld } from './modes.js';
import { keepPlace } from './place.js';
import { shared, takeProcess } from './shared.js';

/**
 * What a word may become; nothing for a whole one, whose return would only close the list.
 *
 * @param {string} start
 */
function completed(start) {
  const words = WORDS.filter((word) => word.startsWith(start) && word !== start);
  return words.length > 0 ? words.map((word) => ({ value: word, label: word })) : null;
}

/** @param {import('./types.js').ExtensionAPI} api */
export default function pisession(api) {
  if (isTooOld(VERSION) || !takeProcess(api)) {
    return;
  }
  /** @type {Bridge | undefined} */
  let bridge;

  /**
   * @param {import('./types.js').ExtensionContext} ctx
   * @param {import('./types.js').Reason} reason
   */
  const begin = (ctx, reason) => {
    const all = shared();
    if (all.owner?.api === api) {
      all.owner.started = true;
    }
    const before = all.live;
    // One that pi did not tell of its end.
    before?.end('reload');
    all.link ??= new Link();
    bridge = all.live = new Bridge(api, ctx, all.link, reason);
    if (reason === 'reload' && before?.wasMoved) {
      // It stands where it stood.
      bridge.wasMoved = true;
    }
    all.close = () => {
      bridge?.close();
      all.link?.stop();
    };
    bridge.start();
  };

  api.registerFlag(COMMAND, {
    description: 'What pisessiond may do in this pi: off, watch or drive',
    type: 'string',
  });
  api.registerCommand(COMMAND, {
    description: 'What editors may do in this pi: status, off, watch, drive, stop, forget',
    getArgumentCompletions: completed,
    handler: async (args, ctx) => {
      if (shared().isDead) {
        tellDead(ctx);
        return;
      }
      const restart = () => {
        const live = bridge;
        if (live) {
          live.end('off');
          begin(live.ctx, 'reload');
        }
      };
      await command(args, ctx, bridge, restart);
    },
  });
  const command = guard('command', runCommand);
  if (shared().isDead) {
    return;
  }

  api.on(
    'session_start',
    guard('session_start', (event, ctx) => begin(ctx, event.reason)),
  );
  api.on(
    'session_shutdown',
    guard('session_shutdown', (event) => {
      const all = shared();
      if (all.owner?.api === api) {
        all.owner = undefined;
      }
      const ending = bridge;
      bridge = undefined;
      if (ending && event.reason !== 'reload') {
        guard('place', keepPlace)(ending, process.env.PISESSIOND_BRIDGE_PLACE);
      }
      ending?.end(event.reason, event.targetSessionFile);
    }),
  );
  api.on(
    'input',
    guard('input', (event) => {
      const job = leakedJob(event.text);
      if (job !== undefined) {
        bridge?.drive.leaked(job);
        return { action: /** @type {const} */ ('handled') };
      }
      bridge?.watch.hear({ type: 'input' });
      bridge?.onInput?.(event.text);
      return undefined;
    }),
  );
  api.on(
    'session_before_tree',
    guard('session_before_tree', (event) => {
      bridge?.watch.hear({ type: 'session_before_tree' });
      return bridge ? beforeTree(bridge, event) : undefined;
    }),
  );
  api.on(
    'session_before_compact',
    guard('session_before_compact', (event) => {
      bridge?.watch.hear({ type: 'session_before_compact' });
      return bridge ? beforeCompact(bridge, event) : undefined;
    }),
  );
  watchEvents(api, (event) => {
    if (event.type === 'agent_start' && bridge?.standing.level !== 'off') {
      // The daemon may have come meanwhile.
      shared().link?.start();
    }
    if (event.type === 'session_tree') {
      bridge?.moved();
    }
    bridge?.watch.hear(event);
  });
}
