#!/usr/bin/env bash
# Types, lint, layout and tests of the VS Code extension, outside of VS Code.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../vscode-extension"
npm run --silent check
# Two pages of passed tests tell nobody anything.
if ! output="$(npm run --silent test 2>&1)"; then
    printf '%s\n' "$output"
    exit 1
fi
printf '%s\n' "$output" | grep -E '^# (tests|pass|fail) '
