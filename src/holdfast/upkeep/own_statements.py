"""What our own memory states as rules: agreed decisions of people, facts, and active lessons, with their places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.lessons.states import LessonStatus, lesson_store, looked_at
from holdfast.memory.read import ProjectMemory
from holdfast.memory.store import lines_of_ids
from holdfast.model.statement import Statement
from holdfast.store.machine import Machine
from holdfast.store.project import Project
from holdfast.upkeep.audited_files import AuditedFile
from holdfast.upkeep.rule_checks import PlacedRule
from holdfast.upkeep.rules_in_text import StatedRule


def own_rules(machine: Machine, project: Project, files: Sequence[AuditedFile]) -> list[PlacedRule]:
    """The oldest first, so that of two statements the later one contradicts the earlier."""
    by_name = {file.shown: file for file in files}
    rules: list[PlacedRule] = []
    for statement, file, line in placed_statements(project, by_name):
        if statement.status == "agreed" and (statement.kind == "fact" or statement.basis == "person"):
            rule = StatedRule(text=statement.text, line=line, end=line + 1, under=(statement.project,))
            rules.append(PlacedRule(file=file, rule=rule, id=statement.id))
    for status, file in placed_lessons(machine, project, files):
        if status.state == "active":
            for text in status.lesson.rules:
                line = line_of(file, text)
                rule = StatedRule(text=text, line=line, end=line + 1, under=(status.lesson.name,))
                rules.append(PlacedRule(file=file, rule=rule, id=status.lesson.name))
    return rules


def placed_statements(
    project: Project, by_name: dict[str, AuditedFile]
) -> Iterator[tuple[Statement, AuditedFile, int]]:
    """Facts and decisions of the register with their file and line, the oldest first."""
    if not project.memory.is_dir():
        return
    lines: dict[str, dict[str, int]] = {}
    statements = ProjectMemory(project).register("fact", "decision")
    for statement in sorted(statements, key=lambda one: one.order):
        shown = f".holdfast/local/projects/{statement.project}/{statement.source}"
        if (file := by_name.get(shown)) is not None:
            numbers = lines.setdefault(shown, lines_of_ids(file.text))
            yield statement, file, numbers.get(statement.id, 0)


def placed_lessons(
    machine: Machine, project: Project, files: Sequence[AuditedFile]
) -> list[tuple[LessonStatus, AuditedFile]]:
    if not project.known:
        return []
    by_path = {str(file.path): file for file in files}
    statuses = looked_at(machine, project, lesson_store(machine, project).read())
    return [
        (status, file)
        for status in statuses
        if (file := by_path.get(str(status.stored.path.resolve()))) is not None
    ]


def line_of(file: AuditedFile, text: str) -> int:
    """The line that a text begins in; 1 if it is written otherwise there."""
    position = file.text.find(text[:40])
    return file.text.count("\n", 0, position) + 1 if position >= 0 else 1
