"""Which stumbles are worth a line at every start: those that the latest sessions still meet."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from holdfast.lessons.commands import LEAST_MET, lately_met
from holdfast.model.lesson import Lesson, LessonEvidence

SESSIONS = [f"s{number}" for number in range(200)]


def met_in(*sessions: str) -> Lesson:
    evidence = tuple(LessonEvidence(session=session, at=None) for session in sessions)
    return Lesson(
        name="go", description="", rules=("`go` is not found here",), kind="stumble", evidence=evidence
    )


def test_what_two_of_the_latest_sessions_met_is_told_and_what_two_old_ones_met_is_not() -> None:
    assert lately_met(met_in("s198", "s190"), SESSIONS) >= LEAST_MET
    assert lately_met(met_in("s3", "s9"), SESSIONS) < LEAST_MET


def test_in_a_short_history_two_are_enough_whenever_they_met_it() -> None:
    assert lately_met(met_in("s0", "s1"), SESSIONS[:20]) >= LEAST_MET


def test_what_somebody_wrote_and_what_others_taught_is_not_counted() -> None:
    assert lately_met(met_in(), SESSIONS) == 1.0
    assert lately_met(met_in("of a colleague", "s3"), SESSIONS) == 1.0


@given(st.sets(st.sampled_from(SESSIONS), min_size=1))
def test_it_is_a_share_and_more_sessions_make_it_larger(sessions: set[str]) -> None:
    share = lately_met(met_in(*sorted(sessions)), SESSIONS)
    assert 0 < share <= 1.0 + 1e-9
    assert share <= lately_met(met_in(*sorted(sessions | {"s0", "s199"})), SESSIONS) + 1e-9
