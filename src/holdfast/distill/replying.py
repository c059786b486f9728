"""Whether a decision or a fact answers a question that is put in other words: surely, perhaps, or not.

`answering` wants every word of the question. Here a word is also met by a form of it, a synonym, a thing of the kind
that is asked for ("database": SQLite) or one that is near by vector. What is met in so loose a way answers only when
the whole question is met and nothing else in the record does it as well; else it is offered, not said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Generic, TypeVar

from msgspec import Struct

from holdfast.distill.answering import tells, when_said
from holdfast.distill.likeness import Likeness, Signature, compare, signature, stem, surfaces, word_set
from holdfast.distill.paraphrase import NEAR_WORD, Meaning, one_root
from holdfast.distill.rivals import is_a, is_filler, is_label, rival, synonymous
from holdfast.model.memory import Decision, Fact

T = TypeVar("T", Decision, Fact, Decision | Fact)

SURE = 0.85
MAYBE = 0.6
_CLOSE = 0.5  # of what a sure answer says, at least about half was asked
_TIE = 0.05
_MOST_OFFERED = 3
_LEAST_NEAR = 0.35  # whole sentences, for what is only offered
_OPEN = re.compile(r"\b(what|which|where|when|who|whom|whose|how|why)\b", re.IGNORECASE)
_PLACE = re.compile(r"\b(?:in|on|at|under|to|into|inside|below|beside|next to)\b|[/\\\\]", re.IGNORECASE)
_WHICH = re.compile(r"\b(?:which|what)\s+(\w+)", re.IGNORECASE)
_MARKS = ".,;:!?()`'"
_NUMBERED = re.compile(r"\b(?:version|number)\b", re.IGNORECASE)
_CHOICE = re.compile(r"\bor\b", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_EXACT = 0.9  # a statement of one thing and one value, asked for by this one thing
_BEING_SOMEWHERE = frozenset(
    map(stem, word_set("stored store live lives go written saved kept located found come put"))
)
# Words of a question that say nothing of what is asked.
_EMPTY = frozenset(
    map(
        stem,
        word_set(
            "data thing things app application project code team people actually exactly again currently present "
            "moment kind sort type choice supposed allowed need know remember tell here now today default repo one "
            "agree agreed settled settle many much long often time times version number minutes hours days seconds"
        ),
    )
)


class Answers(Struct, Generic[T], frozen=True):
    """What the record says to a question: the one that answers, or those that perhaps do."""

    sure: T | None = None
    perhaps: tuple[T, ...] = ()


class _Rated(Struct, Generic[T], frozen=True):
    statement: T
    rate: float
    sure: bool


def reply(question: str, statements: Sequence[T], meaning: Meaning) -> Answers[T]:
    """The best answer among the statements; of equals the latest."""
    asked = signature(question.rstrip(" ?"))
    rated = [
        found for statement in statements if (found := _rate(question, asked, statement, meaning)) is not None
    ]
    rated.sort(key=lambda found: (found.sure, round(found.rate, 2), when_said(found.statement)), reverse=True)
    if rated and rated[0].sure and not _tied(rated):
        return Answers(sure=rated[0].statement)
    near = [
        found.statement
        for found in rated
        if found.sure or meaning.nearness(question, found.statement.text) >= _LEAST_NEAR
    ]
    return Answers(perhaps=tuple(near[:_MOST_OFFERED]))


def _tied(rated: Sequence[_Rated[T]]) -> bool:
    """Whether something else answers as well and says another thing. What contradicts is said beside the answer."""
    best = rated[0]
    return any(
        found.sure
        and best.rate - found.rate < _TIE
        and compare(best.statement.text, found.statement.text).likeness is Likeness.OTHER
        for found in rated[1:]
    )


def _rate(question: str, asked: Signature, statement: T, meaning: Meaning) -> _Rated[T] | None:
    said = signature(statement.text)
    word = match[1].casefold() if (match := _OPEN.search(question)) else ""
    if not asked.hard <= said.hard or (word and not tells(word, question, asked, said, statement)):
        return None
    if _NUMBERED.search(question) and not any(map(_DIGIT.search, said.hard - asked.hard)):
        return None
    if word and asked.negates != said.negates:
        return None  # what is not done tells nothing of what is
    wanted = _wanted(asked, word)
    if not wanted:
        return None
    shown, spelled = surfaces(question), surfaces(statement.text)
    met = {one: _met(one, said, shown, spelled, meaning) for one in wanted}
    if _CHOICE.search(question):  # the one of them that the record names is met, the others need not be
        met = {
            one: strength
            for one, strength in met.items()
            if strength or not any(rival(one, other) for other in met if met[other])
        }
        wanted = list(met)
    missing = [one for one, strength in met.items() if not strength]
    if any(rival(one, other) for one in missing for other in said.words - asked.words):
        return None
    firm = [one for one, strength in met.items() if strength >= SURE]
    rate = sum(met.values()) / len(wanted)
    size = len(wanted) + sum(not is_filler(one) for one in said.words)
    closeness = 2 * (len(wanted) - len(missing)) / size
    if rate < MAYBE or not (firm or asked.hard):
        return None
    exact = closeness >= _EXACT and bool(said.hard - asked.hard)
    enough = len(wanted) + len(asked.hard) > 1 or is_label(wanted[0]) or exact
    sure = (
        rate >= SURE
        and not missing
        and closeness >= _CLOSE
        and enough
        and _gives(word, question, asked, statement.text)
    )
    return _Rated(statement, rate + closeness / 10, sure)


def _wanted(asked: Signature, word: str) -> list[str]:
    """The words that an answer has to meet."""
    empty = _EMPTY | _BEING_SOMEWHERE if word == "where" else _EMPTY
    return sorted(one for one in asked.words if one not in empty and not is_filler(one)) or sorted(
        asked.words
    )


def _gives(word: str, question: str, asked: Signature, statement: str) -> bool:
    """Whether a statement has the shape of what is asked: a place for `where`, for "which port" which one."""
    if word == "where":
        return _PLACE.search(statement) is not None
    kind = stem(match[1].casefold()) if (match := _WHICH.search(question)) else ""
    words = statement.split()
    places = [number for number, one in enumerate(words) if stem(one.strip(_MARKS).casefold()) == kind]
    if not places:
        return True
    beside = [one.strip(_MARKS) for place in places for one in words[max(place - 1, 0) : place + 2]]
    return any(
        one.isupper() or (found := signature(one)).hard - asked.hard or found.words - asked.words
        for one in beside
        if stem(one.casefold()) != kind
    )


def _met(
    word: str, said: Signature, shown: Mapping[str, str], spelled: Mapping[str, str], meaning: Meaning
) -> float:
    """How well a statement has a word of the question: 1 as it is, less the more freely."""
    if word in said.words or word in spelled:
        return 1.0
    if any(
        synonymous(word, other) or one_root(shown.get(word, word), spelled.get(other, other))
        for other in said.words
    ):
        return 0.95
    if any(is_a(other, word) for other in (*said.words, *_plain(said.hard))):
        return 0.9
    near = (
        meaning.nearness(shown.get(word, word), spelled.get(other, other))
        for other in said.words
        if not rival(word, other)
    )
    return SURE if max(near, default=0.0) >= NEAR_WORD else 0.0


def _plain(hard: Iterable[str]) -> list[str]:
    """Names such as GitHub and PostgreSQL are hard tokens, and things of a kind."""
    return [stem(token.casefold()) for token in hard]
