"""What memory saved, over made sessions: exact where the numbers are known, and sane whatever they are."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.ledger.roi import (
    Asking,
    FailedCommand,
    MemorySize,
    RoiEvidence,
    SessionFacts,
    Subject,
    ToldFacts,
    roi_of,
)


def session(number: int, **facts: Any) -> SessionFacts:
    return SessionFacts(**{"session": f"s{number}", "at": float(number), "told": False, **facts})


def figures(value: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object with a formula, and where it stands."""
    if isinstance(value, dict):
        if "formula" in value:
            yield path, value
        for key, item in value.items():
            yield from figures(item, f"{path}.{key}")
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from figures(item, f"{path}[{number}]")


def test_nothing_at_all_gives_every_figure_and_no_number_that_was_not_counted() -> None:
    found = roi_of(RoiEvidence())
    assert found.sessions.difference is None
    assert found.sessions.with_memory.cost.value is None
    assert found.injected.share.value is None and found.injected.share.note
    assert [stage.files.note for stage in found.re_explaining] == [
        "not enough sessions yet: 0 of 5",
        "not enough sessions yet: 0 of 10",
        "not enough sessions yet: 0 of 11",
    ]
    assert found.continued.value is None and found.compression.ratio.value is None


@pytest.mark.promise("M12")
def test_sessions_with_memory_are_set_against_those_without_from_five_of_each_on() -> None:
    told = [session(n, told=True, cost_usd=1.0 + n, tasks=2, failed=0) for n in range(4)]
    others = [session(n, cost_usd=10.0 + n, tasks=4, failed=1) for n in range(10, 18)]
    assert roi_of(RoiEvidence(sessions=told + others)).sessions.difference is None
    told.append(session(4, told=True, cost_usd=5.0, tasks=2))
    found = roi_of(RoiEvidence(sessions=told + others)).sessions
    assert (found.with_memory.cost.value, found.without_memory.cost.value) == (3.0, 23.5)
    assert found.without_memory.failures.value == 0.25 and found.without_memory.failures.n == 32
    assert found.difference is not None and found.difference.cost is not None
    assert found.difference.cost.value == -20.5 and found.difference.cost.high < 0
    assert found.difference.minutes is None, "nobody knows the minutes"


def test_a_session_of_which_nobody_knows_whether_it_was_told_is_in_neither_group() -> None:
    found = roi_of(RoiEvidence(sessions=[session(1, told=None), session(2)])).sessions
    assert (found.with_memory.sessions.n, found.without_memory.sessions.n) == (0, 1)


def test_a_session_that_recorded_less_than_it_was_told_is_left_out_of_the_share() -> None:
    sessions = [session(1, told=True, new_input=10), session(2, told=True, new_input=1000)]
    told = [ToldFacts(session=f"s{n}", tokens=50, bytes=200) for n in (1, 2)]
    found = roi_of(RoiEvidence(sessions=sessions, told=told)).injected
    assert (found.tokens.value, found.tokens.n) == (100, 2)
    assert (found.share.value, found.share.n) == (0.05, 1)


@pytest.mark.promise("M12")
def test_re_explaining_is_measured_after_five_and_ten_sessions() -> None:
    again = FailedCommand("yarn test", resolved=True)
    files = frozenset({"a.py", "b.py"})
    sessions = [session(n, opened=files, stumbles=(again,) if n in (1, 7) else ()) for n in range(1, 13)]
    first, second, rest = roi_of(RoiEvidence(sessions=sessions)).re_explaining
    assert (first.files.value, first.files.n) == (1.0, 8), "the first session has nothing before it"
    assert first.dead_ends.value is None
    assert (second.dead_ends.value, second.dead_ends.n) == (1.0, 1)
    assert (rest.n, rest.files.n) == (2, 4)
    too_few = roi_of(RoiEvidence(sessions=sessions[:9])).re_explaining
    assert too_few[1].files.value is None and too_few[1].files.note == "not enough sessions yet: 9 of 10"


def test_a_dead_end_that_nobody_resolved_cannot_be_repeated() -> None:
    sessions = [session(n, stumbles=(FailedCommand("make x", resolved=False),)) for n in range(1, 7)]
    first = roi_of(RoiEvidence(sessions=sessions)).re_explaining[0]
    assert (first.dead_ends.value, first.dead_ends.n) == (0.0, 4)


def test_since_counts_later_sessions_only_and_still_knows_the_earlier_ones() -> None:
    sessions = [session(n, opened=frozenset({"a.py"})) for n in range(1, 13)]
    found = roi_of(RoiEvidence(sessions=sessions, since=11.5))
    assert found.sessions.without_memory.sessions.n == 1
    assert [stage.n for stage in found.re_explaining] == [0, 0, 1]
    assert found.re_explaining[2].files.value == 1.0


def test_a_question_is_asked_again_only_where_another_session_had_the_answer_before() -> None:
    answered = Asking("s1", 1.0, 1.5)
    groups = [
        [answered, Asking("s1", 2.0, None), Asking("s2", 3.0, None)],  # once: the same session may ask twice
        [Asking("s1", 1.0, None), Asking("s2", 2.0, None)],  # never answered
        [Asking("s3", 9.0, 9.0), Asking("s2", 2.0, 2.0)],  # the later one repeats the earlier
    ]
    found = roi_of(RoiEvidence(questions=groups, offered=4)).questions
    assert (found.asked_again.value, found.asked_again.n) == (2, 7)
    assert (found.offered.value, found.offered.n) == (4, 6)


