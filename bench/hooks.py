"""Hooks against their yardstick: `python -I -S -c "import json, sqlite3"` of the same interpreter, same pipes."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from holdfast.app.briefings import Briefings, Happened, Line
from holdfast.app.hosting import Plan, install
from holdfast.app.preparing import prepare
from holdfast.app.wiring import Machine
from holdfast.hot import hook_entry

RUNS = 60
YARDSTICK = [sys.executable, "-I", "-S", "-c", "import json, sqlite3"]


def bench_start_hook(folder: Path) -> bool:
    from bench.run import report  # which has this bench in its table

    repo = folder / "shop"
    (repo / ".git").mkdir(parents=True)
    (repo / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
    env = {"HOME": str(folder), "HOLDFAST_HOME": str(folder / "memory"), "PATH": os.environ["PATH"]}
    machine = Machine(env, repo)
    project = machine.project()
    install(machine, project, Plan(agent="claude-code", changes=()))
    lines = [
        Line(f"Open: finish part {number} of the payment refactoring", "open item") for number in range(20)
    ]
    prepare(machine, project, {("startup", ""): lines})
    event = {"session_id": "bench", "cwd": str(repo), "hook_event_name": "SessionStart", "source": "startup"}
    command = [sys.executable, "-I", "-S", hook_entry.__file__, "claude-code", "SessionStart"]
    payload = json.dumps(event).encode()
    for warm in (YARDSTICK, command):
        assert _once(warm, env, payload)[1] == 0
    # The inbox is emptied between runs as the capture would; the yardstick alternates with the hook.
    bare, hook = [], []
    for _ in range(RUNS):
        bare.append(_once(YARDSTICK, env, payload)[0])
        seconds, code, printed = _once(command, env, payload)
        assert code == 0 and b"payment refactoring" in printed
        hook.append(seconds)
        for envelope in (project.memory / "inbox").iterdir():
            envelope.unlink()
    ratio = statistics.median(hook) / statistics.median(bare)
    more = {
        "ms": round(1000 * statistics.median(hook), 1),
        "yardstick_ms": round(1000 * statistics.median(bare), 1),
    }
    return report("start_hook", ratio, 'x python -I -S -c "import json, sqlite3"', 1.6, **more)


def _once(command: list[str], env: dict[str, str], payload: bytes) -> tuple[float, int, bytes]:
    start = time.perf_counter()
    done = subprocess.run(command, env=env, input=payload, capture_output=True, check=False)
    return time.perf_counter() - start, done.returncode, done.stdout
