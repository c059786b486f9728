"""Words are split as these expressions say it, which hooks have no time to load."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from holdfast.core.words import names_file, stem_of, words

CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
WORD = re.compile(r"[^\W\d_][^\W_]*")
HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
EMPTY = frozenset(("the", "abc"))
# Letters, digits and signs of several scripts, with those that fall between the kinds: ², Ⅷ, ª, İ, a combining accent.
SIGNS = "aBcDz09AZ_-./ \nxéßςΣ中カ가٣²ⅧªİDž\u0301🙂"


def by_expression(text: str) -> list[str]:
    found = []
    for word in WORD.findall(CASE.sub(" ", text)):
        if HAN.search(word):
            found += [word[at : at + 2] for at in range(max(len(word) - 1, 1))]
        elif len(word.lower()) >= 3 and word.lower() not in EMPTY:
            found.append(stem_of(word.lower()))
    return found


@given(st.text(alphabet=SIGNS, max_size=30) | st.text(max_size=30))
@example("getHTTPServer2Name 3abc a1B2c HTMLs X9Yz")
@example("把basket改成Cart，voucherCode要3个")
def test_words_are_those_of_the_expressions(text: str) -> None:
    assert words(text, EMPTY) == by_expression(text)


@pytest.mark.parametrize("first", range(0, 0x110000, 0x8000))
def test_every_sign_there_is_parts_words_as_the_expressions_have_it(first: int) -> None:
    text = "".join(f"{chr(sign)} ab{chr(sign)}Cd 1{chr(sign)}ef " for sign in range(first, first + 0x8000))
    assert words(text, EMPTY) == by_expression(text)


@given(
    st.text(alphabet="ab-._é /", max_size=8),
    st.text(alphabet="ab-._é", min_size=1, max_size=8),
    st.text(alphabet="ab-._é /", max_size=8),
)
def test_a_file_is_named_where_its_name_stands_by_itself(before: str, name: str, after: str) -> None:
    text, path = f"{before}{name}{after} {name}", f"shop/{name}"
    alone = re.search(rf"(?<![\w\-.]){re.escape(name)}(?![\w\-])", text) is not None
    assert names_file(text, path) == (path in text or (len(name) >= 6 and alone))
