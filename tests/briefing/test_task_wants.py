"""Which sorts of statement come first for a task: by what is to be done, not by chance words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.command import Holdfast

from holdfast.briefing.task_wants import BUILDING, COMMANDING, DESIGNING, FIXING, weights_for
from holdfast.language.kind import explain_kind


@pytest.mark.promise("M6")
@pytest.mark.parametrize(
    ("task", "wanted"),
    [
        ("write a spec for the export format", DESIGNING),
        ("draft the RFC on retention", DESIGNING),
        ("design the billing module", DESIGNING),
        ("why did we choose sqlite", DESIGNING),
        ("call the payments API for refunds", COMMANDING),
        ("add an endpoint for refunds", COMMANDING),
        ("run the linter", COMMANDING),
        ("deploy to staging", COMMANDING),
        ("how do I run the tests", COMMANDING),
        ("fix the login", FIXING),
        ("the build fails with E0432", FIXING),
        ("implement a retry with backoff", BUILDING),
        ("build a page for invoices", BUILDING),
    ],
)
def test_a_task_wants_the_sorts_that_help_it(task: str, wanted: Mapping[str, float]) -> None:
    assert weights_for(task, explain_kind(task, (), ()).kind) is wanted


@pytest.fixture
def noted(holdfast: Holdfast, repo: Path) -> Path:
    """One decision and one fact in nearly the same words."""
    holdfast("decide", "The invoice export goes through the partner API", "--because", "audits", check=0)
    fact = "The partner API for the invoice export answers on port 8443"
    holdfast("fact", "add", fact, "--evidence", "curl said so", check=0)
    return repo


@pytest.mark.promise("M6")
@pytest.mark.parametrize(
    ("task", "first"),
    [
        ("call the partner API of the invoice export", "answers on port 8443"),
        ("write a specification for the invoice export through the partner", "Decided: "),
    ],
)
def test_facts_come_first_for_a_call_and_decisions_for_a_spec(
    holdfast: Holdfast, noted: Path, task: str, first: str
) -> None:
    (line, *_) = holdfast("recall", task, check=0).stdout.splitlines()
    assert first in line


def test_a_budget_that_is_too_small_says_so_and_a_wrong_one_is_refused(
    holdfast: Holdfast, noted: Path
) -> None:
    asked = ("recall", "call the partner API of the invoice export", "--budget")
    told = holdfast(*asked, "5", check=0)
    assert not told.stdout and "5 tokens are not enough" in told.stderr and "the shortest line" in told.stderr
    assert "--budget cannot be negative" in holdfast(*asked, "-3", check=2).stderr
    assert holdfast(*asked, "5", "--json", check=0).json()["lines"] == []


@pytest.mark.parametrize("command", ["search", "recall"])
def test_who_asks_for_a_flag_is_told_how(holdfast: Holdfast, noted: Path, command: str) -> None:
    told = holdfast(command, "--no-verify", check=2).stderr
    assert f"holdfast {command} -- --no-verify" in told


def test_an_index_of_nothing_is_json_too(holdfast: Holdfast, repo: Path) -> None:
    done = holdfast("index", "--json", check=0).json()
    assert set(done) == {"files", "chunks", "added", "removed", "seconds"} and done["chunks"] == 0


def test_a_question_that_became_a_decision_is_told_once(holdfast: Holdfast, repo: Path) -> None:
    asked = "Which region hosts the backups of the invoices?"
    holdfast("answer", asked, "Frankfurt", check=0)
    holdfast("decide", f"{asked} Frankfurt", "--because", "the law asks for it", check=0)
    told = holdfast("recall", "find the region of the backups of the invoices", check=0).stdout
    assert told.count("Which region") == 1 and "Frankfurt" in told
