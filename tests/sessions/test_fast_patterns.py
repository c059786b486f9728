"""Patterns that are asked in another way than they once were find what they found."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.language import failure_wording
from holdfast.language.checks import check_kinds
from holdfast.model.events import Usage, UsageReport
from holdfast.sessions import corrections
from holdfast.sessions.digest import Digest
from holdfast.sessions.reducer import Reducer

PLAIN_SENTENCE = re.compile(
    r"(?<=[.!?;])\s+|\n+|\s+[–—-]\s+|\s+and then\s+|(?:,|,? (?:and|then|but))\s+"
    rf"(?=(?:{corrections._NOT}|always) (?:ever )?{corrections._DOES}\b)",
    re.IGNORECASE,
)
WORDS = [
    "use",
    "never",
    "always",
    "Don't",
    "avoid",
    "ever",
    "run",
    "the",
    "and",
    "then",
    "but",
    "AND",
    "tests",
    "é",
]
JOINTS = [
    " ",
    "  ",
    "\n",
    "\n\n",
    ". ",
    ".",
    "; ",
    ", ",
    ",",
    " - ",
    " – ",
    "\t",
    " and then ",
    "? ",
    "\u00a0",
]
SPEECH = st.lists(st.sampled_from(WORDS) | st.sampled_from(JOINTS), max_size=24).map("".join)


@given(SPEECH)
@settings(max_examples=200)
def test_sentences_end_where_the_plain_pattern_ends_them(text: str) -> None:
    assert corrections._SENTENCE.split(text) == PLAIN_SENTENCE.split(text)


@pytest.mark.parametrize("number", range(len(failure_wording._SIGNS)))
def test_every_sign_of_a_wrong_call_holds_a_word_that_its_cause_is_asked_by(number: int) -> None:
    cause, flags, source = failure_wording._SIGNS[number]
    pattern = re.compile(source, flags | re.MULTILINE)

    @given(st.from_regex(pattern))
    @settings(max_examples=30, deadline=None)
    def holds(text: str) -> None:
        needed = failure_wording._NEEDED.get(cause)
        assert needed is None or any(word in text.lower() for word in needed)

    holds()


@pytest.mark.parametrize(
    ("command", "kinds"),
    [
        ("py'test' -q", ("test",)),
        ('"ma"ke "te"st', ("test",)),
        ("ls src && echo done", ()),
        ("cat README.md", ()),
        ("bash -c 'ruff check .'", ("lint",)),
    ],
)
def test_a_check_is_known_however_its_words_are_quoted(command: str, kinds: tuple[str, ...]) -> None:
    assert check_kinds(command) == kinds


def test_of_a_responses_id_only_a_hash_is_kept_and_a_later_pass_knows_it_again() -> None:
    digest = Digest("claude-code")
    Reducer(digest).take_all([UsageReport(1.0, "msg_1:req_1", "model", Usage(output=5))])
    assert [len(key) for key in digest.open_responses] == [16]
    assert "msg_1" not in str(digest)
    Reducer(digest).take_all([UsageReport(2.0, "msg_1:req_1", "model", Usage(output=9))])
    assert [response.usage.output for response in digest.open_responses.values()] == [9]
