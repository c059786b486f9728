"""Whether a decision or a fact already answers a question: words only, and in doubt it does not.

A wrong answer costs more than a question asked again, so every word of the question must be met, and the
statement must say something that the question did not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

from holdfast.distill.asking import AMOUNT, OPEN, asks_for
from holdfast.distill.likeness import Signature, signature
from holdfast.model.memory import Decision, Fact

__all__ = ["answering", "asks_for", "tells", "when_said"]

T = TypeVar("T", Decision, Fact, Decision | Fact)

_FEWEST = 2  # content words of a question: fewer fit too much
_ALL_UP_TO = 4  # so many words must all be met; of more, one in five may be missing
_MOST_MET = 0.8
_CLOSE = 0.6  # else the statement is about much more than what was asked
_VERY_CLOSE = 0.9  # for a question of two words, which many statements happen to hold
_CHOICE = re.compile(r"\bor\b", re.IGNORECASE)
_DIGIT = re.compile(r"\d")


def answering(question: str, statements: Iterable[T]) -> list[T]:
    """The statements that answer, the best first; of equals the latest."""
    asked = signature(question.rstrip(" ?"))
    rated = [
        (rate, when_said(statement), place, statement)
        for place, statement in enumerate(statements)
        if (rate := _strength(question, asked, statement)) > 0
    ]
    return [statement for *_, statement in sorted(rated, key=lambda entry: entry[:3], reverse=True)]


def when_said(statement: Decision | Fact) -> float:
    verified = statement.verified_at if isinstance(statement, Fact) else None
    return verified or statement.at or 0.0


def _strength(question: str, asked: Signature, statement: Decision | Fact) -> float:
    said = signature(statement.text)
    if len(asked.words) + len(asked.hard) < _FEWEST or not asked.words:
        return 0.0
    met = asked.words & said.words
    least = 1.0 if len(asked.words) <= _ALL_UP_TO else _MOST_MET
    closeness = 2 * len(met) / (len(asked.words) + len(said.words) or 1)
    needed = _CLOSE if len(asked.words) > _FEWEST else _VERY_CLOSE
    if len(met) < least * len(asked.words) or closeness < needed:
        return 0.0
    hard_met = asked.hard & said.hard
    if asked.hard and not (hard_met == asked.hard or (hard_met and _CHOICE.search(question))):
        return 0.0
    word = match[1].casefold() if (match := OPEN.match(question)) else ""
    return closeness if not word or tells(word, question, asked, said, statement) else 0.0


def tells(word: str, question: str, asked: Signature, said: Signature, statement: Decision | Fact) -> bool:
    """Whether a statement on the same subject gives what the question word asks for."""
    new_hard = said.hard - asked.hard
    if asked.words & (said.denied - asked.denied):
        return False  # what is not done tells nothing of what is
    if word == "why":
        return isinstance(statement, Decision) and bool(statement.rationale)
    if word.startswith("who"):
        return False  # people have no shape by which they are known
    if word == "when" or AMOUNT.search(question):
        return any(_DIGIT.search(token) for token in new_hard)
    return bool(new_hard or said.words - asked.words)
