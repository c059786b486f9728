#!/usr/bin/env bash
# Installs the agent clients that the end-to-end tests drive, at pinned versions, into a cache outside the
# repository: $HOLDFAST_CLIENTS or ~/.cache/holdfast-clients. Safe to repeat and to run twice at once.
#   scripts/install_clients.sh [claude-code…]     prints the path of each client's program
set -euo pipefail

cache=${HOLDFAST_CLIENTS:-$HOME/.cache/holdfast-clients}

version_of() { case $1 in
    claude-code) echo "@anthropic-ai/claude-code@2.1.325" ;;
    *) echo "install_clients.sh: no client '$1'" >&2; exit 2 ;;
esac; }

program_of() { case $1 in
    claude-code) echo "node_modules/.bin/claude" ;;
esac; }

for client in "${@:-claude-code}"; do
    package=$(version_of "$client")
    folder="$cache/$client-${package##*@}"
    if [ ! -e "$folder/$(program_of "$client")" ]; then
        mkdir -p "$cache"
        scratch=$(mktemp -d "$cache/.installing-XXXXXX")
        (cd "$scratch" && npm install --silent --no-audit --no-fund --no-save "$package" >&2)
        # Whoever is first wins; the other copy is as good and goes.
        mv -T "$scratch" "$folder" 2>/dev/null || mv -n "$scratch" "$folder" 2>/dev/null || true
        rm -rf "$scratch"
    fi
    echo "$folder/$(program_of "$client")"
done
