"""Decides whether two sentences mean the same if their words alone do not, by the words that they do not share.

The vector of a whole sentence cannot tell "staging" from "production": the shared words dominate it. So the shared
words are removed, and each remaining word needs a match on the other side: a form of the same word, a synonym, or a
word with a similar vector that is not a rival. Numbers, names, flags and signs never match by vector.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise, product, takewhile
from typing import NamedTuple, Protocol

from msgspec import Struct

from holdfast.core.likeness import (
    AMOUNT,
    OPEN,
    Likeness,
    Signature,
    Verdict,
    asks_for,
    compare,
    exchanged,
    signature,
    stem,
    surfaces,
    turned,
    word_set,
)
from holdfast.core.patterns import lazy_regex
from holdfast.memory.antonyms import alternative, is_a, is_filler, is_label, opposite, rival, synonymous
from holdfast.model.statement import Statement

# --- answers in the same words -------------------------------------------------------------------------

_FEWEST = 2  # content words of a question: fewer would match too much
_ALL_UP_TO = 4  # up to this many words must all match; of more, one in five may be missing
_MOST_MET = 0.8
_CLOSE = 0.6  # below, the statement is about much more than the question
_VERY_CLOSE = 0.9  # for a question of two words, which many statements contain by chance
_CHOICE = lazy_regex(r"\bor\b", re.IGNORECASE)
_DIGIT = lazy_regex(r"\d")


def answering(question: str, statements: Iterable[Statement]) -> list[Statement]:
    """The statements that answer the question, the best first; of equals the latest."""
    asked = signature(question.rstrip(" ?"))
    rated = [
        (rate, statement.at or 0.0, place, statement)
        for place, statement in enumerate(statements)
        if (rate := _strength(question, asked, statement)) > 0
    ]
    return [statement for *_, statement in sorted(rated, key=lambda entry: entry[:3], reverse=True)]


def _strength(question: str, asked: Signature, statement: Statement) -> float:
    stated = signature(statement.text)
    if len(asked.words) + len(asked.hard) < _FEWEST or not asked.words:
        return 0.0
    shared = asked.words & stated.words
    least = 1.0 if len(asked.words) <= _ALL_UP_TO else _MOST_MET
    closeness = 2 * len(shared) / (len(asked.words) + len(stated.words) or 1)
    needed = _CLOSE if len(asked.words) > _FEWEST else _VERY_CLOSE
    if len(shared) < least * len(asked.words) or closeness < needed:
        return 0.0
    hard_met = asked.hard & stated.hard
    if asked.hard and not (hard_met == asked.hard or (hard_met and _CHOICE.search(question))):
        return 0.0
    word = match[1].casefold() if (match := OPEN.match(question)) else ""
    return closeness if not word or tells(word, question, asked, stated, statement) else 0.0


def tells(word: str, question: str, asked: Signature, said: Signature, statement: Statement) -> bool:
    """Whether a statement on the same subject gives what the question word asks for."""
    new_hard = said.hard - asked.hard
    if asked.words & (said.denied - asked.denied):
        return False  # a negated statement does not answer a positive question
    if word == "why":
        return bool(statement.reason)
    if word.startswith("who"):
        return False  # people's names cannot be recognised by their form
    if word == "when" or AMOUNT.search(question):
        return any(_DIGIT.search(token) for token in new_hard)
    return bool(new_hard or said.words - asked.words)


# Tuned on one part of tests/memory/pairs.txt, measured on the other: docs/contributing/memory.md has the figures.
NEAR_WORD = 0.5
NEAR_FORM = 0.25
NEAR_SENTENCE = 0.5
FEWEST_SHARED = 2
MOST_LEFT = 3
_LEAST_CLOSE = 0.4
_ROOT = 4
_ENDINGS = word_set(
    "ag at ation er or ion l ilit ibl abl sibl t ment al iv n en d ful ness e ed es s ne ing ions ive y ies"
) | {""}
_NAME = lazy_regex(r"\w*[A-Z]")
_WORD = lazy_regex(r"[\w+#'-]+")
_CHOOSING = word_set("use uses using used with in by as via to prefer choose pick adopt switch")
_DOER = lazy_regex(r"(?:er|or|ist|ant|ent|ee)s?$")  # "buyer" and "seller" have similar vectors
_THING = lazy_regex(r"\b(?:what|which)\b", re.IGNORECASE)
_OTHER = Verdict(Likeness.OTHER)


class Meaning(Protocol):
    """Measures the similarity of two texts: 1 for the same meaning, about 0 for unrelated texts."""

    def prepare(self, texts: Iterable[str]) -> None:
        """Embeds texts that will be compared, in one batch."""

    def nearness(self, one: str, other: str) -> float: ...


class Gap(NamedTuple):
    """Two sentences about one thing, and the words that only one of them has; `rivals` exclude each other."""

    one: str
    other: str
    left: tuple[str, ...]
    right: tuple[str, ...]
    rivals: tuple[str, str] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """The words to embed first; whole sentences are compared only if the words match."""
        return (*self.left, *self.right)


def gap(one: str, other: str) -> Gap | None:
    """What vectors have to decide about two sentences; None if they must not decide it."""
    first, second = signature(one), signature(other)
    if not _comparable(first, second):
        return None
    left, right = first.words - second.words, second.words - first.words
    first_forms, second_forms = surfaces(one), surfaces(other)
    rivals = _rivals(left, right, first_forms, second_forms)
    if len(rivals) > 1:
        return None
    if rivals and not (opposite(*rivals[0]) or _chosen(rivals[0], one, other)):
        return None
    rival_words = set(rivals[0]) if rivals else set()
    lone = (_unexplained(left - rival_words, right), _unexplained(right - rival_words, left))
    shared = len(first.words & second.words)
    kin = sum(any(one_root(word, counterpart) for counterpart in lone[1]) for word in lone[0])
    if shared + kin + len(first.hard) < (1 if rivals else FEWEST_SHARED) and first.words != second.words:
        return None
    lone_words = [
        tuple(forms.get(word, word) for word in words)
        for words, forms in zip(lone, (first_forms, second_forms), strict=True)
    ]
    begins = {text.split()[0] for text in (one, other)}
    if any(_NAME.match(word) and word not in begins for word in (*lone_words[0], *lone_words[1])):
        return None
    return Gap(one, other, lone_words[0], lone_words[1], rivals[0] if rivals else None)


def _comparable(one: Signature, other: Signature) -> bool:
    shared = len(one.words & other.words)
    if one.hard != other.hard or one.asks != other.asks or one.weighs != other.weighs:
        return False
    if one.negates != other.negates or turned(one, other) or exchanged(one, other) or shared < 1:
        return False
    return least_shared(shared, len(one.words), len(other.words))


def least_shared(shared: int, one: int, other: int) -> bool:
    """Whether two sentences of these lengths share enough words to compare the rest by meaning."""
    return max(one, other) - shared <= MOST_LEFT and 2 * shared >= _LEAST_CLOSE * (one + other)


def _rivals(
    left: Iterable[str], right: Iterable[str], here: Iterable[str], there: Iterable[str]
) -> list[tuple[str, str]]:
    """Pairs of words that exclude each other, including opposites that are too common to be compared otherwise."""
    pairs = {(first, second) for first, second in product(left, right) if _cannot_meet(first, second)}
    pairs |= {(first, second) for first, second in product(left, there) if opposite(first, second)}
    pairs |= {(first, second) for first, second in product(here, right) if opposite(first, second)}
    return sorted(pairs)


def _cannot_meet(one: str, other: str) -> bool:
    return rival(one, other) and not synonymous(one, other)


def _chosen(rivals: tuple[str, str], one: str, other: str) -> bool:
    """Whether each sentence chooses one of two alternatives: "use X", "with X", "in X"."""
    if not alternative(*rivals):
        return False
    return all(_settles(word, text) for word, text in zip(rivals, (one, other), strict=True))


def _settles(word: str, text: str) -> bool:
    words = [token.casefold() for token in _WORD.findall(text)]
    before = [previous for previous, following in pairwise(words) if stem(following) == word]
    return bool(before and before[0] in _CHOOSING) or (signature(text).chooses and stem(words[0]) == word)


def _unexplained(words: Iterable[str], others: Iterable[str]) -> list[str]:
    """The words that are not fillers and have no synonym on the other side."""
    other_words = list(others)
    return [
        word
        for word in sorted(words)
        if not is_filler(word) and not any(synonymous(word, candidate) for candidate in other_words)
    ]


def settle(between: Gap, meaning: Meaning) -> Verdict:
    """Decides by vectors: same, clash or other."""
    if not (
        _answered(between.left, between.right, meaning) and _answered(between.right, between.left, meaning)
    ):
        return _OTHER
    if between.rivals:
        alike = _in_forms(between.left, between.right) and _in_forms(between.right, between.left)
        return Verdict(Likeness.CLASH, f"{between.rivals[0]} against {between.rivals[1]}", sure=alike)
    if meaning.nearness(between.one, between.other) < NEAR_SENTENCE:
        return _OTHER
    return Verdict(Likeness.SAME)


def _answered(words: Sequence[str], others: Sequence[str], meaning: Meaning) -> bool:
    """Whether each word has a match among the others."""
    return all(
        any(
            meaning.nearness(word, candidate) >= (NEAR_FORM if one_root(word, candidate) else NEAR_WORD)
            for candidate in others
            if not (_DOER.search(word) and _DOER.search(candidate)) or one_root(word, candidate)
        )
        for word in words
    )


def _in_forms(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether each word has a form of itself among the others: a near one may be another thing."""
    return all(any(one_root(word, candidate) for candidate in others) for word in words)


