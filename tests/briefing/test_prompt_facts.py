"""Which facts and decisions prompts may be told: what is news here, and holds."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from holdfast.briefing.prepare import prepare
from holdfast.memory.reference import KeptFact, Reference
from holdfast.memory.store import MemoryStore
from holdfast.model.memory import Decision, Fact, FactCategory
from holdfast.store.machine import Machine

NEWS = [
    ("`make payments` runs the tests here", "testing"),
    ("http://localhost:8443/payments answers here", "endpoint"),
]
KNOWN = [
    ("`make settle` runs the tests here", "testing"),  # a guide says it
    ("`go test -v ./...` runs the tests here", "testing"),  # anybody would call it
    ("`/opt/pay/bin/check` runs the tests here", "testing"),  # on one machine
    ("`npx lint .REDACTED.md` lints here", "command"),
    ("https://api.github.com/repos/shop/payments answers here", "endpoint"),  # everywhere
]


def told(machine: Machine, reference: Reference) -> set[str]:
    project = machine.project()
    project.prepare()
    MemoryStore(project, project.title).change_facts(lambda _: reference)
    prepare(machine, project)
    db = sqlite3.connect(project.memory / "hot.db")
    try:
        return {text for (text,) in db.execute("SELECT text FROM prompt_fact")}
    finally:
        db.close()


def facts(session: str) -> tuple[KeptFact, ...]:
    return tuple(
        KeptFact(fact=Fact(text=text, evidence="seen", category=FactCategory(kind), session=session, at=1.0))
        for text, kind in (*NEWS, *KNOWN)
    )


@pytest.mark.promise("H2")
def test_of_what_sessions_showed_what_is_news_here_is_told(repo: Path) -> None:
    (repo / "CLAUDE.md").write_text("Run `make settle` before you commit.\n", encoding="utf-8")
    assert told(Machine(cwd=repo), Reference(facts=facts("s"))) == {text for text, _ in NEWS}


def test_what_somebody_wrote_down_is_told_whatever_it_is(repo: Path) -> None:
    assert told(Machine(cwd=repo), Reference(facts=facts(""))) == {text for text, _ in (*NEWS, *KNOWN)}


def test_a_decision_is_told_where_it_holds(repo: Path) -> None:
    plan = Decision(text="Plan approved: Settle the payments", by="user", session="s", at=1.0)
    rule = Decision(text="Keep totals in cents", by="user", session="s", at=1.0)
    assert told(Machine(cwd=repo), Reference(decisions=(plan, rule))) == {"Decided: Keep totals in cents"}
