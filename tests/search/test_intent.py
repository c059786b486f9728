"""The newest comes first where it is meant, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

import holdfast.search
from holdfast.search.intent import means_the_newest

DAY = 86_400.0


@pytest.mark.parametrize(
    "query",
    [
        "which broker do we use now?",
        "What is the latest version of the schema?",
        "what are we currently working on",
        "Who still has access?",
        "wie ist der aktuelle Stand?",
        "fix the flaky refresh test",
        "Add a discount rule, please",
        "can you check the failing build?",
    ],
)
def test_a_question_about_now_and_an_order_mean_the_newest(query: str) -> None:
    assert means_the_newest(query)


@pytest.mark.parametrize(
    "query",
    [
        "which broker did we choose?",
        "When did Nora repair the boiler?",
        "how does the cache work",
        "For the ratio in my press, did I switch to more water?",
        "ECONNREFUSED",
        "release notes",
        "",
        "Why does the import fail on a file of " + "a very long name " * 5 + "now and then",
    ],
)
def test_any_other_question_and_a_word_to_look_up_do_not(query: str) -> None:
    assert not means_the_newest(query)


@pytest.mark.promise("R2")
def test_an_old_answer_that_fits_better_comes_first_unless_now_is_asked_for(tmp_path: Path) -> None:
    with holdfast.search.open(tmp_path / "index.db") as index:
        index.put("old", "The event pipeline uses a PostgreSQL table as its broker.", when=0)
        index.put("new", "The pipeline uses NATS.", when=200 * DAY)
        now = 200 * DAY
        assert index.search("Which broker does the event pipeline use?", 1, now)[0].id == "old"
        first, second = index.search("Which pipeline is it now?", 2, now)
        assert (first.id, second.id) == ("new", "old")
