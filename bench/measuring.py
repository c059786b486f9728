"""What benchmarks share: the JSON line of a figure, times of processes, a home of their own."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

PYTHON = sys.executable
SHARED = Path(__file__).parent.parent.parent / "shared"


def report(
    name: str, value: float, unit: str, bound: float | None, least: bool = False, **more: object
) -> bool:
    """One JSON line. `least` says that the bound is a minimum."""
    ok = bound is None or (value >= bound if least else value <= bound)
    line = {"name": name, "value": round(value, 4), "unit": unit, "bound": bound, "ok": ok, **more}
    print(json.dumps(line), flush=True)
    return ok


def inner(script: str, names: list[str], runs: int = 5) -> float:
    """The best time that a script measured of itself: what the work costs, without the noise of neighbours."""
    times = []
    for _ in range(runs):
        done = subprocess.run([PYTHON, "-c", script, *names], capture_output=True, text=True, check=True)
        times.append(float(done.stdout))
    return min(times)


def outer(
    command: list[str], env: dict[str, str] | None = None, cwd: Path | None = None, runs: int = 15
) -> float:
    """The median wall time of a process."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        subprocess.run(command, env=env, cwd=cwd, check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def scratch_env(folder: Path) -> dict[str, str]:
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "CI")
    }
    return {**env, "HOME": str(folder), "HOLDFAST_HOME": str(folder / "memory")}


def letters_in(inbox: Path) -> list[str]:
    """What waits to be captured, or was put aside as unreadable. An empty folder is none."""
    return sorted(path.name for path in inbox.rglob("*") if path.is_file())
