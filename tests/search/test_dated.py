"""A question that names a day gets what is of that day first, from the library too."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

import holdfast.search
from holdfast.search import Index

NOW = datetime(2025, 8, 20, 12, tzinfo=UTC)


@pytest.fixture
def index(tmp_path: Path):  # type: ignore[no-untyped-def]
    with holdfast.search.open(tmp_path / "index.db") as made:
        made.put("april", "Planted beans and radishes at the allotment.", when="2025-04-05T16:00:00Z")
        made.put("may", "Slugs ate the lettuce at the allotment.", when="2025-05-17T18:00:00Z")
        made.put("june", "Strawberries and peas.", when="2025-06-14T19:00:00Z", title="allotment harvest")
        made.put("zoo", "The boiler was repaired.", when="2025-06-14T20:00:00Z")
        made.put("undated", "The allotment has number 41.", "fact")
        made.put("august", "The allotment is dry, water the beans.", when="2025-08-19T08:00:00Z")
        yield made


def ids(index: Index, query: str, **more: object) -> list[str]:
    return [hit.id for hit in index.search(query, **more)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("What happened at the allotment on 14 June 2025?", "june"),
        ("What happened at the allotment on 2025-05-17?", "may"),
        ("What did we do at the allotment in April?", "april"),
        ("What happened at the allotment in the week of 11 June?", "june"),
        ("What happened at the allotment yesterday?", "august"),
    ],
)
def test_what_is_of_the_day_and_fits_comes_first_then_the_rest(index: Index, query: str, first: str) -> None:
    hits = index.search(query, now=NOW)
    assert hits[0].id == first and "dated" in hits[0].why
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert {"april", "may", "august"} <= {hit.id for hit in hits}


def test_what_is_only_of_that_day_is_no_answer(index: Index) -> None:
    (first, *_) = index.search("What grows at the allotment on 14 June 2025?", now=NOW)
    assert first.id == "june"
    (first, *_) = index.search("Who repaired the boiler on 17 May 2025?", now=NOW)
    assert first.id == "zoo" and "dated" not in first.why


def test_a_day_without_a_subject_lists_what_is_of_it_newest_first(index: Index) -> None:
    assert ids(index, "what did we do on 14 June 2025?", now=NOW)[:2] == ["zoo", "june"]


def test_without_now_days_are_counted_from_the_newest_text(index: Index) -> None:
    assert ids(index, "What happened at the allotment in May?")[0] == "may"
    assert ids(index, "What is new at the allotment today?")[0] == "august"


def test_a_day_of_which_nothing_is_known_changes_nothing(index: Index) -> None:
    hits = index.search("the allotment on 1 January 2025", now=NOW)
    assert hits and not any("dated" in hit.why for hit in hits)


def test_a_caller_who_says_since_when_is_obeyed(index: Index) -> None:
    found = ids(index, "the allotment in April", now=NOW, since=date(2025, 5, 1))
    assert found and not {"april", "undated"} & set(found)
    assert "june" not in ids(index, "the allotment in June", now=NOW, before=date(2025, 6, 1))


def test_below_the_floor_the_day_does_not_help(index: Index) -> None:
    assert ids(index, "grading a rare coin on 14 June 2025", now=NOW, floor=holdfast.search.FLOOR) == []
