"""What Claude Code's own tools are given and answer: lists, questions with their answers, plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from holdfast.core.patterns import lazy_regex
from holdfast.model.events import Asked, Planned, Todo, TodoStatus

LONGEST_PLAN = 12_000
MOST_QUESTIONS = 8
_STATUSES: dict[object, TodoStatus] = {
    "pending": "pending",
    "in_progress": "in_progress",
    "completed": "completed",
    "cancelled": "cancelled",
    "deleted": "cancelled",
}
_APPROVED = "User has approved"
_APPROVED_PLAN = "## Approved Plan:\n"  # newer versions keep the plan in a file and show it in the answer
_ANSWER_ENDS = lazy_regex(r"\"(?:, \"|\. You can now|\s+(?:user notes|selected preview):|\.?\s*\Z)")


class OpenQuestion(Struct):
    """A question that was put, with what the agent said of each choice."""

    text: str
    options: tuple[tuple[str, str], ...] = ()


def todo_items(value: object) -> tuple[Todo, ...]:
    items = value if isinstance(value, list) else []
    return tuple(
        Todo(item["content"], todo_status(item.get("status"), "pending"))
        for item in items
        if isinstance(item, dict) and isinstance(item.get("content"), str) and item["content"].strip()
    )


def todo_status(value: object, default: TodoStatus) -> TodoStatus:
    return _STATUSES.get(value, default) if isinstance(value, str) else default


def questions_in(arguments: dict[str, Any]) -> tuple[OpenQuestion, ...]:
    """The questions of one `AskUserQuestion`."""
    asked = arguments.get("questions")
    items = asked if isinstance(asked, list) else []
    return tuple(
        OpenQuestion(item["question"], _options(item.get("options")))
        for item in items[:MOST_QUESTIONS]
        if isinstance(item, dict) and isinstance(item.get("question"), str) and item["question"].strip()
    )


def _options(value: object) -> tuple[tuple[str, str], ...]:
    items = value if isinstance(value, list) else []
    return tuple(
        (item["label"], str(item.get("description") or ""))
        for item in items
        if isinstance(item, dict) and isinstance(item.get("label"), str)
    )


def answered(
    at: float | None, questions: Sequence[OpenQuestion], answer: str, *, failed: bool
) -> list[Asked]:
    """Each question with its answer. The tool answers in one line of `"question"="answer"` pairs."""
    return [
        Asked(
            at,
            question.text,
            tuple(question.options),
            "" if failed else _answer_to(question.text, answer),
            by="user",
        )
        for question in questions
    ]


def _answer_to(question: str, answer: str) -> str:
    _, found, rest = answer.partition(f'"{question}"="')
    if not found:
        return ""
    end = _ANSWER_ENDS.search(rest)
    return rest[: end.start()] if end else rest


def planned(at: float | None, plan: str, answer: str, *, failed: bool, rejected: bool) -> list[Planned]:
    """A plan that was shown, and what became of it."""
    approved = False if rejected else True if not failed and answer.startswith(_APPROVED) else None
    text = plan or answer.partition(_APPROVED_PLAN)[2][:LONGEST_PLAN]
    return [Planned(at, text, approved)] if text else []
