#!/usr/bin/env bash
# Packs the extension into dist/pisession.vsix, whatever folder it is called from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What the lock names, with no script of any package run (.npmrc).
if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    npm ci --silent
fi
node scripts/build.mjs --minify
npx --no-install vsce package --no-dependencies --allow-missing-repository -o dist/pisession.vsix