def test_a_session_continues_from_memory_by_a_path_or_two_words() -> None:
    line = Subject(frozenset({"refund", "endpoint"}), frozenset({"api/refund.py"}))
    sessions = [
        session(1, subject=Subject(frozenset({"refund"}))),
        session(2, subject=Subject(frozenset({"refund", "endpoint", "css"}))),
        session(3, subject=Subject(paths=frozenset({"api/refund.py"}))),
    ]
    told = [ToldFacts(session=f"s{n}", tokens=1, bytes=1, opening=(line,)) for n in range(1, 5)]
    found = roi_of(RoiEvidence(sessions=sessions, told=told)).continued
    assert (found.value, found.n) == (2, 3), "the fourth is not captured yet"


# --- whatever is handed in -----------------------------------------------------------------------------

MOMENTS = st.none() | st.floats(0, 2e9)
SEEDS = st.integers(0, 10**9)
COSTS = (None, 0.0, 0.3, 4.87, 1e308, -1.0, float("nan"), float("inf"))


def made_session(number: int, seed: int) -> tuple[SessionFacts, ToldFacts | None]:
    """Any session: drawn value by value by hypothesis, a dozen of them would take it seconds."""
    chance = Random(seed)

    def some(*values: str) -> frozenset[str]:
        return frozenset(value for value in values if chance.random() < 0.4)

    def subject() -> Subject:
        return Subject(some("refund", "endpoint", "css"), some("a.py", "c/d.py"))

    tasks, told = chance.randrange(6), chance.choice([True, True, False, False, None])
    made = session(
        number,
        told=told,
        cost_usd=chance.choice(COSTS),
        minutes=chance.choice([None, 0.0, 90 * chance.random()]),
        tokens=chance.choice([None, 0, chance.randrange(10**9)]),
        new_input=chance.choice([None, 0, chance.randrange(2000)]),
        tasks=tasks,
        failed=chance.randint(0, tasks),
        opened=some("a.py", "b.py", "c/d.py", "e"),
        changed=some("a.py", "b.py", "c/d.py", "e"),
        stumbles=tuple(FailedCommand(command, chance.random() < 0.5) for command in some("x", "y", "z")),
        subject=subject(),
    )
    if not told:
        return made, None
    size = chance.choice([0, chance.randrange(1200)])
    opening = tuple(subject() for _ in range(chance.randrange(3)))
    return made, ToldFacts(session=made.session, tokens=size, bytes=4 * size, opening=opening)


@st.composite
def evidence(draw: st.DrawFn) -> RoiEvidence:
    made = [made_session(number, seed) for number, seed in enumerate(draw(st.lists(SEEDS, max_size=16)))]
    asking = st.builds(Asking, st.sampled_from(["s0", "s1", "s2"]), MOMENTS, MOMENTS)
    kept = st.builds(
        MemorySize,
        category=st.just("session state"),
        named=st.just("current.md"),
        files=st.integers(0, 9),
        lines=st.integers(0, 10**6),
        bytes=st.integers(0, 10**9),
    )
    return RoiEvidence(
        sessions=[one for one, _ in made],
        told=[told for _, told in made if told],
        questions=draw(st.lists(st.lists(asking, max_size=4), max_size=3)),
        offered=draw(st.integers(0, 50)),
        kept=draw(st.lists(kept, max_size=2)),
        transcript_files=draw(st.integers(0, 100)),
        transcript_bytes=draw(st.integers(0, 10**12)),
        since=draw(st.none() | st.floats(0, 20)),
    )


def as_json(evidence: RoiEvidence) -> dict[str, dict[str, Any]]:
    return dict(figures(msgspec.to_builtins(roi_of(evidence))))


@given(evidence())
def test_no_figure_is_without_base_negative_or_over_all(made: RoiEvidence) -> None:
    for path, figure in as_json(made).items():
        assert {"value", "n", "formula"} <= set(figure) and figure["formula"] and figure["n"] >= 0, path
        numbers = [
            figure[key] for key in ("value", "mean", "total", "low", "high") if figure.get(key) is not None
        ]
        assert all(map(isfinite, numbers)), path
        if ".difference" not in path:
            assert all(number >= 0 for number in numbers), path
        if path.endswith((".failures", ".share", ".files", ".dead_ends")) and figure["value"] is not None:
            assert figure["value"] <= 1 and figure["n"] > 0, path
        if path.endswith((".continued", ".asked_again", ".offered")) and figure["value"] is not None:
            assert figure["value"] <= figure["n"], path


@given(evidence(), SEEDS)
def test_adding_a_session_never_lowers_an_n(made: RoiEvidence, seed: int) -> None:
    one, told = made_session(len(made.sessions), seed)
    more = replace(made, sessions=[*made.sessions, one], told=[*made.told, *([told] if told else [])])
    before, after = as_json(made), as_json(more)
    assert set(before) <= set(after)
    assert {path: figure["n"] for path, figure in before.items() if after[path]["n"] < figure["n"]} == {}
