/** The row files that all clients share, painted and spoken as VS Code shows them. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { FOLDER, paintedRows, paintedText, rowFiles } from './rowFiles';

for (const file of rowFiles()) {
  test(`the rows of ${file.name} look as agreed; else: npm run rows`, () => {
    const agreed = readFileSync(join(FOLDER, `${file.name}.vscode.txt`), 'utf8');
    assert.equal(paintedText(file), agreed);
  });

  test(`the rows of ${file.name} say what they say in every client`, () => {
    const text = readFileSync(join(FOLDER, `${file.name}.txt`), 'utf8');
    const spoken = text.slice(text.indexOf('== spoken\n') + '== spoken\n'.length);
    const ours = paintedRows(file).map(({ painted }) => painted.spoken);
    assert.deepEqual(ours, spoken.trimEnd().split('\n'));
  });
}

test('there are row files', () => {
  assert.ok(rowFiles().length > 0);
});
