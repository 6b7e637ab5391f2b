#!/usr/bin/env bash
# Lints the Neovim plugin and looks at its layout. Without the tools it says so and fails in tests,
# where they are set up; `make check` alone passes over them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../clients/nvim"

stylua=../../tests/nvim/node_modules/.bin/stylua
if [ ! -x "$stylua" ] || ! command -v luacheck >/dev/null; then
    echo "lua: not checked, tools/setup.sh tests installs luacheck and StyLua" >&2
    [ ! -e ../../tests/pi/node_modules ] || exit 1
    exit 0
fi
luacheck -q .
"$stylua" --check .
