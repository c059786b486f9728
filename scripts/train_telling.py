"""Fits the model that says whether a prompt is about a session, a commit or a document of the memory.

    .venv/bin/python scripts/train_telling.py            # fits on all evidence and prints the weights for hooks/telling.py
    .venv/bin/python scripts/train_telling.py --judge    # leaves each set of prompts out, and prints the curve

bench/data/telling/evidence.jsonl.gz holds, for each prompt, the evidence for each source that was found, and which of them
are what the prompt is about (none for a prompt of another repository). bench/telling_evidence.py collects it.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

EVIDENCE = Path(__file__).parents[1] / "bench/data/telling/evidence.jsonl.gz"
STEPS, RATE, DECAY = 3000, 0.03, 0.3
FALSE_ALARMS = (0.10, 0.05, 0.03)
Matrix = NDArray[np.float64]


def read() -> list[dict[str, Any]]:
    with gzip.open(EVIDENCE, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


class Fit:
    """Weights of the evidence, and the log-odds that no source is meant."""

    def __init__(self, prompts: list[dict[str, Any]], names: list[str]) -> None:
        self.names = names
        rows = [self.matrix(prompt) for prompt in prompts if prompt["found"]]
        truths = [prompt["right"] for prompt in prompts if prompt["found"]]
        everything = np.concatenate(rows)
        mean, spread = everything.mean(axis=0), everything.std(axis=0) + 1e-9
        scaled = (everything - mean) / spread
        owner = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        starts = np.cumsum([0, *(len(row) for row in rows)])
        target, silent = np.zeros(len(everything)), np.zeros(len(rows))
        for number, right in enumerate(truths):
            for place in right:
                target[starts[number] + place] = 1 / len(right)
            silent[number] = float(not right)
        weights, none = np.zeros(len(names)), 0.0
        first, second = np.zeros(len(names) + 1), np.zeros(len(names) + 1)
        for step in range(1, STEPS + 1):
            odds = scaled @ weights
            top = np.maximum(np.maximum.reduceat(odds, starts[:-1]), none)
            shares = np.exp(odds - top[owner])
            nothing = np.exp(none - top)
            sums = np.add.reduceat(shares, starts[:-1]) + nothing
            gradient = np.append(
                scaled.T @ (shares / sums[owner] - target) + 2 * DECAY * weights,
                (nothing / sums - silent).sum(),
            )
            first, second = 0.9 * first + 0.1 * gradient, 0.999 * second + 0.001 * gradient**2
            change = RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
            weights, none = weights - change[:-1], none - change[-1]
        self.weights = weights / spread
        self.none = float(none + (self.weights * mean).sum())

    def matrix(self, prompt: dict[str, Any]) -> Matrix:
        return np.array([[found[name] for name in self.names] for found in prompt["found"]])

    def chances(self, prompt: dict[str, Any]) -> Matrix:
        """The chance of each source, and last that of none."""
        if not prompt["found"]:
            return np.array([1.0])
        odds = np.append(self.matrix(prompt) @ self.weights, self.none)
        shares = np.exp(odds - odds.max())
        result: Matrix = shares / shares.sum()
        return result


def judge(prompts: list[dict[str, Any]], names: list[str]) -> None:
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for prompt in prompts:
        groups[prompt["group"]].append(prompt)
    asked: list[tuple[str, float, bool, bool]] = []
    other: list[float] = []
    for name, group in sorted(groups.items()):
        fit = Fit([prompt for prompt in prompts if prompt["group"] != name], names)
        for prompt in group:
            chances = fit.chances(prompt)
            if prompt["kind"] == "other":
                other.append(1 - chances[-1])
                continue
            order = np.argsort(-chances[:-1])
            right = [int(place) in prompt["right"] for place in order]
            asked.append((prompt["kind"], 1 - chances[-1], any(right[:1]), any(right[:2])))
    for kind in sorted({row[0] for row in asked}):
        some = [row for row in asked if row[0] == kind]
        print(
            f"{kind:8s} n {len(some)}  first {np.mean([r[2] for r in some]):.2f}  among two {np.mean([r[3] for r in some]):.2f}"
        )
    print("floor  told of others  kept of " + ", ".join(sorted({row[0] for row in asked})))
    for share in (0.2, 0.1, 0.05, 0.03, 0.02, 0.01):
        floor = float(np.quantile(other, 1 - share))
        kept = [
            np.mean([row[1] > floor for row in asked if row[0] == kind])
            for kind in sorted({r[0] for r in asked})
        ]
        print(f"{floor:.3f}  {share:.2f}           {'  '.join(f'{value:.2f}' for value in kept)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--judge", action="store_true")
    prompts = read()
    names = sorted(next(prompt["found"][0] for prompt in prompts if prompt["found"]))
    if parser.parse_args().judge:
        judge(prompts, names)
        return
    fit = Fit(prompts, names)
    print({name: round(float(weight), 3) for name, weight in zip(names, fit.weights, strict=True)})
    print("NONE", round(fit.none, 3))
    other = [1 - fit.chances(prompt)[-1] for prompt in prompts if prompt["kind"] == "other"]
    print("floors", {share: round(float(np.quantile(other, 1 - share)), 3) for share in FALSE_ALARMS})


if __name__ == "__main__":
    main()
