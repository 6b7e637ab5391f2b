#!/usr/bin/env bash
# Sets up what a make target needs, and does nothing when it is there already.
#
#   tools/setup.sh         the virtual environment (.venv), from requirements.lock
#   tools/setup.sh tests   that, the real pi the tests compare with (tests/pi/node_modules), a
#                          browser that looks at exported pages, and what the Neovim plugin is
#                          checked and drawn with (Neovim itself is in .venv), and the VS Code
#                          extension is built and checked with, and the real VS Code it is
#                          tried in (tests/vscode/node_modules, 590 MB)
#
# Each part leaves a stamp named by the lock it was made from, so a changed lock remakes it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

what="${1:-run}"
case "$what" in
run | tests) ;;
*)
    echo "usage: tools/setup.sh [run|tests]" >&2
    exit 2
    ;;
esac

say() { printf 'setup: %s\n' "$*"; }

# Two runs at once would make the same environment: the second waits for the first.
if command -v flock >/dev/null; then
    exec 9>.setup.lock
    flock 9
fi

# Debian ships python3 without ensurepip and node without npm; a fresh machine lacks both.
missing_packages() {
    command -v python3 >/dev/null || echo python3
    if [ ! -x .venv/bin/python ]; then
        python3 -c 'import venv, ensurepip' >/dev/null 2>&1 || echo python3-venv
    fi
    if [ "$what" = tests ]; then
        command -v node >/dev/null || echo nodejs
        command -v npm >/dev/null || echo npm
        command -v chromium >/dev/null || echo chromium
        command -v tmux >/dev/null || echo tmux
        command -v luacheck >/dev/null || echo lua-check
        [ -e /usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf ] || echo fonts-dejavu-core
    fi
}

missing="$(missing_packages | tr '\n' ' ')"
if [ -n "$missing" ]; then
    if [ "$(id -u)" = 0 ] && [ "${CI:-}" = true ]; then
        say "installing Debian packages: $missing"
        apt-get update -qq
        # shellcheck disable=SC2086  # one word for each package
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
    else
        say "missing Debian packages: $missing" >&2
        say "install them as root: apt-get install $missing" >&2
        exit 1
    fi
fi

python3 -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 16))' || {
    say "Python 3.11 to 3.15 is needed, this is $(python3 -c 'import platform; print(platform.python_version())')" >&2
    exit 1
}

stamp_of() { cat "$@" | sha256sum | cut -c1-16; }

# The environment is bound to this folder: a copied or moved work tree makes its own.
stamp=".venv/.stamp-$({
    pwd
    python3 -c 'import sys; print(sys.version)'
    cat requirements.lock
} | stamp_of)"
if [ ! -e "$stamp" ]; then
    say "making .venv from requirements.lock"
    rm -rf .venv
    python3 -m venv .venv
    # A download that breaks off half way is common enough on a build machine to be tried again.
    for try in 1 2 3; do
        if .venv/bin/python -m pip install -qq --disable-pip-version-check --no-input \
            --only-binary :all: --require-hashes -r requirements.lock; then
            break
        fi
        [ "$try" -lt 3 ] || exit 1
        say "trying again"
    done
    touch "$stamp"
else
    say ".venv is up to date"
fi

# The project itself is linked, not copied: only its commands and metadata can get old.
stamp=".venv/.stamp-project-$(stamp_of pyproject.toml)"
if [ ! -e "$stamp" ]; then
    say "linking pisessiond into .venv"
    .venv/bin/python -m pip install -qq --disable-pip-version-check --no-input \
        --no-deps --no-index --no-build-isolation --editable .
    touch "$stamp"
fi

npm_ci() {
    local folder="$1"
    shift
    (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error "$@" >/dev/null)
}

# Packages of npm, as a lock names them, into the folder of that lock; then those of a package
# that brings a lock of its own, if there is one.
install_npm() {
    local folder="$1" what="$2" inner="${3:-}" stamp
    stamp="$folder/node_modules/.stamp-$({
        uname -m
        cat "$folder/package-lock.json" "$folder/package.json"
    } | stamp_of)"
    if [ -e "$stamp" ]; then
        say "$what is up to date"
        return
    fi
    say "installing $what into $folder/node_modules"
    for try in 1 2 3; do
        if npm_ci "$folder" && { [ -z "$inner" ] || npm_ci "$folder/$inner" --omit=dev --legacy-peer-deps; }; then
            break
        fi
        [ "$try" -lt 3 ] || exit 1
        say "trying again"
    done
    touch "$stamp"
}

if [ "$what" = tests ]; then
    # pi asks for a newer Node than Debian's; the one it runs on here comes with these packages.
    install_npm tests/pi "the real pi"
    install_npm tests/nvim "the Lua formatter"
    install_npm vscode-extension "what the VS Code extension is built and checked with"
    # code-server carries VS Code with a lock beside it, and would install that from a script. The
    # tarball is pinned by our lock, so the lock in it is too, and every package by a hash. Only a
    # peer of one package (tslib) is missing there: npm is told to look for no peers, and Node finds
    # that one a few folders up, where our lock pins it. Nothing is compiled; VS Code then does
    # without its log files, and without what nothing here uses.
    install_npm tests/vscode "the real VS Code" node_modules/code-server/lib/vscode
fi
