/** Where the program `pisessiond` is. */

import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, isAbsolute, join } from 'node:path';

const NAME = 'pisessiond';

/** Where installers put programs that an editor started from a desktop does not find by its PATH. */
const ALSO = ['.local/bin', 'bin', '.cargo/bin'].map((folder) => join(homedir(), folder));

/**
 * The program's path: what the setting names, else the first one on the PATH and in the usual
 * folders of a user; nothing where there is none.
 */
export async function findProgram(
  setting: string,
  path = process.env.PATH ?? '',
  also: readonly string[] = ALSO,
): Promise<string | undefined> {
  const wished = setting.replace(/^~(?=\/)/, homedir());
  if (wished !== '') {
    // A relative path would depend on the folder that is open, which is not trusted to name programs.
    return isAbsolute(wished) && (await isProgram(wished)) ? wished : undefined;
  }
  for (const folder of [...path.split(delimiter), ...also]) {
    const candidate = join(folder, NAME);
    if (isAbsolute(folder) && (await isProgram(candidate))) {
      return candidate;
    }
  }
  return undefined;
}

async function isProgram(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/** What a program printed, and whether it did what it was told. */
export interface Said {
  isDone: boolean;
  stdout: string;
  stderr: string;
}

/** Runs a program to its end, without a shell; one that cannot be started says so on `stderr`. */
export function runProgram(
  program: string,
  words: readonly string[],
  env: NodeJS.ProcessEnv,
  milliseconds: number,
): Promise<Said> {
  return new Promise((resolve) => {
    execFile(program, [...words], { env, timeout: milliseconds }, (error, stdout, stderr) => {
      resolve({ isDone: error === null, stdout, stderr: stderr || (error?.message ?? '') });
    });
  });
}

/** Why no program was found, in one sentence. */
export function missingSentence(setting: string): string {
  return setting === ''
    ? 'pisessiond is not installed.'
    : 'The setting pisessiond.path names no program; it has to be an absolute path.';
}
