"""The person sees at the first prompt which model and which care the ledger suggests, where the evidence is clear."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from msgspec.structs import replace
from tests.hooks.enabled import Enabled
from tests.ledger.ledgers import sessions

from holdfast.briefing.advice import advice_of
from holdfast.ledger.rows import add_row
from holdfast.model.ledger import Kind, LedgerEntry, Outcome

pytestmark = pytest.mark.promise("W14")

GOOD, POOR = "claude-opus-4-7", "gpt-5.5"


def worked(number: int, failures: int, **more: object) -> list[LedgerEntry]:
    """Sessions of which so many failed, well mixed."""
    made = sessions(number, agent="claude-code", **{"model": GOOD, "kind": Kind.FEATURE, "tasks": 1, **more})
    bad = {round(place * number / failures) for place in range(failures)} if failures else set()
    ends = [(1, Outcome.FAILED) if place in bad else (0, Outcome.DONE) for place in range(number)]
    return [
        replace(entry, failed=failed, outcome=outcome)
        for entry, (failed, outcome) in zip(made, ends, strict=True)
    ]


def texts(entries: Sequence[LedgerEntry]) -> list[str]:
    return [text for text, _ in advice_of(entries)]


def test_a_model_that_clearly_does_better_is_named_unless_it_is_in_use() -> None:
    good, poor = worked(40, 1), worked(30, 18, model=POOR)
    (told,) = texts([*good, *poor])
    assert told.startswith(f"{GOOD} does better here than {POOR}: sessions fail ")
    assert texts([*poor, *good]) == [], "it is in use"
    assert texts([*worked(5, 0), *worked(5, 2, model=POOR)]) == [], "that says nothing"
    assert texts([*good, *worked(30, 1, model=POOR)]) == [], "they do as well"


def test_a_kind_of_work_that_fails_beyond_chance_is_named() -> None:
    rest = worked(60, 3)
    assert texts([*worked(11, 6, kind=Kind.MIGRATION), *rest]) == [
        "migrations need more care here: 6 of 11 sessions failed"
    ]
    assert texts([*worked(11, 1, kind=Kind.MIGRATION), *rest]) == []
    assert texts([*worked(4, 4, kind=Kind.MIGRATION), *rest]) == [], "four are too few"
    assert texts([*worked(11, 6, kind=Kind.MIGRATION), *worked(60, 30)]) == [], "everything fails here"


def remember(enabled: Enabled, entries: Sequence[LedgerEntry]) -> None:
    for entry in entries:
        add_row(enabled.machine, enabled.project, entry)


def message(enabled: Enabled, event: str = "UserPromptSubmit", **more: object) -> str:
    printed = enabled.hook(event, prompt="Rename the voucher", hook_event_name=event, **more).printed
    return str(json.loads(printed).get("systemMessage", "")) if printed else ""


def test_it_is_shown_at_the_first_prompt_of_each_session_and_never_to_the_model(enabled: Enabled) -> None:
    remember(enabled, [*worked(11, 6, kind=Kind.MIGRATION), *worked(60, 3)])
    enabled.prepare()
    assert "care" not in message(enabled, "SessionStart")
    printed = enabled.hook("UserPromptSubmit", prompt="Rename it", hook_event_name="UserPromptSubmit").printed
    answer = json.loads(printed)
    line = "holdfast: migrations need more care here: 6 of 11 sessions failed"
    assert line in answer["systemMessage"]
    assert "care" not in json.dumps(answer.get("hookSpecificOutput", {}))
    assert "care" not in message(enabled)
    assert line in message(enabled, session_id="another")


def test_without_evidence_nothing_is_shown(enabled: Enabled) -> None:
    remember(enabled, worked(12, 1))
    enabled.prepare()
    assert message(enabled) == ""
