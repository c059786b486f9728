"""Fits the model that says whether a prompt is about a session, a commit or a document of the memory.

    .venv/bin/python scripts/train_telling.py            # fits on all evidence and prints the weights for hooks/telling.py
    .venv/bin/python scripts/train_telling.py --judge    # leaves each set of prompts out, and prints the curve
    .venv/bin/python scripts/train_telling.py --sizes    # the same for the second fit, by memory

bench/data/telling/evidence.jsonl.gz holds, for each prompt, the evidence for each source that was found, and which of them
are what the prompt is about (none for a prompt of another repository). bench/telling_evidence.py collects it.

A second fit adds what the size of the memory and of its sources means: sizes.jsonl.gz beside it, which
bench/telling_sizes.py collects, holds prompts asked of memories of 2 to 1,333 sources. The weights that are shipped are
those of the first fit, times what the second one gives to its log-odds, and those of the second one.
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

DATA = Path(__file__).parents[1] / "bench/data/telling"
EVIDENCE, SIZES = DATA / "evidence.jsonl.gz", DATA / "sizes.jsonl.gz"
SIZE_NAMES = ["odds", "other length", "session", "session length", "sources"]
STEPS, RATE, DECAY = 3000, 0.03, 0.3
Matrix = NDArray[np.float64]


def read(path: Path = EVIDENCE) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read_sizes() -> list[dict[str, Any]]:
    """The prompts of the second fit; without those whose source is not among what was found: they teach nothing."""
    prompts = []
    for row in read(SIZES):
        found = [
            {
                "odds": odds,
                "other length": 0.0 if session else length,
                "session": float(session),
                "session length": length if session else 0.0,
                "sources": float(np.log(1 + row["sources"])),
            }
            for odds, length, session, _ in row["found"]
        ]
        right = [place for place, one in enumerate(row["found"]) if one[3]]
        prompts.append({**row, "found": found, "right": right})
    return prompts


def taught(prompts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [prompt for prompt in prompts if prompt["found"] and bool(prompt["right"]) == prompt["wanted"]]


def first_fit() -> tuple[dict[str, float], float]:
    prompts = read()
    names = sorted(next(prompt["found"][0] for prompt in prompts if prompt["found"]))
    fit = Fit(prompts, names)
    return dict(zip(names, map(float, fit.weights), strict=True)), fit.none


def shipped() -> tuple[dict[str, float], float]:
    """The weights for hooks/telling.py: both fits in one."""
    first, _ = first_fit()
    second = Fit(taught(read_sizes()), SIZE_NAMES)
    added = dict(zip(SIZE_NAMES, map(float, second.weights), strict=True))
    scale = added.pop("odds")
    return {
        name: scale * first.get(name, 0.0) + added.get(name, 0.0) for name in {**first, **added}
    }, second.none


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


def judge_sizes() -> None:
    """Each set of prompts, repository and real memory is left out in turn: a third of them at a time."""
    prompts = read_sizes()
    groups = sorted({prompt["group"] for prompt in prompts})
    memories = sorted({prompt["memory"] for prompt in prompts} - {"open", "absent"})
    part = {name: number % 3 for names in (groups, memories) for number, name in enumerate(names)}
    results = []
    for left_out in range(3):
        fit = Fit(
            taught(
                [
                    one
                    for one in prompts
                    if part[one["group"]] != left_out and part.get(one["memory"]) != left_out
                ]
            ),
            SIZE_NAMES,
        )
        for one in prompts:
            if part[one["group"]] == left_out and part.get(one["memory"], left_out) == left_out:
                results.append((one, fit.chances(one)))
    print(
        "floor  told what it is about  told anything; told though nothing is about it: mean of the memories; each"
    )
    for floor in (0.15, 0.2, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7):
        wanted = [
            (1 - chances[-1] > floor, one["found"] and int(chances[:-1].argmax()) in one["right"])
            for one, chances in results
            if one["wanted"]
        ]
        silent = defaultdict(list)
        for one, chances in results:
            if not one["wanted"]:
                silent[one["memory"]].append(1 - chances[-1] > floor)
        each = {name: float(np.mean(told)) for name, told in sorted(silent.items())}
        mean = np.mean([share for name, share in each.items() if name != "absent"])
        right = np.mean([told and bool(first) for told, first in wanted])
        print(
            f"{floor:.2f}   {right:.2f}  {np.mean([told for told, _ in wanted]):.2f}  {mean:.3f}  "
            + ", ".join(f"{name} {share:.2f}" for name, share in each.items())
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--sizes", action="store_true")
    options = parser.parse_args()
    if options.judge:
        prompts = read()
        judge(prompts, sorted(next(prompt["found"][0] for prompt in prompts if prompt["found"])))
    elif options.sizes:
        judge_sizes()
    else:
        weights, none = shipped()
        print({name: round(weight, 3) for name, weight in weights.items()})
        print("NONE", round(none, 3))


if __name__ == "__main__":
    main()
