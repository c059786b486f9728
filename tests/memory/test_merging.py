"""The same in other words is merged, the opposite and the differing number are shown, the rest is left apart."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.core.likeness import Likeness, compare
from holdfast.memory.merge import contradicting, find, merge
from holdfast.model.memory import DeadEnd, Decision, Fact, Finding, Question

# The thresholds of `likeness` were set on these pairs; a pair that is judged wrongly belongs here.
SAME = [
    ("Use PostgreSQL for the job queue", "use Postgres for the job queue."),
    ("The tests need a running database", "Tests need the database to be running"),
    ("Use pnpm instead of npm", "Use pnpm, not npm"),
    ("Never commit to main directly", "Do not commit directly to main"),
    ("Don't use mocks in integration tests", "Integration tests must never use mocks"),
    ("Run make fix before every commit", "Before each commit, run make fix"),
    ("The linter fails on generated files", "Linter is failing on the generated file"),
    ("Which region do we deploy to?", "To which region should we deploy?"),
    (
        "Should the API return 404 or 403 for hidden orders?",
        "Should hidden orders return 404 or 403 from the API?",
    ),
    ("Keep the session cache in Redis", "We keep session caches in Redis"),
    ("Python 3.11 is required for the build", "The build requires Python v3.11"),
    ("The proxy strips the Authorization header", "Authorization headers are stripped by the proxy"),
    ("Webhook links are signed with the project key", "Sign webhook links with the key of the project"),
    ("Avoid global state in the parser", "No global state in the parser"),
    ("Config is read from settings.toml only", "Configuration is only read from settings.toml"),
    ("Store timestamps in UTC", "Timestamps are stored in UTC"),
    ("Die Tests brauchen eine laufende Datenbank", "Die Tests brauchen eine laufende Datenbank!"),
]
CLASH = [
    ("We always use pnpm instead of npm in `web/`", "We never use pnpm instead of npm in `web/`"),
    ("Use tabs", "Do not use tabs"),
    ("Use Redis for the session cache", "Do not use Redis for the session cache"),
    ("Use pnpm, not npm", "Use npm, not pnpm"),
    ("The API listens on port 8080", "The API listens on port 9090"),
    ("The build requires Python 3.11", "The build requires Python 3.12"),
    ("Migrations live in db/migrate", "Migrations live in app/migrations"),
    ("Enable caching for the product pages", "Disable caching for the product pages"),
    ("Run the linter before the tests", "Run the linter after the tests"),
    ("Use Redis for the session cache", "Use Memcached for the session cache"),
    ("The order id of the sample is ord_1f9a", "The order id of the sample is ord_77bc"),
    ("Commit generated files", "Never commit generated files"),
    ("The admin endpoint is public", "The admin endpoint is private"),
    ("Verwende Redis für die Sitzungen", "Verwende nicht Redis für die Sitzungen"),
]
OTHER = [
    ("Use Redis for the session cache", "Use PostgreSQL for the job queue"),
    ("The staging server restarts at night", "The production server restarts at night"),
    ("The tests need a running database", "The tests need a running browser"),
    ("Sign webhook links", "Rotate webhook keys"),
    ("Which region do we deploy to?", "Which branch do we deploy from?"),
    ("Retry failed payments", "Refund failed payments"),
    ("The login page loads slowly on mobile", "The login page has no tests"),
    ("Add a test for the parser", "Add a benchmark for the parser"),
    ("The worker reads from the queue", "The worker writes to the queue"),
    ("Removed `newShowCmd()` from the root", "Removed `runShow()` from the root"),
    ("Shadow branch exists for this commit", "Does a shadow branch exist for this commit?"),
    ("No checkpoints, no shadow branch", "Shadow branches are listed"),
    ("It does not call `sendReply`", "It calls `listStates`"),
    ("x", "y"),
    ("", "Use tabs"),
]
# They clash by their words, and both hold: another thing, another place, an exception.
BOTH_HOLD = [
    (
        "Calls of the payments service to the bank time out after 30 seconds",
        "Calls of the search service to the bank time out after 5 seconds",
    ),
    ("The upload limit of the public gateway is 30 MB", "The download limit of the public gateway is 60 MB"),
    (
        "The staging server must not accept uploads of guests",
        "The production server must accept uploads of guests",
    ),
    ("Use the async client in handlers", "Use the async client in scripts"),
    ("The first page of the report loads slowly", "The last page of the report loads slowly"),
    ("Use Redis for the session cache", "Do not use Redis for the session cache in unit tests"),
    ("The worker retries a failed job 5 times", "The scheduler retries a failed job 3 times"),
]
PAIRS = [
    *((Likeness.SAME, *pair) for pair in SAME),
    *((Likeness.CLASH, *pair) for pair in CLASH),
    *((Likeness.OTHER, *pair) for pair in OTHER),
]


@pytest.mark.promise("M14")
@pytest.mark.parametrize(("expected", "one", "other"), PAIRS, ids=lambda value: str(value)[:40])
def test_pairs_are_judged_as_a_person_would(expected: Likeness, one: str, other: str) -> None:
    assert compare(one, other).likeness is expected, compare(one, other)
    assert compare(other, one).likeness is expected


@pytest.mark.promise("M14")
@pytest.mark.parametrize(("one", "other"), CLASH)
def test_a_contradiction_is_about_one_thing(one: str, other: str) -> None:
    decisions = [Decision(text=one, session="a"), Decision(text=other, session="b")]
    assert len(merge(decisions).contradictions) == len(contradicting(decisions[:1], decisions[1])) == 1


@pytest.mark.promise("M14")
@pytest.mark.parametrize(("one", "other"), BOTH_HOLD)
def test_two_things_with_different_values_do_not_contradict_and_are_not_merged(one: str, other: str) -> None:
    for first, second in ((one, other), (other, one)):
        decisions = [Decision(text=first, session="a"), Decision(text=second, session="b")]
        assert len(merge(decisions).merged) == 2
        assert merge(decisions).contradictions == ()
        assert contradicting(decisions[:1], decisions[1]) == ()


sentences = st.lists(
    st.sampled_from(
        re.split(" ", "use redis not never the cache 8080 9090 a/b.py test fail queue , . instead of")
    ),
    max_size=8,
).map(" ".join)


@given(sentences, sentences)
def test_the_verdict_does_not_depend_on_the_order(one: str, other: str) -> None:
    assert compare(one, other).likeness is compare(other, one).likeness
    assert compare(one, one).likeness is Likeness.SAME


@pytest.mark.promise("M14")
@given(st.lists(sentences | st.text(max_size=10), max_size=12))
def test_every_statement_is_in_exactly_one_group_and_numbers_never_mix(texts: list[str]) -> None:
    items = [Finding(text=text, session=str(number)) for number, text in enumerate(texts)]
    merging = merge(items)
    sources = [source for group in merging.merged for source in group.sources]
    assert sorted(sources, key=lambda item: int(item.session)) == items
    for group in merging.merged:
        assert group.item == group.sources[0]
        assert len({"8080" in source.text for source in group.sources}) == 1


@pytest.mark.promise("M14")
def test_a_decision_in_other_words_is_one_decision_with_its_sources() -> None:
    decisions = [
        Decision(text="Use pnpm, not npm", session="a", at=1.0),
        Decision(text="Sign webhook links", session="a", at=1.0),
        Decision(text="use pnpm instead of npm", session="b", at=2.0),
        Decision(text="Use PNPM, not npm.", session="c", at=3.0),
        Decision(text="Use npm, not pnpm", session="d", at=4.0),
    ]
    merging = merge(decisions)
    assert [group.sessions for group in merging.merged] == [("a", "b", "c"), ("a",), ("d",)]
    (clash,) = merging.contradictions
    assert (clash.one.session, clash.other.session) == ("a", "d")
    assert clash.why == "one says npm, pnpm, the other denies it"


@pytest.mark.promise("M14", "M4")
def test_a_question_asked_again_carries_the_answer_and_two_answers_are_shown() -> None:
    asked = Question(text="Which region do we deploy to?", session="a")
    answered = Question(
        text="To which region should we deploy?", answer="eu-west-1", by="user", session="b", answered_at=2.0
    )
    merging = merge([asked, answered])
    assert merging.merged[0].item.answer == "eu-west-1"
    assert merging.merged[0].item.id == asked.id
    assert merging.contradictions == ()
    later = Question(text=asked.text, answer="us-east-1", session="c", answered_at=3.0)
    merging = merge([asked, answered, later])
    assert merging.merged[0].item.answer == "us-east-1"
    assert [clash.why for clash in merging.contradictions] == ["answered 'eu-west-1', then 'us-east-1'"]
    assert find([asked, answered], "to which region do we deploy") == answered
    assert find([asked], "Who deploys?") is None


@pytest.mark.promise("M14")
def test_a_fact_seen_again_is_verified_again_and_a_new_number_contradicts() -> None:
    first = Fact(text="The API listens on port 8080", evidence="8080", at=1.0)
    again = Fact(text="API is listening on port 8080", evidence="8080", at=5.0)
    moved = Fact(text="The API listens on port 9090", evidence="9090", at=9.0)
    merging = merge([first, again, moved])
    assert [(group.item.text, group.item.verified_at) for group in merging.merged] == [
        (first.text, 5.0),
        (moved.text, None),
    ]
    assert [clash.why for clash in merging.contradictions] == ["8080 against 9090"]


def test_dead_ends_are_known_by_what_was_tried_and_how_it_failed() -> None:
    one = DeadEnd(tried="npm install in the root", failed="no package.json there", session="a")
    same = DeadEnd(tried="npm install in root", failed="There is no package.json", session="b")
    other = DeadEnd(tried="npm test in the root", failed="no test script", session="c")
    assert [group.sessions for group in merge([one, same, other]).merged] == [("a", "b"), ("c",)]


def test_a_thousand_statements_do_not_take_a_thousand_times_a_thousand_comparisons() -> None:
    def seconds(count: int) -> float:
        items = [Finding(text=f"module{n % 50} part{n} calls handler of topic{n % 7}") for n in range(count)]
        began = time.process_time()
        merge(items)
        return time.process_time() - began

    # Sixteen times the statements: 256 times the time if each were compared with each at full cost.
    assert seconds(1600) < max(seconds(100), 0.01) * 200
