/** Remakes the row files' painted form: `npm run rows`. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FOLDER, paintedText, rowFiles } from './rowFiles';

for (const file of rowFiles()) {
  writeFileSync(join(FOLDER, `${file.name}.vscode.txt`), paintedText(file));
}