def one_root(one: str, other: str) -> bool:
    """Whether two words look like forms of the same word: "store" and "storage"."""
    first, second = one.casefold(), other.casefold()
    if first[:_ROOT] != second[:_ROOT]:
        return False
    pairs = zip(first, second, strict=False)
    root = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return root >= _ROOT and first[root:] in _ENDINGS and second[root:] in _ENDINGS


def asks_alike(one: str, other: str) -> bool:
    """Whether two questions ask for the same kind of answer: which thing, why, where, or yes or no."""
    return asks_for(one) == asks_for(other) and bool(_THING.search(one)) == bool(_THING.search(other))


def judge(one: str, other: str, meaning: Meaning) -> Verdict:
    """Compares two statements by words and, if that is not decisive, by meaning."""
    verdict = compare(one, other)
    if verdict.likeness is not Likeness.OTHER or (between := gap(one, other)) is None:
        return verdict
    meaning.prepare(between.words)
    return settle(between, meaning)


# --- answers in other words ----------------------------------------------------------------------------

SURE = 0.85
MAYBE = 0.6
_REPLY_CLOSE = 0.5  # about half of a sure answer must be in the question
_TIE = 0.05
_MOST_OFFERED = 3
_LEAST_NEAR = 0.35  # similarity of whole sentences, for an answer that is only offered
_OPEN = lazy_regex(r"\b(what|which|where|when|who|whom|whose|how|why)\b", re.IGNORECASE)
_PLACE = lazy_regex(r"\b(?:in|on|at|under|to|into|inside|below|beside|next to)\b|[/\\\\]", re.IGNORECASE)
_WHICH = lazy_regex(r"\b(?:which|what)\s+(\w+)", re.IGNORECASE)
_MARKS = ".,;:!?()`'"
_NUMBERED = lazy_regex(r"\b(?:version|number)\b", re.IGNORECASE)
_EXACT = 0.9  # the statement gives one value for exactly the thing in the question
_BEING_SOMEWHERE = frozenset(
    map(stem, word_set("stored store live lives go written saved kept located found come put"))
)
# Words of a question that do not help to find the answer.
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


