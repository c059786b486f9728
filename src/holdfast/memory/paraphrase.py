"""Whether two sentences that words alone leave undecided say the same: by the meaning of the words they do not share.

The vector of a whole sentence cannot tell "staging" from "production"; most of it is what both say. So what both say
is set aside, and each word that is left must find its like on the other side: a form of the same word, a synonym, or
one that is near by vector and no rival. Numbers, names, flags and signs are never near: they are the same or not.
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

_FEWEST = 2  # content words of a question: fewer fit too much
_ALL_UP_TO = 4  # so many words must all be met; of more, one in five may be missing
_MOST_MET = 0.8
_CLOSE = 0.6  # else the statement is about much more than what was asked
_VERY_CLOSE = 0.9  # for a question of two words, which many statements happen to hold
_CHOICE = lazy_regex(r"\bor\b", re.IGNORECASE)
_DIGIT = lazy_regex(r"\d")


def answering(question: str, statements: Iterable[Statement]) -> list[Statement]:
    """The statements that answer, the best first; of equals the latest."""
    asked = signature(question.rstrip(" ?"))
    rated = [
        (rate, statement.at or 0.0, place, statement)
        for place, statement in enumerate(statements)
        if (rate := _strength(question, asked, statement)) > 0
    ]
    return [statement for *_, statement in sorted(rated, key=lambda entry: entry[:3], reverse=True)]


def _strength(question: str, asked: Signature, statement: Statement) -> float:
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


def tells(word: str, question: str, asked: Signature, said: Signature, statement: Statement) -> bool:
    """Whether a statement on the same subject gives what the question word asks for."""
    new_hard = said.hard - asked.hard
    if asked.words & (said.denied - asked.denied):
        return False  # what is not done tells nothing of what is
    if word == "why":
        return bool(statement.reason)
    if word.startswith("who"):
        return False  # people have no shape by which they are known
    if word == "when" or AMOUNT.search(question):
        return any(_DIGIT.search(token) for token in new_hard)
    return bool(new_hard or said.words - asked.words)


# Chosen on one part of tests/memory/pairs.txt, judged on the other: docs/memory.md has the figures.
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
_DOER = lazy_regex(r"(?:er|or|ist|ant|ent|ee)s?$")  # buyer and seller are near, and two people
_THING = lazy_regex(r"\b(?:what|which)\b", re.IGNORECASE)
_OTHER = Verdict(Likeness.OTHER)


class Meaning(Protocol):
    """What knows how near two texts are in meaning: 1 for the same, about 0 for strangers."""

    def prepare(self, texts: Iterable[str]) -> None:
        """Texts that will be compared: to be embedded in one go."""

    def nearness(self, one: str, other: str) -> float: ...


class Gap(NamedTuple):
    """Two sentences about one thing, and the words that each has alone; `rivals` cannot both hold."""

    one: str
    other: str
    left: tuple[str, ...]
    right: tuple[str, ...]
    rivals: tuple[str, str] | None = None

    @property
    def words(self) -> tuple[str, ...]:
        """What is asked first; whole sentences follow only where the words have passed."""
        return (*self.left, *self.right)


def gap(one: str, other: str) -> Gap | None:
    """What is to be decided about two sentences; None when vectors must not decide it."""
    first, second = signature(one), signature(other)
    if not _comparable(first, second):
        return None
    left, right = first.words - second.words, second.words - first.words
    here, there = surfaces(one), surfaces(other)
    rivals = _rivals(left, right, here, there)
    if len(rivals) > 1:
        return None
    if rivals and not (opposite(*rivals[0]) or _chosen(rivals[0], one, other)):
        return None
    beside = set(rivals[0]) if rivals else set()
    lone = (_unexplained(left - beside, right), _unexplained(right - beside, left))
    shared = len(first.words & second.words)
    kin = sum(any(one_root(word, known) for known in lone[1]) for word in lone[0])
    if shared + kin + len(first.hard) < (1 if rivals else FEWEST_SHARED) and first.words != second.words:
        return None
    found = [
        tuple(shown.get(word, word) for word in words)
        for words, shown in zip(lone, (here, there), strict=True)
    ]
    begins = {text.split()[0] for text in (one, other)}
    if any(_NAME.match(word) and word not in begins for word in (*found[0], *found[1])):
        return None
    return Gap(one, other, found[0], found[1], rivals[0] if rivals else None)


def _comparable(one: Signature, other: Signature) -> bool:
    shared = len(one.words & other.words)
    if one.hard != other.hard or one.asks != other.asks or one.weighs != other.weighs:
        return False
    if one.negates != other.negates or turned(one, other) or exchanged(one, other) or shared < 1:
        return False
    return least_shared(shared, len(one.words), len(other.words))


def least_shared(shared: int, one: int, other: int) -> bool:
    """Whether two sentences of so many words have enough in common to ask what the rest means."""
    return max(one, other) - shared <= MOST_LEFT and 2 * shared >= _LEAST_CLOSE * (one + other)


def _rivals(
    left: Iterable[str], right: Iterable[str], here: Iterable[str], there: Iterable[str]
) -> list[tuple[str, str]]:
    """Words that cannot stand for each other; also what turns a word that is too common to be compared by itself."""
    found = {(one, other) for one, other in product(left, right) if _cannot_meet(one, other)}
    found |= {(one, other) for one, other in product(left, there) if opposite(one, other)}
    found |= {(one, other) for one, other in product(here, right) if opposite(one, other)}
    return sorted(found)


def _cannot_meet(one: str, other: str) -> bool:
    return rival(one, other) and not synonymous(one, other)


def _chosen(rivals: tuple[str, str], one: str, other: str) -> bool:
    """Whether each of two alternatives is what its sentence settles on: "use X", "with X", "in X"."""
    if not alternative(*rivals):
        return False
    return all(_settles(word, text) for word, text in zip(rivals, (one, other), strict=True))


def _settles(word: str, text: str) -> bool:
    words = [found.casefold() for found in _WORD.findall(text)]
    before = [known for known, at in pairwise(words) if stem(at) == word]
    return bool(before and before[0] in _CHOOSING) or (signature(text).chooses and stem(words[0]) == word)


def _unexplained(words: Iterable[str], others: Iterable[str]) -> list[str]:
    """The words that neither say nothing nor have a synonym on the other side."""
    there = list(others)
    return [
        word
        for word in sorted(words)
        if not is_filler(word) and not any(synonymous(word, other) for other in there)
    ]


def settle(between: Gap, meaning: Meaning) -> Verdict:
    """Same, clash or other, now that vectors may be asked."""
    if not (
        _answered(between.left, between.right, meaning) and _answered(between.right, between.left, meaning)
    ):
        return _OTHER
    if between.rivals:
        return Verdict(Likeness.CLASH, f"{between.rivals[0]} against {between.rivals[1]}")
    if meaning.nearness(between.one, between.other) < NEAR_SENTENCE:
        return _OTHER
    return Verdict(Likeness.SAME)


def _answered(words: Sequence[str], others: Sequence[str], meaning: Meaning) -> bool:
    """Whether each word has its like among the others."""
    return all(
        any(
            meaning.nearness(word, other) >= (NEAR_FORM if one_root(word, other) else NEAR_WORD)
            for other in others
            if not (_DOER.search(word) and _DOER.search(other)) or one_root(word, other)
        )
        for word in words
    )


def one_root(one: str, other: str) -> bool:
    """Whether two words look like forms of one: "store" and "storage"."""
    first, second = one.casefold(), other.casefold()
    if first[:_ROOT] != second[:_ROOT]:
        return False
    pairs = zip(first, second, strict=False)
    root = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return root >= _ROOT and first[root:] in _ENDINGS and second[root:] in _ENDINGS


def asks_alike(one: str, other: str) -> bool:
    """Whether two questions want the same sort of answer: which thing, why, where, or yes or no."""
    return asks_for(one) == asks_for(other) and bool(_THING.search(one)) == bool(_THING.search(other))


def judge(one: str, other: str, meaning: Meaning) -> Verdict:
    """What two statements are to each other, by words, and where these leave it open by meaning."""
    verdict = compare(one, other)
    if verdict.likeness is not Likeness.OTHER or (between := gap(one, other)) is None:
        return verdict
    meaning.prepare(between.words)
    return settle(between, meaning)


# --- answers in other words ----------------------------------------------------------------------------

SURE = 0.85
MAYBE = 0.6
_REPLY_CLOSE = 0.5  # of what a sure answer says, at least about half was asked
_TIE = 0.05
_MOST_OFFERED = 3
_LEAST_NEAR = 0.35  # whole sentences, for what is only offered
_OPEN = lazy_regex(r"\b(what|which|where|when|who|whom|whose|how|why)\b", re.IGNORECASE)
_PLACE = lazy_regex(r"\b(?:in|on|at|under|to|into|inside|below|beside|next to)\b|[/\\\\]", re.IGNORECASE)
_WHICH = lazy_regex(r"\b(?:which|what)\s+(\w+)", re.IGNORECASE)
_MARKS = ".,;:!?()`'"
_NUMBERED = lazy_regex(r"\b(?:version|number)\b", re.IGNORECASE)
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


class Answers(Struct, frozen=True):
    """What the record says to a question: the one that answers, or those that perhaps do."""

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
    rated.sort(key=lambda found: (found.sure, round(found.rate, 2), found.statement.at or 0.0), reverse=True)
    if rated and rated[0].sure and not _tied(rated):
        return Answers(sure=rated[0].statement)
    near = [
        found.statement
        for found in rated
        if found.sure or meaning.nearness(question, found.statement.text) >= _LEAST_NEAR
    ]
    return Answers(perhaps=tuple(near[:_MOST_OFFERED]))


def _tied(rated: Sequence[_Rated]) -> bool:
    """Whether something else answers as well and says another thing. What contradicts is said beside the answer."""
    best = rated[0]
    return any(
        found.sure
        and best.rate - found.rate < _TIE
        and compare(best.statement.text, found.statement.text).likeness is Likeness.OTHER
        for found in rated[1:]
    )


def _rate(question: str, asked: Signature, statement: Statement, meaning: Meaning) -> _Rated | None:
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
        and closeness >= _REPLY_CLOSE
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
