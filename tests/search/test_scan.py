"""The nearest of many vectors: exact up to a hundred thousand, nearly so beyond, and never by the place of a row."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

import holdfast.search
from holdfast.search import Chunk, Index, scan, sqlite_source
from holdfast.search.embed.static import StaticTable
from holdfast.search.vectors import VectorFile

WORDS = [
    "walrus",
    "harbor",
    "lantern",
    "tide",
    "anchor",
    "keel",
    "sail",
    "rope",
    "gull",
    "storm",
    "chart",
    "pilot",
    "reef",
    "buoy",
    "net",
]


def bytes_of(rows: int, seed: int = 2) -> scan.Bytes:
    """Like the shipped table's: the first values are the largest."""
    chance = numpy.random.default_rng(seed)
    spread = 2 + 40 * numpy.exp(-numpy.arange(384) / 80)
    return numpy.clip(numpy.rint(chance.normal(0, 1, (rows, 384)) * spread), -127, 127).astype(numpy.int8)


def test_products_are_exact_with_one_thread_and_several(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = bytes_of(5003)
    vector = bytes_of(1, seed=3)[0].astype(numpy.float32)
    alone = scan.products(matrix, vector)
    monkeypatch.setattr(scan, "_ROWS_FOR_A_THREAD", 1000)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    assert (scan.products(matrix, vector) == alone).all()
    assert (alone == matrix.astype(numpy.int64) @ vector.astype(numpy.int64)).all()
    some = numpy.array([4000, 7, 7, 5002])
    assert (scan.products(matrix, vector, some) == alone[some]).all()


def test_rows_that_are_equally_near_are_chosen_together() -> None:
    values = numpy.array([5, 9, 5, 1, 5, 7], dtype=numpy.float32)
    assert scan.largest(values, 1).tolist() == [1]
    assert scan.largest(values, 3).tolist() == [0, 1, 2, 4, 5], "one of three fives would be chance"
    assert scan.largest(values, 6).tolist() == [0, 1, 2, 3, 4, 5]
    same = numpy.full(10_000, 3, dtype=numpy.float32)
    same[9999] = 4
    chosen = scan.largest(same, 10).tolist()
    assert 9999 in chosen and len(chosen) < 100


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """What begins at a hundred thousand rows begins at a thousand."""
    monkeypatch.setattr(scan, "EXHAUSTIVE", 1000)
    monkeypatch.setattr(scan, "_KEPT_LEAST", 400)


@pytest.mark.usefixtures("small_steps")
def test_two_steps_find_what_one_finds() -> None:
    matrix = bytes_of(20_000)
    leading = scan.Leading(128)
    for seed in range(20, 30):
        query = bytes_of(1, seed)[0].astype(numpy.float32)
        exact, values = scan.nearest_of_all(matrix, query, 50, None)
        found, theirs = scan.nearest(matrix, query, 50, leading)
        best = exact[numpy.argsort(-values)]
        assert set(best[:10].tolist()) <= set(found.tolist())
        assert len(set(best.tolist()) & set(found.tolist())) >= 45
        products = dict(zip(exact.tolist(), values.tolist(), strict=True))
        assert all(
            products[row] == value for row, value in zip(found, theirs, strict=True) if row in products
        )


@pytest.mark.usefixtures("small_steps")
def test_two_steps_choose_the_same_rows_in_whatever_order_they_lie() -> None:
    matrix, query = bytes_of(5000), bytes_of(1, 9)[0].astype(numpy.float32)
    order = numpy.random.default_rng(4).permutation(len(matrix))
    found, _ = scan.nearest(matrix, query, 50, scan.Leading(128))
    shuffled, _ = scan.nearest(matrix[order], query, 50, scan.Leading(128))
    assert sorted(order[shuffled].tolist()) == sorted(found.tolist())


@pytest.mark.usefixtures("small_steps")
def test_rows_added_later_are_found_and_emptied_ones_are_not(tmp_path: Path) -> None:
    file = VectorFile(tmp_path / "x.vec", 384, 128)
    rows = bytes_of(3000)
    file.create()
    file.write((number, rows[number - 1].tobytes()) for number in range(1, 2001))
    assert 1700 in file.nearest(rows[1699].tobytes(), 10, 2000, None)
    file.write((number, rows[number - 1].tobytes()) for number in range(2001, 3001))
    assert 2700 in file.nearest(rows[2699].tobytes(), 10, 3000, None)
    assert 2700 not in file.nearest(rows[2699].tobytes(), 10, 2500, None)
    file.blank([1700])
    assert 1700 not in file.nearest(rows[1699].tobytes(), 10, 3000, None)
    file.close()


def notes(count: int) -> list[Chunk]:
    chance = numpy.random.default_rng(6)
    return [
        Chunk(
            id=f"n{number}",
            text=" ".join(WORDS[place] for place in chance.integers(0, len(WORDS), 7)) + f" {number}",
            kind="fact" if number % 7 == 0 else "history",
            project="rare" if number % 97 == 0 else "shop",
            when=float(number),
        )
        for number in range(count)
    ]


@pytest.mark.promise("R6")
@pytest.mark.usefixtures("small_steps")
def test_a_large_index_made_again_in_another_order_gives_the_same_answers(tmp_path: Path) -> None:
    chunks = notes(1500)
    asked = []
    for number, ordered in enumerate((chunks, chunks[::-1])):
        with holdfast.search.open(tmp_path / f"{number}.db") as index:
            index.put_many(ordered)
            asked.append([index.search(f"{one} {other}", k=20) for one in WORDS[:5] for other in WORDS[9:]])
    assert asked[0] == asked[1]


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize(
    "scope", [{"kinds": ["fact"]}, {"project": "rare"}, {"before": 1400.0}, {"kinds": ["nothing"]}]
)
def test_a_scope_in_a_large_index_is_answered_as_if_it_were_all_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: dict[str, object]
) -> None:
    def ask(index: Index) -> list[list[tuple[str, str]]]:
        return [
            [(hit.id, hit.why) for hit in index.search(question, k=20, **scope)]  # type: ignore[arg-type]
            for question in ("old ships at sea", "walrus tide", "a light in the night")
        ]

    with holdfast.search.open(tmp_path / "large.db") as index:
        index.put_many(notes(1500))
        listed = ask(index)
        monkeypatch.setattr(sqlite_source, "_BEFORE_SCOPE", 500)
        assert ask(index) == listed


def test_the_shipped_table_says_most_with_its_first_values() -> None:
    texts = [" ".join(chunk.text.split()[:4]) for chunk in notes(200)]
    vectors = numpy.array(
        [numpy.frombuffer(row, numpy.int8) for row in StaticTable().embed(texts)], dtype=float
    )
    assert (vectors[:, : StaticTable.leading] ** 2).sum() > 0.6 * (vectors**2).sum()
