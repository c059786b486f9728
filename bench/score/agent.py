"""What reaches the agent: decisions of a small set of our own, and the replay of two real histories."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from bench.measuring import PYTHON, SHARED
from bench.score.processes import ROOT
from bench.score.rows import Found, Measured

SET = ROOT / "bench" / "data" / "told_small.jsonl"
PROMPTS = SHARED / "data" / "labels" / "prompts.jsonl"
HISTORIES = SHARED / "data" / "transcripts"
CLI_HISTORY, AGENTV_HISTORY = (
    HISTORIES / "claude-code" / "entireio-cli",
    HISTORIES / "codex" / "EntityProcess-agentv",
)
LONGEST_S = 600
SILENT = "the hook was silent for every prompt"


def told(folder: Path) -> Found:
    """`told.py` on the set, through the hook that `holdfast init` installs."""
    script = SHARED / "eval" / "told.py"
    if not script.exists():
        return missing("told", "needs ../shared/eval/told.py")
    command = [PYTHON, script, SET, "--holdfast", Path(PYTHON).with_name("holdfast"), "--json"]
    command += ["--unrelated", PROMPTS] if PROMPTS.exists() else []
    env = {**os.environ, "TMPDIR": str(folder)}  # it leaves its folders behind
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=LONGEST_S)
    return rows_of_told(json.loads(done.stdout))


def rows_of_told(result: dict[str, dict[str, Any]]) -> Found:
    kinds = [result[kind] for kind in ("chat", "amended", "commit") if kind in result]
    found = {
        f"told_{kind}_words": Measured(result[kind]["words"], result[kind]["n"])
        for kind in ("chat", "amended", "commit")
        if kind in result
    }
    speaking = [
        (row["right"], round(row["n"] * (1 - row["silent"]))) for row in kinds if row["right"] is not None
    ]
    found["told_right"] = (
        Measured(_mean(speaking), sum(n for _, n in speaking)) if speaking else Measured(None, 0, SILENT)
    )
    found["told_silent"] = _over_all(kinds, "silent")
    found["told_tokens"] = _over_all(kinds, "tokens")
    amended = result.get("amended")
    if amended:
        found["told_stale"] = Measured(
            amended["stale"], amended["n"], SILENT if amended["silent"] == 1 else ""
        )
    if "unrelated" in result:
        found["told_unrelated"] = Measured(result["unrelated"]["told"], result["unrelated"]["n"])
    else:
        found["told_unrelated"] = Measured(None, 0, "needs ../shared/data/labels/prompts.jsonl")
    return found


def _over_all(kinds: list[dict[str, Any]], name: str) -> Measured:
    weighted = [(row[name], row["n"]) for row in kinds]
    return Measured(_mean(weighted), sum(n for _, n in weighted))


def _mean(weighted: list[tuple[float, int]]) -> float:
    return sum(value * n for value, n in weighted) / max(1, sum(n for _, n in weighted))


def replay(folder: Path) -> Found:
    """Each history through the provider, as the prompt hook speaks; one of them with the start as well."""
    if not (SHARED / "eval" / "replay.py").exists():
        return missing("replay", "needs ../shared/eval/replay.py")
    found: Found = {}
    for history, way, prefix in (
        (CLI_HISTORY, "hook", "replay"),
        (CLI_HISTORY, "whole", "replay_whole"),
        (AGENTV_HISTORY, "hook", "replay_agentv"),
    ):
        found.update(_replayed(history, way, prefix))
    return found


def _replayed(history: Path, way: str, prefix: str) -> Found:
    if not history.is_dir():
        return missing("replay", f"needs {history}", prefix)
    command = [PYTHON, "-m", "bench.replay_briefing", history, "--way", way]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=LONGEST_S)
    ours, *baselines = [json.loads(line) for line in done.stdout.splitlines()]
    named = {"coverage": "coverage", "later": "coverage_file_later", "precision": "precision"}
    return {f"{prefix}_{name}": _beside_the_best(ours, baselines, measure) for name, measure in named.items()}


def _beside_the_best(ours: dict[str, Any], baselines: list[dict[str, Any]], measure: str) -> Measured:
    """Our figure; the bound is the best simple baseline of the same run."""
    if ours[measure] is None:
        return Measured(None, 0, "this history has no such target")
    best = max((row for row in baselines if row[measure] is not None), key=lambda row: float(row[measure]))
    note = f"best baseline: {best['memory']}; {ours['tokens']:.0f} tokens at the first prompt"
    return Measured(ours[measure], int(ours[f"n_{measure}"]), note, bound=best[measure])


def missing(part: str, why: str, prefix: str = "") -> Found:
    from bench.score.rows import rows_of

    return {spec.id: Measured(None, 0, why) for spec in rows_of(part) if spec.id.startswith(prefix or "")}
