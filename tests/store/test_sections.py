"""Managed parts change; everything a person wrote, also inside them, survives byte for byte."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.memory import memory_values as values

from holdfast.core.errors import StoreError
from holdfast.memory import current
from holdfast.memory.current import Current, NextStep
from holdfast.store import sections

FILE = """# Mine\r
no end of words  \r
## Next\r
<!-- holdfast:begin next -->\r
- old\r
<!-- holdfast:end next -->\r
```
## not a heading
```
last line, no end"""

lines = st.lists(
    st.sampled_from(["- a", "- b", "", "## x", "```", "text  ", "- [ ] box", "日本 · é", "======="]),
    max_size=5,
)
people = st.text(st.characters(codec="utf-8"), max_size=40).filter(
    lambda text: "holdfast" not in text
) | lines.map("\r\n".join)


@pytest.mark.promise("M1")
@given(people, people, lines, lines)
def test_what_stands_around_a_part_survives_every_change(
    above: str, below: str, first: list[str], second: list[str]
) -> None:
    begun = sections.parse(above).replace("next", first, heading="Next")
    text = begun.render() + below
    document = sections.parse(text)
    assert document.render() == text
    changed = document.replace("next", second)
    assert changed.body("next") == tuple(second)
    assert changed.outside() == document.outside()
    assert document.outside().startswith(above) and document.outside().endswith(below)
    assert changed.replace("next", first).render() == text


def test_line_ends_and_a_missing_last_one_stay_as_they_are() -> None:
    document = sections.parse(FILE).replace("next", ["- new"], ours={0})
    assert document.render() == FILE.replace("- old", "- new")
    alone = sections.parse("<!-- holdfast:begin a -->\nx\n<!-- holdfast:end a -->").replace(
        "a", ["y"], ours={0}
    )
    assert alone.render() == "<!-- holdfast:begin a -->\ny\n<!-- holdfast:end a -->"


@pytest.mark.promise("M1")
@given(
    lines,
    lines,
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1, max_size=9),
        ),
        max_size=4,
    ),
)
def test_what_a_person_adds_inside_a_part_moves_below_it(
    first: list[str], second: list[str], added: list[tuple[int, str]]
) -> None:
    document = sections.parse("").replace("next", first, heading="Next")
    written = list(document.lines)
    words = [f"{text} by hand" for _, text in added]
    start, end = 2, len(written) - 1
    for place, text in added:
        written.insert(min(start + place, end), f"{text} by hand\n")
        end += 1
    changed = sections.parse("".join(written)).replace("next", second)
    assert changed.body("next") == tuple(second)
    kept = changed.render().split("\n")
    below = kept[next(n for n, line in enumerate(kept) if "holdfast:end" in line) :]
    assert sorted(line for line in below if line.endswith(" by hand")) == sorted(words)
    assert changed.replace("next", first).outside() == changed.outside()


def test_a_line_of_ours_that_a_person_edited_is_theirs() -> None:
    document = sections.parse("").replace("next", ["- fix the test", "- ship it"], heading="Next")
    edited = sections.parse(document.render().replace("ship it", "ship it on Friday"))
    changed = edited.replace("next", ["- rest"])
    assert "- rest\n" in changed.render()
    assert "fix the test" not in changed.render()
    assert changed.render().endswith("-->\n- ship it on Friday\n")


def test_a_part_whose_hashes_were_removed_loses_nothing() -> None:
    document = sections.parse("<!-- holdfast:begin a -->\none\n\ntwo\n<!-- holdfast:end a -->\n")
    assert document.replace("a", ["new"]).outside() == "one\n\ntwo\n"


def test_a_deleted_part_comes_back_at_the_end_and_only_once() -> None:
    text = sections.parse("# Mine\n").replace("next", ["- a"], heading="Next").render()
    without = sections.parse("# Mine\nwords")
    again = without.replace("next", ["- a"], heading="Next").replace("next", ["- a"], heading="Next")
    assert (
        text
        == "# Mine\n\n## Next\n<!-- holdfast:begin next -->\n- a\n" + text[text.index("<!-- holdfast:end") :]
    )
    assert again.render().startswith("# Mine\nwords\n\n## Next\n")
    assert again.render().count("holdfast:begin") == 1


BEGIN, END = "<!-- holdfast:begin next -->\n", "<!-- holdfast:end next -->\n"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (BEGIN + END + BEGIN + END, r"x\.md:3: part 'next' is here a second time \(first in line 1\)"),
        (BEGIN + "a\n", r"x\.md:1: part 'next' begins and does not end"),
        ("a\n" + END, r"x\.md:2: the end of part 'next', which did not begin"),
        (BEGIN + BEGIN.replace("next", "todo") + END, r"x\.md:2: part 'todo' begins inside part 'next'"),
        ("<!-- holdfast:begin next\n" + END, r"x\.md:1: a damaged holdfast marker"),
        (BEGIN + "-- holdfast:end next -->\n", r"x\.md:2: a damaged holdfast marker"),
        (BEGIN + "a\n<!-- holdfast:end next zzz -->\n", r"x\.md:3: a damaged holdfast marker"),
        ("a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> main\n", r"x\.md:2: an unresolved git conflict"),
    ],
)
def test_broken_markers_and_conflicts_are_named_with_their_line(text: str, error: str) -> None:
    with pytest.raises(StoreError, match=error) as caught:
        sections.parse(text, "x.md")
    assert "it is left as it is" in caught.value.problem
    assert caught.value.fix


def test_signs_of_a_conflict_alone_are_a_persons() -> None:
    sections.parse("Title\n=======\n>>>>>>> quoted\n<<<<<<< left\n")


def test_a_body_with_a_marker_or_a_line_break_is_refused() -> None:
    for line in (END.strip(), "a\nb", "a\r"):
        with pytest.raises(ValueError, match="a line of part 'next'"):
            sections.parse("").replace("next", [line])


@pytest.mark.promise("M1")
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**9), st.lists(values.currents, min_size=3, max_size=3))
def test_hand_edits_anywhere_in_current_survive_a_hundred_captures(seed: int, states: list[Current]) -> None:
    chance = random.Random(seed)
    text = current.render_current(sections.parse(current.BEGINNING), Current())
    words: list[str] = []
    for round_ in range(100):
        if round_ % 5 == 0:
            written = text.split("\n")
            words.append(f"{chance.choice(['- ', '', '## ', '> ', '- [x] '])}note {round_} by hand  ")
            written.insert(chance.randrange(len(written)), words[-1])
            text = "\n".join(written)
        file = current.parse_current(text)
        state = chance.choice(states)
        state = Current(
            next=(NextStep(text=f"step {round_}"), *state.next), todo=state.todo, questions=state.questions
        )
        text = current.render_current(file.document, state)
        assert current.parse_current(text).current == state
    kept = text.split("\n")
    assert [kept.count(word) for word in words] == [1] * len(words)
    assert "step 98\n" not in text and text.count("<!-- holdfast:begin") == 8
