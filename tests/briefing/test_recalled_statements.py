"""Recall begins with what the prompt hook tells, says when that is weak, and repeats none of it below."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.command import Holdfast
from tests.decided import CAUSE, KEPT, PRINTER, REDIS, RELEASED, SECTIONS, THREE, Decided, at
from tests.hooks.enabled import Enabled

from holdfast.briefing.recall import recall, recall_as_prompt
from holdfast.core.tokens import count_tokens
from holdfast.hooks.prompt import MOST_TOKENS
from holdfast.memory.listing import StatementList
from holdfast.memory.read import ProjectMemory
from holdfast.model.memory import Passage

PROMPTS = (
    "Handhelds print a label twice after the spooler was restarted. Fix the queue of print jobs.",
    "Pickers complain that a parked print job vanishes; make the spooler print it by itself.",
    "Move the print jobs of the label spooler to Redis so that all handhelds share them.",
    "The spooler gives up on a print job too early, let it retry until it works.",
    "Visitors cannot leave with yesterday's badge. Let visitor badges expire later than midnight.",
    "Keep badge photos so that security can look at visitors of last quarter.",
    "Dock doors stay grey although a truck is being loaded.",
    "The door sensor is slow in winter, wait ten seconds before it counts as broken.",
)
UNRELATED = (
    "write a haiku about autumn leaves",
    "convert celsius to fahrenheit in Excel",
    "thanks, that looks great!",
)


@pytest.fixture
def enabled(repo: Path) -> Enabled:
    enabled = Enabled(repo)
    Decided(repo)
    enabled.prepare()
    return enabled


def hooked(enabled: Enabled, prompt: str, session: str) -> list[str]:
    """The lines of the real prompt hook, in a session of its own."""
    said = enabled.hook("UserPromptSubmit", prompt=prompt, session_id=session).context
    return [line for line in said.split("\n") if line and not line.startswith(("[holdfast", "[/holdfast"))]


@pytest.mark.promise("M6")
def test_the_first_statement_of_the_hook_is_the_first_of_recall(enabled: Enabled) -> None:
    said = {prompt: hooked(enabled, prompt, f"session-{n}") for n, prompt in enumerate(PROMPTS)}
    said = {prompt: lines for prompt, lines in said.items() if lines and "D-" in lines[0]}
    assert len(said) >= 4, "too few prompts are told anything: nothing is measured"
    same = [
        recall(enabled.machine, enabled.project, prompt).lines[0].text == said[prompt][0] for prompt in said
    ]
    assert sum(same) >= 0.85 * len(same)


@pytest.mark.promise("M6")
def test_as_a_prompt_it_says_exactly_what_the_hook_says(enabled: Enabled) -> None:
    for number, prompt in enumerate((*PROMPTS, *UNRELATED)):
        said = recall_as_prompt(enabled.machine, enabled.project, prompt)
        assert said.text.split("\n") == (hooked(enabled, prompt, f"session-{number}") or [""])
        assert all(line.id.startswith(("D-", "git ")) for line in said.lines if line.kind == "decision")


def test_statements_come_with_their_source_and_are_told_once(enabled: Enabled) -> None:
    told = recall(enabled.machine, enabled.project, "where does the label spooler keep its print jobs", 400)
    assert told.lines[0].kind == "decision" and told.lines[0].source.startswith("session ")
    assert sum(KEPT.rstrip(".") in line.text for line in told.lines) == 1
    assert THREE.rstrip(".") not in told.text, "it was replaced"
    assert count_tokens(told.text) <= told.tokens <= told.budget


@pytest.mark.promise("W1")
def test_a_statement_of_a_session_has_what_it_rests_on_and_what_was_turned_down(enabled: Enabled) -> None:
    listed = StatementList(ProjectMemory(enabled.project))
    said = listed.find(Passage(text=KEPT).id)
    assert said is not None
    assert (said.kind, said.status, said.who, said.basis) == ("decision", "agreed", "user", "person")
    assert (said.at, said.branch, said.session) == (at(2), "main", PRINTER)
    assert said.source == "decisions/2026-03.md"
    assert "not in Redis" in said.text
    (rejected,) = listed.turned_down(said)
    assert (rejected.text, rejected.status, rejected.basis) == (REDIS, "rejected", "agent")
    answer = listed.find(Passage(text=RELEASED).id)
    assert answer is not None
    assert answer.subject == "Should a parked job be printed after a restart?"
    assert "duplicate labels sent two pallets wrong" in answer.text, "the reason, in the words that were used"


@pytest.mark.promise("W1", "W5")
def test_what_an_agent_proposed_is_told_once_somebody_agreed(repo: Path, holdfast: Holdfast) -> None:
    enabled = Enabled(repo)
    proposal = "Handhelds print a label again by themselves when the label spooler was restarted."
    proposed = Passage(text=proposal, status="proposed", by="agent", worth=80)
    Decided(repo, (replace(SECTIONS[0], passages=(proposed, Passage(text=CAUSE, kind="cause", by="user"))),))
    enabled.prepare()
    before = hooked(enabled, PROMPTS[0], "before")
    assert before and proposal.rstrip(".") not in "\n".join(before)
    holdfast("note", "decision", "confirm", proposed.id, check=0)
    enabled.prepare()
    assert proposal.rstrip(".") in "\n".join(hooked(enabled, PROMPTS[0], "after"))
    holdfast("note", "decision", "retire", proposed.id, check=0)
    enabled.prepare()
    assert proposal.rstrip(".") not in "\n".join(hooked(enabled, PROMPTS[0], "retired"))


def test_the_budget_holds_for_statements_too(enabled: Enabled) -> None:
    for budget in (0, 20, 60, 200):
        told = recall(enabled.machine, enabled.project, PROMPTS[0], budget)
        assert told.tokens <= budget and count_tokens(told.text) <= budget
    assert recall(enabled.machine, enabled.project, PROMPTS[0]).tokens <= MOST_TOKENS + 75


def test_a_task_about_something_else_is_told_no_statement(enabled: Enabled) -> None:
    for task in UNRELATED:
        told = recall(enabled.machine, enabled.project, task)
        assert [line.text for line in told.lines if line.kind == "decision"] == []


def test_asking_needs_no_permission_to_write(enabled: Enabled) -> None:
    memory = enabled.memory
    before = recall(enabled.machine, enabled.project, PROMPTS[2]).text
    (memory / "told.db").chmod(0o400)
    try:
        assert recall(enabled.machine, enabled.project, PROMPTS[2]).text == before
    finally:
        (memory / "told.db").chmod(0o600)


def test_what_a_person_writes_or_deletes_counts_in_the_next_answer(repo: Path) -> None:
    decided = Decided(repo, SECTIONS[:2])
    (march,) = decided.store.months()
    march.write_text(
        march.read_text(encoding="utf-8").replace("in a SQLite file", "in an LMDB file"), encoding="utf-8"
    )
    told = recall(
        decided.machine, decided.project, "where does the label spooler keep its print jobs", 400
    ).text
    assert "LMDB" in told and "SQLite" not in told
    lines = march.read_text(encoding="utf-8").split("\n")
    march.write_text("\n".join(line for line in lines if "LMDB" not in line), encoding="utf-8")
    told = recall(
        decided.machine, decided.project, "where does the label spooler keep its print jobs", 400
    ).text
    assert "LMDB" not in told and Passage(text=KEPT).id not in told
