"""Cells hold any text on one line; rows split where a pipe is a pipe."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from holdfast.core import markdown_table

pytestmark = pytest.mark.promise("L3")

NASTY = (
    "\\|-: \t\r\n\x00\x1b\x85\u00a0\u00ad\u200b\u202e\u2028\u2029\u3000\ufeff\ud800\udc00\U000e0041eunUtx0"
)
anything = st.text(st.characters(codec=None, exclude_categories=()))
nasty = st.text(st.sampled_from(NASTY), max_size=12)
texts = st.one_of(anything, nasty)


@settings(deadline=None)
@given(texts)
@example("")
@example("\\")
@example("\\e")
@example("\\n")
@example("a\\|b")
@example(" ")
@example("---")
@example(":-:")
@example("\ud83d\ude00")
def test_any_text_comes_back_from_its_cell(text: str) -> None:
    assert markdown_table.decode_cell(markdown_table.encode_cell(text)) == text


@settings(deadline=None)
@given(texts)
def test_a_cell_is_one_line_of_utf8_that_trimming_does_not_change(text: str) -> None:
    cell = markdown_table.encode_cell(text)
    assert cell.encode().decode() == cell
    assert cell.splitlines() in ([], [cell])
    assert cell.strip() == cell
    assert not markdown_table.is_separator(f"| {cell} |")


@settings(deadline=None)
@given(texts)
def test_what_nobody_sees_is_shown_escaped(text: str) -> None:
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    # Letters that merely carry the category Cf (Arabic number signs and such) are visible.
    visible = set("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd")
    for char in markdown_table.encode_cell(text):
        if not (0x13430 <= ord(char) <= 0x1345F or 0x1BCA0 <= ord(char) <= 0x1BCA3):
            assert unicodedata.category(char) not in hidden or char in visible, hex(ord(char))


@settings(deadline=None)
@given(st.lists(texts, min_size=1))
def test_cells_come_back_from_their_row(cells: list[str]) -> None:
    row = markdown_table.render_row([markdown_table.encode_cell(cell) for cell in cells])
    found, closed = markdown_table.split_row(row)
    assert closed
    assert [markdown_table.decode_cell(cell) for cell in found] == cells


@pytest.mark.parametrize("sep", [" ", ", "])
@settings(deadline=None)
@given(items=st.lists(st.one_of(texts, st.text(" ,\\e-", max_size=5))))
def test_a_list_comes_back_from_its_cell(sep: str, items: list[str]) -> None:
    cell = markdown_table.encode_list(items, sep)
    assert markdown_table.decode_list(cell, sep) == tuple(items)
    assert cell.strip() == cell
    assert not markdown_table.is_separator(f"| {cell} |")


def test_a_list_is_readable_where_nothing_needs_escaping() -> None:
    assert markdown_table.encode_list(["refactor", "c++", "jwt"]) == "refactor c++ jwt"
    assert markdown_table.encode_list(["test_failure", "timeout"], ", ") == "test_failure, timeout"
    assert markdown_table.encode_list(["a b", "c,d"], ", ") == r"a b, c\u002cd"


def test_a_list_typed_by_a_person_is_read_with_its_extra_blanks() -> None:
    assert markdown_table.decode_list(" a   b ") == ("a", "b")
    assert markdown_table.decode_list("timeout,test_failure ,  x", ", ") == ("timeout", "test_failure", "x")


def test_escapes_are_one_level_deep() -> None:
    assert markdown_table.encode_cell("a|b\nc\\d") == r"a\|b\nc\\d"
    assert markdown_table.decode_cell(r"\\n") == r"\n"


@pytest.mark.parametrize("cell", [r"\d", r"C:\dir", r"\u12", r"\U00110000", r"\ude", "end\\"])
def test_an_escape_we_do_not_know_stays_as_it_is(cell: str) -> None:
    assert markdown_table.decode_cell(cell) == cell


@pytest.mark.promise("L4")
def test_a_foreign_cell_knows_only_the_escaped_pipe() -> None:
    assert markdown_table.decode_foreign_cell(r" C:\new\|x ") == r"C:\new|x"
    assert markdown_table.split_row(r"| a\\|b | c |", foreign=True) == ([r"a\\|b", "c"], True)
    assert markdown_table.split_row(r"| a\\|b | c |") == (["a\\\\", "b", "c"], True)


@pytest.mark.parametrize(
    ("line", "is_separator"),
    [
        ("|---|---|", True),
        ("| --- | :-: |", True),
        (" |-|-", True),
        ("|", False),
        ("||", False),
        ("---", False),
        ("| - bullet |", False),
        ("|---|x|", False),
    ],
)
def test_separators_are_told_from_rows(line: str, is_separator: bool) -> None:
    assert markdown_table.is_separator(line) is is_separator


def test_a_row_without_its_last_pipe_is_not_closed() -> None:
    assert markdown_table.split_row("| a | b") == (["a", "b"], False)
    assert markdown_table.split_row("| a | b\\|") == (["a", "b\\|"], False)
    assert markdown_table.split_row("|") == ([], True)
