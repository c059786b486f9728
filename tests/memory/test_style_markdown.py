"""style.md: whether the manual says anything yet."""

from __future__ import annotations

from holdfast.memory.reference import SEED, propose, says_something


def test_a_manual_that_only_begins_says_nothing() -> None:
    assert not says_something("")
    assert not says_something(SEED)
    assert not says_something(propose("", []))


def test_what_is_only_proposed_says_nothing_yet() -> None:
    assert not says_something(propose("", ["Never commit generated files"]))


def test_what_a_person_wrote_says_something() -> None:
    assert says_something(SEED.replace("## Style\n", "## Style\n\nShort sentences.\n"))
    assert says_something(propose("Short sentences.\n", ["Never commit generated files"]))
