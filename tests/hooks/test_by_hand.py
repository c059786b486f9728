"""Decisions that a person noted by hand reach the prompts that they are about, and few others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.command import Holdfast

from holdfast.hooks import by_hand

SCRIPTS = Path(__file__).parents[2] / "scripts"
NOTED = {
    "the local dashboard uses port 4318, not 3000": "change the dashboard port to 3000",
    "Use pnpm, not npm": "add lodash with npm install",
    "All timestamps are stored in UTC": "store the created_at timestamp in local time",
    "Never use moment.js, use date-fns": "format the date with moment",
    "We deploy to eu-west-1 only": "deploy the staging stack to us-east-1",
    "Tests use vitest, not jest": "write a jest test for the parser",
}


@pytest.mark.promise("W2")
def test_each_of_some_decisions_reaches_the_prompt_that_would_break_it(
    holdfast: Holdfast, repo: Path
) -> None:
    for decision in NOTED:
        holdfast("note", "decision", decision, check=0)
    for decision, prompt in NOTED.items():
        told = holdfast("recall", prompt, "--as-prompt", check=0).stdout
        assert told.startswith(f"{decision} (you, "), prompt
        assert len(told.splitlines()) == 1, prompt


@pytest.mark.promise("W2")
@pytest.mark.parametrize(
    "prompt",
    ["Install the dependencies with npm and run the tests", "please install lodash with npm", "use npm"],
)
def test_a_reason_does_not_keep_a_decision_from_being_told(
    holdfast: Holdfast, repo: Path, prompt: str
) -> None:
    holdfast("note", "decision", "use bun, never npm", "--because", "the lock file is bun's", check=0)
    holdfast("note", "decision", "the dashboard must never poll faster than every 5 seconds", check=0)
    told = holdfast("recall", prompt, "--as-prompt", check=0).stdout
    assert told.startswith("use bun, never npm (because the lock file is bun's) (you, ")


@pytest.mark.promise("W8")
@pytest.mark.parametrize(
    "prompt",
    [
        "rename the port module",
        "at the moment the build is slow",
        "run the tests",
        "fix the login bug",
        "continue",
    ],
)
def test_a_prompt_about_something_else_gets_none_of_them(holdfast: Holdfast, repo: Path, prompt: str) -> None:
    for decision in NOTED:
        holdfast("note", "decision", decision, check=0)
    assert "would see nothing" in holdfast("recall", prompt, "--as-prompt", check=0).stderr


@pytest.mark.promise("W3")
def test_a_question_that_a_person_answered_is_answered_where_it_comes_up_again(
    holdfast: Holdfast, repo: Path
) -> None:
    by_user, by_agent = "Which linter do we use for the frontend?", "Which queue holds the refunds?"
    id = holdfast("note", "answer", by_user, "eslint, flat config", "--json", check=0).json()["id"]
    holdfast("note", "answer", by_agent, "redis", "--by", "agent", check=0)
    told = holdfast("recall", "Which linter runs on the frontend?", "--as-prompt", check=0).stdout
    assert told.startswith(f"{by_user} → eslint, flat config (you, ") and id in told
    assert "redis" not in holdfast("recall", by_agent, "--as-prompt", check=0).stdout, "nobody agreed to it"
    assert holdfast("recall", "Which region do we deploy to?", "--as-prompt", check=0).stdout == ""


def test_a_decision_that_was_taken_back_reaches_no_prompt(holdfast: Holdfast, repo: Path) -> None:
    noted = holdfast("note", "decision", "Use pnpm, not npm", "--json", check=0).json()
    holdfast("note", "decision", "retire", noted["id"], check=0)
    assert "pnpm" not in holdfast("recall", "add lodash with npm install", "--as-prompt", check=0).stdout


@pytest.mark.slow
def test_the_script_fits_the_weights_that_are_shipped() -> None:
    """In a process of its own: it changes the path of modules."""
    done = subprocess.run(
        [sys.executable, SCRIPTS / "train_by_hand.py"],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    values = [
        float(part.strip(" }\n").rpartition(" ")[2])
        for part in done.stdout.replace("\n", ",").split(",")
        if part
    ]
    shipped = [*by_hand.WEIGHTS.values(), by_hand.NONE]
    assert values == pytest.approx(shipped, abs=0.02)


def test_numbers_of_a_prompt_and_its_windows() -> None:
    found = by_hand.windows("The port is 3000. Change it!\nAnd the docs", frozenset({"the", "and", "change"}))
    assert found[0] >= {"port", "3000"}
    assert found[-1] == {"doc"}


def test_chances_add_up_to_less_than_one() -> None:
    asked = by_hand.windows("deploy to us-east-1", frozenset())
    decisions = [{"deploy", "west"}, {"banana"}]
    chances = by_hand.chances_of(by_hand.evidence(asked, decisions, decisions, {"deploy": 4.5}))
    assert 0 < sum(chances) < 1 and chances[0] > chances[1]
