"""Retrieval sets, and whether verdicts on sessions and prompts agree with labels."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

from bench.measuring import PYTHON, SHARED, scratch_env
from bench.score.agent import missing
from bench.score.processes import ROOT
from bench.score.rows import Found, Measured

LABELS = SHARED / "data" / "labels"
TRANSCRIPTS = SHARED / "data" / "transcripts"
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
    return {**_sessions(folder), **_classifier()}


def _sessions(folder: Path) -> Found:
    """Labels are rows `{"file", "outcome", "kind"}` in any file of the labels folder; `file` names a transcript."""
    labels = list(session_labels(LABELS))
    if not labels:
        return {name: Measured(None, 0, "no labels yet") for name in ("verdict_outcome", "verdict_kind")}
    paths = {path.name: path for path in TRANSCRIPTS.rglob("*") if path.is_file()}
    there = [label for label in labels if label["file"] in paths]
    rows = _ledger_of([paths[label["file"]] for label in there], folder / "verdicts")
    agreed: dict[str, list[bool]] = {"outcome": [], "kind": []}
    for label in there:
        row = next((row for row in rows if Path(label["file"]).stem.endswith(str(row["session"]))), None)
        for name in agreed.keys() & label.keys():
            agreed[name].append(row is not None and row.get(name) == label[name])
    return {f"verdict_{name}": _share(values) for name, values in agreed.items()}


def _share(values: list[bool]) -> Measured:
    return Measured(sum(values) / len(values), len(values)) if values else Measured(None, 0, "no labels yet")


def session_labels(folder: Path) -> list[dict[str, Any]]:
    rows: list[Any] = []
    for path in sorted(folder.glob("*.json*")):
        text = path.read_text(encoding="utf-8")
        rows += (
            [json.loads(line) for line in text.splitlines() if line]
            if path.suffix == ".jsonl"
            else json.loads(text)
        )
    return [
        row for row in rows if isinstance(row, dict) and "file" in row and {"outcome", "kind"} & row.keys()
    ]


def _ledger_of(files: list[Path], home: Path) -> list[dict[str, Any]]:
    work = home / "work"
    work.mkdir(parents=True)
    env = scratch_env(home)
    command = [PYTHON, "-m", "holdfast"]
    subprocess.run([*command, "import", *files], cwd=work, env=env, check=True, capture_output=True)
    rows: list[dict[str, Any]] = json.loads(
        subprocess.check_output([*command, "ledger", "list", "--json"], cwd=work, env=env)
    )
    return rows


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
