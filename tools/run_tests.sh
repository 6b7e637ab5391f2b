#!/usr/bin/env bash
# All tests of pytest: what is measured first, alone; then two halves at once, since those that
# drive editors, daemons and a real pi wait most of their time. Each half has its own summary.
# What failed while the other half took the machine is tried once more, alone, and that counts;
# both outcomes are printed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

driving=(tests/bridge tests/daemon tests/nvim tests/vscode)
others=(--ignore=tests/bench "${driving[@]/#/--ignore=}")
status=0
mkdir -p build

.venv/bin/python -m pytest tests/bench || status=1

log=build/driving.log
.venv/bin/python -m pytest -o cache_dir=build/cache-driving "${driving[@]}" >"$log" 2>&1 &
running=$!
trap 'kill -INT "$running" 2>/dev/null' INT TERM

.venv/bin/python -m pytest -o cache_dir=build/cache-others "${others[@]}"
failed_others=$?
wait "$running"
failed_driving=$?
cat "$log"

# Whether a half has passed, by how pytest ended, maybe at its second try.
passes() {
    local ended="$1" cache="$2"
    shift 2
    # 1 is pytest's word for failed tests; anything else is no matter of the machine's load.
    [ "$ended" = 1 ] || return "$ended"
    echo "run_tests: once more, alone, what failed"
    .venv/bin/python -m pytest -o "cache_dir=$cache" --last-failed --last-failed-no-failures none "$@"
}

passes "$failed_others" build/cache-others "${others[@]}" || status=1
passes "$failed_driving" build/cache-driving "${driving[@]}" || status=1
exit "$status"
