#!/usr/bin/env bash
# Installs the programs that `make bench-peers` measures beside holdfast, at pinned versions, into a cache outside the
# repository: $HOLDFAST_PEERS or ~/.cache/holdfast-peers. Safe to repeat. A program that cannot be installed leaves the
# reason in NAME.failed, and the others are installed all the same.
set -uo pipefail

cache=${HOLDFAST_PEERS:-$HOME/.cache/holdfast-peers}
mkdir -p "$cache"

# install NAME PROGRAM COMMAND…: runs the command in a folder of its own, unless the program is there.
install() {
    local name=$1 program=$2
    shift 2
    [ -x "$cache/$name/$program" ] && return
    rm -rf "${cache:?}/$name" "$cache/$name.failed"
    mkdir -p "$cache/$name"
    if ! (cd "$cache/$name" && "$@") >"$cache/$name.log" 2>&1 || [ ! -x "$cache/$name/$program" ]; then
        grep -iE '^(npm )?error' "$cache/$name.log" | tail -n 1 | cut -c 1-160 >"$cache/$name.failed"
        [ -s "$cache/$name.failed" ] || echo "no reason given" >"$cache/$name.failed"
        echo "$name: $(cat "$cache/$name.failed")" >&2
    fi
}

node_package() {
    echo '{"private": true}' >package.json
    npm install --loglevel=error --fetch-retries=1 --no-audit --no-fund --include=optional "$1" &&
        "node_modules/.bin/${1%@*}" --version
}

python_package() {
    local python=python3 newer
    for newer in python3.12 python3.13; do # a shim of pyenv may stand for a version that is not there
        "$newer" -c 0 2>/dev/null && [ "$2" = newer ] && python=$newer && break
    done
    "$python" -m venv . && bin/python -m pip install --quiet --disable-pip-version-check "$1"
}

install ccusage node_modules/.bin/ccusage node_package ccusage@20.0.24
install agentsview bin/agentsview python_package agentsview==0.46.1 any
install basic-memory bin/basic-memory python_package basic-memory==0.23.2 newer
exit 0
