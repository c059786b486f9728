"""Phrases are found by windows of whole words, whatever their case and blanks; also when only their hash is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.core import files
from holdfast.language.keywords import keywords
from holdfast.store.denied import Denied
from holdfast.store.phrases import _PLAIN, FORGOTTEN, HEAD, Phrases, Windows, tokens, words_of_phrase

words = st.sampled_from(
    ["launch", "code", "Zebra", "straße", "co-op", "_", "a.b", "漢字", "café", "it's", "7"]
)
blanks = st.sampled_from([" ", "  ", "\n", "\t", " \r\n ", "\u00a0"])
phrases = st.lists(words, min_size=1, max_size=5).map(" ".join)


def left_of(text: str, *known: str) -> str:
    return Phrases(known).strip(text)


def denied_with(memory: Path, *texts: str) -> Denied:
    memory.mkdir(parents=True, exist_ok=True)
    with files.lock(memory / "locks" / "memory.lock") as held:
        Denied(memory).add(held, 0.0, (), (), texts)
    return Denied(memory)


@settings(deadline=None)
@given(phrase=phrases, before=st.text(max_size=20), after=st.text(max_size=20), data=st.data())
def test_a_phrase_is_found_in_any_case_and_with_any_blanks(
    phrase: str, before: str, after: str, data: st.DataObject
) -> None:
    said = data.draw(blanks).join(
        word.swapcase() if data.draw(st.booleans()) else word for word in phrase.split(" ")
    )
    left = Phrases([phrase]).strip(f"{before} , {said} ; {after}")
    assert FORGOTTEN in left
    assert not Phrases([phrase]).found_in(left)


@settings(deadline=None)
@given(text=st.text(max_size=60), phrase=phrases)
def test_stripping_twice_is_stripping_once(text: str, phrase: str) -> None:
    once = Phrases([phrase]).strip(text)
    assert Phrases([phrase]).strip(once) == once


@settings(deadline=None)
@given(text=st.lists(words, max_size=12).map(" ".join), phrase=phrases)
def test_windows_find_exactly_where_the_words_stand_in_a_row(text: str, phrase: str) -> None:
    wanted = words_of_phrase(phrase)
    folded = [token.folded for token in tokens(text)]
    there = any(tuple(folded[n : n + len(wanted)]) == wanted for n in range(len(folded)))
    assert Phrases([phrase]).found_in(text) == there


@settings(max_examples=40, deadline=None)
@given(text=st.lists(words, max_size=12).map(" ".join), known=st.lists(phrases, min_size=1, max_size=3))
def test_the_hashes_find_what_the_words_find(
    tmp_path_factory: pytest.TempPathFactory, text: str, known: list[str]
) -> None:
    denied = denied_with(tmp_path_factory.mktemp("m"), *known)
    assert denied.strip(text) == Phrases(known).strip(text)


def test_words_are_whole() -> None:
    assert not Phrases(["rest"]).found_in("restart the rests")
    assert Phrases(["rest"]).strip("REST-api, rest_of") == f"{FORGOTTEN}-api, {FORGOTTEN}_of"


def test_forgetting_the_word_forgotten_does_not_grow_the_hole() -> None:
    assert left_of("a [forgotten] thing", "forgotten") == "a [forgotten] thing"


def test_quotes_around_a_phrase_and_its_full_stop_do_not_count() -> None:
    assert left_of("so the launch code, they said", '"The launch code."') == f"so {FORGOTTEN}, they said"


def test_a_text_that_was_cut_inside_a_phrase_is_recognised() -> None:
    known = "the launch code is zebra"
    assert left_of("Remember: the launch code is ze…", known) == f"Remember: {FORGOTTEN}…"
    assert left_of("about the…", known) == "about the…"


@pytest.mark.parametrize("cut", [HEAD, HEAD + 5, 39, 40])
def test_a_long_text_is_recognised_by_its_beginning(tmp_path: Path, cut: int) -> None:
    long = [f"word{n}" for n in range(40)]
    denied = denied_with(tmp_path, " ".join(long))
    assert denied.strip("He said " + " ".join(long[:cut])) == f"He said {FORGOTTEN}"
    other = " ".join([*long[:HEAD], *(f"other{n}" for n in range(40))])
    assert denied.strip(other) == other


def test_the_denylist_holds_no_word_of_a_text(tmp_path: Path) -> None:
    denied_with(tmp_path, "Project Zanzibar ships in May")
    written = (tmp_path / "denied.jsonl").read_text(encoding="utf-8").casefold()
    assert not any(word in written for word in ("zanzibar", "project", "ships"))


def test_two_memories_write_different_hashes_for_the_same_text(tmp_path: Path) -> None:
    for name in ("one", "other"):
        denied_with(tmp_path / name, "Project Zanzibar")
    one, other = ((tmp_path / name / "denied.jsonl").read_bytes() for name in ("one", "other"))
    assert one[:40] != other[:40]


def test_a_damaged_denylist_still_counts_where_it_can_be_read(tmp_path: Path) -> None:
    denied_with(tmp_path, "Project Zanzibar")
    with (tmp_path / "denied.jsonl").open("ab") as file:
        file.write(b'{"text":"00","words":1,"key":"not hex"}\n{"session":"s1","at":1}\n\xff\n{"sess')
    denied = Denied(tmp_path)
    assert denied.sessions == {"s1"}
    text = "project zanzibar"
    assert denied.strip(text) == FORGOTTEN


def test_a_hole_is_no_keyword() -> None:
    assert keywords(f"fix the {FORGOTTEN} refund rounding") == ("fix", "refund", "rounding")


@settings(deadline=None)
@given(
    text=st.lists(words | st.sampled_from(["—", "→", "…", "✓", "“", "K", "ﬁ", "①"]), max_size=30).map(
        " ".join
    ),
    phrase=st.lists(words, min_size=1, max_size=20).map(" ".join),
    there=st.booleans(),
)
def test_a_text_that_is_passed_over_would_have_matched_nothing(text: str, phrase: str, there: bool) -> None:
    """`Phrases` looks first for one word of each phrase; `Windows` looks at every word."""
    text = f"{text} {phrase} {text}" if there else text
    found = Phrases([phrase])
    every = Windows(found._lengths, found._known).spans(text)
    assert found.spans(text)[: len(every)] == every


def test_what_counts_as_plain_text_has_no_word_but_ascii_ones() -> None:
    plain = [sign for sign in map(chr, range(0x80, 0x10000)) if _PLAIN.fullmatch(sign)]
    assert plain and not any(token.folded.isalnum() for sign in plain for token in tokens(sign))
