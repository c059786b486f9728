"""Answers are at least as good as those of FTS5 alone, on real questions where they stand beside the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench import retrieval_sets
from bench.retrieval_sets import RetrievalSet, mean, measure
from bench.search import answers, plain_answers


@pytest.mark.slow
@pytest.mark.promise("R1")
@pytest.mark.parametrize(
    "make",
    [
        lambda: retrieval_sets.longmemeval(users_only=True),
        lambda: retrieval_sets.coding_sessions(with_files=False),
        lambda: retrieval_sets.coding_sessions(with_files=True),
    ],
    ids=["chat", "coding", "coding with files"],
)
def test_it_never_loses_to_words_alone(make: object, shared: Path, tmp_path: Path) -> None:
    assert callable(make)
    found: RetrievalSet = make()
    ours = measure(answers(found, tmp_path), found.questions)
    plain = measure(plain_answers(found), found.questions)
    for name, mine, theirs in zip(ours._fields, ours, plain, strict=True):
        assert mean(mine) >= mean(theirs), name
