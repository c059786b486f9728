#!/usr/bin/env bash
# Installs the agent clients that the end-to-end tests drive, at pinned versions, into a cache outside the
# repository: $HOLDFAST_CLIENTS or ~/.cache/holdfast-clients. Safe to repeat and to run twice at once.
#   scripts/install_clients.sh [CLIENT…]     all without a name; prints the path of each client's program
set -euo pipefail

cache=${HOLDFAST_CLIENTS:-$HOME/.cache/holdfast-clients}

package_of() { case $1 in
    claude-code) echo "@anthropic-ai/claude-code@2.1.325" ;;
    codex) echo "@openai/codex@0.166.0" ;;
    copilot) echo "@github/copilot@1.0.102" ;;
    gemini) echo "@google/gemini-cli@0.61.0" ;;
    opencode) echo "opencode-ai@1.18.33" ;;
    qwen) echo "@qwen-code/qwen-code@0.24.4" ;;
    *) echo "install_clients.sh: no client '$1'" >&2; exit 2 ;;
esac; }

program_of() { case $1 in
    claude-code) echo "node_modules/.bin/claude" ;;
    *) echo "node_modules/.bin/$1" ;;
esac; }

scratch=
trap 'rm -rf "$scratch"' EXIT
[ $# -gt 0 ] || set -- claude-code codex copilot gemini opencode qwen

for client in "$@"; do
    package=$(package_of "$client")
    folder="$cache/$client-${package##*@}"
    if [ ! -e "$folder/$(program_of "$client")" ]; then
        mkdir -p "$cache"
        # One at a time where the system can wait for it; elsewhere two copies are made and one is kept.
        if command -v flock >/dev/null; then exec 9>"$cache/.$client.lock"; flock 9; fi
        if [ -e "$folder/$(program_of "$client")" ]; then echo "$folder/$(program_of "$client")"; continue; fi
        scratch=$(mktemp -d "$cache/.installing-XXXXXX")
        # A package of its own: npm would otherwise install into the nearest folder above that has one.
        (cd "$scratch" && echo '{"private": true}' >package.json &&
            npm install --loglevel=error --fetch-retries=1 --no-audit --no-fund --no-save "$package" >&2)
        # Whoever is first wins; the other copy is as good and goes.
        mv -T "$scratch" "$folder" 2>/dev/null || mv -n "$scratch" "$folder" 2>/dev/null || true
        rm -rf "$scratch"
    fi
    echo "$folder/$(program_of "$client")"
done
