"""The effect of a holdout is estimated with an interval that holds however often one looks."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripts.simulate_holdout import WORLDS, simulate

from holdfast.ledger.holdout import Row, Trial
from holdfast.ledger.sequential import (
    FEWEST_OF_AN_ARM,
    effect_of,
    estimate,
    needed,
    planned,
    report,
    sums,
    width,
)

pytestmark = pytest.mark.promise("P2")


def trials(effect: float, days: int = 60, per_day: int = 10, seed: int = 1) -> list[Trial]:
    """Sessions whose cost and time the memory changes by this factor; one in five is held out."""
    rng = np.random.default_rng(seed)

    def one(day: int, told: bool) -> Trial:
        factor = effect if told else 1.0
        return Trial(
            day=day,
            kind=str(rng.choice(["feature", "bugfix"])),
            share=0.2,
            told=told,
            cost_usd=float(np.exp(rng.normal(0, 0.5))) * factor,
            minutes=float(np.exp(rng.normal(2, 0.5))) * factor,
            calls=int(rng.poisson(12)),
            failures=float(rng.random() < 0.2),
        )

    return [one(day, bool(told)) for day in range(days) for told in rng.random(per_day) >= 0.2]


def reported(given: list[Trial]) -> Any:
    return report(given, share=0.2, since="2026-01-01T00:00:00Z", uncaptured=0, left_out=0)


def test_a_real_effect_is_found_and_its_interval_holds_it() -> None:
    found = reported(trials(0.7))
    cost, time, calls, failures = found.effects
    assert cost.low < -0.3 < cost.high < 0 and time.low < -0.3 < time.high < 0
    assert calls.low < 0 < calls.high and failures.low < 0 < failures.high
    assert found.verdict == "Memory lowers the cost of a session."
    assert reported(trials(1.5)).verdict == "Memory raises the cost of a session."


def test_without_an_effect_nothing_is_concluded_and_the_sessions_still_needed_are_named() -> None:
    found = reported(trials(1.0, days=30, per_day=6))
    assert found.effects[0].low < 0 < found.effects[0].high
    assert f"about {found.effects[0].needed:,} more sessions" in found.verdict and found.effects[0].needed > 0


@pytest.mark.parametrize("days, per_day", [(10, 40), (40, 1), (0, 0)])
def test_too_few_days_or_sessions_give_no_figure_and_say_what_is_lacking(days: int, per_day: int) -> None:
    cost = reported(trials(0.1, days, per_day)).effects[0]
    assert (cost.value, cost.low, cost.high, cost.needed) == (None, None, None, None)
    assert cost.note.startswith("too early: ")
    assert ("of 20 days" in cost.note) is (days < 20)
    assert (f"of {FEWEST_OF_AN_ARM} sessions in the holdout" in cost.note) is (cost.n_held < FEWEST_OF_AN_ARM)


def test_kinds_of_work_and_shares_are_compared_only_with_themselves() -> None:
    """All dear sessions are of one kind, which the share of a later period holds out more often."""
    rows = [
        Row(day, kind, told, (5.0 if kind == "dear" else 1.0) + day % 3 / 100)
        for day in range(40)
        for kind, arms in (("dear", (True, False)), ("cheap", (True, True, True, False)))
        for told in arms
    ]
    value, error, days = estimate(sums(rows))
    assert abs(value) < 1e-9 and days == 40 and error < 0.01


def test_sessions_of_a_day_count_as_one_piece_of_evidence() -> None:
    rng = np.random.default_rng(3)
    rows = [
        Row(day, "feature", told, effect * told + rng.normal(0, 0.01))
        for day, effect in enumerate(rng.normal(0, 1, 40))
        for told in (True, False) * 20
    ]
    _, error, _ = estimate(sums(rows))
    assert 0.5 / sqrt(40) < error < 2 / sqrt(40), "of days, not of 1,600 sessions"


def test_the_interval_is_wider_than_that_of_one_look_and_narrows_with_time() -> None:
    assert all(width(days) > 1.96 for days in range(1, 5_000))
    halves = [width(days) / sqrt(days) for days in range(1, 2_000)]
    assert halves == sorted(halves, reverse=True)


@given(st.floats(0.5, 20), st.integers(20, 200), st.floats(1, 10))
def test_the_number_of_sessions_needed_suffices_and_one_less_does_not(
    spread: float, days: int, per_day: float
) -> None:
    sessions = round(days * per_day)
    more = needed(spread, sessions, days, -log(0.8))
    if not more:
        return

    def detects(number: int) -> bool:
        return (float(width(number * days / sessions)) + 0.8416) * spread / sqrt(number) <= -log(0.8)

    assert detects(sessions + more) and not detects(sessions + more - 1)


@pytest.mark.parametrize("value", [0.0, 0.01, 1e12])
def test_values_at_the_edge_are_no_errors(value: float) -> None:
    same = [
        Trial(
            day=day, kind="docs", share=0.5, told=told, cost_usd=value, minutes=value, calls=0, failures=0.0
        )
        for day in range(40)
        for told in (True, False)
    ]
    cost = reported(same).effects[0]
    assert cost.value is None and cost.note == "all sessions have the same value"


def test_unknown_figures_are_left_out() -> None:
    some = [Trial(day=t.day, kind=t.kind, share=t.share, told=t.told, minutes=t.minutes) for t in trials(0.7)]
    cost, time, calls, failures = reported(some).effects
    assert (cost.n_told, calls.n_told, failures.n_told) == (0, 0, 0) and time.value is not None


def test_what_is_planned_from_earlier_sessions_is_near_what_a_holdout_then_needs() -> None:
    rng = np.random.default_rng(5)
    costs = {"feature": np.exp(rng.normal(0, 1.2, 300)), "bugfix": np.exp(rng.normal(1, 1.2, 200))}
    before = planned(costs, 0.5, 5)
    assert before is not None
    ended = simulate(
        replace(WORLDS[0], day_spread=0.0, per_day=5.0), log(0.8), days=before // 5, runs=200, share=0.5
    )
    assert 0.7 < np.mean(~np.isnan(ended.concluded)) < 0.95, "four times of five"
    assert planned({"feature": [1.0] * 5}, 0.2, 5) is None


@pytest.mark.parametrize("world", WORLDS, ids=lambda world: world.name)
def test_looking_every_day_seldom_finds_an_effect_where_there_is_none(world: Any) -> None:
    """The same seed gives the same figures; docs/research/holdout.md has those of many more runs."""
    ended = simulate(world, 0.0, days=80, runs=200, seed=7)
    assert np.mean(~np.isnan(ended.concluded)) <= 0.05
    assert np.mean(ended.covered) >= 0.95


def test_a_test_at_every_look_would_deceive_where_this_does_not() -> None:
    ended = simulate(WORLDS[0], 0.0, days=80, runs=200, seed=7)
    assert np.mean(~np.isnan(ended.naive)) > 0.12


def test_shown_figures_are_those_of_the_logarithms() -> None:
    rows = [Row(t.day, t.kind, t.told, t.cost_usd or 0.01) for t in trials(0.7)]
    effect = effect_of("cost", rows, "ratio", "")
    value, error, days = estimate(sums([Row(r.day, r.stratum, r.told, log(r.value)) for r in rows]))
    assert effect.value == pytest.approx(exp(value) - 1)
    assert effect.low == pytest.approx(exp(value - float(width(days)) * error) - 1)
