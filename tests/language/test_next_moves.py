"""What only says what to do at this moment is told from what settles something."""

from __future__ import annotations

import pytest

from holdfast.language.harvest_sentences import is_next_move


@pytest.mark.parametrize(
    "text",
    [
        "let's investigate 3 and 7",
        "Ok, let's look into the failing upload.",
        "Let’s go ahead and see what the log says",
        "can you check why it is slow",
        "First, run the tests",
        "Shall we keep both?",
    ],
)
def test_a_move_of_the_moment_is_no_decision(text: str) -> None:
    assert is_next_move(text)


@pytest.mark.parametrize(
    "text",
    [
        "Let's retry the tide client at most three times",
        "let's use uv, not pip",
        "We will store tokens in the keyring",
        "Check-ins are counted once a day",
        "Use a migration for the index.",
    ],
)
def test_a_choice_stays_a_decision(text: str) -> None:
    assert not is_next_move(text)
