"""style.md: whether the manual says anything yet."""

from __future__ import annotations

from holdfast.text.style_md import SEED, propose, says_something


def test_a_manual_that_only_begins_says_nothing() -> None:
    assert not says_something("")
    assert not says_something(SEED)
    assert not says_something(propose("", []))


def test_a_rule_or_a_proposal_says_something() -> None:
    assert says_something(propose("", ["Never commit generated files"]))
    assert says_something(SEED.replace("## Style\n", "## Style\n\nShort sentences.\n"))
