"""Which decisions are put before people unasked."""

from __future__ import annotations

import pytest

from holdfast.memory.offering import best_first, stands_alone
from holdfast.model.statement import Statement


def said(text: str, **values: object) -> Statement:
    return Statement(id="P-1", kind="decision", text=text, basis="person", session="s1", **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "Retries of the export client should stop after five attempts",
        "we should use strong types instead of strings wherever we can",
        "Should READMEs be embedded or written out? Embedded, because that needs no extra files",
        "let's use true and false, not on and off, for the flag skip-push",
    ],
)
def test_what_holds_without_its_chat_is_offered(text: str) -> None:
    assert stands_alone(said(text))


@pytest.mark.parametrize(
    "text",
    [
        "no, then it's good",
        "wait, why are the traces in their own folder, shouldn't we move the traces?",
        "We store them in metadata.json then",
        "yes, we only need to do it once",
        "also can we configure the tool to push to the private repository",
        "I think 2 is the right approach for the parser",
        "ok, option 2, detail view only for now",
        "so be it",
    ],
)
def test_what_leans_on_its_chat_is_not(text: str) -> None:
    assert not stands_alone(said(text))


def test_what_a_person_noted_by_hand_comes_first_and_needs_no_judgement() -> None:
    noted = Statement(id="D-1", kind="decision", text="no, use it", basis="person")
    settled = said("we should use strong types instead of strings", worth=0.9)
    reasoned = said("we should keep two lists", reason="people scroll", worth=0.6)
    assert stands_alone(noted)
    assert sorted([settled, reasoned, noted], key=best_first) == [noted, reasoned, settled]
