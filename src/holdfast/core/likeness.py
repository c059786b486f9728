"""Whether two sentences say the same, the opposite, or something else: words only, no model.

A sentence becomes its content words, stemmed, each with a sign (`not` and its kin turn what follows), and its
hard tokens: numbers, versions, paths, flags, ids. Hard tokens never count as alike; they are the same or not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from holdfast.core.patterns import lazy_regex
from holdfast.core.words import word_set as word_set

# Calibrated on the pairs in tests/memory/test_merging.py, and on a thousand bullets of real sessions, where
# looser bounds merged sentences that only share a subject, and saw a clash in every "no".
ALIKE = 0.74
TURNED = 0.75
OTHER_NUMBER = 0.8
NEAR_ENOUGH_TO_CLASH = 0.66
_FEWEST_WORDS = 2
_FEWEST_SHARED = 3

_CHUNK = lazy_regex(r"[^\s,;:()\[\]{}<>\"“”!?`*]+|[,;:()!?]")
_SIGNS = frozenset(",;:()!?")
_CONJUNCTIONS = word_set(
    "but because since so if when unless while although aber weil wenn mais parce si pero porque"
)
_DIRECTIONS = word_set(
    "before after to into onto from over than above below until vor nach von avant après de antes"
)
_HARD = lazy_regex(r"\d|[/\\_@=]|^--?\w|\w\.\w|[a-z][A-Z][a-z]")
_RIVALS = (lazy_regex(r"\d"), lazy_regex(r"[/\\]"))
_VERSION = lazy_regex(r"v?=*(\d[\d.]*)")
_NEGATORS = word_set(
    "not no never none without cannot avoid stop don't dont doesn't didn't isn't aren't wasn't won't can't cant "
    "shouldn't mustn't neither nor nicht kein keine keinen nie ohne ne pas jamais sans nunca sin forbid forbidden "
    "prohibit prohibited refuse"
)
_NEGATING_PAIRS = frozenset({("instead", "of"), ("rather", "than")})
_STOP = word_set(
    "a an the this that these those it its is are was were be been being am do does did done has have had having "
    "will would shall should can could may might must need needs to of in on at by for from with as into onto and "
    "or than then there here we i you they he she our your their my us me them just very really also only even "
    "still already yet now any all each every some which what who whom how why where when if because since so "
    "but while although unless via per out up down about der die das ein eine und oder ist sind wird zu im in mit "
    "für auf von le la les un une des et ou est sont dans avec pour el los las una y o es son en con para por"
)
# Stop words that in capitals are names, mostly of countries, rather than emphasis.
_NAMES = word_set("US IT ES LA ME AM")
# Words that express a choice without naming it: "use", "go with" and "prefer" mean the same.
_LIGHT = word_set(
    "use uses using used go goes going went make makes made keep keeps kept set sets get gets got prefer prefers "
    "preferred choose chooses chose chosen pick picks picked take takes decide decides decided run runs ran running "
    "work works always let lets please want instead rather longer anymore more"
)
_CHOOSING = word_set(
    "use uses using used prefer preferred choose chose chosen pick picked deploy store switch adopt"
)
_PLACING = word_set(
    "deploy deploys store stores stored switch move put keep"
)  # the choice is the place: "store in X"
_PLACES = word_set("in into to onto on with")
_SCOPES = word_set("for as when at by of from during if while until")
_PASSIVE = word_set("is are was were be been")
# Numbers in words are numbers; "one" is left out because it is often an article.
_NUMBERS = {
    "two": "2",
    "three": "3",
    "four": "4",
    "five": "5",
    "six": "6",
    "seven": "7",
    "eight": "8",
    "nine": "9",
    "ten": "10",
    "eleven": "11",
    "twelve": "12",
    "twenty": "20",
    "thirty": "30",
    "sixty": "60",
    "ninety": "90",
}
# Words that reverse a sentence when only one side has them: "turned off", "drop support".
_TURNING = word_set(
    "off drop except exclud disabl remov fail revert undo hid reject deni block depreca abandon"
)
_CANONICAL = {
    "db": "databas",
    "config": "configur",
    "conf": "configur",
    "repo": "repositor",
    "auth": "authentic",
    "env": "environ",
    "dir": "folder",
    "directory": "folder",
    "directories": "folder",
    "deps": "depend",
    "dependency": "depend",
    "dependencies": "depend",
    "failure": "fail",
    "failures": "fail",
    "broken": "break",
    "broke": "break",
    "javascript": "js",
    "typescript": "ts",
    "postgresql": "postgres",
    "postgres": "postgres",
    "docs": "document",
}
_OPPOSITES = (
    ("enable", "disable"),
    ("allow", "deny"),
    ("allow", "block"),
    ("add", "remove"),
    ("true", "false"),
    ("pass", "fail"),
    ("before", "after"),
    ("public", "private"),
    ("sync", "async"),
    ("required", "optional"),
    ("include", "exclude"),
    ("increase", "decrease"),
    ("accept", "reject"),
    ("open", "closed"),
    ("start", "stop"),
    ("first", "last"),
    ("local", "remote"),
)


class Likeness(Enum):
    SAME = "same"
    CLASH = "clash"
    OTHER = "other"


class Verdict(NamedTuple):
    """How two sentences relate. `sure` says of a clash that both are about one thing: only one of them can hold."""

    likeness: Likeness
    why: str = ""
    sure: bool = False


class Signature(NamedTuple):
    """The content of a sentence: words affirmed and denied, hard tokens, and whether it chooses or asks something."""

    said: frozenset[str]
    denied: frozenset[str]
    hard: frozenset[str]
    chooses: bool
    asks: bool
    negates: bool = False
    behind: tuple[
        tuple[str, frozenset[str]], ...
    ] = ()  # `before`, `to` and similar words, each with the words that follow
    unwanted: frozenset[str] = frozenset()  # hard tokens that are denied
    chosen: frozenset[str] = frozenset()  # `Redis` of "use Redis for sessions": what is chosen, not what for
    weighs: str = ""  # `for` or `against` when it prefers one thing to another, else ''

    @property
    def words(self) -> frozenset[str]:
        return self.said | self.denied


@lru_cache(maxsize=50_000)
def signature(text: str) -> Signature:
    said: set[str] = set()
    denied: set[str] = set()
    hard: set[str] = set()
    unwanted: set[str] = set()
    behind: list[tuple[str, set[str]]] = []
    chosen: set[str] = set()
    chooses = negative = weighs = negates = directed = False
    before = picking = ""
    for chunk in _CHUNK.findall(text.replace("’", "'")):
        bare = chunk.strip(".'…–—·→")
        word = bare.casefold()
        weighs = weighs or (before, word) in _NEGATING_PAIRS
        negates = negates or word in _NEGATORS
        if word in _DIRECTIONS:
            behind.append((word, set()))
            directed = True
        token = ""
        if word in _NEGATORS or (before, word) in _NEGATING_PAIRS:
            negative = True
        elif _HARD.search(bare) or word in _NUMBERS:
            token = _NUMBERS.get(word) or _hard_form(bare)
            hard.add(token)
            if negative:
                unwanted.add(token)
        elif word and (word not in _STOP or bare in _NAMES) and any(char.isalnum() for char in word):
            chooses = chooses or word in _CHOOSING
            if word not in _LIGHT:
                token = stem(word)
                (denied if negative else said).add(token)
        if directed and token and word not in _DIRECTIONS:
            behind[-1][1].add(token)
        if word in _CHOOSING and before in _PASSIVE and word not in _PLACING:
            chosen |= said | denied
        picking = _picking(word, picking)
        if token and picking == "thing" and word not in _CHOOSING:
            chosen.add(token)
        if chunk in _SIGNS or chunk.endswith(".") or word in _CONJUNCTIONS:
            negative = directed = False
            picking = ""
        before = word
    return Signature(
        said=frozenset(said),
        denied=frozenset(denied),
        hard=frozenset(hard),
        chooses=chooses,
        asks=text.rstrip().endswith("?"),
        negates=negates,
        behind=tuple((word, frozenset(words)) for word, words in behind),
        unwanted=frozenset(unwanted),
        chosen=frozenset(chosen),
        weighs=("against" if negates else "for") if weighs else "",
    )


def _picking(word: str, before: str) -> str:
    """Whether the words that follow are what a sentence chooses (`thing`), or stand before the place it chooses."""
    if word in _PLACING:
        return "place"
    if word in _CHOOSING:
        return "thing"
    if word in _PLACES:
        return "thing" if before == "place" else ""
    return "" if word in _SCOPES else before


def exchanged(one: Signature, other: Signature) -> bool:
    """Whether two sentences with the same words swap their sides: copy A to B, copy B to A."""
    for word, targets in one.behind:
        for other_word, other_targets in other.behind:
            if word == other_word and targets and other_targets and targets.isdisjoint(other_targets):
                rest, other_rest = (
                    (one.words | one.hard) - targets,
                    (other.words | other.hard) - other_targets,
                )
                if targets <= other_rest and other_targets <= rest:
                    return True
    return False


@lru_cache(maxsize=10_000)
def surfaces(text: str) -> Mapping[str, str]:
    """Maps the stems of a sentence to its words as written."""
    written_forms: dict[str, str] = {}
    for chunk in _CHUNK.findall(text.replace("’", "'")):
        bare = chunk.strip(".'…–—·→")
        written_forms.setdefault(stem(bare.casefold()), bare)
    return written_forms


def _hard_form(token: str) -> str:
    version = _VERSION.fullmatch(token.replace(",", "").casefold())
    return version[1].rstrip(".") if version else token.rstrip("/").removeprefix("./")


def stem(word: str) -> str:
    """A light stemmer that maps the forms of a word to one stem; a wrong stem only matters when two collide."""
    if word in _CANONICAL:
        return _CANONICAL[word]
    if not word.isascii() or len(word) < 4:
        return word
    word = word.removesuffix("'s")
    for ending in (
        "ations",
        "ation",
        "ments",
        "ment",
        "ings",
        "ing",
        "ies",
        "ied",
        "ed",
        "es",
        "ly",
        "s",
        "y",
    ):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word.removesuffix(ending)
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeiousl":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


# Opposites that more often tell two things apart ("the first page") than say the opposite of one.
_OF_A_SUBJECT = frozenset(
    map(stem, word_set("first last start stop open closed add remove local remote pass fail"))
)
_OPPOSITE_STEMS = frozenset(frozenset({stem(one), stem(other)}) for one, other in _OPPOSITES)


def compare(one: str, other: str) -> Verdict:
    """How two sentences relate; for a clash also where they differ."""
    if " ".join(one.casefold().split()).rstrip(".!?;: ") == " ".join(other.casefold().split()).rstrip(
        ".!?;: "
    ):
        return Verdict(Likeness.SAME)
    return compare_signatures(signature(one), signature(other))


def compare_signatures(one: Signature, other: Signature) -> Verdict:
    shared = len(one.words & other.words)
    total = len(one.words) + len(other.words)
    if shared < 1 or total < 2 * _FEWEST_WORDS - 1:
        return _few_words(one, other)
    closeness = 2 * shared / total
    if closeness < NEAR_ENOUGH_TO_CLASH:
        return Verdict(Likeness.OTHER)
    why = _clash(one, other, closeness)
    if why:
        return Verdict(Likeness.CLASH, why, _is_one_subject(one, other))
    if one.hard != other.hard or one.asks != other.asks or turned(one, other):
        return Verdict(Likeness.OTHER)
    if shared < _FEWEST_SHARED and one.words != other.words:
        return Verdict(Likeness.OTHER)
    apart = _is_swap(one, other) or exchanged(one, other) or not _TURNING.isdisjoint(one.words ^ other.words)
    return Verdict(Likeness.SAME if closeness >= ALIKE and not apart else Likeness.OTHER)


def _few_words(one: Signature, other: Signature) -> Verdict:
    """One word and its opposite is all there is in "use tabs" and "do not use tabs"."""
    if one.words != other.words or not one.words:
        return Verdict(Likeness.OTHER)
    why = _clash(one, other, 1.0)
    if why:
        return Verdict(Likeness.CLASH, why, sure=True)
    return Verdict(Likeness.SAME if one.hard == other.hard and one.hard else Likeness.OTHER)


def _clash(one: Signature, other: Signature, closeness: float) -> str:
    """Where two sentences about the same thing contradict each other; '' when they do not."""
    denial = turned(one, other)
    if one.asks or other.asks:
        return ""
    if denial and closeness >= TURNED and one.hard == other.hard:
        return f"one says {_shown(denial)}, the other denies it"
    hard_one, hard_other = one.hard - other.hard, other.hard - one.hard
    if len(hard_one) == len(hard_other) == 1 and closeness >= OTHER_NUMBER and _rival(*hard_one, *hard_other):
        return f"{_shown(hard_one)} against {_shown(hard_other)}"
    only_one, only_other = one.words - other.words, other.words - one.words
    opposite = frozenset(only_one | only_other) in _OPPOSITE_STEMS
    if _is_swap(one, other) and one.hard == other.hard and (opposite or (one.chooses and other.chooses)):
        return f"{_shown(only_one)} against {_shown(only_other)}"
    return ""


def _is_one_subject(one: Signature, other: Signature) -> bool:
    """Whether a clash is about the same thing and the same property of it, so that only one of the two can hold.

    The time limits of two services clash by their words, and both hold. So a number, a path or a choice must be all
    that differs. A denial must be the more general one: "never archive" rules out "archive after a year", but "not in
    staging" is an exception. In doubt it is not.
    """
    only_one, only_other = one.words - other.words, other.words - one.words
    if one.hard != other.hard:
        return not only_one and not only_other
    if turned(one, other):
        return not only_one if one.denied - other.denied else not only_other
    if frozenset(only_one | only_other) in _OPPOSITE_STEMS:
        return not (only_one | only_other) & _OF_A_SUBJECT
    return only_one <= one.chosen and only_other <= other.chosen


def _rival(one: str, other: str) -> bool:
    """Two numbers or two places for one thing. Two names are two things: a list of changes is full of them."""
    return any(sign.search(one) and sign.search(other) for sign in _RIVALS)


def turned(one: Signature, other: Signature) -> frozenset[str]:
    """Words that one affirms and the other denies. The scope of a `not` is a guess, so a shared denial excuses it."""
    if one.denied & other.denied and {one.weighs, other.weighs} != {"for", "against"}:
        return frozenset()
    words = ((one.said & other.denied) | (one.denied & other.said)) - (one.said & other.said)
    return words | ((one.hard & other.hard) & (one.unwanted ^ other.unwanted))


def _is_swap(one: Signature, other: Signature) -> bool:
    """One differing word on each side is more often another thing ("staging", "production") than a synonym."""
    return len(one.words - other.words) == len(other.words - one.words) == 1


def _shown(words: frozenset[str]) -> str:
    return ", ".join(sorted(words))


# Kinds of questions. Standard library only: a hook uses this too (`hooks/moment.py`).

OPEN = lazy_regex(r"\W*(?:\w+\s+){0,2}?(what|which|where|when|who|whom|whose|how|why)\b", re.IGNORECASE)
AMOUNT = lazy_regex(r"\bhow\s+(?:many|much|long|often|old|big|large|far|fast)\b", re.IGNORECASE)


def asks_for(question: str) -> str:
    """The kind of answer a question asks for: a reason, a person, a time, an amount … '' for a thing, a yes or a no.

    Two questions with the same words but different kinds have different answers.
    """
    if AMOUNT.search(question):
        return "amount"
    word = match[1].casefold() if (match := OPEN.match(question)) else ""
    if word.startswith("who"):
        return "who"
    return "" if word in ("what", "which") else word
