"""The command that adds a package to this installation, whatever it was installed with."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

# What each extra stands for: named itself, it can be added also where holdfast came from a checkout or a wheel.
_PACKAGES = {
    "analytics": ("duckdb",),
    "postgres": ("psycopg[binary]",),
    "scanner": ("kingfisher-secret-scanner",),
    "trees": ("ast-grep-py",),
    "tools": ("mcp",),
}


def how_to_add(extra: str) -> str:
    """For a message: `pipx inject holdfast duckdb`."""
    packages = " ".join(shlex.quote(package) for package in _PACKAGES[extra])
    prefix = Path(sys.prefix)
    if (prefix / "uv-receipt.toml").is_file():
        return f"uv pip install --python {shlex.quote(sys.executable)} {packages}"
    if (prefix / "pipx_metadata.json").is_file():
        return f"pipx inject {prefix.name} {packages}"
    return f"{shlex.quote(sys.executable)} -m pip install {packages}"