class Answers(Struct, frozen=True):
    """The record's answers to a question: the one that answers it, or those that may."""

    sure: Statement | None = None
    perhaps: tuple[Statement, ...] = ()


class _Rated(Struct, frozen=True):
    statement: Statement
    rate: float
    sure: bool


def reply(question: str, statements: Sequence[Statement], meaning: Meaning) -> Answers:
    """The best answer among the statements; of equals the latest."""
    asked = signature(question.rstrip(" ?"))
    rated = [
        found for statement in statements if (found := _rate(question, asked, statement, meaning)) is not None
    ]
    rated.sort(key=lambda found: (found.sure, round(found.rate, 2), found.statement.order), reverse=True)
    if rated and rated[0].sure and not _tied(rated):
        return Answers(sure=rated[0].statement)
    close = [
        found.statement
        for found in rated
        if found.sure or meaning.nearness(question, found.statement.text) >= _LEAST_NEAR
    ]
    return Answers(perhaps=tuple(close[:_MOST_OFFERED]))


def _tied(rated: Sequence[_Rated]) -> bool:
    """Whether another statement answers equally well and says something else. Contradictions do not count as ties."""
    best = rated[0]
    return any(
        rating.sure
        and best.rate - rating.rate < _TIE
        and compare(best.statement.text, rating.statement.text).likeness is Likeness.OTHER
        for rating in rated[1:]
    )


