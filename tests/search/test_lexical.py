"""Names are split and kept whole, questions become terms, and no text is too odd for it."""

from __future__ import annotations

import itertools
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.search import lexical
from holdfast.search.contract import storable
from holdfast.search.terms import is_slip, spans


def shown(text: str) -> list[str]:
    return [lexical.shown(name) for name in lexical.names(text).split()]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("read_lines", ["read·lines"]),
        ("store.files.read_lines", ["store·files·read·lines"]),
        ("src/app/main.py", ["src·app·main·py", "main·py"]),
        ("--dry-run", ["··dry·run"]),
        ("-v", ["·v"]),
        ("parseQuery", ["parse", "query"]),
        ("HTTPServer", ["http", "server"]),
        ("E1234", ["1234"]),
        ("ENOENT", []),
        ("c++ and C#", ["c··", "c·"]),
        ("(foo_bar),", ["foo·bar"]),
        ("Plain words of prose, as they are.", []),
        ("データ", ["デー", "ータ"]),
    ],
)
def test_a_name_is_kept_whole_and_its_hidden_parts_are_split(text: str, expected: list[str]) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("como rodar o benchmark", ["rodar", "benchmark"]),
        ("wie werden die Geheimnisse entfernt?", ["geheimnisse", "entfernt"]),
        ("pourquoi est-ce que les tests échouent", ["tests", "échouent"]),
        ("как запустить все тесты для этого", ["запустить", "тесты"]),
        ("os path join", ["os", "path", "join"]),
        ("why does the process die", ["process", "die"]),
    ],
)
def test_small_words_of_other_languages_are_left_out_where_they_are_spoken(
    question: str, terms: list[str]
) -> None:
    assert [term for term in lexical.query_terms(question) if term.isalpha()] == terms
    assert lexical.without_small_words(question).lower().split() == [*terms]


def test_small_words_are_left_out_while_others_remain() -> None:
    assert lexical.query_terms("how do we use the cache") == ["cache"]
    assert lexical.query_terms("to be or not to be") == ["to", "be", "or", "not"]


@given(st.text(max_size=300))
def test_every_term_of_any_question_can_be_looked_up(text: str) -> None:
    terms = lexical.query_terms(storable(text))
    assert len(set(terms)) == len(terms)
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5(a, tokenize='porter unicode61')")
    if terms:
        db.execute("SELECT * FROM t WHERE t MATCH ?", (lexical.match_any(terms),)).fetchall()
    db.close()


@given(
    st.lists(st.from_regex(r"[a-z]{2,8}", fullmatch=True), min_size=2, max_size=4), st.sampled_from("._/-:")
)
def test_a_joined_name_has_one_whole_in_question_and_text_alike(parts: list[str], sign: str) -> None:
    name = sign.join(parts)
    whole = lexical.names(name).split()[0]
    assert lexical.shown(whole) == "·".join(parts)
    assert whole in lexical.query_terms(f"what about {name}?")
    assert whole in lexical.names(f"see ({name}), please").split()


@given(st.text(alphabet=st.sampled_from("abcXYZ019_-./ \n\u3042é"), max_size=400))
def test_names_never_hold_a_space_or_a_capital(text: str) -> None:
    for name in lexical.names(text).split():
        assert name == name.lower()


@given(st.text(alphabet=st.sampled_from("ab. \n"), max_size=5000))
def test_passages_cover_a_text_without_gaps(text: str) -> None:
    places = spans(text)
    assert places[0][0] == 0
    assert places[-1][1] == len(text)
    assert all(one[1] == other[0] for one, other in itertools.pairwise(places))
    assert all(stop - start <= 1200 for start, stop in places)


@pytest.mark.parametrize(
    ("written", "known", "apart"),
    [
        ("typscript", "typescript", True),
        ("typsecript", "typescript", True),
        ("eror", "error", True),
        ("reedis", "redis", True),
        ("mongod", "mongo", True),
        ("mango", "mongo", False),
        ("redis", "redux", False),
        ("cache", "cachet", True),
        ("abcd", "abdce", False),
    ],
)
def test_one_slip_of_the_pen_is_recognised(written: str, known: str, apart: bool) -> None:
    assert lexical.is_one_slip_apart(written, known) is apart


@given(st.text(max_size=200))
def test_what_is_storable_encodes_and_stays(text: str) -> None:
    once = storable(text)
    once.encode("utf-8")
    assert "\0" not in once
    assert storable(once) == once
    assert len(once) == len(text)


@given(st.text(min_size=1, max_size=20), st.text(max_size=60))
def test_a_stem_as_a_pattern_is_a_regular_expression(stem: str, text: str) -> None:
    import re

    found = re.search(lexical.as_pattern(stem), text)
    assert found is None or found[0] in text


@pytest.mark.parametrize(
    ("written", "stem", "known", "slip"),
    [
        ("certifcate", "certifc", "certif", True),
        ("migratoin", "migratoin", "migrat", True),  # a slip in the ending hides the stem
        ("configuraton", "configuraton", "configur", True),
        ("deploymnet", "deploymnet", "deploy", True),
        ("cahce", "cahc", "cach", True),
        ("login", "login", "logic", False),  # another word
        ("cart", "cart", "card", False),
        ("portals", "portal", "port", False),
    ],
)
def test_what_a_word_may_stand_for(written: str, stem: str, known: str, slip: bool) -> None:
    assert is_slip(written, stem, known) is slip


def test_a_digit_tells_short_questions_apart_and_numbers_the_points_of_long_ones() -> None:
    assert lexical.query_terms("what was phase 2 about") == ["phase", "2"]
    points = " ".join(f"{number}. tidy module{number} thoroughly" for number in range(1, 8))
    assert "3" not in lexical.query_terms(points)
