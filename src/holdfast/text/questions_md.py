"""open-questions.md: what was asked, whether it is answered, by whom and when; open questions first.

Boxes show the state (`[ ]` open, `[x]` answered). A person answers by adding ` → answer: …` to the line, and
closes a question that needs none by ticking its box.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from holdfast.model.memory import Question
from holdfast.text import memory_md as md
from holdfast.text import sections
from holdfast.text.memory_md import Problem
from holdfast.text.sections import Document

QUESTIONS = "questions"
_BULLET = re.compile(r"- (?:\[([ xX])\] )?")


class QuestionsFile(Struct):
    """An open-questions.md as read."""

    document: Document
    questions: tuple[Question, ...] = ()
    problems: list[Problem] = field(default_factory=list)
    understood: set[int] = field(default_factory=set)


def beginning(project: str) -> str:
    return (
        f"# Questions of {md.encode(project)}\n\n"
        "What was asked and what was answered; times are UTC. An answered question is not asked again.\n"
    )


def render_questions(file: QuestionsFile, questions: Iterable[Question]) -> str:
    """The file with these questions in its managed part; each keeps its place among the open or the answered."""
    ordered = sorted(questions, key=lambda question: not question.open)
    lines = [f"- [{' ' if question.open else 'x'}] {md.QUESTION.render(question)}" for question in ordered]
    return file.document.replace(QUESTIONS, lines, heading="Questions", ours=file.understood).render()


def parse_questions(text: str, where: str = "open-questions.md") -> QuestionsFile:
    """What an open-questions.md holds; StoreError when its markers are broken."""
    file = QuestionsFile(sections.parse(text, where))
    found: list[Question] = []
    for number, line in enumerate(file.document.body(QUESTIONS)):
        bullet = _BULLET.match(line)
        if not line.strip():
            continue
        try:
            if bullet is None:
                raise ValueError("no question")
            question = md.QUESTION.parse(line[bullet.end() :])
            ticked = bullet[1] in ("x", "X")
            found.append(replace(question, closed=ticked and not question.answer))
            file.understood.add(number)
        except (ValueError, OverflowError) as error:
            place = file.document.line_number(QUESTIONS, number)
            file.problems.append(md.problem(where, place, str(error)))
    file.questions = tuple(found)
    return file
