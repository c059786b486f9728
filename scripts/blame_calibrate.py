"""Fits the weights of provenance/confidence.py to labelled lines, and shows how well the probabilities hold.

    .venv/bin/python scripts/blame_calibrate.py FEATURES...

FEATURES are what `blame_eval.py measure --features` wrote. A line of a person or a bot counts as wrong whoever is named.
The table is made by cross-validation over commits: no line is judged by weights that its commit took part in.
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

import numpy as np

from holdfast.provenance.confidence import HIGHEST, features
from holdfast.provenance.match import Evidence

FOLDS = 5
RIDGE = 1.0
LABELLED = ("agent", "mixed", "person", "bot")


def load(paths: list[str]) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray, list[str]]:
    names: list[str] = []
    rows, right, folds, kinds = [], [], [], []
    for path in paths:
        for text in Path(path).read_text(encoding="utf-8").splitlines():
            row = json.loads(text)
            if "right" in row and row["kind"] in LABELLED:
                values = features(Evidence(**{name: row[name] for name in Evidence.__struct_fields__}))
                names = list(values)
                rows.append(list(values.values()))
                right.append(float(row["right"]))
                folds.append(int(sha256(row["sha"].encode()).hexdigest(), 16) % FOLDS)
                kinds.append(row["kind"])
    return names, np.array(rows), np.array(right), np.array(folds), kinds


def fit(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Logistic regression by Newton's method."""
    weights = np.zeros(x.shape[1])
    for _ in range(40):
        chance = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        gradient = x.T @ (y - chance) - RIDGE * weights
        curvature = (x * (chance * (1 - chance))[:, None]).T @ x + RIDGE * np.eye(len(weights))
        weights += np.linalg.solve(curvature, gradient)
    return weights


def main() -> None:
    names, x, y, folds, kinds = load(sys.argv[1:])
    chance = np.zeros(len(y))
    for fold in range(FOLDS):
        inside = folds != fold
        chance[~inside] = 1 / (1 + np.exp(-np.clip(x[~inside] @ fit(x[inside], y[inside]), -30, 30)))
    chance = np.minimum(chance, HIGHEST)
    person = np.array([kind in ("person", "bot") for kind in kinds])
    print(f"{len(y)} matched lines, {int(y.sum())} right")
    print(f"{'stated':>12}{'lines':>8}{'mean':>8}{'right':>8}{'without people':>16}")
    edges = (0, 0.25, 0.5, 0.65, 0.75, 0.85, 0.9, 0.95, 0.98, 1.01)
    for low, high in pairwise(edges):
        here = (chance >= low) & (chance < high)
        if here.any():
            agents = here & ~person
            share = y[agents].mean() if agents.any() else float("nan")
            print(
                f"{low:>6.2f}-{min(high, 1):.2f}{here.sum():>8}{chance[here].mean():>8.3f}{y[here].mean():>8.3f}{share:>16.3f}"
            )
    for least in (0.5, 0.65, 0.75, 0.85, 0.9):
        named = chance >= least
        agents = named & ~person
        lost = 1 - (agents & (y > 0)).sum() / max((y > 0).sum(), 1)
        print(
            f"from {least}: precision {y[agents].mean():.4f}, right lines lost {lost:.4f}, people named {int((named & person).sum())}"
        )
    weights = fit(x, y)
    print("WEIGHTS = {")
    for name, weight in zip(names, weights, strict=True):
        print(f'    "{name}": {weight:.2f},')
    print("}")


if __name__ == "__main__":
    main()
