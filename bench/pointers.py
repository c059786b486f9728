"""File pointers against BM25, paired: both replay the same real sessions. Skipped without ../shared."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared"
CORPORA = ("claude-code/entireio-cli", "codex/EntityProcess-agentv")
PROVIDER = f'"{sys.executable}" -m bench.replay_provider'
# What was asked for, of files alone. The hook tells more of them at a first prompt, by class and beside commands and
# lessons: docs/research/benchmarks.md has the frontier.
BOUNDS = {("entireio-cli", "file_later"): 0.05, ("entireio-cli", "precision"): 0.0}
WAYS = {"files": "pointers", "hook": "pointers_and_lessons", "0": "pointers_filled"}
BOUNDED = "files"


def _replayed(corpus: Path, *more: str) -> dict[str, dict[str, float]]:
    command = [
        sys.executable,
        str(SHARED / "eval" / "replay.py"),
        "eval",
        str(corpus),
        "--per-prompt",
        "--json",
        *more,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, dict[str, float]] = json.loads(done.stdout)["all"]
    return found


def bench_pointers(folder: Path) -> bool:
    """Files alone; all that the hook's own code says (bench/replay_provider.py); every file that the budget holds."""
    ok = True
    for name in CORPORA:
        corpus = SHARED / "data" / "transcripts" / name
        if not corpus.is_dir():
            continue
        theirs = _replayed(corpus, "--baseline", "bm25")
        for way, label in WAYS.items():
            ours = _replayed(corpus, "--provider", f"{PROVIDER} {way}")
            ok &= _compared(
                f"{label}_{{}}_{corpus.name}", ours, theirs, corpus.name if way == BOUNDED else ""
            )
    return ok


def _compared(
    name: str, ours: dict[str, dict[str, float]], theirs: dict[str, dict[str, float]], bounded: str
) -> bool:
    ok = True
    for kind in ("file_later", "file", "precision"):
        key = kind if kind == "precision" else f"coverage_{kind}"
        mine, other = ours[key]["value"], theirs[key]["value"]
        if mine is None or other is None:
            continue
        bound = BOUNDS.get((bounded, kind))
        gain = mine - other
        held = bound is None or gain >= bound
        line = {"name": name.format(kind), "value": round(gain, 3), "unit": "over bm25", "bound": bound}
        line |= {"ok": held, "ours": mine, "bm25": other, "n": ours[key]["n"], "ci95": ours[key]["ci95"]}
        print(json.dumps(line), flush=True)
        ok &= held
    return ok
