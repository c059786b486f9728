"""Whether two sentences that words alone leave undecided say the same: by the meaning of the words they do not share.

The vector of a whole sentence cannot tell "staging" from "production"; most of it is what both say. So what both say
is set aside, and each word that is left must find its like on the other side: a form of the same word, a synonym, or
one that is near by vector and no rival. Numbers, names, flags and signs are never near: they are the same or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise, product, takewhile
from typing import NamedTuple, Protocol

from holdfast.distill.answering import asks_for
from holdfast.distill.likeness import (
    Likeness,
    Signature,
    Verdict,
    compare,
    exchanged,
    signature,
    stem,
    surfaces,
    turned,
    word_set,
)
from holdfast.distill.rivals import alternative, is_filler, opposite, rival, synonymous

# Chosen on one part of tests/distill/pairs.txt, judged on the other: docs/memory.md has the figures.
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
_NAME = re.compile(r"\w*[A-Z]")
_WORD = re.compile(r"[\w+#'-]+")
_CHOOSING = word_set("use uses using used with in by as via to prefer choose pick adopt switch")
_DOER = re.compile(r"(?:er|or|ist|ant|ent|ee)s?$")  # buyer and seller are near, and two people
_THING = re.compile(r"\b(?:what|which)\b", re.IGNORECASE)
_OTHER = Verdict(Likeness.OTHER)


class Meaning(Protocol):
    """What knows how near two texts are in meaning: 1 for the same, about 0 for strangers."""

    def prepare(self, texts: Iterable[str]) -> None:
        """Texts that will be compared: to be embedded in one go."""
        ...

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
