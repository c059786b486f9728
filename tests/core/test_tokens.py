"""The token counter that every budget uses."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.tokens import count_tokens, cut_to


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


@given(st.text(max_size=300), st.integers(1, 40))
def test_what_is_cut_is_a_beginning_within_its_tokens(text: str, most: int) -> None:
    cut = cut_to(text, most)
    assert count_tokens(cut) <= most
    assert cut == text or (cut.endswith("…") and text.startswith(cut[:-1]))


def test_a_text_is_cut_after_a_word_or_inside_one_that_is_most_of_it() -> None:
    assert cut_to("short of it", 3) == "short of it"
    assert cut_to("one two three four five", 4) == "one two three…"
    assert (
        cut_to("Go on with: 地図の範囲を選択するとその3次元マップ", 20)
        == "Go on with: 地図の範囲を選択するとその3次…"
    )
