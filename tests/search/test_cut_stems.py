"""Texts whose stems end within a character: FTS5's stemmer counts bytes. Every question is still answered."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import holdfast.search

UNKNOWN = "reconcile ledger"  # no text has these: each known word is looked at, for a typo


@pytest.mark.parametrize(
    "text",
    [
        "We ended up rebase-ing the branch by hand.",
        "We ended up rebase\ue000ing the branch by hand.",
        "recon\ue000ing and ledg\ue000ed and led\U0010ffffing",
        "\u1000ing \u5041ed \u4000ing led\u1000ing rec\u4000ed",
        "rebase.ed rebase/ing rebase::ing --rebase-ing",
    ],
)
def test_a_stem_that_ends_within_a_character_is_no_fault(tmp_path: Path, text: str) -> None:
    with holdfast.search.open(tmp_path / "index.db") as index:
        index.put("a", text)
        index.put("b", "the ledger is reconciled at night")
        assert index.search("leger reconcil")[0].id == "b"
        assert index.search(UNKNOWN)[0].id == "b"
        assert index.search(text)[0].id == "a", "and the text itself is found"


def test_the_sentence_alone_is_no_fault(tmp_path: Path) -> None:
    with holdfast.search.open(tmp_path / "index.db") as index:
        index.put("a", "We ended up rebase-ing the branch by hand.")
        index.search(UNKNOWN)
        assert index.search("rebase-ing")[0].id == "a"
        assert index.search("rebas branch")[0].id == "a"


ENDINGS = st.sampled_from(["", "ing", "ed", "ingly", "ly", "ational", "ies", "s"])
PIECES = st.tuples(st.text(min_size=1, max_size=4), ENDINGS).map("".join)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(PIECES, min_size=1, max_size=5), st.lists(PIECES, min_size=1, max_size=3))
def test_no_text_makes_a_question_fail(tmp_path: Path, text: list[str], question: list[str]) -> None:
    with holdfast.search.open(tmp_path / "index.db") as index:
        index.put("a", " ".join(text))
        for asked in (" ".join(question), " ".join(word[:3] + "x" for word in text), UNKNOWN):
            index.search(asked)
