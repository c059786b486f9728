"""Compares a prompt with what past sessions were asked, and says how likely it is about this repository at all.

A prompt about something else shares everyday words with any history. What speaks for this repository is that the words
that say much in general are known here, that one session holds many of them, and that a session began with a prompt
like this one. Below the floor no file and no command is offered, whatever else speaks for it.
"""

from __future__ import annotations

import math
import os
from bisect import bisect_left

from holdfast.core.words import LONGEST_PROMPT, ON, branch_words, command_in, words

TYPE_CHECKING = False  # importing it from `typing` would load that module
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from holdfast.hooks.postings import Postings

RARE = 9.0  # the weight of a word that the background does not list
_TENTHS = 10.0
_BACKGROUND = os.path.join(os.path.dirname(os.path.dirname(__file__)), "briefing", "background.txt")
# Flat optima: halving or doubling most of these stays within the noise (docs/research/benchmarks.md).
_SATURATION, _LENGTH = 1.2, 0.75  # parameters of BM25
_EARLIER, _EARLIER_FADES = 0.5, 0.7  # the weight of earlier prompts
_EARLIER_PROMPTS = 8
_BRANCH_WORD, _SAME_BRANCH = 0.3, 0.5  # the weight of words of the branch name, and of the same branch
_HALF_LIFE = 60  # sessions
_SESSIONS = 80  # the most similar ones; the others do not change a ranking
_MOST_WEIGHED = 150  # words of a prompt
_CLOSEST = 8  # sessions of which the one that shares most is taken

# Log-odds that a prompt is about this repository, fitted by scripts/train_offers.py on the first prompts of real
# histories against those of other histories (docs/research/benchmarks.md). `close`: square root of the weight of
# the words that one session shares; `rarest`: the weight of the rarest known word; `words`: ln of 1 + words of the
# prompt; `frequent`: how common its words are here; `alike`: how much of both is shared with the most similar first
# prompt; `names`: ln of 1 + files of this repository that it names; `sessions`: ln of 1 + sessions.
ABOUT = {"base": -2.22, "close": 0.183, "rarest": 5.34, "words": -0.733, "frequent": 2.26, "alike": 7.71,
         "names": 2.6, "sessions": -0.536}  # fmt: skip
FLOOR = 0.0
MOVED = 10.0  # the weight of new words, known here, with which a later prompt moves to another topic
_AROUND = "`'\"()[]{}<>,;:!?*.…“”‘’"
_MOST_SAID, _MOST_MEANT = 12, 2
_LONGEST, _LONGEST_ENDING = 200, 8
_LONGEST_NUMBER = 6
_SPECIFIC = 5.5  # the weight from which on a word says what a prompt is about


