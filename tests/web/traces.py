"""What hooks leave when they tell a session something, for tests of the page; and lessons that wait for a person."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from holdfast.flows.lessons import read_lessons
from holdfast.lessons.states import propose
from holdfast.model.lesson import Lesson, LessonEvidence
from holdfast.store.machine import Machine
from holdfast.store.project import Project

START, PROMPT, CALL = "SessionStart", "UserPromptSubmit", "PreToolUse"


def project_of(folder: Path) -> tuple[Machine, Project]:
    """The project of a demonstration, as the command line has it."""
    machine = Machine(
        env={"HOLDFAST_HOME": str(folder / "home"), "HOME": str(folder)}, cwd=folder / "tidepool"
    )
    return machine, machine.project()


def tell(
    memory: Path,
    session: str,
    at: float,
    event: str,
    lines: Sequence[tuple[str, str]],
    *,
    tool: str = "",
    tokens: int = 20,
    left_out: int = 0,
) -> None:
    """An entry of the trace, as `hooks/trace.py` writes it."""
    entry = {
        "time": datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "session": session,
        "host": "claude-code",
        "event": event,
        "tool": tool,
        "tokens": tokens,
        "lines": [{"text": text, "reason": reason} for text, reason in lines],
        "left_out": left_out,
    }
    with (memory / "why.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(entry) + "\n")


def candidates(folder: Path, count: int, rule: str = "Run `make check-{n}` before a push") -> list[str]:
    """Lessons that a session taught and no person has reviewed; their names."""
    machine, project = project_of(folder)
    names = [f"check-before-push-{n}" for n in range(count)]
    for n, name in enumerate(names):
        evidence = (LessonEvidence(session=f"5e55{n:04d}", at=machine.now().timestamp(), line="it failed"),)
        lesson = Lesson(
            name=name, description="", rules=(rule.format(n=n),), kind="command", evidence=evidence
        )
        propose(machine, project, [lesson])
    return names


def state_of(folder: Path, name: str) -> str:
    machine, project = project_of(folder)
    found = [one.state for one in read_lessons(machine, project).lessons if one.lesson.name == name]
    return found[0] if found else "gone"
