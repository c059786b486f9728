"""A decision or a fact answers a question when it says it, and in doubt it does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.likeness import asks_for
from holdfast.memory.paraphrase import answering
from holdfast.memory.state import guess_category
from holdfast.model.memory import Decision, Fact, FactCategory
from holdfast.model.statement import statement_of

ANSWERS = [
    ("What port does the API listen on?", "The API listens on port 8080"),
    ("Which region do we deploy to?", "We deploy to region eu-west-1"),
    ("Where do the migrations of orders live?", "Migrations of orders live in db/migrate"),
    ("Do the tests need a database?", "The tests need a running database"),
    ("Do we commit generated files?", "Never commit generated files"),
    ("pnpm or npm?", "Use pnpm, not npm"),
    (
        "Should the API return 404 or 403 for hidden orders?",
        "Hidden orders return 404 from the API",
    ),
    ("How are webhook links signed?", "Sign webhook links with the key of the project"),
]
NO_ANSWERS = [
    ("Which API do we listen to?", "The API listens on port 8080"),
    ("Why does the API listen on port 8080?", "The API listens on port 8080"),
    ("Which branch do we deploy from?", "Never deploy from a branch without review"),
    ("Where are the webhook links signed?", "Sign webhook links"),
    ("Who signs webhook links?", "Sign webhook links with the key of the project"),
    ("When does the production server restart?", "The production server restarts by itself"),
    ("How many workers does the queue have?", "The queue has workers"),
    ("What is on port 9090 of the API?", "The API listens on port 8080"),
    ("Is the staging server restarted at night?", "The production server restarts at night"),
    ("Redis?", "Use Redis for the session cache"),
    ("", "Use Redis"),
]


@pytest.mark.promise("M4")
@pytest.mark.parametrize(("question", "statement"), ANSWERS)
def test_a_statement_that_says_it_answers(question: str, statement: str) -> None:
    coffee, fact = (
        statement_of(Fact(text=text, evidence="x")) for text in ("Coffee is served at noon", statement)
    )
    assert answering(question, [coffee, fact]) == [fact]


@pytest.mark.promise("M4")
@pytest.mark.parametrize(("question", "statement"), NO_ANSWERS)
def test_a_statement_on_the_same_subject_is_no_answer(question: str, statement: str) -> None:
    said = (Fact(text=statement, evidence="x"), Decision(text=statement))
    assert answering(question, map(statement_of, said)) == []


@pytest.mark.promise("M4")
def test_why_is_answered_by_a_reason_and_of_equals_the_latest_comes_first() -> None:
    reasons = {"": 3.0, "workers share it": 1.0, "it is there": 2.0}
    bare, early, late = (
        statement_of(Decision(text="Use Redis for the session cache", rationale=reason, at=at))
        for reason, at in reasons.items()
    )
    assert answering("Why do we use Redis for the session cache?", [bare, late, early]) == [late, early]


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=5))
def test_no_text_breaks_it(question: str, texts: list[str]) -> None:
    decisions = [statement_of(Decision(text=text)) for text in texts]
    assert {found.text for found in answering(question, decisions)} <= set(texts)
    assert asks_for(question) in ("", "where", "when", "who", "how", "why", "amount")


@pytest.mark.promise("M16")
@pytest.mark.parametrize(
    ("text", "category"),
    [
        ("The API listens on port 8080", FactCategory.ENDPOINT),
        ("POST /v2/orders makes an order", FactCategory.ENDPOINT),
        ("The account id is 4711", FactCategory.ID),
        ("`make fix` formats everything", FactCategory.COMMAND),
        ("python is 3.11 here", FactCategory.ENVIRONMENT),
        ("The parser depends on lxml", FactCategory.DEPENDENCY),
        ("The bundle is written to dist", FactCategory.BUILD),
        ("The tests need a database", FactCategory.TESTING),
        ("The benchmark took 12 s", FactCategory.RESULT),
        ("It was decided to keep the old form", FactCategory.DECISION),
        ("Coffee is served at noon", FactCategory.OTHER),
    ],
)
def test_a_category_is_guessed_from_the_words(text: str, category: FactCategory) -> None:
    assert guess_category(text) == category
