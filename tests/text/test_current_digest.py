"""The digest of current.md: this branch only, the handed-over first, within the budget, old state in one line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.text import memory_values as values

from holdfast.model.memory import OpenItem, Question
from holdfast.text.current_digest import digest
from holdfast.text.current_md import ActiveProject, Current, Done, FileHint, NextStep
from holdfast.text.tokens import count_tokens

NOW = 1_767_621_720.0
STATE = Current(
    next=(
        NextStep(text="derive me", branch="main", at=NOW - 50),
        NextStep(text="Sign the links", branch="main", by="user", at=NOW - 60),
        NextStep(text="other branch's secret plan", branch="payments", at=NOW),
    ),
    todo=(
        OpenItem(text="Tidy up", priority="low"),
        OpenItem(text="Rotate the key", priority="high", owner="user"),
    ),
    questions=(Question(text="Which region?"),),
    done=(Done(text="Moved the proxy", branch="main", agent="codex", at=NOW - 3600),),
    projects=(ActiveProject(name="shop", status="webhook half done", pointers=("projects/shop/log.md",)),),
    files=(FileHint(path="projects/shop/reference.md", when="calling an API"),),
)


@pytest.mark.promise("M6", "M13")
def test_a_new_session_is_told_what_matters_on_its_branch() -> None:
    assert digest(STATE, "main", 300, NOW) == [
        "Next (by the user): Sign the links",
        "Done last (2026-01-05 13:02, codex): Moved the proxy",
        "To do (high, for the user): Rotate the key",
        "To do (low): Tidy up",
        "Open question: Which region?",
        "Project shop: webhook half done (see projects/shop/log.md)",
        "Load projects/shop/reference.md when calling an API",
    ]
    assert "payments" not in " ".join(digest(STATE, "main", 300, NOW))


@pytest.mark.promise("M6")
def test_state_older_than_two_weeks_is_one_line() -> None:
    assert digest(STATE, "main", 300, NOW + 20 * 86_400) == [
        "Last state here is 20 days old (2026-01-05): Sign the links"
    ]
    assert len(digest(STATE, "main", 300, NOW + 13 * 86_400)) == 7


@pytest.mark.promise("M6")
@settings(deadline=None)
@given(values.currents, st.integers(0, 300), st.floats(0, 4e9))
def test_the_digest_stays_within_its_budget(current: Current, budget: int, now: float) -> None:
    lines = digest(current, "main", budget, now)
    assert sum(map(count_tokens, lines)) <= budget
    assert not any("\n" in line for line in lines)


def test_one_essay_does_not_eat_the_budget() -> None:
    essay = Current(next=(NextStep(text="word " * 5000, at=NOW), NextStep(text="x" * 9000, at=NOW - 1)))
    first, second = digest(essay, "main", 300, NOW)
    assert first.endswith("…") and count_tokens(first) < 70
    assert second.endswith("…") and count_tokens(second) < 70
