"""What a session is called: by its agent, by what it delivered, or by what was asked first."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.language.title import LONGEST, pull_request_title, request_line, title_of, without_type

pytestmark = pytest.mark.promise("V1")


def test_the_agents_own_title_counts_first() -> None:
    asked = ["add a retry to the export client"]
    assert (
        title_of("Export client retries", asked, ["abc1234 feat: jitter for retries"], [])
        == "Export client retries"
    )


@pytest.mark.parametrize("named", ["New session", "Helper 0c9e5a52-6a4e-4a51-9f6e-0d6a1c5b7e11", "Done", ""])
def test_a_title_that_could_stand_over_any_session_does_not_count(named: str) -> None:
    assert (
        title_of(named, ["rename the tide table to tide_log"], [], []) == "Rename the tide table to tide_log"
    )


def test_a_pull_request_names_the_session_before_its_commits_do() -> None:
    commands = ['git push && gh pr create --title "fix(tides): count leap seconds" --body "$(cat notes)"']
    assert title_of("", ["why is the clock off?"], ["abc1234 wip"], commands) == "tides: count leap seconds"


def test_of_several_commits_the_one_most_like_the_request_is_the_title() -> None:
    commits = ["aaaaaaa chore: format the tide module", "bbbbbbb feat: moon phase in the tide report"]
    assert title_of("", ["show the moon phase in the report"], commits, []) == "Moon phase in the tide report"


@pytest.mark.parametrize("subject", ["wip", "Merge branch 'main'", "fixup! tides", "update"])
def test_a_commit_without_a_subject_is_passed_over(subject: str) -> None:
    assert (
        title_of("", ["draw the moon phase as text"], [f"abc1234 {subject}"], [])
        == "Draw the moon phase as text"
    )


def test_a_greeting_and_an_assent_are_passed_over() -> None:
    assert title_of("", ["hi", "yes", "please parse the buoy feed twice a day"], [], []) == (
        "Parse the buoy feed twice a day"
    )


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("ok, can you please add moon phases to the tide table?", "Add moon phases to the tide table"),
        ("the buoy parser drops minutes, can you take a look?", "The buoy parser drops minutes"),
        ("review https://git.example/tide/pool/pull/12/files", "Review pool PR #12"),
        ("thoughts on [https://git.example/tide/pool/issues/7](https://git.example/tide/pool/issues/7)",
         "Thoughts on pool issue #7"),
        ("why did this fail https://ci.example/runs/123456/job/9", "Why did this fail"),
        ("Implement the following plan:\n\n# Plan: Tide alerts by mail\n\n## Context\n…", "Tide alerts by mail"),
        ("[Image 1] make @views/tide.tsx like this", "Make views/tide.tsx like this"),
        ("crash in /Users/ann/work/tidepool/src/moon.py", "Crash in moon.py"),
        ("run the importer with --dry-run --since=7d on the buoy feed", "Run the importer with on the buoy feed"),
        ("/review-tides 12", "/review-tides 12"),
    ],
)  # fmt: skip
def test_a_prompt_becomes_a_title_without_filler_links_and_flags(prompt: str, title: str) -> None:
    assert request_line(prompt) == title


def test_pasted_output_is_not_the_title() -> None:
    log = 'Traceback (most recent call last):\n  File "tide.py", line 3, in <module>\nValueError: no moon\n'
    assert title_of("", [f"{log}\nthe moon parser fails on an empty feed"], [], []) == (
        "The moon parser fails on an empty feed"
    )


def test_of_a_long_prompt_the_request_is_the_title_and_not_its_background() -> None:
    prompt = (
        "The buoy feed arrives twice an hour and sometimes it has no minutes at all, which we saw last week. "
        "Please round such readings down to the hour. Keep the raw value."
    )
    assert request_line(prompt) == "Round such readings down to the hour"


def test_a_first_request_in_ordinary_words_is_not_passed_over_for_a_later_remark() -> None:
    asked = [
        "clean up the files in the project root",
        "I am not planning to use plausible for the tide pages",
    ]
    assert title_of("", asked, [], []) == "Clean up the files in the project root"


def test_an_agent_that_thinks_aloud_gives_no_title() -> None:
    assert (
        title_of("I need to look at the tide parser first", ["draw the moon phase"], [], [])
        == "Draw the moon phase"
    )


def test_a_type_goes_and_a_scope_stays() -> None:
    assert without_type("feat(tides)!: count seconds") == "tides: count seconds"
    assert without_type("fix: count seconds") == "Count seconds"
    assert without_type("Fixed width for tides") == "Fixed width for tides"


def test_only_a_literal_title_of_a_new_pull_request_is_read() -> None:
    assert pull_request_title("gh pr create -t 'Moon' -b x") == "Moon"
    assert pull_request_title('gh pr create --title "$TITLE"') == ""
    assert pull_request_title("gh pr view --title Moon") == ""


@given(
    st.text(),
    st.lists(st.text(), max_size=3),
    st.lists(st.text(), max_size=2),
    st.lists(st.text(), max_size=2),
)
def test_a_title_is_one_short_line_of_any_text(
    named: str, prompts: list[str], commits: list[str], commands: list[str]
) -> None:
    title = title_of(named, prompts, commits, commands)
    assert len(title) <= LONGEST + 1 and "\n" not in title


def test_a_request_that_points_away_gives_the_sentence_it_points_to() -> None:
    prompt = 'After a click on "Buy" the dialogue of the basket shows the wrong shop. Investigate why and fix this bug'
    assert title_of("", [prompt], [], []).startswith("After a click on")


def test_a_report_that_talks_to_the_person_is_no_title() -> None:
    report = "You have not shared any files with me yet, so I cannot say."
    assert title_of("", ["what does this repo do?"], [], [], report) == "What does this repo do"
    line = "cart.go:146 - Added `//nolint:errcheck` to the call"
    assert title_of("", ["fix lint errors"], [], [], line) == "Fix lint errors"


def test_a_short_order_to_run_something_comes_after_what_was_asked_later() -> None:
    prompts = ["start the server", "the basket forgets its items after a reload"]
    assert title_of("", prompts, [], []) == "The basket forgets its items after a reload"
    assert title_of("", ["start the shop server"], [], []) == "Start the shop server"