class Match:
    """One prompt against the past sessions: its words, their weights, and the sessions that share them.

    `earlier` are the words of this session's prompts so far, oldest first, and `own` its number among the sessions,
    which is excluded. `branch` is checked out: its name describes the work, and sessions on it did the same work.
    """

    def __init__(
        self,
        postings: Postings,
        prompt: str,
        earlier: Sequence[Collection[str]] = (),
        own: int = -1,
        branch: str = "",
    ) -> None:
        self.postings = postings
        self.prompt = prompt
        self.own = own
        self.said = list(dict.fromkeys(words(prompt[:LONGEST_PROMPT], postings.empty)))
        self._earlier = earlier
        self.query = _query(self.said, earlier)
        if command := command_in(prompt):
            self.query[command] = 1.0
        for word in branch_words(branch, postings.empty):
            weight = _SAME_BRANCH if word.startswith(ON) else _BRANCH_WORD
            self.query[word] = max(self.query.get(word, 0.0), weight)
        postings.load(self.query)
        self.likeness = _likeness(postings, self.query, own)
        self._weights: dict[str, float] | None = None
        self._alike: dict[int, float] | None = None
        self._similar: dict[int, float] | None = None

    @property
    def weights(self) -> dict[str, float]:
        """How much the words of the prompt say in general."""
        if self._weights is None:
            self._weights = weights_of(self.said[:_MOST_WEIGHED])
        return self._weights

    @property
    def similar(self) -> dict[int, float]:
        """The most similar sessions with their weight, the most similar first; recent ones count more."""
        if self._similar is None:
            newest = self.postings.sessions - 1
            # Squared: the most similar sessions count, not the many that share a word.
            values = {
                number: similarity * similarity * 0.5 ** ((newest - number) / _HALF_LIFE)
                for number, similarity in self.likeness.items()
            }
            likest = sorted(values, key=lambda number: (-values[number], number))[:_SESSIONS]
            self._similar = {number: values[number] for number in likest}
        return self._similar

    @property
    def alike(self) -> dict[int, float]:
        """For sessions whose first prompt shares a word with this one: the share of both that is the same."""
        if self._alike is None:
            shared: dict[int, float] = {}
            for word, numbers in self.postings.opening_with(self.weights):
                weight = self.weights[word]
                for number in numbers:
                    shared[number] = shared.get(number, 0.0) + weight
            shared.pop(self.own, None)
            whole, openings = sum(self.weights.values()), self.postings.openings()
            self._alike = {
                number: weight / max(whole + openings[number] - weight, RARE)
                for number, weight in shared.items()
            }
        return self._alike

    def about(self, names: int) -> float:
        """Log-odds that the prompt is about this repository; `names` of its files are named in it."""
        return ABOUT["base"] + sum(ABOUT[name] * value for name, value in self.evidence(names).items())

    def evidence(self, names: int) -> dict[str, float]:
        postings, weights = self.postings, self.weights
        known = {word: weight for word, weight in weights.items() if postings.holding(word)}
        closest = sorted(self.likeness, key=lambda number: -self.likeness[number])[:_CLOSEST]
        close = 0.0
        for number in closest:
            shared = (weight for word, weight in known.items() if number in postings.holding(word))
            close = max(close, sum(shared))
        everyone = math.log1p(postings.sessions) or 1.0
        frequent = sum(
            weight * math.log1p(len(postings.holding(word))) / everyone for word, weight in known.items()
        )
        return {
            "close": math.sqrt(close),
            "rarest": max(known.values(), default=0.0) / RARE,
            "words": math.log1p(len(weights)),
            "frequent": frequent / (sum(weights.values()) or 1.0),
            "alike": max(self.alike.values(), default=0.0),
            "names": math.log1p(names),
            "sessions": math.log1p(postings.sessions),
        }

    def news(self) -> tuple[float, float]:
        """The weight of the words that no earlier prompt of the session has: of those known here, and of the others."""
        before = set().union(*self._earlier)
        new = {word: weight for word, weight in self.weights.items() if word not in before}
        known = sum(weight for word, weight in new.items() if self.postings.holding(word))
        return known, sum(new.values()) - known

    @property
    def is_vague(self) -> bool:
        """Whether the prompt says nothing specific: "review this branch", "fix the tests"."""
        return bool(self.said) and all(weight < _SPECIFIC for weight in self.weights.values())

    @property
    def is_known(self) -> bool:
        """Whether some past session had a similar prompt: one shared everyday word is not enough."""
        if not self.likeness:
            return False
        postings, query = self.postings, self.query
        closest = max(self.likeness, key=lambda number: (self.likeness[number], number))
        shared = [word for word in query if closest in postings.holding(word)]
        whole = sum(weight * postings.rarity(word) for word, weight in query.items())
        share = sum(query[word] * postings.rarity(word) for word in shared) / whole
        return len(shared) >= _MANY_WORDS or share >= (_SHARE if len(shared) > 1 else _SHARE_OF_ONE)


_MANY_WORDS = 4  # shared with one session: then it is similar, whatever else the prompt says
_SHARE, _SHARE_OF_ONE = 0.12, 0.25  # of the prompt's words, by rarity, when few words or only one are shared


