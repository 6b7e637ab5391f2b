// Bundles the extension into dist/, and with `--tests` what test/ holds into out/.
import { readdirSync, rmSync } from 'node:fs';
import { build } from 'esbuild';

const common = {
  bundle: true,
  platform: 'node',
  format: 'cjs',
  target: 'node20',
  external: ['vscode'],
  logLevel: 'warning',
};
const isRelease = process.argv.includes('--minify');

await build({
  ...common,
  entryPoints: ['src/extension.ts'],
  outfile: 'dist/extension.js',
  minify: isRelease,
  sourcemap: !isRelease,
});

if (process.argv.includes('--tests')) {
  rmSync('out', { recursive: true, force: true });
  const tests = readdirSync('test').filter((name) => /\.(test|rows)\.ts$/.test(name));
  await build({
    ...common,
    entryPoints: tests.map((name) => `test/${name}`),
    outdir: 'out',
    outExtension: { '.js': '.cjs' },
    sourcemap: 'inline',
  });
}
