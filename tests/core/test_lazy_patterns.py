"""A pattern that is compiled when it is first used behaves like one that was compiled at once."""

from __future__ import annotations

import re

import pytest

from holdfast.core.patterns import late


def test_nothing_is_compiled_before_it_is_used() -> None:
    broken = late("(")
    with pytest.raises(re.error):
        broken.search("anything")


def test_it_answers_as_the_compiled_pattern_does() -> None:
    source, flags, text = r"(?P<word>b+)(\d)?", re.IGNORECASE, "a bb1 BB c"
    ours, theirs = late(source, flags), re.compile(source, flags)
    for _ in range(2):  # before it was compiled, and after
        assert [match.span() for match in ours.finditer(text)] == [m.span() for m in theirs.finditer(text)]
        assert ours.findall(text) == theirs.findall(text)
        assert ours.sub("x", text) == theirs.sub("x", text)
        assert ours.split(text) == theirs.split(text)
        assert ours.groupindex == theirs.groupindex
        assert ours.match(text) is None
        assert ours.fullmatch("bb") is not None
    assert ours.pattern == source


def test_what_no_pattern_has_it_has_not_either() -> None:
    assert not hasattr(late("a"), "nothing_of_the_kind")
