#!/usr/bin/env bash
# Packs the extension into dist/pisession.vsix, whatever folder it is called from.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What the lock names, with no script of any package run (.npmrc). What is there is left alone: others
# may be using it, and an older esbuild packs as well.
if [ ! -e node_modules/.package-lock.json ]; then
    npm ci --silent
fi
node scripts/build.mjs --minify
# The page in the editor shows no pictures that have no address, so that it comes without them.
sed '/^!\[/d' README.md | cat -s > dist/README.md
npx --no-install vsce package --no-dependencies --allow-missing-repository \
    --readme-path dist/README.md -o dist/pisession.vsix
