"""The short way for plain words says what the long way says."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.core.stopwords import COMPOUNDS
from holdfast.language import keywords


@settings(max_examples=500)
@given(st.from_regex(r"[A-Za-z][a-z]{1,12}", fullmatch=True))
@example("As")
@example("Css")
@example("www")
@example("aaaaaaaaaaaa")
@example("bcdfgh")
def test_a_plain_word_is_read_alike_both_ways(word: str) -> None:
    found = keywords._plain_word(word)
    assert ([found] if found else []) == list(keywords._words_of_chunk(word, False))


def test_words_that_stay_whole_do_so_both_ways() -> None:
    for word in (word for word in COMPOUNDS if word.isalpha() and word.isascii() and word[1:].islower()):
        assert [keywords._plain_word(word)] == list(keywords._words_of_chunk(word, False))


def test_signs_around_a_word_do_not_matter() -> None:
    assert [word.text for word in keywords.words_of('(Parser), “lexer”: tokens. "grammar"!')] == [
        "parser",
        "lexer",
        "tokens",
        "grammar",
    ]
