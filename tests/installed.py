"""Servers that tests start: a script of ours puts each into a cache outside the repository, once."""

from __future__ import annotations

import os
import shutil
import subprocess
from functools import cache
from pathlib import Path

_SCRIPTS = Path(__file__).parents[1] / "scripts"


@cache
def why_not_installed(script: str, variable: str, folder: str) -> str:
    """Runs the script, whose cache is the folder that the variable names. '' if it worked; else what it said."""
    if not shutil.which("bash"):
        return f"scripts/{script} needs bash"
    try:
        done = subprocess.run(
            ["bash", str(_SCRIPTS / script)],
            env={**os.environ, variable: folder},
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"scripts/{script} did not end within 300 seconds"
    return "" if done.returncode == 0 else f"scripts/{script}: {' '.join(done.stderr.split())[-300:]}"
