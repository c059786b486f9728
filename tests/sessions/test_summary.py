"""What a session did, in words about its own work: never only that it was committed and that the tests pass."""

from __future__ import annotations

import pytest
from tests.sessions.test_harvest import Told

from holdfast.language.own_words import own_words
from holdfast.sessions.session import SessionPart, conclude
from holdfast.sessions.summary import body_of, summary_line

ROUTINE = [
    "Committed.",
    "Done.",
    "All tests pass.",
    "Pushed to main. All checks are green, and the working tree is clean.",
    "Committed as `900b1aa` and pushed branch `fix/limits`.",
    "PR #12 is ready for review: https://forge.example/shop/pull/12",
    "`make test` passes, 0 errors, 0 warnings.",
]
REPORT = "The limiter counts per key now, and a burst of one client no longer blocks the others."


def summary(story: Told) -> str:
    digest = story.digest()
    digest.seal(str)
    return conclude("s1", [SessionPart("a.jsonl", digest)], None, None).summary


@pytest.mark.parametrize("said", ROUTINE)
def test_a_report_that_could_end_any_session_has_no_words_of_its_own(said: str) -> None:
    assert own_words(said) == frozenset()
    assert summary_line(said) == ""


@pytest.mark.promise("M2")
@pytest.mark.parametrize("said", ROUTINE)
def test_the_last_message_with_content_counts(said: str) -> None:
    story = Told().ask("limit the clients").edit("limiter.py").say(f"{said}\n\n{REPORT}")
    assert summary(story) == REPORT
    story.ask("commit and push").run("git commit -m x", "[main 1a2b3c4] x").say(said)
    assert summary(story) == REPORT


@pytest.mark.promise("M2")
def test_where_no_message_has_any_the_commit_speaks_with_its_body() -> None:
    command = (
        "git commit -m \"$(cat <<'EOF'\nfix(limiter): count per key\n\nOne client could use up the budget of all others."
        ' It is one bucket per key now.\n\nCo-Authored-By: Ada <ada@shop.example>\nEOF\n)"'
    )
    story = Told().ask("fix it").edit("limiter.py").run(command, "[main 1a2b3c4] fix(limiter): count per key")
    assert summary(story.say("Committed.")) == (
        "fix(limiter): count per key. One client could use up the budget of all others."
    )


def test_a_quiet_commit_is_known_by_its_message() -> None:
    story = (
        Told().ask("fix it").edit("limiter.py").run('git commit -qm "Count the limits of clients per key"')
    )
    assert summary(story.say("Done.")) == "Count the limits of clients per key"


def test_where_nothing_was_said_the_changed_files_are_named() -> None:
    story = Told().ask("fix it")
    for name in ("b.py", "limiter.py", "limiter.py", "c.py", "d.py", "e.py"):
        story.edit(name)
    assert (
        summary(story.say("All green."))
        == "Changed `limiter.py`, `b.py`, `c.py`, `d.py` and 1 more; no report."
    )


def test_a_question_at_the_end_does_not_hide_the_work() -> None:
    story = Told().ask("limit the clients").edit("limiter.py").say(REPORT)
    story.ask("what is a token bucket?").say(
        "A token bucket holds tokens that requests take out, at a steady rate."
    )
    assert summary(story) == REPORT


def test_words_that_only_announce_are_no_summary() -> None:
    story = Told().ask("limit the clients").edit("limiter.py").say(REPORT)
    story.ask("and document it").say("I'm opening the guide of the limiter now.").run("ls docs", "guide.md")
    assert summary(story) == REPORT


def test_a_line_that_introduces_a_list_stays_with_it() -> None:
    said = "Both parsers read the new currency field now:\n\n- `orders.py` takes it from the header\n- `refunds.py` too\n"
    assert summary_line(said, 200).startswith(
        "Both parsers read the new currency field now: `orders.py` takes it"
    )


def test_choices_that_a_question_offers_were_not_made() -> None:
    choices = (
        "- A helper writes each part of the limiter in turn\n- A new session executes the limiter plan\n"
    )
    assert summary_line(f"{REPORT}\n\nTwo ways:\n\n{choices}\nWhich of them?", 200) == REPORT


def test_what_is_left_is_not_in_the_summary() -> None:
    said = f"{REPORT} The burst size of the limiter still needs a setting.\n\nNext: document the limiter."
    assert summary_line(said, 300) == REPORT


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", ""),
        ("\nCo-Authored-By: Ada <ada@shop.example>\nEntire-Checkpoint: 1a2b", ""),
        ("\n- Rounds the refund in cents. More of it.\n", "Rounds the refund in cents."),
        ("Cause: the proxy cut long links.\n\nSigned-off-by: Ada", "Cause: the proxy cut long links."),
    ],
)
def test_the_first_sentence_of_a_body_counts_and_trailers_do_not(body: str, said: str) -> None:
    assert body_of(body) == said
