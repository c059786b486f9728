"""A pattern with words finds what the pattern alone finds."""

from __future__ import annotations

import os
import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import holdfast
from holdfast.core.patterns import PrefilteredRegex


def every_sought() -> Iterator[tuple[str, PrefilteredRegex]]:
    for package in ("guard", "sessions", "lessons", "knowledge", "memory"):
        for module in pkgutil.iter_modules([f"{holdfast.__path__[0]}/{package}"]):
            loaded = import_module(f"holdfast.{package}.{module.name}")
            for name, value in vars(loaded).items():
                parts = value if isinstance(value, tuple | list) else [value]
                for part in parts:
                    for number, found in enumerate(part if isinstance(part, tuple) else [part]):
                        if isinstance(found, PrefilteredRegex):
                            yield f"{package}.{module.name}.{name}.{number}.{found.source[:20]}", found


# Each once, whichever modules know it.
FOUND = {name: found for found, name in {found: name for name, found in every_sought()}.items()}
EXAMPLES = int(os.environ.get("SOUGHT_EXAMPLES", "40"))  # a new pattern deserves some thousand, once
FEW = 8  # of a pattern without words: only that case is ignored is to be shown


def test_there_are_some() -> None:
    assert len(FOUND) >= 6


@pytest.mark.parametrize("sought", FOUND.values(), ids=FOUND.keys())
def test_every_match_holds_one_of_its_words(sought: PrefilteredRegex) -> None:
    plain = re.compile(sought.source, sought.flags)

    @settings(max_examples=EXAMPLES if any(sought.words) else FEW, deadline=None)
    @given(st.from_regex(plain))
    def holds(text: str) -> None:
        expected, found = plain.search(text), sought.search(text)
        assert expected
        assert found, f"none of its words is in {text!r}"
        assert found.span() == expected.span()

    holds()


def test_what_has_none_of_the_words_is_not_even_searched() -> None:
    sought = PrefilteredRegex("a+b", words="ab")
    assert sought.search("nothing") is None
    assert sought._pattern is None
    found = sought.search("caab")
    assert found is not None
    assert found[0] == "aab"


def test_case_is_ignored_where_the_pattern_ignores_it() -> None:
    assert PrefilteredRegex("timed OUT", re.IGNORECASE, words="timed out").search("It TIMED out")
    assert PrefilteredRegex("TIMED", words="TIMED").search("timed") is None
