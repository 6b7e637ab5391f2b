#!/usr/bin/env bash
# Remakes requirements.lock and the locks of npm from pyproject.toml and the package.json files.
# One lock serves every Python we support and both processors; neither lock names an address.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# uv is needed here alone, so it is no part of the lock it makes.
.venv/bin/python -m pip install --quiet --disable-pip-version-check uv
.venv/bin/python -m uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 \
    --generate-hashes --no-emit-index-url --no-header --no-annotate --only-binary :all: \
    --output-file requirements.lock --quiet "$@"
for folder in tests/pi tests/nvim tests/vscode; do
    (cd "$folder" && npm install --package-lock-only --ignore-scripts --no-audit --no-fund --loglevel=error)
done
echo "locks remade; look at git diff"
