// Bundles the extension into dist/, and with `--tests` what test/ holds into out/;
// with `--host FOLDER` what test/host holds into that folder.
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

// The page of a graph runs in a browser.
await build({
  ...common,
  platform: 'browser',
  format: 'iife',
  target: 'es2022',
  external: [],
  entryPoints: ['src/graph/page/main.ts'],
  outfile: 'dist/graph.js',
  minify: isRelease,
  sourcemap: false,
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

// What runs in the real extension host, into the folder that is named.
const host = process.argv.indexOf('--host');
if (host !== -1) {
  await build({
    ...common,
    // It has to be the one that the tests register with.
    external: [...common.external, 'mocha'],
    entryPoints: ['test/host/**/index.ts', 'test/host/**/*.test.ts'],
    outdir: process.argv[host + 1],
    outExtension: { '.js': '.cjs' },
    sourcemap: 'inline',
  });
}
