"""What Codex asks a person and shows for approval: `request_user_input`, and the plans of plan mode."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Raw, Struct

from holdfast.model.session import Asked
from holdfast.transcripts.jsonl import decoded

LONGEST_PLAN = 12_000
GO_AHEAD = "implement the plan"  # what the client says for a person who accepts the plan
_objects = msgspec.json.Decoder(dict[str, Any])


class OpenQuestion(Struct):
    id: str
    text: str
    options: tuple[tuple[str, str], ...] = ()


def questions_in(arguments: dict[str, Any]) -> list[OpenQuestion]:
    value = arguments.get("questions")
    items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    return [
        OpenQuestion(str(item.get("id", "")), item["question"], _options(item.get("options")))
        for item in items
        if isinstance(item.get("question"), str) and item["question"].strip()
    ]


def _options(value: object) -> tuple[tuple[str, str], ...]:
    items = value if isinstance(value, list) else []
    return tuple(
        (item["label"], str(item.get("description") or ""))
        for item in items
        if isinstance(item, dict) and isinstance(item.get("label"), str)
    )


def answered(at: float | None, questions: Sequence[OpenQuestion], output: str) -> Iterator[Asked]:
    """Each question with its answer: the tool answers `{"answers": {id: {"answers": [words]}}}`."""
    answers = decoded(_objects, Raw(output.encode("utf-8", "replace")), {}).get("answers")
    for question in questions:
        given = answers.get(question.id) if isinstance(answers, dict) else None
        words = given.get("answers") if isinstance(given, dict) else given
        spoken = words if isinstance(words, list) else [words]
        answer = ", ".join(word for word in spoken if isinstance(word, str))
        yield Asked(at, question.text, tuple(question.options), answer, by="user")


def proposed_plan(text: str) -> str:
    """The plan in a message of plan mode; '' when there is none."""
    plan = text.partition("<proposed_plan>")[2].partition("</proposed_plan>")[0]
    return plan.strip()[:LONGEST_PLAN]
