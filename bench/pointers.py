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
# What was asked for. The precision is not reached by files alone: docs/benchmarks.md says why, and this says so too.
BOUNDS = {("entireio-cli", "file_later"): 0.05, ("entireio-cli", "precision"): 0.0}


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
    ok = True
    for name in CORPORA:
        corpus = SHARED / "data" / "transcripts" / name
        if not corpus.is_dir():
            continue
        label = name.rpartition("/")[2]
        ours, theirs = _replayed(corpus, "--provider", PROVIDER), _replayed(corpus, "--baseline", "bm25")
        for kind in ("file_later", "file", "precision"):
            key = kind if kind == "precision" else f"coverage_{kind}"
            mine, other = ours[key]["value"], theirs[key]["value"]
            if mine is None or other is None:
                continue
            bound = BOUNDS.get((label, kind))
            gain = mine - other
            held = bound is None or gain >= bound
            line = {
                "name": f"pointers_{kind}_{label}",
                "value": round(gain, 3),
                "unit": "over bm25",
                "bound": bound,
            }
            line |= {"ok": held, "ours": mine, "bm25": other, "n": ours[key]["n"], "ci95": ours[key]["ci95"]}
            print(json.dumps(line), flush=True)
            ok &= held
    return ok
