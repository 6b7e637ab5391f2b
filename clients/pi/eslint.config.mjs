import { createRequire } from 'node:module';

// Nothing is installed here: the extension for VS Code brings the linter along.
const require = createRequire(new URL('../../vscode-extension/package.json', import.meta.url));
const tseslint = require('typescript-eslint');

export default tseslint.config(
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: {
      parserOptions: { project: './tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      // `!= null` is both what is absent and what is cleared.
      eqeqeq: ['error', 'smart'],
      'no-console': 'error',
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      complexity: ['error', 16],
      '@typescript-eslint/no-floating-promises': ['error', { ignoreVoid: true }],
      // What comes as JSON is looked at where it is used.
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      // `async` also makes a throw a refusal.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_' }],
    },
  },
  { files: ['**/*.mjs'], extends: [tseslint.configs.disableTypeChecked] },
);
