"""Fits the models that say whether a prompt is about a repository, and how likely its work touches a file.

    .venv/bin/python scripts/train_offers.py            # fits on all evidence and prints the weights for hooks/
    .venv/bin/python scripts/train_offers.py --judge    # leaves each history out in turn, and prints the curves

bench/data/offers/evidence.jsonl.gz holds the evidence for each prompt and file, and whether the session then touched the
file; no text. bench/offer_evidence.py collects it.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

EVIDENCE = Path(__file__).parents[1] / "bench/data/offers/evidence.jsonl.gz"
FLOORS = (-1.0, -0.5, 0.0, 0.5, 1.0)
BARS = (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4)
MOVED = 10.0
MOST_FILES = 8
DECAY, STEPS = 3.0, 50
UNUSED = {"first": ("new", "likeness"), "later": ("alike", "alikest", "written")}
Matrix = NDArray[np.float64]
Row = dict[str, Any]


def read() -> list[Row]:
    with gzip.open(EVIDENCE, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Model:
    """Logistic regression. A history weighs by the root of its size, so that a long one does not decide alone."""

    def __init__(self, names: Sequence[str], rows: Matrix, target: Matrix, histories: Sequence[str]) -> None:
        self.names = list(names)
        sizes = {history: list(histories).count(history) for history in set(histories)}
        weight = np.array([1 / np.sqrt(sizes[history] / 100) for history in histories])
        mean, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-9
        scaled = np.c_[np.ones(len(rows)), (rows - mean) / spread]
        found = np.zeros(scaled.shape[1])
        decay = np.eye(len(found)) * DECAY
        decay[0, 0] = 1e-6
        for _ in range(STEPS):
            chance = 1 / (1 + np.exp(-np.clip(scaled @ found, -30, 30)))
            slope = scaled.T @ (weight * (target - chance)) - decay @ found
            curve = (scaled * (weight * chance * (1 - chance))[:, None]).T @ scaled + decay
            found += np.linalg.solve(curve, slope)
        self.weights = found[1:] / spread
        self.base = float(found[0] - (found[1:] * mean / spread).sum())

    def odds(self, rows: Matrix) -> Matrix:
        result: Matrix = self.base + rows @ self.weights
        return result

    def __str__(self) -> str:
        pairs = ", ".join(
            f'"{name}": {weight:.3g}' for name, weight in zip(self.names, self.weights, strict=True)
        )
        return f'{{"base": {self.base:.3g}, {pairs}}}'


def about(rows: list[Row]) -> Model:
    names = list(rows[0]["about"])
    used = [row for row in rows if row["kind"] != "later"]
    matrix = np.array([list(row["about"].values()) for row in used])
    target = np.array([float(row["kind"] == "first") for row in used])
    return Model(names, matrix, target, [row["history"] for row in used])


def files(rows: list[Row], kind: str) -> Model:
    used = [row for row in rows if row["kind"] == kind and row["files"]]
    names = [name for name in used[0]["names"] if name not in UNUSED[kind]]
    matrix = np.array([line for row in used for line in columns(row, names)])
    target = np.array([float(line[-1]) for row in used for line in row["files"]])
    return Model(names, matrix, target, [row["history"] for row in used for _ in row["files"]])


def columns(row: Row, names: Sequence[str]) -> list[list[float]]:
    places = [row["names"].index(name) for name in names]
    return [[line[place] for place in places] for line in row["files"]]


def judge(rows: list[Row]) -> None:
    """Each history is judged by models that were fitted on the others."""
    for row in rows:
        row["odds"], row["chances"] = 0.0, np.zeros(0)
    for history in sorted({row["history"] for row in rows}):
        others = [row for row in rows if row["history"] != history]
        gate, first, later = about(others), files(others, "first"), files(others, "later")
        for row in (row for row in rows if row["history"] == history):
            row["odds"] = float(gate.odds(np.array([list(row["about"].values())]))[0])
            model = later if row["kind"] == "later" else first
            if row["files"]:
                odds = model.odds(np.array(columns(row, model.names)))
                row["chances"] = 1 / (1 + np.exp(-odds))
    print("A first prompt is about this repository, by floor: of its own, of others")
    for floor in FLOORS:
        own, other = (
            np.mean([row["odds"] >= floor for row in rows if row["kind"] == kind])
            for kind in ("first", "other")
        )
        print(f"  {floor:5.1f}: {own:.3f}, {other:.3f}")
    print("Files of first prompts above the floor 0, by bar:")
    curve([row for row in rows if row["kind"] != "later"], lambda row: bool(row["odds"] >= 0))
    print("Files of later prompts that move to another topic, by bar:")
    curve([row for row in rows if row["kind"] == "later"], lambda row: bool(row["news"] >= MOVED))
    print("Files of any later prompt, by bar:")
    curve([row for row in rows if row["kind"] == "later"], lambda row: True)


def curve(rows: list[Row], speaks: Any) -> None:
    for bar in BARS:
        offered, used, told, others = 0, 0, 0, 0
        edge: list[int] = []
        for row in rows:
            chosen = [
                place for place in np.argsort(-row["chances"])[:MOST_FILES] if row["chances"][place] >= bar
            ]
            if not speaks(row) or not chosen:
                continue
            if row["kind"] == "other":
                others += 1
                continue
            told += 1
            offered += len(chosen)
            used += sum(row["files"][place][-1] for place in chosen)
            edge += [row["files"][place][-1] for place in chosen if row["chances"][place] < bar + 0.05]
        own = [row for row in rows if row["kind"] != "other"]
        foreign = len(rows) - len(own)
        print(
            f"  {bar:.2f}: {offered / len(own):.2f} files a prompt, {told / len(own):.3f} of prompts, precision"
            f" {used / max(offered, 1):.3f}, just above the bar {np.mean(edge or [0]):.3f}"
            + (f"; prompts of others {others / foreign:.3f}" if foreign else "")
        )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--judge", action="store_true", help="leave each history out, and print the curves")
    rows = read()
    if options.parse_args().judge:
        judge(rows)
        return
    print("ABOUT =", about(rows))
    print("FIRST =", files(rows, "first"))
    print("LATER =", files(rows, "later"))


if __name__ == "__main__":
    main()
