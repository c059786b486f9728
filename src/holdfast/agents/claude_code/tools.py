"""How Claude Code's tools report what a person answered: to questions, and to a plan."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.agent_kit.questions import LONGEST_PLAN, OpenQuestion
from holdfast.core.patterns import lazy_regex
from holdfast.model.events import Asked, Planned

_APPROVED = "User has approved"
_APPROVED_PLAN = "## Approved Plan:\n"  # newer versions keep the plan in a file and show it in the answer
_ANSWER_ENDS = lazy_regex(r"\"(?:, \"|\. You can now|\s+(?:user notes|selected preview):|\.?\s*\Z)")


def answered(
    at: float | None, questions: Sequence[OpenQuestion], answer: str, *, failed: bool
) -> list[Asked]:
    """Each question with its answer. The tool answers in one line of `"question"="answer"` pairs."""
    return [question.asked(at, "" if failed else _answer_to(question.text, answer)) for question in questions]


def _answer_to(question: str, answer: str) -> str:
    _, separator, rest = answer.partition(f'"{question}"="')
    if not separator:
        return ""
    end = _ANSWER_ENDS.search(rest)
    return rest[: end.start()] if end else rest


def planned(at: float | None, plan: str, answer: str, *, failed: bool, rejected: bool) -> list[Planned]:
    """A plan that was shown, and what became of it."""
    approved = False if rejected else True if not failed and answer.startswith(_APPROVED) else None
    text = plan or answer.partition(_APPROVED_PLAN)[2][:LONGEST_PLAN]
    return [Planned(at, text, approved)] if text else []