def _rate(question: str, asked: Signature, statement: Statement, meaning: Meaning) -> _Rated | None:
    said = signature(statement.text)
    word = match[1].casefold() if (match := _OPEN.search(question)) else ""
    if not asked.hard <= said.hard or (word and not tells(word, question, asked, said, statement)):
        return None
    if _NUMBERED.search(question) and not any(map(_DIGIT.search, said.hard - asked.hard)):
        return None
    if word and asked.negates != said.negates:
        return None  # a negated statement does not answer a positive question
    needed = _wanted(asked, word)
    if not needed:
        return None
    shown, spelled = surfaces(question), surfaces(statement.text)
    met = {term: _met(term, said, shown, spelled, meaning) for term in needed}
    if _CHOICE.search(question):  # one of the alternatives must match, the others need not
        met = {
            term: strength
            for term, strength in met.items()
            if strength or not any(rival(term, other_term) for other_term in met if met[other_term])
        }
        needed = list(met)
    missing = [term for term, strength in met.items() if not strength]
    if any(rival(term, other_term) for term in missing for other_term in said.words - asked.words):
        return None
    firm = [term for term, strength in met.items() if strength >= SURE]
    rate = sum(met.values()) / len(needed)
    size = len(needed) + sum(not is_filler(term) for term in said.words)
    closeness = 2 * (len(needed) - len(missing)) / size
    if rate < MAYBE or not (firm or asked.hard):
        return None
    exact = closeness >= _EXACT and bool(said.hard - asked.hard)
    enough = len(needed) + len(asked.hard) > 1 or is_label(needed[0]) or exact
    sure = (
        rate >= SURE
        and not missing
        and closeness >= _REPLY_CLOSE
        and enough
        and _gives(word, question, asked, statement.text)
    )
    return _Rated(statement, rate + closeness / 10, sure)


def _wanted(asked: Signature, word: str) -> list[str]:
    """The words that an answer must match."""
    empty = _EMPTY | _BEING_SOMEWHERE if word == "where" else _EMPTY
    return sorted(term for term in asked.words if term not in empty and not is_filler(term)) or sorted(
        asked.words
    )


def _gives(word: str, question: str, asked: Signature, statement: str) -> bool:
    """Whether a statement has the form of an answer: a place for `where`, a particular port for "which port"."""
    if word == "where":
        return _PLACE.search(statement) is not None
    kind = stem(match[1].casefold()) if (match := _WHICH.search(question)) else ""
    words = statement.split()
    places = [number for number, token in enumerate(words) if stem(token.strip(_MARKS).casefold()) == kind]
    if not places:
        return True
    beside = [token.strip(_MARKS) for place in places for token in words[max(place - 1, 0) : place + 2]]
    return any(
        token.isupper() or (details := signature(token)).hard - asked.hard or details.words - asked.words
        for token in beside
        if stem(token.casefold()) != kind
    )


def _met(
    word: str, said: Signature, shown: Mapping[str, str], spelled: Mapping[str, str], meaning: Meaning
) -> float:
    """How well a statement matches a word of the question: 1 for the same word, less for a freer match."""
    if word in said.words or word in spelled:
        return 1.0
    if any(
        synonymous(word, term) or one_root(shown.get(word, word), spelled.get(term, term))
        for term in said.words
    ):
        return 0.95
    if any(is_a(term, word) for term in (*said.words, *_plain(said.hard))):
        return 0.9
    near = (
        meaning.nearness(shown.get(word, word), spelled.get(term, term))
        for term in said.words
        if not rival(word, term)
    )
    return SURE if max(near, default=0.0) >= NEAR_WORD else 0.0


def _plain(hard: Iterable[str]) -> list[str]:
    """Hard tokens as plain words: names such as GitHub and PostgreSQL also have a category."""
    return [stem(token.casefold()) for token in hard]
