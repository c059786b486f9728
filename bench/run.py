"""Runs the benchmarks and prints one JSON line each: {name, value, unit, bound, ok}.

`python -m bench.run [NAME…]`. Yardsticks run in the same minute with the same interpreter. A benchmark that fails is
a line with `ok` false and an `error`, and the next one runs; the last line names all that failed or missed a bound.
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

Bench = Callable[[Path], bool]

# Names, not functions: a module that cannot be imported is one failed benchmark, not the end of all.
BENCHES: dict[str, str | Bench] = {
    "memory": "bench.reading:bench_memory",  # first: its figure is the largest child so far
    "help": "bench.commands:bench_help",
    "resume": "bench.commands:bench_resume",
    "everyday": "bench.commands:bench_everyday",
    "context": "bench.commands:bench_context",
    "show": "bench.commands:bench_show",
    "reading": "bench.reading:bench_reading",
    "unchanged": "bench.reading:bench_unchanged",
    "capture": "bench.capture:bench_capture",
    "size": "bench.commands:bench_size",
    "start_hook": "bench.hooks:bench_start_hook",
    "moment_hook": "bench.hooks:bench_moment_hook",
    "file_hook": "bench.hooks:bench_file_hook",
    "classify": "bench.classify:bench_classify",
    "mcp": "bench.mcp:bench_mcp",
    "fingerprints": "bench.fingerprints:bench_fingerprints",
    "prompt_hook": "bench.hooks:bench_prompt_hook",
    "telling_hook": "bench.telling_hook:bench_telling_hook",
    "claude_overhead": "bench.claude_overhead:bench_claude_overhead",
    "replay_lessons": "bench.replay_lessons:bench_replay_lessons",
    "ledger": "bench.ledger:bench_ledger",
    "fleet": "bench.fleet:bench_fleet",
    "recommend": "bench.ledger:bench_recommend",
    "search_quality": "bench.search:bench_search_quality",
    "search_precision": "bench.search:bench_search_precision",
    "search_turns": "bench.search_turns:bench_search_turns",
    "search_turns_cost": "bench.search_turns:bench_search_turns_cost",
    "search_fitting": "bench.search_fitting:bench_search_fitting",
    "recall_precision": "bench.recall:bench_recall_precision",
    "recall_siblings": "bench.recall_siblings:bench_recall_siblings",
    "recall_off_topic": "bench.recall_off_topic:bench_recall_off_topic",
    "minilm": "bench.minilm:bench_minilm",
    "search_small": "bench.search:bench_search_small",
    "search_command": "bench.recall:bench_search_command",
    "search_growth": "bench.search:bench_search_growth",
    "search_million": "bench.search:bench_search_million",
    "team_search": "bench.team_search:bench_team_search",
    "pointers": "bench.pointers:bench_pointers",
    "know": "bench.knowledge:bench_scan",
    "commits": "bench.commits:bench_commits",
    "ui": "bench.ui:bench_ui",
    "transports": "bench.transports:bench_transports",
    "sync_sessions": "bench.sync_sessions:bench_sync_sessions",
}
ONLY_WHEN_NAMED = {"search_million", "replay_lessons", "minilm"}  # take many minutes; the first 2 GB of disk


def run(names: Sequence[str], benches: Mapping[str, str | Bench] = BENCHES) -> int:
    """Runs what is named, or all; returns the exit code."""
    unknown = [name for name in names if name not in benches]
    for name in unknown:
        _print_failure(name, f"no such benchmark; there are {', '.join(benches)}")
    ran = [name for name in benches if name in names or (not names and name not in ONLY_WHEN_NAMED)]
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as scratch:
        failed = [*unknown, *(name for name in ran if not _passes(name, benches[name], Path(scratch) / name))]
    print(json.dumps({"name": "summary", "ok": not failed, "ran": len(ran), "failed": failed}), flush=True)
    return 1 if failed else 0


def _passes(name: str, bench: str | Bench, folder: Path) -> bool:
    try:
        folder.mkdir()
        return _loaded(bench)(folder)
    except (Exception, SystemExit) as error:  # whatever it is, the next benchmark runs
        _print_failure(name, _described(error))
        return False


def _loaded(bench: str | Bench) -> Bench:
    if callable(bench):
        return bench
    module, function = bench.split(":")
    found: Bench = getattr(importlib.import_module(module), function)
    return found


def _described(error: BaseException) -> str:
    """The error in one line, with the end of what a failed process wrote."""
    said = ""
    if isinstance(error, subprocess.CalledProcessError) and error.stderr:
        tail = error.stderr if isinstance(error.stderr, str) else error.stderr.decode(errors="replace")
        said = f": {tail[-300:].strip()}"
    return f"{type(error).__name__}: {str(error)[:500]}{said}"


def _print_failure(name: str, error: str) -> None:
    print(json.dumps({"name": name, "value": None, "ok": False, "error": error}), flush=True)


if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1:]))
