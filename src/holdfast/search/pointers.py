"""Which files the work that a prompt asks for will touch, judged by the sessions that were asked alike.

Similarity (BM25 of the prompt, and more faintly of the session's earlier prompts, over the words of past sessions)
times recency times co-change. `History` is what can be prepared: postings of words and of files; `rank` looks up only
what the prompt's own words lead to.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from holdfast.model.pointer import Pointer, PointerSession
from holdfast.search.pointer_words import (
    LONGEST_PROMPT,
    as_written,
    name_words,
    names_file,
    path_words,
    words,
)

# Flat optima: half or twice of most stays within the noise (docs/benchmarks.md).
_SATURATION, _LENGTH = 1.2, 0.75  # BM25's own
_EARLIER, _EARLIER_FADES = 0.5, 0.7  # what the prompts before this one still weigh
_LIKENESS_POWER = 2.0  # the most similar sessions count, not the many that share a word
_ANSWER = 0.25  # what a word of the agent's weighs beside one of the person's
_READ = 0.5  # of an edit
_EVERYWHERE = 0.3  # damps files that every session touches
_HALF_LIFE = 60  # sessions
_RECENT_HALF_LIFE = 5
_TOGETHER = 0.5  # how much a file gains that always changes with one that is already certain
_SEEDS = 5
_MANY_WORDS = 4  # shared with one session: then it is alike, however much else the prompt says
_SHARE, _SHARE_OF_ONE = (
    0.12,
    0.25,
)  # of what the prompt says, by rarity, when two or three words or one are shared
_EARLIER_PROMPTS = 8
MOST = 100  # several times what a briefing holds: some of them may be gone


class Weights(Struct, frozen=True):
    """A log-linear reading of what speaks for a file; docs/benchmarks.md says how it was found."""

    base: float
    likeness: float  # ln of the score in relation to the best file's
    named: float  # share of the file's own name that the prompt says
    gap: float  # ln of 1 + sessions since it was touched
    recent: float  # how often of late
    told: float  # ln of 1 + files that the prompt names itself: then it needs no others
    mass: float  # ln of what the prompt says that is known here


# A first prompt says little of where the work will lead: what was worked on lately counts for more than later on.
FIRST = Weights(base=-1.23, likeness=0.6, named=0.6, gap=-0.17, recent=0.34, told=-0.31, mass=-0.19)
LATER = Weights(base=-0.81, likeness=0.83, named=0.25, gap=-0.025, recent=0.083, told=-0.28, mass=-0.21)


class Asked(Struct, frozen=True, kw_only=True):
    """A prompt, and what its session has said and touched before."""

    prompt: str
    earlier: Sequence[str] = ()  # oldest first
    touched: Collection[str] = ()


class History:
    """Past sessions, oldest first, by the words they were asked with and the files they touched."""

    def __init__(self, sessions: Iterable[PointerSession]) -> None:
        self.sessions = sorted(sessions, key=lambda session: (session.at, session.session))
        self.postings: dict[str, dict[int, float]] = defaultdict(dict)
        self.touched: dict[str, dict[int, bool]] = defaultdict(
            dict
        )  # path -> session -> whether it was edited
        self.lengths: list[float] = []
        for number, session in enumerate(self.sessions):
            self._add(number, session)

    def _add(self, number: int, session: PointerSession) -> None:
        counts: dict[str, float] = defaultdict(float)
        for prompt in session.prompts:
            for word in words(prompt[:LONGEST_PROMPT]):
                counts[word] += 1.0
        for word in words(session.answer[:LONGEST_PROMPT]):
            counts[word] += _ANSWER
        for path in session.edited:
            for word in path_words(path):
                counts[word] += 1.0
        for word, count in counts.items():
            self.postings[word][number] = count
        self.lengths.append(sum(counts.values()))
        for path in session.read:
            self.touched[path][number] = False
        for path in session.edited:
            self.touched[path][number] = True

    def rarity(self, word: str) -> float:
        holding = len(self.postings.get(word, ()))
        return math.log(1 + (len(self.sessions) - holding + 0.5) / (holding + 0.5))


def rank(
    history: History, asked: Asked, together: Mapping[str, Mapping[str, float]] | None = None
) -> list[Pointer]:
    """Files by how likely the work touches them, the likeliest first; nothing when no past session is like it.

    `together` says for a file which others change with it, from 0 to 1, by the repository's own history.
    """
    query = _query(asked)
    likeness = _likeness(history, query)
    if not _is_known(history, query, likeness):
        return []
    scores = _with_companions(history, asked, _scores(history, query, likeness), together or {})
    best = max(scores.values(), default=0.0)
    told = {path for path in scores if names_file(asked.prompt, path)}
    left_out = told.union(asked.touched)
    weights = LATER if asked.earlier else FIRST
    mass = sum(weight * history.rarity(word) for word, weight in query.items() if word in history.postings)
    fixed = weights.base + weights.told * math.log1p(len(told)) + weights.mass * math.log1p(mass)
    odds = {
        path: fixed + _standing(history, weights, query, path, score / best)
        for path, score in scores.items()
        if score and path not in left_out
    }
    ranked = sorted(odds, key=lambda path: (-odds[path], path))[:MOST]
    speakers = {path: _speaker(history, likeness, path) for path in ranked}
    written = as_written(text[:LONGEST_PROMPT] for text in (asked.prompt, *asked.earlier))
    shared = {
        number: [written[word] for word in _shared(history, query, number)]
        for number in {*speakers.values()}
        if number is not None
    }
    return [
        Pointer(
            path=path,
            why=_why(history, path, () if number is None else shared[number]),
            chance=round(1 / (1 + math.exp(-odds[path])), 4),
            session="" if number is None else history.sessions[number].session,
        )
        for path, number in speakers.items()
    ]


def _speaker(history: History, likeness: Mapping[int, float], path: str) -> int | None:
    """The session that speaks most for a file; none where only git knows it."""
    touched = history.touched.get(path, {})
    return max(touched, key=lambda number: (likeness.get(number, 0.0), number), default=None)


def _query(asked: Asked) -> dict[str, float]:
    query = dict.fromkeys(words(asked.prompt[:LONGEST_PROMPT]), 1.0)
    weight = _EARLIER
    for prompt in list(reversed(asked.earlier))[:_EARLIER_PROMPTS]:
        for word in words(prompt[:LONGEST_PROMPT]):
            query[word] = max(query.get(word, 0.0), weight)
        weight *= _EARLIER_FADES
    return query


def _likeness(history: History, query: Mapping[str, float]) -> dict[int, float]:
    average = sum(history.lengths) / max(len(history.lengths), 1) or 1.0
    found: dict[int, float] = defaultdict(float)
    for word, weight in query.items():
        rarity = history.rarity(word)
        for number, count in history.postings.get(word, {}).items():
            longer = 1 - _LENGTH + _LENGTH * history.lengths[number] / average
            found[number] += weight * rarity * count * (_SATURATION + 1) / (count + _SATURATION * longer)
    return found


def _is_known(history: History, query: Mapping[str, float], likeness: Mapping[int, float]) -> bool:
    """Whether some past session was asked for something like it: a shared everyday word is not enough."""
    if not likeness:
        return False
    closest = max(likeness, key=lambda number: (likeness[number], number))
    shared = [word for word in query if closest in history.postings.get(word, ())]
    whole = sum(weight * history.rarity(word) for word, weight in query.items())
    share = sum(query[word] * history.rarity(word) for word in shared) / whole
    return len(shared) >= _MANY_WORDS or share >= (_SHARE if len(shared) > 1 else _SHARE_OF_ONE)


def _scores(history: History, query: Mapping[str, float], likeness: Mapping[int, float]) -> dict[str, float]:
    newest = len(history.sessions) - 1
    scores: dict[str, float] = defaultdict(float)
    for number, alike in likeness.items():
        session = history.sessions[number]
        value = alike**_LIKENESS_POWER * 0.5 ** ((newest - number) / _HALF_LIFE)
        for path in session.edited:
            scores[path] += value
        for path in session.read:
            scores[path] += value * _READ
    for path in scores:
        said = sum(query.get(word, 0.0) for word in path_words(path))
        scores[path] *= (1 + said) / (1 + len(history.touched[path])) ** _EVERYWHERE
    return scores


def _with_companions(
    history: History, asked: Asked, scores: dict[str, float], together: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    """Files that change with the likeliest ones, or with what the session already touched, gain by it."""
    seeds = dict.fromkeys(asked.touched, 1.0)
    best = max(scores.values(), default=0.0)
    for path in sorted(scores, key=lambda path: (-scores[path], path))[:_SEEDS]:
        seeds.setdefault(path, scores[path] / best)
    gains: dict[str, float] = {}
    for seed, sure in sorted(seeds.items()):
        for path, often in together.get(seed, {}).items():
            gains[path] = max(gains.get(path, 0.0), sure * often)
        if seed in asked.touched:
            for path, often in _touched_with(history, seed).items():
                gains[path] = max(gains.get(path, 0.0), often)
    joined = dict(scores)
    for path, gain in gains.items():
        joined[path] = scores.get(path, 0.0) * (1 + _TOGETHER * gain) + best * gain * _TOGETHER / 4
    return joined


def _touched_with(history: History, seed: str) -> dict[str, float]:
    """How often sessions that touched one file touched another."""
    numbers = history.touched.get(seed, {})
    counts: Counter[str] = Counter()
    for number in numbers:
        session = history.sessions[number]
        counts.update({*session.edited, *session.read} - {seed})
    return {path: count / (1 + len(numbers)) for path, count in counts.items()}


def _standing(
    history: History, weights: Weights, query: Mapping[str, float], path: str, relative: float
) -> float:
    numbers = history.touched.get(path, {})
    newest = len(history.sessions) - 1
    gap = newest - max(numbers) if numbers else newest
    recent = sum(math.pow(0.5, (newest - number) / _RECENT_HALF_LIFE) for number in numbers)
    own = name_words(path)
    named = sum(query.get(word, 0.0) for word in own) / len(own) if own else 0.0
    return (
        weights.likeness * math.log(relative + 0.001)
        + weights.named * named
        + weights.gap * math.log1p(gap)
        + weights.recent * recent
    )


def _shared(history: History, query: Mapping[str, float], number: int) -> tuple[str, ...]:
    """The most telling words that a session was asked with as well."""
    found = [word for word in query if number in history.postings.get(word, ())]
    return tuple(sorted(found, key=lambda word: (-query[word] * history.rarity(word), word))[:3])


def _why(history: History, path: str, shared: Sequence[str]) -> str:
    touched = history.touched.get(path, {})
    if not touched:
        return "changes together with likely files"
    edits = sum(touched.values())
    did = f"edited in {edits}" if edits else f"read in {len(touched)}"
    return f"{did} of {len(history.sessions)} sessions" + (f"; {', '.join(shared)}" if shared else "")
