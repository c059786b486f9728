"""The token counter that every budget uses."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.text.tokens import count_tokens


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        (" \n\t", 0),
        ("hello", 1),
        ("refactor", 2),
        ("12345", 2),
        ("a.b", 3),
        ("naïve", 3),
        ("go test ./...", 7),
    ],
)
def test_words_numbers_and_signs_are_counted_in_pieces(text: str, count: int) -> None:
    assert count_tokens(text) == count


@given(st.text())
def test_the_count_is_that_of_the_contract_for_any_text(text: str) -> None:
    assert count_tokens(text) == len(re.findall(r"[A-Za-z]{1,6}|\d{1,3}|[^\sA-Za-z\d]", text))


@given(st.text(), st.text())
def test_texts_on_two_lines_cost_what_they_cost_alone(first: str, second: str) -> None:
    assert count_tokens(f"{first}\n{second}") == count_tokens(first) + count_tokens(second)
