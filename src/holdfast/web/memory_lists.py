"""What the views of Memory share: the kept readings, the tabs with their counts, and who says what."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from holdfast.flows.lessons import Listed, read_lessons
from holdfast.flows.todos import ListedTodo, list_todos
from holdfast.memory.listing import StatementList
from holdfast.memory.read import ParsedMonth, ProjectMemory
from holdfast.memory.reference import KeptFact
from holdfast.model.memory import Question
from holdfast.web.contract import Request

MEMORY = "memory"  # the topic of these readings
_MONTHS: dict[
    Path, dict[Path, ParsedMonth]
] = {}  # of each memory: a write changes one month, the rest stays parsed
WHO = (("user", "A person"), ("agent", "An agent"))
LOOK_AGAIN_S = 30  # after which the files that rules depend on are compared again


def statements_of(request: Request) -> StatementList:
    months = months_of(request.project.memory)
    return request.kept(
        "statements", lambda: StatementList(ProjectMemory(request.project, months=months)), MEMORY
    )


def months_of(memory: Path) -> dict[Path, ParsedMonth]:
    """The months that were parsed, for all who read decisions."""
    return _MONTHS.setdefault(memory, {})


def facts_of(request: Request) -> Sequence[KeptFact]:
    """All facts, what was verified last first."""

    def read() -> list[KeptFact]:
        memory = ProjectMemory(request.project)
        facts = [kept for _, reference in memory.references() for kept in reference.facts]
        return sorted(facts, key=lambda kept: -(kept.fact.verified_at or kept.fact.at or 0.0))

    return request.kept("facts", read, MEMORY)


def questions_of(request: Request) -> Sequence[Question]:
    """Open questions first, then the others; the newest of each first."""

    def read() -> list[Question]:
        found = [question for _, question in ProjectMemory(request.project).questions()]
        return sorted(found, key=lambda one: (not one.open, -(one.answered_at or one.at or 0.0)))

    return request.kept("questions", read, MEMORY)


def steps_of(request: Request) -> Sequence[ListedTodo]:
    """What is to be done on any branch, the urgent first, then what was."""
    return request.kept("steps", lambda: list_todos(request.here, everything=True)[0], MEMORY)


def rules_of(request: Request) -> Listed:
    """All lessons with their states. They depend on the checkout, which no topic watches: read again in time."""
    moment = int(request.now.timestamp()) // LOOK_AGAIN_S
    made = request.kept("rules", lambda: _Rules(), "lessons")
    if made.moment != moment:
        made.listed, made.moment = read_lessons(request.here, request.project), moment
    assert made.listed is not None
    return made.listed


class _Rules:
    listed: Listed | None = None
    moment = 0


def views(request: Request) -> list[tuple[str, str, str]]:
    """The tabs of the screen with how much each holds."""
    statements = statements_of(request)
    facts = sum(kept.retired_at is None for kept in facts_of(request))
    rules = sum(status.state != "rejected" for status in rules_of(request).lessons)
    asked = sum(question.open for question in questions_of(request))
    steps = sum(not step.closed for step in steps_of(request))
    return [
        ("Decisions", request.url("memory"), f"{len(statements.likely('decision')[0]):,}"),
        ("Facts", request.url("memory.facts"), f"{facts:,}"),
        ("Rules", request.url("memory.rules"), f"{rules:,}"),
        ("Questions", request.url("memory.questions"), f"{asked:,} open" if asked else ""),
        ("Next steps", request.url("memory.next"), f"{steps:,}"),
        ("Timeline", request.url("memory.timeline"), ""),
        ("History", request.url("memory.history"), ""),
    ]
