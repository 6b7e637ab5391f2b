#!/usr/bin/env bash
# All tests of pytest: what is measured first, alone; then two halves at once, since those that
# drive editors, daemons and a real pi wait most of their time. Each half has its own summary.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

driving=(tests/bridge tests/daemon tests/nvim tests/vscode)
status=0

.venv/bin/python -m pytest tests/bench || status=1

mkdir -p build
log=build/driving.log
.venv/bin/python -m pytest -p no:cacheprovider "${driving[@]}" >"$log" 2>&1 &
other=$!
trap 'kill -INT "$other" 2>/dev/null' INT TERM

.venv/bin/python -m pytest --ignore=tests/bench "${driving[@]/#/--ignore=}" || status=1
wait "$other" || status=1
cat "$log"
exit "$status"
