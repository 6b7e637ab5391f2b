/** Names of what the daemon asks of a bridge. */

export const ASKED = [
  'pi/navigate',
  'pi/compact',
  'pi/label',
  'pi/name',
  'pi/append',
  'pi/contextEdit',
  'pi/fork',
  'pi/switch',
  'pi/reread',
  'pi/prompt',
  'pi/abort',
  'pi/snapshot',
];
