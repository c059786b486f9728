"""The read model: every kind of statement from every file, each file read once, and none that keeps the others away."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from holdfast.core.stamp import Stamp
from holdfast.memory.current import Current, NextStep
from holdfast.memory.decisions import SessionPassages
from holdfast.memory.read import ProjectMemory
from holdfast.memory.reference import KeptFact, Reference
from holdfast.memory.store import MemoryStore
from holdfast.model.lesson import Lesson, failing_call
from holdfast.model.memory import DeadEnd, Decision, Fact, Finding, LogEntry, OpenItem, Passage, Question
from holdfast.model.statement import (
    SessionText,
    StatementKind,
    decoded,
    encoded,
    rules_of,
    statement_of,
    text_of,
)
from holdfast.store.project import Project

AT = 1_767_621_720.0
END = DeadEnd(tried="npm test", failed="no such script", instead="pnpm test")
FACT = Fact(text="The shop listens on 8080", command="ss -ltn", evidence="*:8080", verified_at=AT)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    window = tmp_path / "shop" / ".holdfast"
    memory = tmp_path / "home" / "projects" / "shop-1"
    found = Project(root=tmp_path / "shop", window=window, memory=memory, identity_file=window / "id")
    store = MemoryStore(found, "shop", clock=lambda: AT)
    store.record(
        LogEntry(session="s1", agent="codex", at=AT, findings=(Finding(text="It is slow"),), dead_ends=(END,))
    )
    old = KeptFact(fact=Fact(text="It was 7070", evidence="seen"), retired_at=AT)
    decided = (Decision(text="Use pnpm", rationale="npm hoists", by="user"),)
    store.change_facts(lambda _: Reference(facts=(KeptFact(fact=FACT), old), decisions=decided))
    store.change_questions(lambda _: [Question(text="Which port?", answer="8080", answered_at=AT)])
    todo = (OpenItem(text="tidy up", branch="main"),)
    store.change_current(lambda _: Current(next=(NextStep(text="go on", by="user"),), todo=todo))
    return found


def test_every_file_gives_its_statements_once(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    whole = MemoryStore._text

    def counted(self: MemoryStore, path: Path) -> str:
        read.append(path.name)
        return whole(self, path)

    monkeypatch.setattr(MemoryStore, "_text", counted)
    memory = ProjectMemory(project)
    said = {one.id[0] + ":" + one.kind: one for one in memory.statements(*get_args(StatementKind))}
    assert list(memory.statements(*get_args(StatementKind))) and len(read) == len(set(read))
    assert said["D:decision"].reason == "npm hoists" and said["D:decision"].basis == "person"
    assert (said["Q:answer"].subject, said["Q:answer"].text) == ("Which port?", "8080")
    assert said["X:dead_end"].not_ == "npm test" and said["X:dead_end"].text == "pnpm test"
    assert said["N:finding"].session == "s1" and said["N:finding"].stamp == Stamp.of_seconds(AT)
    assert {one.text for one in memory.statements("next_step")} == {"go on", "tidy up"}
    assert {one.status for one in memory.statements("fact")} == {"agreed", "retired"}


def test_a_broken_file_keeps_nobody_from_the_rest(project: Project) -> None:
    (project.memory / "current.md").write_text("<!-- holdfast:begin next -->\n", encoding="utf-8")
    memory = ProjectMemory(project)
    assert memory.current == Current()
    assert [one.kind for one in memory.statements("decision", "next_step")] == ["decision"]


def test_what_the_index_carries_comes_back_and_reads_as_before() -> None:
    said = statement_of(FACT)
    assert decoded(encoded(said)) == said and text_of(said) == "The shop listens on 8080 (ss -ltn → *:8080)"
    assert text_of(statement_of(END)) == "`npm test` fails here (no such script) → `pnpm test` worked"
    done = SessionText(goal="Fix it", outcome="done", files=("a.py",), commits=("1 x", "2 y"))
    assert text_of(done) == "Fix it\nOutcome: done\nFiles: a.py\nCommits: 1 x; 2 y"
    assert decoded(encoded(done)) == done and decoded("") is None
    assert Stamp(1, 2) < Stamp(2) < Stamp(2, 1)


def test_a_rule_says_which_call_fails() -> None:
    rule = "`npm test` fails here (no such script) → `pnpm test`"
    (said,) = rules_of(Lesson(name="npm", description="", rules=(rule,)))
    assert (said.kind, said.not_) == ("rule", "npm test")
    assert failing_call(rule) == ("npm test", "no such script", "pnpm test")
    assert failing_call("`go` is not found here → `mise x go`") == (
        "go",
        "go: command not found",
        "mise x go",
    )
    assert failing_call("never push on Fridays") is None


def test_passages_come_newest_first_within_a_month_too(project: Project) -> None:
    sections = [
        SessionPassages(
            session=f"s{number}", at=AT + number * 3600, passages=(Passage(text=f"Choice {number}"),)
        )
        for number in range(3)
    ]
    MemoryStore(project, "shop", clock=lambda: AT).record_passages(sections, "capture")
    memory = ProjectMemory(project)
    assert [section.session for _, section in memory.passages()] == ["s0", "s1", "s2"]
    assert [section.session for _, section in memory.passages(newest_first=True)] == ["s2", "s1", "s0"]
