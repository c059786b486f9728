"""Retrieval sets, and whether verdicts on sessions and prompts agree with labels."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from bench.measuring import PYTHON, SHARED
from bench.score.agent import missing
from bench.score.processes import ROOT
from bench.score.rows import Found, Measured
from bench.score.verdicts import COMMITTED, VARIABLE, default_place, figures_of, judged, labels_in

LABELS = SHARED / "data" / "labels"
VERDICTS = ("verdict_outcome", "verdict_negative", "verdict_kind", "verdict_tasks")
LONGEST_S = 900

# Our row: the benchmark's line.
RETRIEVAL = {
    "longmemeval_any5": "search_longmemeval_user_any5",
    "longmemeval_whole_any5": "search_longmemeval_whole_any5",
    "coding_any5": "search_coding_prompts_any5",
    "coding_ndcg10": "search_coding_prompts_ndcg10",
    "pmb_search_precision": "search_precision",
    "pmb_search_recall": "search_recall",
    "pmb_recall_precision": "recall_precision",
    "pmb_recall_recall": "recall_recall",
}


def retrieval(folder: Path) -> Found:
    """The benchmarks `search_quality`, `search_precision` and `recall_precision`."""
    if not (SHARED / "data" / "retrieval").is_dir():
        return missing("retrieval", "needs ../shared/data/retrieval")
    command = [PYTHON, "-m", "bench.run", "search_quality", "search_precision", "recall_precision"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=LONGEST_S)
    lines = {line["name"]: line for line in map(json.loads, done.stdout.splitlines())}
    errors = "; ".join(line["error"] for line in lines.values() if "error" in line)
    return {
        row: _of_line(lines[name])
        if name in lines and "unit" in lines[name]
        else Measured(None, 0, errors or "not reported")
        for row, name in RETRIEVAL.items()
    }


def _of_line(line: dict[str, Any]) -> Measured:
    low, high = line["interval"]
    return Measured(line["value"], line["n"], f"{low:.2f} to {high:.2f}", bound=line["bound"])


def verdicts(folder: Path) -> Found:
    return {**_sessions(), **_classifier()}


def _sessions() -> Found:
    """The labels that the environment names, else the committed ones. These train the model of tasks, so tasks are then
    counted with each repository left out; the rest needs the transcripts of ../shared."""
    place = default_place()
    rows = list(judged(labels_in(place), place)) if place else []
    tasks = {"verdict_tasks": _tasks_left_out()} if place == COMMITTED else {}
    if not rows:
        missing = Measured(None, 0, f"no transcripts with labels: set {VARIABLE} or provide ../shared")
        return dict.fromkeys(VERDICTS, missing) | tasks
    figures = figures_of(rows)
    return {
        "verdict_outcome": Measured(figures.outcome, figures.n),
        "verdict_negative": Measured(
            figures.precision, figures.said, "" if figures.said else "no negative verdict"
        ),
        "verdict_kind": Measured(figures.kind, figures.n),
        "verdict_tasks": Measured(figures.tasks, figures.n),
    } | tasks


def _tasks_left_out() -> Measured:
    command = [PYTHON, "scripts/train_tasks.py", "--judge"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    right, n = map(int, re.search(r"^all +(\d+) of (\d+)", done.stdout, re.MULTILINE).groups())  # type: ignore[union-attr]
    return Measured(right / n, n, "each repository left out")


def _classifier() -> Found:
    prompts = LABELS / "prompts.jsonl"
    names = ("classifier_accuracy", "classifier_precision", "classifier_recall")
    if not prompts.exists():
        return {name: Measured(None, 0, "needs ../shared/data/labels/prompts.jsonl") for name in names}
    command = [PYTHON, "scripts/classifier_figures.py", prompts]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return classifier_rows(done.stdout)


def classifier_rows(printed: str) -> Found:
    """The figures of `scripts/classifier_figures.py`; what it lists as confused is not agreed."""
    count = int(re.search(r": (\d+) prompts", printed)[1])  # type: ignore[index]
    wrong = sum(map(int, re.findall(r"^ +(\d+) \S+ as \S+$", printed, re.MULTILINE)))
    found = {"classifier_accuracy": Measured((count - wrong) / count, count)}
    for name in ("precision", "recall"):
        share, low, high, n = re.search(
            rf"{name} ([\d.]+) \(([\d.]+) to ([\d.]+) of (\d+)\)", printed
        ).groups()  # type: ignore[union-attr]
        found[f"classifier_{name}"] = Measured(float(share), int(n), f"{low} to {high}")
    return found
