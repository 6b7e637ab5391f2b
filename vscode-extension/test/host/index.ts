/** What the extension host is told to run: all tests beside this file. */

import { runFolder } from './run';

export const run = () => runFolder(__dirname);
