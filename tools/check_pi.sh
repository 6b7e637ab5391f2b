#!/usr/bin/env bash
# Types, lint and layout of the bridge in pi, with the tools of the VS Code extension and the types
# of the real pi beside the tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../vscode-extension"
tools="$PWD/node_modules/.bin"
cd ../clients/pi
status=0
"$tools/tsc" -p . || status=1
"$tools/eslint" --config eslint.config.mjs --max-warnings 0 . || status=1
"$tools/prettier" --config ../../vscode-extension/.prettierrc.json --check --log-level warn . || status=1
exit $status
