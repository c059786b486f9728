"""What a session leaves to do: from its last report, wherever and in whatever words it says so, and from its checks."""

from __future__ import annotations

import pytest
from tests.sessions.test_harvest import Told, harvested, told

from holdfast.language.open_items import heads_open_items, speaks_of

FAILED = "FAILED tests/a.py::test_b - assert 1 == 2\n1 failed in 0.1s"


def left(*reports: str) -> list[str]:
    """What is open after these reports, each at the end of a turn that changed something."""
    story = Told()
    for number, report in enumerate(reports):
        story.ask(f"Carry on with part {number} of the ledger importer").edit().say(report)
    return [item.text for item in harvested(story).open_items]


# --- where a report says so -------------------------------------------------------------------------------


@pytest.mark.promise("C4", "M2")
@pytest.mark.parametrize(
    "report",
    [
        "The reader is done.\n\n## Next steps\n- Port the writer to the new schema",
        "The reader is done.\n\n## Next steps\nPort the writer to the new schema.",
        "The reader is done.\n\nNext: port the writer to the new schema.",
        "The reader is done.\n\n**Next session:** Port the writer to the new schema. The reader is on `main` already.",
        "The reader is done. Remaining: port the writer to the new schema.",
        "The reader is done.\n\n**Still to do**\n\n1. Port the writer to the new schema",
        "The reader is done.\n\nTwo things are left before this can be merged:\n- Port the writer to the new schema",
        "The reader is done.\n\nThe next step is to port the writer to the new schema.",
        "The reader is done.\n\n- [x] Port the reader\n- [ ] Port the writer to the new schema",
    ],
)
def test_what_is_next_is_known_by_its_place(report: str) -> None:
    assert [text.casefold() for text in left(report)] == ["port the writer to the new schema"]


@pytest.mark.parametrize(
    "heading",
    [
        "Loose ends", "From here", "Where I stopped", "For the next session", "Not covered yet", "Parked",
        "Before this can ship", "Deferred to a follow-up", "Noch offen", "Nächste Schritte", "Reste à faire",
        "Próximos pasos", "下一步", "残りの作業", "What you still need to do", "Remaining work for the API",
    ],
)  # fmt: skip
def test_other_words_for_what_is_left(heading: str) -> None:
    assert left(f"The reader is done.\n\n## {heading}\n\n- Port the writer to the new schema\n") == [
        "Port the writer to the new schema"
    ]


@pytest.mark.parametrize(
    "heading",
    [
        "Changes", "Next.js config", "What happens next", "All TODOs completed", "Resolved open issues", "Open source",
        "You should now see", "The remaining usages are fine", "On the next call", "How the next page is loaded",
    ],
)  # fmt: skip
def test_a_heading_that_only_sounds_like_it(heading: str) -> None:
    assert not heads_open_items(heading.casefold())


@pytest.mark.parametrize(
    "sentence",
    [
        "The branch still needs the migration of `orders.currency`.",
        "The dist-tags of `shop-core` are still stale until the release workflow is dispatched.",
        "The callback of the `refund` webhook is not wired yet.",
        "I could not run the browser suite: there is no display here.",
        "Pick up at `writer.py:120`, where the buffer is flushed twice.",
    ],
)
def test_a_closing_sentence_that_states_a_need(sentence: str) -> None:
    assert left(f"The reader is done. Rows keep their order.\n\n{sentence}") == [sentence.rstrip(".")]


@pytest.mark.parametrize(
    "sentence",
    [
        "Let me know if you want me to port the writer as well.",
        "If the queue is not drained yet, `flush()` waits for it.",
        "Do you still need the old importer of the ledger?",
        "There is nothing left to do in the importer.",
        "You may want to look at the old importer, too.",
        "Still needs review.",
    ],
)
def test_offers_conditions_and_courtesies_are_no_steps(sentence: str) -> None:
    assert left(f"The reader is done. Rows keep their order.\n\n{sentence}") == []


def test_a_need_is_no_step_in_the_middle_of_an_explanation() -> None:
    talk = "The old importer still needs the lock of `ledger.db`. " + "It reads the rows one by one. " * 6
    assert left(talk) == []


# --- through a session -------------------------------------------------------------------------------------


