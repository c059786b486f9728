"""Sets up a project for hooks, and counts what `holdfast init` found."""

from __future__ import annotations

from collections import Counter

from msgspec import Struct

from holdfast.agents.registry import importer_of
from holdfast.briefing.prepare import prepare
from holdfast.briefing.start import briefings_of
from holdfast.flows.lessons import read_lessons
from holdfast.flows.questions import read_decisions, read_questions
from holdfast.knowledge import store
from holdfast.ledger.rows import read_ledger, rows
from holdfast.model.line import Line
from holdfast.store.machine import Machine
from holdfast.store.project import Project, branch_of
from holdfast.store.switches import enable


class SetUp(Struct, frozen=True, kw_only=True):
    """Counts of what is stored; `told` are the lines that a session started here now would get."""

    sessions: int
    agents: dict[str, int]
    decisions: int
    facts: int
    questions: int
    lessons: int
    proposed: int
    conventions: int
    patterns: int
    told: tuple[Line, ...]


def begin(machine: Machine, project: Project) -> SetUp:
    """Enables the project, prepares the hooks' file, and counts what is stored."""
    enable(project)
    briefings = briefings_of(machine, project)
    prepare(machine, project, briefings)
    digests = briefings.digests
    lines = digests.get(("startup", branch_of(project.root))) or digests.get(("startup", ""), ())
    entries = rows(read_ledger(project))
    reference = read_decisions(machine).reference
    lessons = read_lessons(machine, project).lessons
    knowledge = store.load(project).now
    return SetUp(
        sessions=len(entries),
        agents=dict(Counter(title_of(entry.agent) for entry in entries).most_common()),
        decisions=len(reference.decisions),
        facts=sum(1 for fact in reference.facts if fact.retired_at is None),
        questions=sum(1 for question in read_questions(machine).questions if question.open),
        lessons=sum(1 for lesson in lessons if lesson.state == "active"),
        proposed=sum(1 for lesson in lessons if lesson.state == "candidate"),
        conventions=len(knowledge.conventions),
        patterns=len(knowledge.patterns),
        told=tuple(lines),
    )


def title_of(agent: str | None) -> str:
    """An agent's name as people write it."""
    importer = importer_of(agent) if agent else None
    return importer.title if importer is not None else agent or "unknown"
