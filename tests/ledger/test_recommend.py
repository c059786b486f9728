"""A model for a goal: the seed's advice out of the seed's sessions, and no advice where they give none."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest
from bench.recommend import ledger, simulate, world
from msgspec import structs
from tests.ledger.ledgers import CLAUDE, GPT, fails, session, sessions

from holdfast.ledger.recommend import OBJECTIVES, Recommendation, recommend
from holdfast.ledger.similar import Goal, Logged, similar
from holdfast.model.ledger import LedgerEntry

ANY = Goal(words=("request", "validation"), kind="feature", project_type="go")


def go_projects() -> list[LedgerEntry]:
    """The seed's session 3: GPT-4 failed two of three Go sessions, Claude none of seven."""
    return [
        *fails(sessions(3, model=GPT, project_type="go", tasks=3, failed=0, cost_usd=Decimal("0.08")), 2),
        *sessions(7, model=CLAUDE, project_type="go", tasks=4, failed=0, cost_usd=Decimal("0.15")),
    ]


@pytest.mark.promise("L10")
def test_claude_is_recommended_for_go_projects_as_in_the_seed() -> None:
    told = recommend(ANY, go_projects())
    assert told.model == CLAUDE and told.sessions == 10
    assert told.sentence.startswith(f"{CLAUDE} (higher cost, lower risk, against {GPT})")
    assert told.chance is not None and told.chance >= 0.9


@pytest.mark.promise("L10")
def test_payment_code_is_given_to_the_model_that_never_failed_at_it() -> None:
    """The seed: GPT-4 failed two of three times on similar tasks, Claude never."""
    payment = {"goal": ("payment", "processing"), "kind": "refactor", "tasks": 4}
    rows = [
        *sessions(6, model=CLAUDE, failed=0, cost_usd=Decimal("0.20"), **payment),
        *fails(sessions(3, model=GPT, failed=0, cost_usd=Decimal("0.09"), **payment), 2),
        *sessions(8, model=CLAUDE, goal=("docs",), tasks=2, failed=0, cost_usd=Decimal("0.10")),
        *fails(sessions(8, model=GPT, goal=("docs",), tasks=2, failed=0, cost_usd=Decimal("0.06")), 2),
    ]
    told = recommend(Goal(words=("refactor", "payment", "processing", "module"), kind="refactor"), rows)
    assert told.model == CLAUDE
    assert "higher cost, lower risk" in told.sentence and "6 sessions like this" in told.sentence
    gpt = next(one for one in told.candidates if one.model == GPT)
    assert (gpt.like, gpt.like_failed) == (3, 2)
    assert gpt.cost is not None and gpt.cost_per_success is not None and gpt.cost_per_success > gpt.cost
    assert gpt.failure_interval[0] <= gpt.failure_rate <= gpt.failure_interval[1]


@pytest.mark.promise("L10")
@pytest.mark.parametrize(
    ("rows", "missing"),
    [
        ([], "0 sessions with a known model and result"),
        ([session(model="a", failed=0)], "1 session with"),
        (sessions(30, model="a"), "0 sessions with"),  # nobody knows how they ended
        (sessions(30, failed=0, tasks=1), "0 sessions with"),  # nor here which model it was
        (sessions(30, model="a", failed=0), "only a was used"),
        ([session(model=f"m{n}", failed=0) for n in range(30)], "no model has 3 sessions"),
    ],
)
def test_too_little_evidence_is_said_with_what_is_missing(rows: list[LedgerEntry], missing: str) -> None:
    told = recommend(ANY, rows)
    assert told.model is None and told.sentence.startswith("Not enough evidence: ")
    assert missing in told.missing


def test_models_that_fail_alike_and_cost_alike_are_not_told_apart() -> None:
    rows = [
        *fails(sessions(20, model="a", tasks=2, failed=0, cost_usd=Decimal("0.10")), 4),
        *fails(sessions(20, model="b", tasks=2, failed=0, cost_usd=Decimal("0.10")), 4),
    ]
    told = recommend(ANY, rows)
    assert told.model is None and told.sentence == (
        "No session here is like this. In all sessions a is not clearly ahead of other models: use the one you like."
    )
    assert told.not_told_apart == ("b",) and told.better_than == ()
    like = recommend(Goal(words=("docs",)), [structs.replace(row, goal=("docs",)) for row in rows])
    assert like.sentence.startswith("No clear difference: a fails 20% and b fails 20%")


