"""What agents ask a person through their client: questions with choices, each with its answer."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from holdfast.agent_kit.loose import records
from holdfast.model.events import Asked

LONGEST_PLAN = 12_000
MOST_QUESTIONS = 8


class OpenQuestion(Struct):
    """A question without an answer yet, with the agent's description of each choice."""

    text: str
    options: tuple[tuple[str, str], ...] = ()
    id: str = ""

    def asked(self, at: float | None, answer: object) -> Asked:
        return Asked(at, self.text, tuple(self.options), answer if isinstance(answer, str) else "", by="user")


def questions_in(arguments: dict[str, Any]) -> tuple[OpenQuestion, ...]:
    """The questions of one call."""
    return tuple(
        OpenQuestion(item["question"], _options(item.get("options")), str(item.get("id", "")))
        for item in records(arguments.get("questions"))[:MOST_QUESTIONS]
        if isinstance(item.get("question"), str) and item["question"].strip()
    )


def _options(value: object) -> tuple[tuple[str, str], ...]:
    return tuple(
        (item["label"], str(item.get("description") or ""))
        for item in records(value)
        if isinstance(item.get("label"), str)
    )
