"""Lessons as markdown: what is written is read again, hand-written files count, and a person's bytes stay."""

from __future__ import annotations

import string

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from holdfast.core.yaml import load
from holdfast.lessons.front_matter import LessonError, scalar
from holdfast.lessons.markdown import KINDS, normal, parse_lesson, render_lesson, rewrite_lesson
from holdfast.model.lesson import Fingerprint, Lesson, LessonEvidence

SEED = """---
name: testing
description: Test runner + file convention
fingerprint:
  - package.json#scripts.test
  - tests/
captured-at: 2026-05-05
---
- vitest, tests/**/*.test.ts, run via `npm test`
- import style: .js suffix even for .ts source (ESM-NodeNext)
"""
OWN = """---
# ours, please keep
name: testing   # the one
owner: 'platform team'
description: >-
  Test runner
  and layout
fingerprint:
  # the script
  - package.json#scripts.test   # changes often
  - tests/
captured-at: 2026-05-05
answer: no
version: 1.10
---

# Testing

Some words.

- run `npm test`
  (never `jest` itself)
* layouts
  - unit in tests/
<!--
- not a rule
-->
```
- neither
```

Bye.
"""

# A busy machine draws slowly; that is nothing against the format.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
_rules = _texts.filter(lambda text: any(char.isalnum() for char in text))
_words = st.text(string.ascii_letters + string.digits + "-_./#*@ ", min_size=1, max_size=20)
_moments = st.one_of(
    st.none(), st.integers(0, 4_000_000_000).map(float), st.floats(0, 4e9).map(lambda x: round(x, 6))
)
_lessons = st.builds(
    Lesson,
    name=st.from_regex(r"[a-z][a-z0-9-]{0,20}[a-z]", fullmatch=True),
    description=_texts,
    rules=st.lists(_rules, min_size=1, max_size=5).map(tuple),
    kind=st.sampled_from(KINDS),
    fingerprint=st.lists(
        st.builds(Fingerprint, target=st.one_of(_words, _texts), digest=st.one_of(st.just(""), _words)),
        max_size=4,
    ).map(tuple),
    captured_at=_moments,
    evidence=st.lists(
        st.builds(LessonEvidence, session=st.one_of(_words, _texts), at=_moments, line=_texts), max_size=4
    ).map(tuple),
)


@pytest.mark.promise("S1")
@patient
@given(_lessons)
def test_what_is_written_is_read_again(lesson: Lesson) -> None:
    kept = normal(lesson)
    text = render_lesson(lesson)
    assert parse_lesson(text, lesson.name).lesson == kept
    assert rewrite_lesson(parse_lesson(text, lesson.name), kept) == text


@patient
@given(_lessons, _lessons)
def test_any_lesson_can_take_the_place_of_another(one: Lesson, other: Lesson) -> None:
    file = parse_lesson(render_lesson(one), one.name)
    wanted = normal(replace(other, name=one.name))
    assert parse_lesson(rewrite_lesson(file, wanted), one.name).lesson == wanted


@pytest.mark.promise("S1")
def test_a_file_in_the_form_of_the_seed_is_a_lesson_as_it_stands() -> None:
    lesson = parse_lesson(SEED, "testing").lesson
    assert (lesson.name, lesson.description) == ("testing", "Test runner + file convention")
    assert [item.target for item in lesson.fingerprint] == ["package.json#scripts.test", "tests/"]
    assert lesson.captured_at == 1777939200.0
    assert lesson.rules[0] == "vitest, tests/**/*.test.ts, run via `npm test`"
    assert rewrite_lesson(parse_lesson(SEED, "testing"), lesson) == SEED


def test_what_we_write_has_the_seeds_four_keys_first_and_in_its_form() -> None:
    text = render_lesson(parse_lesson(SEED, "testing").lesson)
    assert text.startswith(SEED[: SEED.index("captured-at")] + "captured-at: 2026-05-05\nid: L-")


def test_values_stay_the_strings_they_are() -> None:
    text = SEED.replace("Test runner + file convention", "no").replace("tests/", "1.10")
    lesson = parse_lesson(text, "testing").lesson
    assert lesson.description == "no" and lesson.fingerprint[1].target == "1.10"


@patient
@given(
    st.one_of(
        _texts, st.sampled_from(["no", "1.10", "0x1f", "1e5", "~", "", "null", "a: b", "- x", "# x", "&a"])
    )
)
def test_any_text_is_one_line_of_yaml(text: str) -> None:
    written = scalar(text)
    assert "\n" not in written and load(f"key: {written}\n") == {"key": text}