def test_of_models_that_fail_alike_the_cheaper_is_taken_unless_only_risk_counts() -> None:
    rows = [
        *fails(sessions(20, model="a", tasks=2, failed=0, cost_usd=Decimal("0.90")), 4),
        *fails(sessions(20, model="b", tasks=2, failed=0, cost_usd=Decimal("0.10")), 4),
    ]
    told = recommend(ANY, rows)
    assert told.model == "b" and "lower cost, no clear difference in risk" in told.sentence
    assert recommend(ANY, rows, "risk").model is None
    assert recommend(ANY, rows, "cost").model == "b"


def test_a_model_of_three_sessions_is_not_taken_for_its_price() -> None:
    rows = [
        *fails(sessions(40, model="steady", tasks=2, failed=0, cost_usd=Decimal("0.90")), 4),
        *sessions(3, model="cheap", tasks=2, failed=0, cost_usd=Decimal("0.01")),
    ]
    assert recommend(ANY, rows).model != "cheap"


def test_of_many_models_it_is_said_who_leads_who_is_behind_and_who_is_not_told_apart() -> None:
    rows = fails(sessions(80, model="leads", tasks=2, failed=0, cost_usd=Decimal(1)), 2)
    rows += fails(sessions(40, model="behind", tasks=2, failed=0, cost_usd=Decimal(1)), 20)
    for n in range(6):
        rows += sessions(3, model=f"rare-{n}", tasks=2, failed=0, cost_usd=Decimal(1))
    told = recommend(ANY, rows, "risk")
    assert told.model is None and told.leaning == "leads"
    assert told.better_than == ("behind",) and set(told.not_told_apart) == {f"rare-{n}" for n in range(6)}
    assert told.sentence == (
        f"No session here is like this. No single best: leads fails {told.candidates[0].failure_rate:.0%} and leads, clearly safer than behind "
        "(40 sessions); not told apart from rare-0 (3 sessions), rare-1 (3 sessions), rare-2 (3 sessions) and 3 more."
    )


@pytest.mark.promise("L10")
def test_a_model_that_was_not_used_here_is_never_named() -> None:
    rng = random.Random(3)
    for n in (0, 5, 12, 60):
        rows = ledger(rng, world(rng), n)
        used = {entry.model for entry in rows}
        for objective in OBJECTIVES:
            told = recommend(ANY, rows, objective)
            named = {told.model, told.leaning, *told.better_than, *told.not_told_apart} - {None}
            assert named <= used and {one.model for one in told.candidates} <= used
            assert {word.strip("(),:;.") for word in told.sentence.split() if "model-" in word} <= used


def test_where_sessions_are_like_the_goal_only_their_models_are_compared() -> None:
    """A model that did other work here, however much or well, is no evidence for this goal."""
    flaky = {"goal": ("flaky", "test"), "kind": "bugfix", "tasks": 2, "failed": 0, "cost_usd": Decimal(8)}
    rows = [
        *fails(sessions(20, model="proven", **flaky), 4),
        *fails(sessions(20, model="tried", **flaky), 5),
        *sessions(30, model="elsewhere", goal=("docs",), tasks=2, failed=0, cost_usd=Decimal("0.01")),
    ]
    wanted = Goal(words=("flaky", "test"), kind="bugfix")
    for objective in OBJECTIVES:
        told = recommend(wanted, rows, objective)
        assert "elsewhere" not in told.sentence
        assert "elsewhere" not in {told.model, told.leaning, *told.better_than, *told.not_told_apart}
        assert told.candidates[-1].model == "elsewhere" and told.candidates[-1].like == 0
    alone = recommend(wanted, [row for row in rows if row.model != "tried"])
    assert alone.model is None and alone.sentence == (
        "Not enough evidence: 20 sessions like this, all with proven, so there is nothing to compare."
    )


def test_free_models_cost_nothing_and_the_others_what_they_cost() -> None:
    rows = [
        *fails(sessions(15, model="free", tasks=2, failed=0, cost_usd=Decimal(0)), 3),
        *fails(sessions(15, model="paid", tasks=2, failed=0, cost_usd=Decimal("0.40")), 3),
        *fails(sessions(15, model="secret", tasks=2, failed=0), 3),
    ]
    told = recommend(ANY, rows, "cost")
    costs = {one.model: one.cost for one in told.candidates}
    assert costs["free"] == 0 and costs["secret"] is None and costs["paid"] == pytest.approx(0.4, rel=0.01)
    assert told.model == "free" and told.candidates[-1].model == "secret"


def test_what_nobody_knows_is_no_ground_for_a_choice() -> None:
    rows = [*sessions(10, model="a", failed=0), *sessions(10, model="b", failed=0)]
    for objective in ("cost", "time"):
        told = recommend(ANY, rows, objective)
        assert told.model is None and f"the {objective} is known of 0 models" in told.sentence


