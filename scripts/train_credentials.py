"""Trains the model that says which runs of characters are credentials.

    .venv/bin/python scripts/train_credentials.py                  # trains and writes the model
    .venv/bin/python scripts/train_credentials.py --judge          # how well it does on kinds and wrappers left out
    .venv/bin/python scripts/train_credentials.py --mine FOLDER…   # adds ordinary runs of real files to the labels

The credentials and most look-alikes are made by scripts/credential_labels.py. What real files hold beside them is in
bench/data/credentials/ordinary.bin.gz: hashed features of runs that are no credentials, no text.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from array import array
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from zlib import crc32

import numpy as np
from credential_labels import Example, examples
from numpy.typing import NDArray

from holdfast.guard import credential_model as model
from holdfast.guard.broken_values import chains
from holdfast.guard.redact import Redactor

sys.path[:0] = [str(Path(__file__).parents[1] / "src"), str(Path(__file__).parent)]


ROOT = Path(__file__).parents[1]
MODEL = ROOT / "src/holdfast/guard/credential_model.bin"
MINED = ROOT / "bench/data/credentials/ordinary.bin.gz"
SEED, COUNT = 20, 18_000
STEPS, RATE, DECAY = 160, 0.06, 4e-5
MOST_OF_A_FILE = 10
LONGEST_FILE = 300_000
REAL_WEIGHT = 2.0  # of a run in a real file
Rows = list[list[int]]


def rows_of(found: Iterable[Example]) -> Iterator[tuple[Example, list[int], bool]]:
    """The runs of each example as the redactor sees them: those that touch the value, and others."""
    for example in found:
        text = example.text
        for start, end in model.runs(text):
            inside = max(0, min(end, example.end) - max(start, example.start))
            whole = inside * 2 >= min(end - start, example.end - example.start)
            row = model.features(text[start:end], text[max(0, start - 80) : start], text[end : end + 30])
            # A piece alone is no example of either.
            if row and not (example.gap and inside):
                yield example, row, example.secret and whole
        for chain in chains(text):
            inside = sum(max(0, min(high, example.end) - max(low, example.start)) for low, high in chain)
            length = sum(high - low for low, high in chain)
            if inside * 4 >= length * 3 and (row := row_of_chain(text, chain)):
                yield example, row, example.secret


def row_of_chain(text: str, chain: list[tuple[int, int]]) -> list[int] | None:
    """The features of pieces put together."""
    values = [text[low:high] for low, high in chain]
    gaps = [text[one[1] : other[0]] for one, other in pairwise(chain)]
    (start, _), (_, end) = chain[0], chain[-1]
    before, after = text[max(0, start - model.BEFORE) : start], text[end : end + model.AFTER]
    return model.features("".join(values), before, after, values, gaps)


def packed(rows: Rows) -> NDArray[np.int64]:
    """Rows of features, filled up with one that has no weight."""
    width = max(map(len, rows))
    table = np.full((len(rows), width), model.SIZE)
    for at, row in enumerate(rows):
        table[at, : len(row)] = row
    return table


def train(rows: Rows, secret: Iterable[bool], weight: Iterable[float]) -> NDArray[np.float64]:
    """Logistic regression with all rows at once, so that the result is always the same."""
    table, target = packed(rows), np.array(list(secret), dtype=np.float64)
    importance = np.array(list(weight))
    importance /= importance.mean()
    places, width = table.ravel(), table.shape[1]
    weights, mean, square = (np.zeros(model.SIZE + 1) for _ in range(3))
    for step in range(1, STEPS + 1):
        chance = 1 / (1 + np.exp(-np.clip(weights[table].sum(axis=1), -40, 40)))
        error = importance * (chance - target)
        gradient = np.bincount(places, np.repeat(error, width), model.SIZE + 1) / len(rows) + DECAY * weights
        gradient[model.SIZE] = 0.0
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.999 * square + 0.001 * gradient**2
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
    return weights[: model.SIZE]


def store(weights: NDArray[np.float64]) -> bytes:
    """The weights as whole numbers."""
    return np.clip(np.rint(weights * model.SCALE), -32768, 32767).astype("<i2").tobytes()


def mined() -> Rows:
    """The features of runs from real files that are no credentials."""
    if not MINED.is_file():
        return []
    numbers = array("H")
    numbers.frombytes(gzip.decompress(MINED.read_bytes()))
    rows: Rows = []
    at = 0
    while at < len(numbers):
        rows.append(list(numbers[at + 1 : at + 1 + numbers[at]]))
        at += numbers[at] + 1
    return rows


def forget_the_model() -> None:
    """Labels must not depend on the weights that are trained from them."""
    model.weights = lambda: array("h", bytes(2 * model.SIZE))  # type: ignore[assignment]
    model.LEAST = -1.0


def mine(folders: list[str]) -> None:
    """Write the features of runs in real files, without what the rules already find; each run once."""
    redactor, known, kept = Redactor(), set[int](), array("H")
    rows = 0
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            if not path.is_file() or ".git/" in str(path) or path.stat().st_size > LONGEST_FILE:
                continue
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError):
                continue
            few = 0
            spots = list(model.runs(text))
            # Spread over the file, so that a lock file does not drown the rest.
            for start, end in spots[:: max(1, len(spots) // (3 * MOST_OF_A_FILE))]:
                sign = crc32(text[start:end].encode())
                if sign in known or few >= MOST_OF_A_FILE:
                    continue
                near = text[max(0, start - 200) : end + 60]
                if any(
                    f.start < end - start + min(start, 200) and f.end > min(start, 200)
                    for f in redactor.findings(near)
                ):
                    continue
                row = model.features(text[start:end], text[max(0, start - 80) : start], text[end : end + 30])
                if row:
                    known.add(sign)
                    few += 1
                    rows += 1
                    kept.append(len(row))
                    kept.extend(row)
            spread = list(chains(text))
            for chain in spread[:: max(1, len(spread) // MOST_OF_A_FILE)]:
                near = text[max(0, chain[0][0] - 200) : chain[-1][1] + 60]
                row = row_of_chain(text, chain)
                if row and not redactor.findings(near):
                    rows += 1
                    kept.append(len(row))
                    kept.extend(row)
    MINED.parent.mkdir(parents=True, exist_ok=True)
    MINED.write_bytes(gzip.compress(kept.tobytes(), mtime=0))
    print(f"{rows} runs and chains")


def labels() -> tuple[list[Example], Rows, list[bool]]:
    found = list(rows_of(examples(SEED, COUNT)))
    return (
        [example for example, _, _ in found],
        [row for _, row, _ in found],
        [secret for _, _, secret in found],
    )


def fitted() -> NDArray[np.float64]:
    _, rows, secret = labels()
    real = mined()
    return train(
        [*rows, *real], [*secret, *[False] * len(real)], [1.0] * len(rows) + [REAL_WEIGHT] * len(real)
    )


def _fold(name: str) -> int:
    return crc32(name.encode()) % 5 if name else -1


def judge() -> None:
    """Leaves a fifth of the kinds, of the wrappers and of the gaps out, five times."""
    found, rows, secret = labels()
    real = mined()
    marks: list[tuple[float, bool, str]] = []
    for part in range(5):
        train_at = [
            i
            for i, e in enumerate(found)
            if _fold(e.kind) != part != _fold(e.wrapper) and _fold(e.gap) != part
        ]
        test_at = [
            i
            for i, e in enumerate(found)
            if _fold(e.kind) == part == _fold(e.wrapper) and (not e.gap or _fold(e.gap) == part)
        ]
        real_train = [row for i, row in enumerate(real) if i * 5 // max(1, len(real)) != part]
        real_test = [row for i, row in enumerate(real) if i * 5 // max(1, len(real)) == part]
        weights = train(
            [*(rows[i] for i in train_at), *real_train],
            [*(secret[i] for i in train_at), *[False] * len(real_train)],
            [1.0] * len(train_at) + [REAL_WEIGHT] * len(real_train),
        )
        marks += ((float(weights[rows[i]].sum()), secret[i], found[i].kind) for i in test_at)
        marks += ((float(weights[row].sum()), False, "real") for row in real_test)
    for bar in (0, 1, 2, 3, 4, 5):
        found_share = np.mean([value >= bar for value, is_secret, _ in marks if is_secret])
        wrong = [value >= bar for value, is_secret, kind in marks if not is_secret and kind != "real"]
        really = [value >= bar for value, _, kind in marks if kind == "real"]
        print(
            f"bar {bar}: found {found_share:.3f} of {sum(s for _, s, _ in marks)}, look-alikes {np.mean(wrong):.4f} of {len(wrong)}, real runs {sum(really)} of {len(really)}"
        )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--judge", action="store_true")
    options.add_argument("--mine", nargs="+", metavar="FOLDER")
    chosen = options.parse_args()
    forget_the_model()
    if chosen.mine:
        mine(chosen.mine)
    elif chosen.judge:
        judge()
    else:
        MODEL.write_bytes(store(fitted()))


if __name__ == "__main__":
    main()
