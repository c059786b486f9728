"""When nothing fits: how often `search` refuses what nothing answers, and hardly ever what something does."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from bench import retrieval_sets
from bench.retrieval_sets import SETS, RetrievalSet
from bench.search import opened, report
from holdfast.search import Chunk, Index

_MADE_UP = 100  # questions for each set
_CONSONANTS, _VOWELS = "bcdfghjklmnpqrstvwxz", "aeiou"
# On other subjects than chats about daily life, code, or a developer's beliefs have to do with.
_FAR = [
    "nebula telescope",
    "lava eruption",
    "coral reef snorkeling",
    "regatta harbour",
    "pharaoh tomb",
    "gothic cathedral",
    "kiln glaze",
    "avalanche",
    "camel caravan",
    "soprano aria",
    "beekeeping",
    "ivory elephant",
    "penalty goalkeeper",
    "jasmine perfume",
    "chess gambit",
]


def bench_search_fitting(folder: Path, leaving_out: str = "") -> bool:
    if not SETS.is_dir():
        return True
    made_up: list[bool] = []
    far: list[bool] = []
    answered: list[bool] = []
    for found in (*retrieval_sets.retrieval_sets(), retrieval_sets.beliefs()):
        if found.name == leaving_out:
            continue
        with opened(folder / f"{found.name}-fitting.db") as index:
            index.put_many(
                Chunk(id=text.id, text=text.text, when=text.at, title=text.title) for text in found.texts
            )
            made_up += [not index.search(query, fitting=True) for query in _words_that_are_none()]
            far += [not index.search(query, fitting=True) for query in _FAR]
            answered += _same_answers(index, found)
    ok = report(
        "search_refuses_made_up_words", sum(made_up) / len(made_up), "share", 0.75, least=True, n=len(made_up)
    )
    report("search_refuses_other_subjects", sum(far) / len(far), "share", None, n=len(far))
    same = sum(answered) / len(answered)
    return report("search_keeps_right_answers", same, "share", 0.99, least=True, n=len(answered)) and ok


def _same_answers(index: Index, found: RetrievalSet) -> Iterator[bool]:
    """For each question with a right answer among the first five, whether asking for what fits changes nothing."""
    for asked in found.questions:
        plain, fitting = (
            index.search(asked.query, 5, asked.now, before=asked.now, fitting=fitting)
            for fitting in (False, True)
        )
        if any(hit.id in asked.gold for hit in plain):
            yield [hit.id for hit in plain] == [hit.id for hit in fitting]


def _words_that_are_none() -> Iterator[str]:
    chance = random.Random(3)

    def word() -> str:
        letters = (
            chance.choice(_CONSONANTS) + chance.choice(_VOWELS if chance.random() < 0.7 else _CONSONANTS)
            for _ in range(chance.randint(2, 4))
        )
        return "".join(letters)

    for _ in range(_MADE_UP):
        yield " ".join(word() for _ in range(chance.randint(1, 3)))