@pytest.mark.promise("M2")
def test_a_later_report_settles_what_it_speaks_of_and_nothing_else() -> None:
    listed = "Half of it.\n\nNext steps:\n- Port the ledger writer\n- Backfill the currency of old orders\n"
    assert left(listed, "The ledger writer is ported.") == ["Backfill the currency of old orders"]
    done_both = "The ledger writer is ported, and the currency of old orders is backfilled."
    assert left(listed, done_both) == []


def test_what_two_reports_in_a_row_do_not_speak_of_is_not_open_any_more() -> None:
    listed = "Half of it.\n\nNext steps:\n- Backfill the currency of old orders\n"
    assert left(listed, "The parser is quicker.", "The printer is quicker.") == []


def test_who_says_go_ahead_means_the_whole_list() -> None:
    story = told("Half of it.\n\nNext steps:\n- Port the writer\n- Backfill the currency of old orders\n")
    assert harvested(story).open_items
    story.ask("yes, do both").edit().say("Both are in.")
    assert harvested(story).open_items == ()


def test_who_only_asks_for_a_commit_leaves_the_list_open() -> None:
    story = told("Half of it.\n\nNext session: backfill the currency of old orders.\n")
    story.ask("/ac in a new feature branch").edit().say(
        "Two atomic commits on `feat/reader`. The tree is clean."
    )
    assert [item.text for item in harvested(story).open_items] == ["Backfill the currency of old orders"]


def test_stated_steps_come_before_a_long_list_of_the_agent() -> None:
    story = (
        Told().ask("build it").todo(**{f"Write_part_{n}_of_the_parser": "pending" for n in range(9)}).edit()
    )
    story.say("Half of it.\n\nNext: drop the old grammar of the parser.")
    assert harvested(story).open_items[0].text == "Drop the old grammar of the parser"


def test_an_item_is_spoken_of_by_most_of_its_own_words() -> None:
    assert speaks_of("fix(writer): port the ledger writer to the new schema", "Port the ledger writer")
    assert not speaks_of("fix(reader): port the ledger reader to the new schema", "Port the order writer")
    assert not speaks_of("Committed, all tests pass.", "Port the ledger writer")


# --- failing checks ----------------------------------------------------------------------------------------


def failing(command: str, output: str, report: str = "Half of it is there.") -> list[str]:
    story = Told().ask("build it").edit().run(command, output, ok=False, code=1).say(report)
    return [item.text for item in harvested(story).open_items]


def test_a_check_of_this_repository_that_fails_is_left() -> None:
    assert failing("pytest -q", FAILED) == ["test fails: FAILED tests/a.py::test_b - assert 1 == 2"]


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("cd /home/ada/other && pytest -q", FAILED),
        ("cd ../other && pytest -q", FAILED),
        ("make -C ../other test", FAILED),
        ("git stash && pytest -q", FAILED),
        ("vitest run", "zsh:1: command not found: vitest"),
        ("npx eslint .", "Oops! Something went wrong! :(\n\nESLint couldn't find a configuration file."),
        ("go build ./e2e/...", "pattern ./e2e/...: directory prefix e2e does not contain main module"),
        ("pytest -q", "E   ConnectionError: connection refused"),
    ],
)
def test_a_failure_that_is_not_the_codes_is_no_to_do(command: str, output: str) -> None:
    assert failing(command, output) == []


@pytest.mark.parametrize(
    "report",
    [
        "The rounding is fixed. `test_b` is a pre-existing failure.",
        "The rounding is fixed. The failing test is unrelated to this change.",
    ],
)
def test_a_failure_that_is_older_than_the_work_is_no_to_do(report: str) -> None:
    assert failing("pytest -q", FAILED, report) == []


def test_a_check_that_later_worked_and_a_ci_that_still_runs_are_no_to_dos() -> None:
    story = Told().ask("build it").edit().run("pytest -q", FAILED, ok=False, code=1)
    story.edit().run("pytest -q", "3 passed in 0.1s")
    story.run("gh pr checks 7 --watch", "build  pending\ntests  pending", ok=False, code=8)
    assert harvested(story.say("The rounding is fixed.")).open_items == ()


def test_a_failure_that_says_nothing_names_its_command() -> None:
    assert failing("bun test", "1 fail") == ["test fails: 1 fail (`bun test`)"]
