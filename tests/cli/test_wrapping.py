"""Long lines on a terminal: broken between words, under where their text began, and nothing is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.terminal.output import on_screen
from holdfast.terminal.output import text_width as width
from holdfast.terminal.output import wrap_line as wrapped

WORDS = st.lists(st.text("abcdefgh`./-漢é", min_size=1, max_size=30), min_size=1, max_size=30)


def test_a_line_that_fits_is_left_as_it_is() -> None:
    assert (
        wrapped("  ledger   /srv/shop/.holdfast/ledger.md", 80) == "  ledger   /srv/shop/.holdfast/ledger.md"
    )


def test_a_long_line_goes_on_two_columns_further_in_so_that_the_next_is_told_apart() -> None:
    assert wrapped("Next: fix the flaky refresh test and then look", 30) == (
        "Next: fix the flaky refresh\n  test and then look"
    )


def test_a_list_item_and_a_labelled_value_go_on_under_their_text() -> None:
    assert wrapped("- Context: add rate limiting to the gateway", 30) == (
        "- Context: add rate limiting\n  to the gateway"
    )
    assert wrapped("  last     fdd24234  claude-code, $11.88: done", 40) == (
        "  last     fdd24234  claude-code,\n           $11.88: done"
    )


def test_a_word_that_is_longer_than_the_screen_stays_whole() -> None:
    path = "/a/" + "very/" * 12 + "long/path.py"
    assert path in on_screen(f"Rows are in {path}. See them", 40).replace(".\n", "\n").split()


@given(WORDS, st.integers(25, 120), st.sampled_from(["", "  ", "- ", "  open     "]))
def test_no_word_is_lost_and_no_line_is_too_long(words: list[str], columns: int, begins: str) -> None:
    shown = wrapped(begins + " ".join(words), columns)
    assert shown.split() == (begins + " ".join(words)).split()
    for line in shown.split("\n"):
        assert width(line) <= columns or len(line.removeprefix(begins).split()) <= 1
