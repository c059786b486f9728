"""Trains the model that says which sentences of a dialogue a later session should know.

    .venv/bin/python scripts/train_statements.py            # trains on all labels and writes the model
    .venv/bin/python scripts/train_statements.py --judge    # says how well it does on each history that is left out

The labels are in bench/data/statements/labels.jsonl.gz: for each sentence its history, a hash of its text, its place, what
the labeller said, and the hashed features that the model sees. The text of other people's conversations is not there.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from array import array
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
from holdfast.language.statement_model import HEADS, KINDS, SCALE, SIZE, STATUSES

LABELS = Path(__file__).parents[1] / "bench/data/statements/labels.jsonl.gz"
MODEL = Path(__file__).parents[1] / "src/holdfast/language/statement_model.bin"
CARRIES = {1: 0.4, 2: 0.9, 3: 1.0}  # how much a sentence of this worth carries, if it was agreed
STEPS, RATE, DECAY = 150, 0.05, 2e-3
Matrix = NDArray[np.float64]


class Examples:
    """Labelled sentences as rows of hashed features, filled up with a feature that has no weight."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows
        widest = max(len(row["features"]) for row in rows)
        self.features = np.full((len(rows), widest), SIZE)
        for at, row in enumerate(rows):
            self.features[at, : len(row["features"])] = row["features"]

    def targets(self, head: str) -> tuple[Matrix, Matrix]:
        """For each row the target and its weight; weight 0 means that the row says nothing about this head."""
        target, weight = np.zeros(len(self.rows)), np.ones(len(self.rows))
        for at, row in enumerate(self.rows):
            kind, status = row["kind"], row["status"]
            if head == "carries":
                target[at] = CARRIES[row["worth"]] if kind != "none" and status == "agreed" else 0.0
            elif kind == "none":
                weight[at] = 0.0
            elif head in KINDS:
                target[at] = float(kind == head)
            else:
                target[at] = float(status == head)
                weight[at] = 1.0 if status == "agreed" else 3.0  # the others are rare and matter most
        return target, weight


def train(examples: Examples) -> Matrix:
    """The weights of each head: logistic regression with all rows at once, so the result is always the same."""
    return np.array([_train_head(examples, head)[:SIZE] for head in HEADS])


def _train_head(examples: Examples, head: str) -> Matrix:
    target, importance = examples.targets(head)
    known = np.flatnonzero(importance)
    features, target, importance = examples.features[known], target[known], importance[known]
    places, width = features.ravel(), features.shape[1]
    weights, mean, square = np.zeros(SIZE + 1), np.zeros(SIZE + 1), np.zeros(SIZE + 1)
    for step in range(1, STEPS + 1):
        error = importance * (1 / (1 + np.exp(-weights[features].sum(axis=1))) - target)
        gradient = np.bincount(places, np.repeat(error, width), SIZE + 1) / len(known) + DECAY * weights
        gradient[SIZE] = 0.0
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return weights


def read() -> list[dict[str, Any]]:
    with gzip.open(LABELS, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def store(weights: Matrix) -> bytes:
    whole = np.clip(np.rint(weights * SCALE), -32767, 32767).astype("<i2")
    return array("h", whole.ravel().tolist()).tobytes()


def judge(rows: list[dict[str, Any]]) -> None:
    """Leaves each history out once. Prints how well what carries something is told from what does not."""
    histories: dict[str, list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        histories[str(row["history"])].append(at)
    print(
        "history, sentences, carrying, average precision, area under the curve, kind right, rejected found / told wrong"
    )
    sums = []
    for history, places in sorted(histories.items()):
        left = set(places)
        weights = train(Examples([row for at, row in enumerate(rows) if at not in left]))
        scores = np.array([weights[:, row["features"]].sum(axis=1) for row in (rows[at] for at in places)])
        truth = np.array([everything_target(rows[at]) for at in places])
        ranked = truth[np.argsort(-scores[:, 0])]
        precision = float((np.cumsum(ranked) / np.arange(1, len(ranked) + 1))[ranked > 0].mean())
        below = np.argsort(np.argsort(scores[:, 0]))
        positive, negative = truth.sum(), len(truth) - truth.sum()
        area = float((below[truth > 0].sum() - positive * (positive - 1) / 2) / max(positive * negative, 1))
        kinds = [
            KINDS[int(scores[n, 1 : 1 + len(KINDS)].argmax())] == rows[at]["kind"]
            for n, at in enumerate(places)
            if truth[n]
        ]
        first = 1 + len(KINDS)
        statuses = [STATUSES[int(scores[n, first:].argmax())] for n in range(len(places))]
        rejected = [
            n
            for n, at in enumerate(places)
            if rows[at]["status"] in ("rejected", "superseded") and rows[at]["kind"] != "none"
        ]
        found = sum(statuses[n] in ("rejected", "superseded") for n in rejected)
        told = sum(scores[n, 0] > 0 and statuses[n] == "agreed" for n in rejected)
        print(
            f"{history:34s} {len(places):5d} {int(positive):5d}  {precision:.2f}  {area:.2f}  {np.mean(kinds):.2f}  {found}/{len(rejected)} / {told}"
        )
        sums.append((len(places), precision, area))
    total = sum(n for n, *_ in sums)
    print("mean", *(round(sum(n * row[at] for n, *row in sums) / total, 3) for at in (0, 1)))


def everything_target(row: dict[str, Any]) -> int:
    return int(row["kind"] != "none" and row["status"] == "agreed" and int(str(row["worth"])) >= 2)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--judge", action="store_true")
    rows = read()
    if parser.parse_args().judge:
        judge(rows)
    else:
        MODEL.write_bytes(store(train(Examples(rows))))
        print(f"{len(rows):,} sentences, {MODEL.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
