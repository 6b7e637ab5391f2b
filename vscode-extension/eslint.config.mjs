import tseslint from 'typescript-eslint';

const PURE = [
  'src/model/**',
  'src/texts/**',
  'src/rpc/**',
  'src/daemon/**',
  'src/graph/shape/**',
  'src/graph/page/**',
  'src/graph/*.ts',
  'src/lend/writing.ts',
  'test/**',
];

export default tseslint.config(
  { ignores: ['dist/**', 'out/**', 'node_modules/**', 'src/rpc/protocol.ts'] },
  ...tseslint.configs.recommendedTypeChecked,
  ...tseslint.configs.stylistic,
  {
    files: ['src/**/*.ts', 'test/**/*.ts'],
    languageOptions: {
      parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      // `== null` is both what is absent and what is cleared.
      eqeqeq: ['error', 'smart'],
      'no-console': 'error',
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      complexity: ['error', 16],
      '@typescript-eslint/no-floating-promises': ['error', { ignoreVoid: true }],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      // Ids are any text; `here` beside them tells the reader something.
      '@typescript-eslint/no-redundant-type-constituents': 'off',
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
    },
  },
  {
    // The page of a graph runs in a browser.
    files: ['src/graph/page/**'],
    languageOptions: { parserOptions: { project: './tsconfig.page.json' } },
  },
  {
    // `node --test` takes what `test` gives back.
    files: ['test/**/*.ts'],
    rules: { '@typescript-eslint/no-floating-promises': 'off' },
  },
  {
    // What can be tried without an editor does not know of one.
    files: PURE,
    ignores: ['test/host/**', 'src/graph/panel.ts', 'src/graph/panels.ts'],
    rules: { 'no-restricted-imports': ['error', { paths: ['vscode'] }] },
  },
  {
    // The console is how a test in the host is heard.
    files: ['test/host/**'],
    rules: { 'no-console': 'off' },
  },
  { files: ['**/*.mjs'], extends: [tseslint.configs.disableTypeChecked] },
);
