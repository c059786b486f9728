"""Knowledge as markdown: the seed's form, whole items, a bound that holds, and what was left out said."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.knowledge.store import render
from holdfast.model.knowledge import Convention, Evidence, FileNote, Items, LearnedFact, Pattern

ITEMS = Items(
    conventions=(
        Convention(category="cli", pattern="cobra", confidence=0.9, evidence=(Evidence("go.mod"),)),
        Convention(
            category="naming",
            scope="Go files",
            pattern="snake_case",
            confidence=0.95,
            count=19,
            counter=1,
            evidence=(Evidence("a_b.go"),),
        ),
        Convention(
            category="package_manager",
            pattern="go modules",
            confidence=0.99,
            evidence=(Evidence("go.mod"), Evidence("go.sum")),
        ),
    ),
    patterns=(
        Pattern(
            name="handler-middleware",
            description="HTTP handlers use middleware chains",
            files=("a", "b", "c"),
            confidence=0.8,
        ),
    ),
    facts=(LearnedFact(category="build", statement="Uses go mod vendor", session="abc123"),),
    files=(FileNote(path="a.go", language="go", complexity=12, is_hot=True, changes=7),),
)


@pytest.mark.promise("K7")
def test_all_of_it_reads_as_the_seed_shows() -> None:
    assert render(ITEMS) == (
        "## Project Knowledge\n"
        "### Conventions\n"
        "- Package manager: go modules (confidence: 0.99, 2 files)\n"
        "- Naming (Go files): snake_case (confidence: 0.95, 19 of 20)\n"
        "- Cli: cobra (confidence: 0.90, 1 file)\n"
        "### Patterns\n"
        "- Handler-middleware: HTTP handlers use middleware chains (3 files, confidence: 0.80)\n"
        "### Facts\n"
        "- [build] Uses go mod vendor (session abc123)\n"
        "### Files\n"
        "- a.go (go, complexity 12, hot, 7 changes)\n"
    )


@pytest.mark.promise("K7")
def test_what_does_not_fit_is_left_out_whole_and_said() -> None:
    text = render(ITEMS, 200)
    assert len(text) <= 200
    assert "- Package manager: go modules" in text, "the most useful first"
    assert re.search(r"\(left out: .*1 pattern.*\)\n$", text)
    whole = render(ITEMS).splitlines()
    assert all(line in whole for line in text.splitlines() if line.startswith("- "))


def test_nothing_known_is_said_and_nothing_fits_nowhere() -> None:
    assert "nothing known yet" in render(Items(), 100)
    assert render(ITEMS, 10) == ""


_words = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), min_size=1, max_size=40)
_conventions = st.builds(
    Convention,
    category=st.sampled_from(["naming", "linter", "orm"]),
    pattern=_words,
    scope=_words,
    confidence=st.floats(0, 1),
)
_facts = st.builds(LearnedFact, category=st.just("build"), statement=_words, session=_words)


@pytest.mark.promise("K7")
@settings(deadline=None, max_examples=60)
@given(st.lists(_conventions, max_size=12), st.lists(_facts, max_size=12), st.integers(0, 1500))
def test_the_bound_holds_and_an_item_is_one_line(
    conventions: list[Convention], facts: list[LearnedFact], most: int
) -> None:
    items = Items(conventions=tuple(conventions), facts=tuple(facts))
    text = render(items, most)
    assert len(text) <= most
    shown = sum(line.startswith("- ") for line in text.split("\n"))
    left = (
        sum(
            int(count)
            for count in re.findall(r"(\d+) (?:convention|fact)", text.rpartition("(left out: ")[2])
        )
        if "(left out" in text
        else 0
    )
    assert not text or shown + left >= len(conventions) + len(facts) or shown == len(conventions) + len(facts)
