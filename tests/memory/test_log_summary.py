"""An agent's last words in a line: what was done, as it was said."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.memory.test_state import record

from holdfast.language.prose import prose_of, unwrap_prompt
from holdfast.memory.log import goal_line, task_line
from holdfast.sessions.summary import summary_line


@pytest.mark.parametrize(
    "message, said",
    [
        ("Fixed the layout of the header.", "Fixed the layout of the header."),
        ("Good coverage of the parser is there now.", "Good coverage of the parser is there now."),
        ("Done - `docs/geese.md` has been deleted.", "`docs/geese.md` has been deleted."),
        ("Perfect! All done. The limiter works.", "The limiter works."),
        ("Done.", ""),
    ],
)
def test_only_words_that_say_nothing_are_left_out(message: str, said: str) -> None:
    assert summary_line(message, 200) == said


@pytest.mark.parametrize("heading", ["## Next steps", "Next steps:", "**Remaining:**"])
def test_what_is_left_is_not_told_as_done(heading: str) -> None:
    message = f"Implemented it in `src/app.py`.\n\n{heading}\n- Wire it into the gateway\n"
    assert summary_line(message, 200) == "Implemented it in `src/app.py`."


@pytest.mark.parametrize(
    "message, said",
    [
        ("app/limit.py\n\nthe limit holds across processes now.", "The limit holds across processes now."),
        (
            "max_attempts is two, so a failure is retried once.",
            "max_attempts is two, so a failure is retried once.",
        ),
        (
            "\\u001b[34mThe limit\\u001b[0m holds in \x1b[1mall\x1b[0m processes.",
            "The limit holds in all processes.",
        ),
        ('{"title": "Add a limit to the gateway"}', ""),
    ],
)
def test_names_colours_and_data_are_no_words_of_a_summary(message: str, said: str) -> None:
    assert summary_line(message, 200) == said


def test_a_request_is_a_to_do_in_one_sentence() -> None:
    title = "Implement the following plan: # Plan: Add a limit"
    assert task_line(title, 120) == "Implement the plan: Add a limit"
    assert task_line("Add a limit to the gateway. " + "Then tell everybody about it. " * 5, 120) == (
        "Add a limit to the gateway."
    )


def test_what_a_host_puts_before_a_prompt_is_not_the_goal() -> None:
    policy = "Never call this tool. " * 300
    assert unwrap_prompt(f"<some_host>\n{policy}\n</some_host>\n\nadd a limit") == "add a limit"
    for whole in ("<task>add a limit</task>\nsoon", "<some_host>alone</some_host>", "<open> add a limit"):
        assert unwrap_prompt(whole) == whole


def test_where_a_secret_was_a_mark_is_left() -> None:
    assert prose_of("DB is postgres://admin:[redacted:password]@db").lines == (
        "DB is postgres://admin:[…]@db",
    )


@pytest.mark.parametrize(
    "message",
    [
        "Now add the state to the cart and register its handlers.",
        "I’m using the planning skill to write this down.",
        "Now let me check the imports of the cart.",
        "★ Insight ─────────────────────────",
        "━━━━━━━━━━━━━━━━━━━━━━",
    ],
)
def test_what_an_agent_is_about_to_do_or_has_drawn_is_no_account(message: str) -> None:
    assert summary_line(message, 200) == ""


def test_a_command_of_the_client_alone_does_not_say_what_a_session_was_about() -> None:
    command, said = "/skills:writing-plans-for-the-shop", "Implement the refund of vouchers in the cart"
    assert goal_line(replace(record(command), prompts=(command, said)), 100) == said
    assert goal_line(record(command), 100) == command
