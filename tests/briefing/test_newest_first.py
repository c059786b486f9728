"""Of two statements that contradict each other in a value, the newer one is found first."""

from __future__ import annotations

import pytest

from holdfast.briefing.search import newest_first
from holdfast.model.search import Hit


def hit(id: str, text: str, date: str, score: float, kind: str = "fact") -> Hit:
    return Hit(
        id=id, kind=kind, text=text, path="reference.md", line=1, session="", project="shop", date=date, score=score, why=""
    )  # fmt: skip


OLD = hit("F-aaaaaa", "The docs server runs on port 8080 (curl :8080 ok)", "2026-01-01T00:00:00Z", 0.6025)
NEW = hit("F-bbbbbb", "The docs server runs on port 9090 (curl :9090 ok)", "2026-02-01T00:00:00Z", 0.5991)
OTHER = hit("session:1", "Looked at the docs server and its port", "2026-03-01T00:00:00Z", 0.6, "history")


@pytest.mark.promise("R2")
def test_the_newer_of_two_that_differ_in_a_value_comes_first_and_scores_still_fall() -> None:
    found = newest_first([OLD, OTHER, NEW])
    assert [one.id for one in found] == [NEW.id, OTHER.id, OLD.id]
    assert [one.score for one in found] == [OLD.score, OTHER.score, NEW.score]


def test_what_is_meant_clearly_or_says_something_else_stays_where_it_is() -> None:
    meant = hit(OLD.id, OLD.text, OLD.date, 0.7)
    assert newest_first([meant, NEW]) == [meant, NEW]
    apart = hit(NEW.id, "The mail server needs a certificate of its own", NEW.date, 0.6)
    assert newest_first([OLD, apart]) == [OLD, apart]
    assert newest_first([NEW, OLD]) == [NEW, OLD]
    assert newest_first([]) == []
