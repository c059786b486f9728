"""Recall is measured by replay: the hook's own words against simple baselines, over the same sessions in one run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bench.score.practice import write_session

ROOT = Path(__file__).parents[2]
MEASURES = ("coverage", "coverage_file_later", "precision")


@pytest.mark.promise("R9")
def test_the_prompt_hook_is_measured_beside_frequency_recency_and_bm25(
    shared: Path, home: Path, tmp_path: Path
) -> None:
    history = tmp_path / "history"
    history.mkdir()
    for number in range(14):  # six topics in turn: what comes next is not what came last
        path = history / f"{number:08d}-1111-4111-8111-111111111111.jsonl"
        write_session(path, tmp_path / "shop", number, wandering=True)
    command = [sys.executable, "-m", "bench.replay_briefing", str(history), "--way", "hook"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    rows = {row["memory"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert set(rows) >= {"hook", "frequency", "recency", "bm25"}
    ours, others = rows.pop("hook"), list(rows.values())
    assert all(row[f"n_{name}"] == ours[f"n_{name}"] for row in others for name in MEASURES[:2])
    assert ours["n_coverage_file_later"] > 0 and ours["tokens"] <= 200
    for name in MEASURES:
        assert ours[name] is None or 0 <= ours[name] <= 1
    assert ours["precision"] > max(row["precision"] for row in others)
    assert ours["coverage_file_later"] >= max(row["coverage_file_later"] for row in others)