# --- what a person wrote -----------------------------------------------------------------------------------


def test_what_a_person_wrote_beside_the_rules_stays_to_the_byte() -> None:
    file = parse_lesson(OWN, "testing")
    lesson = file.lesson
    assert lesson.rules == ("run `npm test` (never `jest` itself)", "layouts; unit in tests/")
    assert lesson.description == "Test runner and layout"
    changed = replace(
        lesson,
        rules=(lesson.rules[0], "a new one", lesson.rules[1]),
        fingerprint=(lesson.fingerprint[0], Fingerprint(target="src/", digest="abc")),
        evidence=(LessonEvidence(session="s1", at=60.0, line="it passed"),),
    )
    text = rewrite_lesson(file, changed)
    assert parse_lesson(text, "testing").lesson == changed
    kept = [line for line in OWN.splitlines() if line != "  - tests/"]
    written = iter(text.splitlines())
    assert all(line in written for line in kept), text  # each, in this order


def test_a_rule_that_goes_takes_only_its_own_lines_along() -> None:
    file = parse_lesson(OWN, "testing")
    text = rewrite_lesson(file, replace(file.lesson, rules=file.lesson.rules[1:]))
    assert text.count("\n") == OWN.count("\n") - 2 + 1  # its two lines went, our id came
    assert "npm test" not in text and "- not a rule" in text and "Bye." in text


_their_lines = st.lists(
    st.sampled_from(
        ["", "Some words.", "# A heading", "<!-- - hidden -->", "1. numbered", "> quoted", "---"]
    ),
    max_size=6,
)


@patient
@given(_their_lines, _their_lines, st.booleans(), st.lists(_rules, min_size=1, max_size=3))
def test_other_lines_survive_any_change_of_rules(
    above: list[str], below: list[str], windows: bool, rules: list[str]
) -> None:
    text = "\n".join(["---", "extra: [1, 2]", "---", *above, "- first", "- second", *below, ""])
    text = text.replace("\n", "\r\n") if windows else text
    file = parse_lesson(text, "x")
    after = rewrite_lesson(file, normal(replace(file.lesson, rules=tuple(rules))))
    assert after.splitlines()[1] == "extra: [1, 2]"
    left = [line for line in after.split("---", 2)[2].splitlines() if not line.startswith("- ")]
    assert left[1:] == [*above, *below]
    assert windows is ("\r\n" in after)


def test_a_file_without_keys_is_a_lesson_too() -> None:
    file = parse_lesson("# How we test\n\n- run `make test`\n", "testing")
    assert (file.lesson.description, file.lesson.rules) == ("How we test", ("run `make test`",))
    assert rewrite_lesson(file, file.lesson) == "# How we test\n\n- run `make test`\n"


def test_what_is_not_understood_is_said_and_left() -> None:
    text = SEED.replace("2026-05-05", "last spring").replace("name: testing", "name: other")
    file = parse_lesson(text, "testing")
    assert [doubt.split()[0] for doubt in file.doubts] == ["it", "captured-at"]
    assert "captured-at: last spring" in rewrite_lesson(file, replace(file.lesson, rules=("x1",)))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no rule"),
        ("---\nname: x\n", "never ends"),
        ("---\nname: [x\n---\n- rule\n", "line 3"),
        ("---\n- a\n- b\n---\n- rule\n", "no keys"),
        ("---\na: &a [x,x]\nb: &b [*a,*a]\n---\nJust words.\n", "no rule"),
    ],
)
def test_what_is_no_lesson_is_refused_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(LessonError, match=problem) as told:
        parse_lesson(text, "x")
    assert told.value.line >= 1


def test_keys_in_braces_are_read_and_never_rewritten() -> None:
    file = parse_lesson("---\n{name: x, description: why}\n---\n- rule\n", "x")
    assert file.lesson.description == "why"
    with pytest.raises(LessonError, match="one key per line"):
        rewrite_lesson(file, replace(file.lesson, description="new"))


@settings(patient, max_examples=300)
@given(st.text(st.sampled_from("-:#[]{}&*!|>'\"%@`\n ab0,?"), max_size=60))
def test_no_text_breaks_the_reader(text: str) -> None:
    for whole in (text, f"---\n{text}\n---\n- rule\n"):
        try:
            file = parse_lesson(whole, "x")
        except LessonError:
            continue
        try:
            changed = rewrite_lesson(
                file, normal(replace(file.lesson, description="new words", rules=("other",)))
            )
        except LessonError:
            continue
        assert parse_lesson(changed, "x").lesson.rules == ("other",)
