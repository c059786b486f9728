"""Sessions beyond their like, and budgets: when a word is due, and when it is not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from tests.ledger.ledgers import session, sessions

from holdfast.ledger.alerts import Likes, Running, beyond_usual, over_budget

NOW = datetime(2026, 3, 15, 12, tzinfo=UTC)


def running(**fields: object) -> Running:
    return Running(**{"session": "now", "kind": "bugfix", "cost_usd": None, "minutes": None, **fields})  # type: ignore[arg-type]


def like(n: int = 10, kind: str | None = "bugfix") -> list:  # type: ignore[type-arg]
    """Sessions of 10, 20 … cents and minutes."""
    return [session(kind=kind, cost_usd=Decimal(i) / 10, duration_s=600 * i) for i in range(1, n + 1)]


def test_a_session_beyond_nine_of_ten_of_its_kind_is_told_with_what_that_rests_on() -> None:
    (alert,) = beyond_usual(running(cost_usd=2.0), Likes(like()), live=True)
    assert alert.what == "cost" and alert.live and alert.limit == pytest.approx(0.91)
    assert alert.text == "$2.00 so far; 9 of 10 bugfix sessions stay under $0.91, half under $0.55 (n=10)"


def test_time_is_told_beside_cost_and_what_is_usual_is_not_told() -> None:
    found = beyond_usual(running(cost_usd=2.0, minutes=500.0), Likes(like()), live=False)
    assert [one.what for one in found] == ["cost", "time"] and "500min in all" in found[1].text
    assert beyond_usual(running(cost_usd=0.5, minutes=50.0), Likes(like()), live=True) == []


def test_a_kind_of_few_sessions_is_compared_with_all() -> None:
    rows = [*like(3, "docs"), *like(10, "bugfix")]
    (alert,) = beyond_usual(running(kind="docs", cost_usd=3.0), Likes(rows), live=True)
    assert "9 of 10 sessions stay under" in alert.text and "(n=13)" in alert.text


@pytest.mark.parametrize(
    "rows", [[], like(7), sessions(20, kind="bugfix"), sessions(20, cost_usd=Decimal(0))]
)
def test_without_a_like_there_is_nothing_to_say(rows: list) -> None:  # type: ignore[type-arg]
    assert beyond_usual(running(cost_usd=99.0), Likes(rows), live=True) == []


def test_a_session_is_not_its_own_like() -> None:
    rows = [*like(7), session(session="now", kind="bugfix", cost_usd=Decimal(50))]
    assert beyond_usual(running(cost_usd=50.0), Likes(rows), live=False) == []
    rows.append(session(kind="bugfix", cost_usd=Decimal("0.1")))
    (alert,) = beyond_usual(running(cost_usd=50.0), Likes(rows), live=False)
    assert "(n=8)" in alert.text


def test_a_budget_counts_the_day_or_the_month_and_says_what_it_could_not_count() -> None:
    spent = [
        (NOW, 3.0),
        (NOW - timedelta(hours=2), 4.0),
        (NOW - timedelta(days=3), 5.0),
        (NOW, None),
        (None, 9.0),
    ]
    alert = over_budget(spent, 6.0, "day", NOW)
    assert alert is not None and alert.value == 7
    assert alert.text == (
        "$7.00 spent in 2026-03-15; the budget of a day is $6.00 (1 session of unknown cost not counted)"
    )
    assert over_budget(spent, 7.0, "day", NOW) is None
    month = over_budget(spent, 10.0, "month", NOW)
    assert month is not None and month.value == 12


def test_clocks_that_cannot_be_do_not_stop_the_count() -> None:
    ends = [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
    assert over_budget([(at, 5.0) for at in ends], 1.0, "day", NOW) is None
