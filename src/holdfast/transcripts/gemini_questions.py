"""What Gemini CLI and Qwen Code ask a person: the questions of a call, each with the answer that was given."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from holdfast.model.session import Asked
from holdfast.transcripts.claude_tools import OpenQuestion

_DECODER = json.JSONDecoder()


def by_number(at: float | None, questions: Sequence[OpenQuestion], answer: str) -> list[Asked]:
    """Gemini CLI answers `{"answers": {"0": "words"}}`, and adds a remark where a hook changed the question."""
    try:
        value, _ = _DECODER.raw_decode(answer)
    except (ValueError, RecursionError):
        value = None
    found = value.get("answers") if isinstance(value, dict) else None
    answers = found if isinstance(found, dict) else {}
    return [_asked(at, question, answers.get(str(number))) for number, question in enumerate(questions)]


def by_words(at: float | None, questions: Sequence[OpenQuestion], shown: dict[str, Any]) -> list[Asked]:
    """Qwen Code shows `{"answers": [{"question": "…", "answer": "words"}]}`."""
    found = shown.get("answers")
    pairs = [pair for pair in found if isinstance(pair, dict)] if isinstance(found, list) else []
    answers = {str(pair.get("question")): pair.get("answer") for pair in pairs}
    return [_asked(at, question, answers.get(question.text)) for question in questions]


def _asked(at: float | None, question: OpenQuestion, answer: object) -> Asked:
    words = answer if isinstance(answer, str) else ""
    return Asked(at, question.text, tuple(question.options), words, by="user")
