"""Trains the model that says which requests of a session begin a task.

    .venv/bin/python scripts/train_tasks.py            # trains on all labels and writes the model
    .venv/bin/python scripts/train_tasks.py --judge    # says how well it counts in each repository that is left out

The labels are in bench/data/verdicts/labels.jsonl.gz: for each session its repository, a hash of its file's name, its
place in the file, what the readers said (outcome, kind, fewest and most tasks), and the features of its requests. The
text of other people's sessions is not there. `--record LABELS` makes that file from labels that name transcripts.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
from holdfast.sessions.task_model import counted, never_begins

ROOT = Path(__file__).parents[1]
LABELS = ROOT / "bench/data/verdicts/labels.jsonl.gz"
MODEL = ROOT / "src/holdfast/sessions/task_model.json"
STEPS, RATE, DECAY = 300, 0.05, 3e-3
TO_THE_MIDDLE = 0.1  # how much the middle of the readers' range pulls
Row = dict[str, Any]
Vector = NDArray[np.float64]


class Examples:
    """The requests of labelled sessions as rows of a matrix, and the session of each."""

    def __init__(self, rows: Sequence[Row], names: Sequence[str]) -> None:
        column = {name: at for at, name in enumerate(names)}
        requests = [
            (at, request)
            for at, row in enumerate(rows)
            for request in row["requests"]
            if not never_begins(request)
        ]
        self.features = np.zeros((len(requests), len(names)))
        for number, (_, request) in enumerate(requests):
            for name, value in request.items():
                if name in column:
                    self.features[number, column[name]] = value
        self.session = np.array([at for at, _ in requests], dtype=int)
        self.first = np.array([row["first"] for row in rows], dtype=float)
        self.fewest = np.array([row["tasks"][0] for row in rows], dtype=float)
        self.most = np.array([row["tasks"][1] for row in rows], dtype=float)


def train(rows: Sequence[Row]) -> dict[str, float]:
    """The weight of each feature. All rows at once, so the result is always the same."""
    names = sorted({name for row in rows for request in row["requests"] for name in request})
    examples = Examples(rows, names)
    weights, mean, square = (np.zeros(len(names)) for _ in range(3))
    for step in range(1, STEPS + 1):
        gradient = _gradient(examples, weights)
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return {name: round(float(weight), 3) for name, weight in zip(names, weights, strict=True)}


def _gradient(examples: Examples, weights: Vector) -> Vector:
    """Of the squared distance between the sum of the probabilities and the readers' range; large sessions weigh less."""
    chance = 1 / (1 + np.exp(-(examples.features @ weights)))
    number = examples.first + np.bincount(examples.session, chance, len(examples.first))
    error = np.minimum(number - examples.fewest, 0) + np.maximum(number - examples.most, 0)
    error += TO_THE_MIDDLE * (number - (examples.fewest + examples.most) / 2)
    slope = (error / (1 + examples.most))[examples.session] * chance * (1 - chance)
    result: Vector = examples.features.T @ slope / len(examples.first) + DECAY * weights
    return result


def left_out(rows: Sequence[Row]) -> Iterator[tuple[str, list[bool]]]:
    """For each repository whether its sessions are counted right by a model that never saw it."""
    by_name: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_name[repository(row)].append(row)
    for name, own in sorted(by_name.items()):
        weights = train([row for row in rows if repository(row) != name])
        yield name, [row["tasks"][0] <= number_of(row, weights) <= row["tasks"][1] for row in own]


def repository(row: Row) -> str:
    """The name without the owner and the agent: sessions of one project count as one repository."""
    return str(row["repo"]).rpartition("/")[2]


def number_of(row: Row, weights: dict[str, float]) -> int:
    return int(row["first"]) + len(counted(row["requests"], weights))


def read() -> list[Row]:
    with gzip.open(LABELS, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def record(labels: Path) -> None:
    sys.path.insert(0, str(ROOT))
    from bench.score.verdicts import recorded

    lines = [json.dumps(row, ensure_ascii=False) for row in recorded(labels)]
    LABELS.parent.mkdir(parents=True, exist_ok=True)
    LABELS.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0))
    print(f"{len(lines)} sessions, {LABELS.stat().st_size:,} bytes")


def judge(rows: Sequence[Row]) -> None:
    every: list[bool] = []
    for name, right in left_out(rows):
        every += right
        print(f"{name:34s} {sum(right):4d} of {len(right)}")
    print(f"{'all':34s} {sum(every):4d} of {len(every)}: {sum(every) / len(every):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--judge", action="store_true")
    parser.add_argument("--record", type=Path, metavar="LABELS")
    options = parser.parse_args()
    if options.record:
        record(options.record)
    if options.judge:
        judge(read())
    elif not options.record:
        weights = train(read())
        MODEL.write_text(json.dumps(weights, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"{len(weights)} weights")


if __name__ == "__main__":
    main()
