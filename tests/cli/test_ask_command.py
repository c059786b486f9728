"""`holdfast ask` in other words than the record's: an answer with what it rests on, an offer, or an open question."""

from __future__ import annotations

import pytest
from tests.command import Holdfast


@pytest.mark.promise("M4", "W3")
def test_a_decision_answers_a_question_in_other_words_and_says_what_it_rests_on(holdfast: Holdfast) -> None:
    holdfast("decide", "Use SQLite for the store", "--because", "no server to run", check=0)
    told = holdfast("ask", "Which database do we use?", check=0).stdout.splitlines()
    assert told[0] == "Use SQLite for the store (because no server to run)"
    assert "D-" in told[1]
    assert "20" in told[1]  # its date
    assert "reference.md" in told[1]
    assert holdfast("questions", "--json", check=0).json() == []  # nothing is left open


@pytest.mark.promise("M4", "W3")
def test_a_question_answered_before_is_answered_in_other_words(holdfast: Holdfast) -> None:
    holdfast("answer", "Which linter do we use for the frontend?", "eslint", check=0)
    reply = holdfast("ask", "What linter is used for the frontend?", "--json", check=0).json()
    assert (reply["status"], reply["answer"]) == ("answered", "eslint")


@pytest.mark.promise("M4")
def test_what_is_near_but_unsure_is_offered_and_the_question_stays_open(holdfast: Holdfast) -> None:
    holdfast("decide", "Use SQLite for the store", check=0)
    holdfast("decide", "Use Redis for the cache", check=0)
    reply = holdfast("ask", "--keep", "Which database do we use?", "--json", check=0).json()
    assert reply["status"] == "recorded"
    assert reply["answer"] == ""
    assert {near["text"] for near in reply["perhaps"]} == {
        "Use SQLite for the store",
        "Use Redis for the cache",
    }
    told = holdfast("ask", "--keep", "Which database do we use?", check=0).stdout
    assert "  perhaps: Use SQLite for the store\n" in told


@pytest.mark.promise("M4", "W3")
@pytest.mark.parametrize("question", ["What colour is the logo?", "Who approves the budget?", "Why?"])
def test_what_the_record_knows_nothing_of_is_neither_answered_nor_offered(
    holdfast: Holdfast, question: str
) -> None:
    holdfast("decide", "Use SQLite for the store", check=0)
    holdfast("fact", "add", "The health check listens on port 8081", "--evidence", "curl", check=0)
    reply = holdfast("ask", question, "--no-record", "--json", check=0).json()
    assert (reply["status"], reply["answer"], reply["perhaps"]) == ("open", "", [])


@pytest.mark.promise("M14")
def test_the_same_decision_in_other_words_is_merged_and_a_rival_is_shown(holdfast: Holdfast) -> None:
    first = holdfast("decide", "The importer skips broken lines", "--json", check=0).json()
    again = holdfast("decide", "Broken lines are ignored by the importer", "--json", check=0).json()
    assert (again["status"], again["id"]) == ("merged", first["id"])
    holdfast("decide", "Use yarn to install packages", check=0)
    other = holdfast("decide", "Packages are installed with pnpm", "--json", check=0).json()
    assert other["status"] == "recorded"
    (asked,) = holdfast("questions", "--json", check=0).json()
    assert "Which holds" in asked["text"]
