"""Statistics over rows: the seed's figures, groups, and rows that know little or say what cannot be."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ledger.ledgers import CLAUDE, GPT, START, session, sessions, twelve_sessions

from holdfast.ledger import stats as ledger_stats
from holdfast.ledger.tally import FIELD_OF, figures_of, maturity
from holdfast.model.ledger import LedgerEntry


def stats_of(rows: list[LedgerEntry]) -> SimpleNamespace:
    figures = figures_of(ledger_stats.columns_of(rows))
    models = {name: SimpleNamespace(**own) for name, own in figures["model_performance"].items()}
    return SimpleNamespace(**{**figures, "model_performance": models})


def grouped(rows: list[LedgerEntry], by: str) -> dict[str, SimpleNamespace]:
    return {name: SimpleNamespace(**own) for name, own in ledger_stats.grouped(rows, by).items()}


@pytest.mark.promise("L8")
def test_the_seeds_figures_come_out_and_where_they_cannot_be_the_right_ones_do() -> None:
    stats = stats_of(twelve_sessions())
    assert stats.total_sessions == 12
    assert stats.top_frameworks == [("react", 5), ("go", 4), ("python", 3)]
    assert f"{stats.avg_task_count:.1f}" == "4.2" and f"{stats.avg_duration_minutes:.1f}" == "6.8"
    assert f"{stats.avg_failed_tasks:.1f}" == "0.3"
    claude, gpt = stats.model_performance[CLAUDE], stats.model_performance[GPT]
    assert (claude.sessions, gpt.sessions) == (8, 4)
    assert (claude.avg_cost, gpt.avg_cost) == (pytest.approx(0.14), pytest.approx(0.09))
    # The seed says $0.11, which 8 x $0.14 and 4 x $0.09 do not give.
    assert stats.avg_cost == pytest.approx(1.48 / 12) and f"{stats.avg_cost:.2f}" == "0.12"
    # The seed says 7.1% in all and 2.3% and 5.1% for the models: a whole lies between its parts.
    assert stats.failure_rate == pytest.approx(4 / 50)
    assert claude.failure_rate == pytest.approx(3 / 36) and gpt.failure_rate == pytest.approx(1 / 14)
    assert gpt.failure_rate <= stats.failure_rate <= claude.failure_rate
    # And of 8 sessions an eighth or none fails, not 2.3%.
    assert claude.session_failure_rate == 2 / 8 and gpt.session_failure_rate == 1 / 4
    assert stats.top_failures == [("test_failure", 4)]


@pytest.mark.promise("L8")
def test_every_rate_has_its_n_and_its_interval() -> None:
    stats = stats_of(twelve_sessions())
    assert (stats.total_failed_tasks, stats.total_tasks) == (4, 50)
    assert (stats.failed_sessions, stats.judged_sessions) == (3, 12)
    for own in (stats, *stats.model_performance.values()):
        assert own.failure_interval is not None and own.session_failure_interval is not None
        assert own.failure_interval[0] <= (own.failure_rate or 0) <= own.failure_interval[1]


def test_nothing_is_known_of_an_empty_ledger() -> None:
    stats = stats_of([])
    assert stats.total_sessions == 0 and stats.model_performance == {} and stats.total_cost is None
    assert stats.avg_cost is stats.failure_rate is stats.failure_interval is stats.avg_task_count is None


def test_one_row_has_its_own_figures_and_a_wide_interval() -> None:
    stats = stats_of([session(model="m", tasks=2, failed=1, cost_usd=Decimal("0.5"), duration_s=60)])
    assert stats.avg_cost == 0.5 and stats.failure_rate == 0.5 and stats.session_failure_rate == 1
    assert stats.session_failure_interval is not None and stats.session_failure_interval[0] < 0.25


def test_unknown_costs_are_left_out_and_counted() -> None:
    stats = stats_of([*sessions(3, model="m"), session(model="m", cost_usd=Decimal(2))])
    assert (stats.avg_cost, stats.known_costs, stats.total_sessions) == (2, 1, 4)
    none = stats_of(sessions(3, model="m"))
    assert none.avg_cost is none.total_cost is none.model_performance["m"].avg_cost is None


def test_free_sessions_cost_nothing_and_are_not_unknown() -> None:
    stats = stats_of(sessions(2, model="local", cost_usd=Decimal(0)))
    assert (stats.avg_cost, stats.known_costs) == (0, 2)


def test_rows_that_contradict_themselves_are_counted_and_left_out_of_the_rates() -> None:
    good = sessions(5, model="m", tasks=4, failed=1, cost_usd=Decimal(1), duration_s=60)
    bad = [
        session(model="m", tasks=3, failed=7),
        session(model="m", tasks=-2, failed=0),
        session(model="m", tasks=4, failed=-1),
        session(model="m", cost_usd=Decimal(-9)),
        session(model="m", duration_s=-600),
    ]
    stats = stats_of([*good, *bad])
    assert (stats.total_sessions, stats.impossible_rows) == (10, 5)
    assert (stats.failure_rate, stats.avg_cost, stats.avg_duration_minutes) == (0.25, 1, 1)


def test_groups_by_anything_a_row_says() -> None:
    rows = [
        session(
            model="a",
            kind="bugfix",
            complexity="complex",
            goal=("auth", "login"),
            agent="codex",
            timestamp=START,
        ),
        session(model="a", complexity="trivial", goal=("auth",), timestamp=datetime(2025, 3, 1, tzinfo=UTC)),
        session(model="b", kind="bugfix", framework="react", project_type="typescript", timestamp=None),
    ]
    assert {name: own.sessions for name, own in grouped(rows, "topic").items()} == {
        "auth": 2,
        "login": 1,
        "unknown": 1,
    }
    assert list(grouped(rows, "complexity")) == ["trivial", "complex", "unknown"]
    assert list(grouped(rows, "month")) == ["2025-03", "2026-01", "unknown"]
    assert list(grouped(rows, "kind")) == ["bugfix", "unknown"]
    for by in FIELD_OF:
        assert sum(own.sessions for own in grouped(rows, by).values()) >= 3


entries = st.lists(
    st.builds(
        LedgerEntry,
        session=st.uuids().map(str),
        model=st.sampled_from([None, "a", "b"]),
        tasks=st.none() | st.integers(-2, 9),
        failed=st.none() | st.integers(-2, 9),
        cost_usd=st.none() | st.decimals(-2, 50, places=4),
        duration_s=st.none() | st.integers(-5, 9_000),
        complexity=st.sampled_from([None, "trivial", "odd"]),
        timestamp=st.none() | st.datetimes(timezones=st.just(UTC)),
    ),
    max_size=25,
)


@given(entries)
@settings(max_examples=150)
def test_groups_add_up_to_the_whole_and_rates_stay_within_0_and_1(rows: list[LedgerEntry]) -> None:
    stats = stats_of(rows)
    for by in ("model", "complexity", "month"):
        groups = grouped(rows, by).values()
        assert sum(own.sessions for own in groups) == stats.total_sessions
        assert sum(own.failed_tasks for own in groups) == stats.total_failed_tasks
        assert sum(own.known_costs for own in groups) == stats.known_costs
        for own in (stats, *groups):
            for rate in (own.failure_rate, own.session_failure_rate):
                assert rate is None or 0 <= rate <= 1
            for cost in (own.avg_cost, own.total_cost):
                assert cost is None or cost >= 0


@pytest.mark.promise("L16")
@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "noise"), (1, "1 session: mostly noise"), (9, "noise"), (10, "first impression"), (49, "about 50"),
     (50, "patterns"), (99, "about 100"), (100, "steady"), (5000, "steady")],
)  # fmt: skip
def test_maturity_is_said(number: int, words: str) -> None:
    assert words in maturity(number)


def test_sessions_are_grouped_by_day_and_by_the_monday_of_their_week() -> None:
    days = (datetime(2026, 3, day, 12, tzinfo=UTC) for day in (1, 2, 4, 8, 9))  # a Sunday, a Monday, …
    rows = [session(timestamp=day) for day in days]
    by_week = {name: own.sessions for name, own in grouped(rows, "week").items()}
    assert by_week == {"2026-02-23": 1, "2026-03-02": 3, "2026-03-09": 1}
    assert list(grouped(rows, "day")) == [
        "2026-03-01",
        "2026-03-02",
        "2026-03-04",
        "2026-03-08",
        "2026-03-09",
    ]