def _query(said: Iterable[str], earlier: Sequence[Collection[str]]) -> dict[str, float]:
    query = dict.fromkeys(said, 1.0)
    weight = _EARLIER
    for before in list(reversed(earlier))[:_EARLIER_PROMPTS]:
        for word in before:
            query[word] = max(query.get(word, 0.0), weight)
        weight *= _EARLIER_FADES
    return query


def _likeness(postings: Postings, query: dict[str, float], own: int) -> dict[int, float]:
    likeness: dict[int, float] = {}
    longer = postings.longer(_LENGTH, _SATURATION)
    for word, weight in query.items():
        worth = weight * postings.rarity(word) * (_SATURATION + 1)
        for number, count in postings.holding(word).items():
            likeness[number] = likeness.get(number, 0.0) + worth * count / (count + longer[number])
    likeness.pop(own, None)
    return likeness


def named_files(postings: Postings, prompt: str, folders: Collection[str]) -> list[str]:
    """The paths of files that the prompt names without a full path, in order."""
    return names_in(postings, prompt, folders)[0]


def names_in(postings: Postings, prompt: str, folders: Collection[str]) -> tuple[list[str], int]:
    """The same, and how many files of this repository the prompt names in any way.

    `folders` are the checkout and the agent's directory in it: a name that can be opened from there needs no path.
    """
    paths: dict[str, None] = {}
    count = 0
    for name in said_names(prompt):
        if any(os.path.isfile(os.path.join(folder, name)) for folder in folders):
            count += 1
            continue
        matches = postings.ending_with(name, _MOST_MEANT + 1)
        count += bool(matches) or postings.is_file(name)
        if len(matches) <= _MOST_MEANT and not any(path in prompt for path in matches):
            paths.update(dict.fromkeys(matches))
    return list(paths), count


def said_names(prompt: str) -> list[str]:
    """Words that look like a file name, or like the last parts of a path."""
    names: dict[str, None] = {}
    if "." not in prompt:
        return []
    for piece in prompt[:LONGEST_PROMPT].split():
        if "." not in piece or len(piece) > _LONGEST or not piece.isprintable():
            continue  # a database cannot look for a lone surrogate
        name = piece.strip(_AROUND).partition(":")[0].partition("#")[0].lstrip("./@")
        stem, dot, ending = name.rpartition("/")[2].rpartition(".")
        if dot and stem and ending.isalnum() and not ending.isdigit() and len(ending) <= _LONGEST_ENDING:
            names[name] = None
            if len(names) == _MOST_SAID:
                break
    return list(names)


def numbers_in(text: str, repository: str) -> list[str]:
    """The numbers of issues and changes that a text names, as `#12`: `#12`, `PR 12`, an address in this repository."""
    numbers: dict[str, None] = {}
    before = ""
    for piece in text[:LONGEST_PROMPT].split():
        piece = piece.strip(_AROUND)
        if "//" in piece:
            parts = piece.partition("#")[0].split("/")
            number = parts[-1] if parts[-3:-2] == [repository] else ""
        elif "#" in piece:
            number = piece.rpartition("#")[2]
        else:
            number = piece if len(before) > 1 and before.isalpha() and before.isupper() else ""
        if number.isascii() and number.isdigit() and len(number) <= _LONGEST_NUMBER:
            numbers[f"#{number}"] = None
        before = piece
    return list(numbers)


def weights_of(words: Iterable[str]) -> dict[str, float]:
    """For each word, minus the logarithm of the share of messages of people and coding agents that contain it."""
    with open(_BACKGROUND, "rb") as file:
        lines = file.read().split(b"\n")  # sorted: the common words, each with its weight
    weights: dict[str, float] = {}
    for word in words:
        start = word.encode("utf-8", "replace") + b" "
        place = bisect_left(lines, start, 1)  # after the heading
        listed = place < len(lines) and lines[place].startswith(start)
        weights[word] = int(lines[place][len(start) :]) / _TENTHS if listed else RARE
    return weights
