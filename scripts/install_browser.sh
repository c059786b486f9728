#!/usr/bin/env bash
# Installs the browser that looks at our pages in tests: Chromium, the library that drives it, and axe-core, which looks
# for what a person with a screen reader or poor sight cannot use; at pinned versions and all from the npm registry, into a cache outside the repository: $HOLDFAST_BROWSER or ~/.cache/holdfast-browser.
# Safe to repeat and to run twice at once. Linux on x86-64, with Node 20 or newer.
#   scripts/install_browser.sh     prints the folder: node_modules/ with playwright-core and axe-core, and chromium/chromium
set -euo pipefail

cache=${HOLDFAST_BROWSER:-$HOME/.cache/holdfast-browser}
chromium=147.0.0
playwright=1.60.0
axe=4.14.0
folder="$cache/chromium-$chromium-playwright-$playwright-axe-$axe"

if [ ! -x "$folder/chromium/chromium" ]; then
    [ "$(uname -sm)" = "Linux x86_64" ] || { echo "install_browser.sh: no browser for $(uname -sm) there" >&2; exit 3; }
    mkdir -p "$cache"
    scratch=$(mktemp -d "$cache/.installing-XXXXXX")
    trap 'rm -rf "$scratch"' EXIT
    cd "$scratch"
    npm install --silent --no-audit --no-fund --no-save \
        "@sparticuz/chromium@$chromium" "playwright-core@$playwright" "axe-core@$axe" >&2
    mkdir chromium
    # The package unpacks itself into the folder for temporary files, so that is where it is to stay.
    TMPDIR="$scratch/chromium" node --input-type=module -e \
        'import chromium from "@sparticuz/chromium"; await chromium.executablePath();' >&2
    # Whoever is first wins; the other copy is as good and goes.
    mv -T "$scratch" "$folder" 2>/dev/null || true
fi
echo "$folder"