def test_the_quicker_model_is_recommended_when_time_counts() -> None:
    rows = [
        *sessions(12, model="slow", failed=0, duration_s=1200),
        *sessions(12, model="fast", failed=0, duration_s=300),
    ]
    told = recommend(ANY, rows, "time")
    assert told.model == "fast" and told.better_than == ("slow",)


def test_a_model_that_was_given_the_hard_tasks_is_not_blamed_for_them() -> None:
    rows = [
        *fails(sessions(30, model="good", complexity="complex", tasks=2, failed=0), 12),
        *fails(sessions(30, model="bad", complexity="complex", tasks=2, failed=0)[:10], 8),
        *fails(sessions(60, model="bad", complexity="trivial", tasks=2, failed=0), 4),
        *sessions(10, model="good", complexity="trivial", tasks=2, failed=0),
    ]
    raw = {
        m: sum(e.failed or 0 for e in rows if e.model == m) / sum(e.model == m for e in rows)
        for m in ("good", "bad")
    }
    assert raw["bad"] < raw["good"]
    assert recommend(Goal(words=("x",), complexity="complex"), rows, "risk").leaning == "good"


def test_the_same_ledger_gives_the_same_advice_in_any_order() -> None:
    rng = random.Random(5)
    rows = ledger(rng, world(rng), 80)
    first = recommend(ANY, rows)
    for _ in range(3):
        rng.shuffle(rows)
        again = recommend(ANY, rows)
        assert (again.model, again.leaning, again.sentence) == (first.model, first.leaning, first.sentence)


@pytest.mark.promise("L10")
def test_on_simulated_ledgers_it_beats_simple_rules_and_its_intervals_hold() -> None:
    found = simulate(300, worlds=12)
    assert found.ours < 0.6 * found.most_used and found.ours < 0.6 * found.lowest_raw
    assert found.covered / found.intervals >= 0.9


def test_where_models_are_alike_it_mostly_abstains() -> None:
    found = simulate(100, worlds=12, equal=True)
    assert found.answered / found.asked <= 0.25


@pytest.mark.promise("L11")
def test_sessions_like_a_goal_are_found_by_the_words_they_share_the_rarer_the_better() -> None:
    rows = [
        session(session="far", goal=("celery", "tasks")),
        session(session="common", goal=("api", "docs")),
        session(session="near", goal=("rate", "limiting", "api", "gateway"), kind="feature"),
        *(session(goal=("api", f"word{n}")) for n in range(20)),
    ]
    found = similar(Goal(words=("rate", "limiting", "api"), kind="feature"), rows)
    assert found[0].entry.session == "near" and found[0].why == "shares rate, limiting, api; also feature"
    assert "far" not in [one.entry.session for one in found]
    assert all(0 < one.score <= 1 for one in found)
    assert similar(Goal(words=()), rows) == [] and similar(Goal(words=("x",)), []) == []


def test_of_equally_similar_sessions_the_newer_comes_first() -> None:
    older, newer = session(goal=("auth",)), session(goal=("auth",))
    assert [one.entry for one in similar(Goal(words=("auth",)), [older, newer])] == [newer, older]


def test_a_word_that_every_session_has_still_finds_them_in_either_number() -> None:
    rest = ("alpha", "beta", "gamma", "delta", "omega", "kappa", "sigma")
    rows = [
        session(session=f"s{n}", goal=("checkpoint", *(f"{word}{n}" for word in rest))) for n in range(42)
    ]
    assert len(similar(Goal(words=("checkpoints",)), rows)) == 42
    assert similar(Goal(words=("checkpoints",)), rows, most=1)[0].why == "shares checkpoint"
    assert similar(Goal(words=("unheard", "checkpoint")), rows) == [], (
        "half a goal that all share is no likeness"
    )


def test_a_log_that_answers_is_as_good_as_the_row() -> None:
    rows = [session(session="s1", goal=("login",)), session(session="s2", goal=("fix",))]
    (found,) = similar(Goal(words=("checkpoint",)), rows, logs={"s2": Logged(0.6, ("checkpoint",))})
    assert (found.entry.session, found.why) == ("s2", "its log has checkpoint")


def test_meaning_finds_what_no_word_does() -> None:
    rows = [session(goal=("authentication",)), session(goal=("billing",))]
    (found,) = similar(Goal(words=("login",)), rows, meaning=[0.8, 0.0])
    assert found.entry is rows[0] and found.why == "means much the same"


def test_a_recommendation_says_how_many_sessions_it_could_not_use() -> None:
    told: Recommendation = recommend(
        ANY, [*go_projects(), *sessions(4, model=CLAUDE), *sessions(2, failed=0)]
    )
    assert (told.sessions, told.left_out) == (10, 6)
