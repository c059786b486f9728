"""The same in other words is known by its meaning; numbers, names, rivals and contraries are never taken for it."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.briefing.meaning import Meanings
from holdfast.core.likeness import Likeness, compare
from holdfast.memory.merge import contradicting, find, merge
from holdfast.memory.paraphrase import asks_alike, judge
from holdfast.model.memory import Decision, Fact, Question

PAIRS = Path(__file__).with_name("pairs.txt")
MEANINGS = Meanings()


def pairs(part: str) -> list[tuple[str, str, str]]:
    text = PAIRS.read_text(encoding="utf-8").partition(f"[{part}]\n")[2].partition("\n[")[0]
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(line[0], *line[2:].split(" || ")) for line in lines]  # type: ignore[misc]


def judged(one: str, other: str) -> Likeness:
    if one.endswith("?"):
        if not asks_alike(one, other):
            return Likeness.OTHER
        one, other = one.rstrip(" ?"), other.rstrip(" ?")
    return judge(one, other, MEANINGS).likeness


def figures(part: str) -> tuple[float, float, Counter[tuple[str, str]]]:
    """Precision and recall of merging, and what became of each sort of pair."""
    counts = Counter((sign, judged(one, other).value) for sign, one, other in pairs(part))
    merged = sum(number for (_, verdict), number in counts.items() if verdict == "same")
    right = counts["=", "same"]
    return right / merged, right / sum(n for (sign, _), n in counts.items() if sign == "="), counts


@pytest.mark.promise("M14")
def test_pairs_that_chose_the_bounds_are_judged_well() -> None:
    precision, recall, counts = figures("choosing")
    assert sum(counts.values()) >= 150
    assert precision == 1.0
    assert recall >= 0.75


@pytest.mark.promise("M14")
def test_pairs_that_chose_nothing_are_judged_well() -> None:
    precision, recall, counts = figures("judging")
    assert sum(counts.values()) >= 75
    assert precision >= 0.97
    assert recall >= 0.85
    assert counts["!", "clash"] >= 0.6 * sum(n for (sign, _), n in counts.items() if sign == "!")


def test_meaning_finds_much_that_words_alone_do_not() -> None:
    same = [
        (one, other) for part in ("choosing", "judging") for sign, one, other in pairs(part) if sign == "="
    ]
    by_words = sum(compare(one, other).likeness is Likeness.SAME for one, other in same)
    by_meaning = sum(judged(one, other) is Likeness.SAME for one, other in same)
    assert by_meaning >= by_words + 0.2 * len(same)


# Whatever the vectors say, these stand in each other's place and mean something else.
NEVER_ALIKE = [
    ["SQLite", "PostgreSQL", "MySQL", "DuckDB", "Redis"],
    ["staging", "production", "development"],
    ["Monday", "Tuesday", "Friday"],
    ["three", "five", "twelve", "3.11", "3.12", "v7", "v8"],
    ["src/app/settings.py", "src/app/config.py", "tests/conftest.py"],
    ["--verbose", "--quiet", "--dry-run"],
    ["npm", "pnpm", "yarn"],
    ["reader", "writer", "buyer", "seller", "client", "server"],
    ["Alice", "Bob"],
]
FRAMES = [
    "We use {} in the nightly export of the invoices",
    "The nightly export of the invoices is made with {}",
    "{} is what the nightly export of the invoices relies on",
]
CONTRARIES = [
    ("Enable the cache for guests", "Turn the cache off for guests"),
    ("Enable compression of the responses", "Disable compression for responses"),
    ("Add the telemetry module to the build", "Remove the telemetry module from the build"),
    ("Uploads are allowed for guests", "Uploads are blocked for guests"),
    ("The exporter must never overwrite files", "The exporter must always overwrite files"),
    ("Keep the old endpoint until summer", "Drop the old endpoint until summer"),
    ("Copy the data from the archive to the store", "Copy the data from the store to the archive"),
    ("Run the tests before the linter", "Run the linter before the tests"),
]


@pytest.mark.promise("M14")
@pytest.mark.parametrize("words", NEVER_ALIKE, ids=lambda words: words[0])
def test_another_name_number_file_or_flag_is_another_thing(words: list[str]) -> None:
    for one, other in combinations(words, 2):
        for frame in FRAMES:
            for again in FRAMES:
                assert judged(frame.format(one), again.format(other)) is not Likeness.SAME, (
                    frame,
                    one,
                    other,
                )


@pytest.mark.promise("M14")
@pytest.mark.parametrize(("one", "other"), CONTRARIES)
def test_the_contrary_is_never_merged(one: str, other: str) -> None:
    assert judged(one, other) is not Likeness.SAME
    assert judged(other, one) is not Likeness.SAME


@given(st.sampled_from([pair for part in ("choosing", "judging") for pair in pairs(part)]))
def test_it_does_not_matter_which_was_said_first(pair: tuple[str, str, str]) -> None:
    _, one, other = pair
    assert (judged(one, other) is Likeness.SAME) == (judged(other, one) is Likeness.SAME)


def test_any_text_can_be_judged() -> None:
    for text in ("", " ", "?", "\ud800", "🙂 🙂", "a" * 5000, "使用 SQLite 存储", "not not not"):
        judged(text, "Use SQLite for the store")
        judged("Use SQLite for the store", text)


# --- in the register ------------------------------------------------------------------------------------


@pytest.mark.promise("M14")
def test_the_same_decision_of_two_sessions_is_kept_once_with_both_sources() -> None:
    first = Decision(text="The importer skips broken lines", session="one", at=1.0)
    again = Decision(text="Broken lines are ignored by the importer", session="two", at=2.0)
    assert len(merge([first, again]).merged) == 2  # words alone leave it open
    merging = merge([first, again], Meanings())
    (group,) = merging.merged
    assert group.item == first
    assert group.sessions == ("one", "two")
    assert merging.contradictions == ()


@pytest.mark.promise("M14")
def test_the_opposite_in_other_words_is_shown_as_a_contradiction() -> None:
    items = [
        Decision(text="Use yarn to install packages", session="one"),
        Decision(text="Packages are installed with pnpm", session="two"),
    ]
    merging = merge(items, Meanings())
    assert len(merging.merged) == 2
    assert [clash.why for clash in merging.contradictions] == ["yarn against pnpm"]
    assert [clash.one for clash in contradicting(items[:1], items[1], Meanings())] == items[:1]


def test_what_was_merged_before_is_not_compared_again() -> None:
    asked: list[str] = []

    class Noting(Meanings):
        def nearness(self, one: str, other: str) -> float:
            asked.append(one)
            return super().nearness(one, other)

    known = [Fact(text="The cache gets emptied every night"), Fact(text="Each night the cache gets cleared")]
    assert len(merge(known, Noting(), known=2).merged) == 2
    assert asked == []
    assert len(merge(known, Noting()).merged) == 1


def test_nothing_is_loaded_when_words_decide_everything() -> None:
    def refuse() -> object:
        raise AssertionError("the table was loaded")

    idle = Meanings(refuse)  # type: ignore[arg-type]
    items = [
        Decision(text="Use short links"),
        Decision(text="Use short links."),
        Decision(text="Sign webhooks"),
    ]
    assert len(merge(items, idle).merged) == 2


@pytest.mark.promise("M4")
def test_a_question_in_other_words_is_the_same_only_when_it_wants_the_same() -> None:
    asked = [Question(text="Which database do we use?", answer="SQLite")]
    assert find(asked, "What database are we using?", Meanings()) == asked[0]
    assert find(asked, "Where is the database?", Meanings()) is None
    assert find(asked, "Why do we use a database?", Meanings()) is None
    assert find(asked, "Do we use a database?", Meanings()) is None
