/** Runs tests with mocha inside the extension host, and tells of them on the console. */

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { format } from 'node:util';
import Mocha from 'mocha';

/** The host's console takes no formats, and much else is said on it. */
function tell(...said: unknown[]): void {
  console.log(`told: ${format(...said)}`);
}

/** Ends well only where every test of a folder passed: the host's exit code is made of that. */
export async function runFolder(folder: string): Promise<void> {
  Mocha.reporters.Base.consoleLog = tell;
  const mocha = new Mocha({ ui: 'bdd', timeout: 20_000, color: false, reporter: 'spec' });
  const names = readdirSync(folder).filter((name) => name.endsWith('.test.cjs'));
  names.sort().forEach((name) => mocha.addFile(join(folder, name)));
  const { passed, failed } = await new Promise<{ passed: number; failed: number }>((resolve) => {
    const runner = mocha.run((failed) => resolve({ passed: runner.stats?.passes ?? 0, failed }));
  });
  tell(`${passed} passed, ${failed} failed`);
  if (failed > 0 || passed === 0) {
    throw new Error(`${failed} of the tests in the host failed`);
  }
}
