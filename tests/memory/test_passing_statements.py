"""What was settled for a moment only, and what holds from then on."""

from __future__ import annotations

import pytest

from holdfast.memory.merge import is_passing, is_passing_question
from holdfast.model.memory import Decision
from holdfast.model.statement import statement_of


@pytest.mark.parametrize(
    "question",
    [
        "What would you like to do with this ticket?",
        "How do you want to execute the plan?",
        "Do you have the error message?",
        "Should I open a pull request now?",
        "Which of these should go first?",
        "Shall we look at the second one again?",
    ],
)
def test_a_question_about_how_to_go_on_is_of_its_moment(question: str) -> None:
    assert is_passing_question(question)
    assert is_passing(statement_of(Decision(text=f"{question} The second one", by="user", session="s")))


@pytest.mark.parametrize(
    "question",
    [
        "Which database should the shop use?",
        "How long should links be valid?",
        "Which region should this project be deployed to?",
        "Where do uploaded files go in this repo?",
        "How should tasks of the queue be retried?",
    ],
)
def test_a_question_about_the_product_is_not(question: str) -> None:
    assert not is_passing_question(question)
    assert not is_passing(statement_of(Decision(text=f"{question} Postgres", by="user", session="s")))


@pytest.mark.parametrize(
    ("text", "by"),
    [
        ("Plan approved: Sign the links", "user"),
        ("test: Reach full coverage of the cart", "agent"),
        ("feat(cart)!: Round in cents", "agent"),
        ("Add a queue for refunds", "agent"),
        ("accepts signed links only", "agent"),
        ("Let's use the second table for (3)", "user"),
        ("We don't have carts anymore so this is obsolete", "user"),
    ],
)
def test_titles_deeds_and_what_points_at_something_gone_do_not_hold(text: str, by: str) -> None:
    assert is_passing(statement_of(Decision(text=text, by=by, session="s")))
    assert not is_passing(statement_of(Decision(text=text, by=by))), (
        "what somebody wrote down by hand is meant to hold"
    )


@pytest.mark.parametrize(
    ("text", "by"),
    [
        ("Use SQLite for the store", "agent"),
        ("never commit generated files", "user"),
        ("cart: keep totals in cents", "agent"),
        ("`links.sign` is deliberately strict", "agent"),
        ("we use pnpm in this repo", "user"),
    ],
)
def test_rules_and_choices_hold(text: str, by: str) -> None:
    assert not is_passing(statement_of(Decision(text=text, by=by, session="s")))
