/** Tests that are wrong on purpose: whoever runs the tests has to hear of them. */

import { runFolder } from '../run';

export const run = () => runFolder(__dirname);
