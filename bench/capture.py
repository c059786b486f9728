"""The process that a hook leaves behind when a session ends: what it costs in a project with sessions and lessons."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench.corpus import write_corpus
from bench.hooks import _enabled
from bench.measuring import letters_in, report
from holdfast.flows.import_sessions import import_into
from holdfast.hooks import trace

RUNS = 9
BARE = [sys.executable, "-E", "-P", "-c", "import msgspec, sqlite3, json"]


def bench_capture(folder: Path) -> bool:
    """One session of 200 kB ends where sixty are known; told beside what every process of ours must load."""
    repo, env, machine = _enabled(folder)
    project = machine.project()
    sessions = write_corpus(folder / "sessions", 60 + RUNS, 200_000, cwd=str(repo))
    import_into(machine, project, sessions[:60])
    child = [sys.executable, "-E", "-P", "-m", "holdfast.flows.capture_child", str(project.memory), str(repo)]
    bare, capture = [], []
    for session in sessions[60:]:
        # What the hook leaves; its own child would race with the one that is measured.
        letter = {"host": "claude-code", "event": "SessionEnd", "session": session.stem, "cwd": str(repo)}
        trace.post(str(project.memory), {**letter, "transcript": str(session), "process": 0})
        bare.append(_wall(BARE, env, repo))
        capture.append(_wall(child, env, repo))
        assert not letters_in(project.memory / "inbox"), "not captured"
    ratio = statistics.median(capture) / statistics.median(bare)
    more = {"ms": round(1000 * statistics.median(capture)), "bare_ms": round(1000 * statistics.median(bare))}
    return report("capture_of_one_session", ratio, "x python with msgspec and sqlite3", None, **more)


def _wall(command: list[str], env: dict[str, str], cwd: Path) -> float:
    start = time.perf_counter()
    subprocess.run(command, env=env, cwd=cwd, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start
