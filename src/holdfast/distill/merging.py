"""The same decision, fact, question or finding in other words, merged with its sources; contradictions shown.

First by content id, then by words (`likeness`). Merging is careful: a statement joins a group only when it is
like the group's first and clashes with none of its members. What clashes is reported, never resolved here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import nlargest
from itertools import pairwise
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from holdfast.distill.likeness import (
    NEAR_ENOUGH_TO_CLASH,
    Likeness,
    Signature,
    compare_signatures,
    signature,
)
from holdfast.model.memory import DeadEnd, Decision, Fact, Finding, OpenItem, Question

Statement = Decision | Fact | Question | Finding | DeadEnd | OpenItem
T = TypeVar("T", Decision, Fact, Question, Finding, DeadEnd, OpenItem)
WHICH_HOLDS = "Which holds: "
_UNDATED = float("-inf")
_MOST_NEAR = 40
_MOST_CLASHES = 3  # of one statement: more tell nothing new


class Merged(Struct, Generic[T], frozen=True):
    """One statement and everything that says it; `item` is worded as the first of `sources`."""

    item: T
    sources: tuple[T, ...]

    @property
    def sessions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(source.session for source in self.sources if source.session))


class Contradiction(Struct, Generic[T], frozen=True):
    """Two statements that cannot both hold, or that name different numbers, paths or things for the same."""

    one: T
    other: T
    why: str


class Merging(Struct, Generic[T], frozen=True):
    merged: tuple[Merged[T], ...]
    contradictions: tuple[Contradiction[T], ...]


def merge(items: Iterable[T]) -> Merging[T]:
    """Each statement once, in the order in which it was first made."""
    groups = _Groups[T]()
    for item in items:
        groups.add(item)
    return Merging(
        tuple(Merged(_represent(group), tuple(group)) for group in groups.members), groups.clashes()
    )


def find(items: Sequence[T], text: str) -> T | None:
    """The statement among `items` that says what `text` says; the last such one. For "was this asked before?"."""
    folded = _folded(text)
    for item in reversed(items):
        own = _text_of(item)
        wanted = signature(_unasked(text) if isinstance(item, Question) else text)
        if _folded(own) == folded or compare_signatures(signature(own), wanted).likeness is Likeness.SAME:
            return item
    return None


def contradicting(items: Sequence[T], item: T) -> tuple[Contradiction[T], ...]:
    """What among `items` cannot hold together with `item`; the latest of them, and few: more tell nothing new."""
    own = signature(_text_of(item))
    found = [
        Contradiction(other, item, verdict.why)
        for other in reversed(items)
        if other.id != item.id
        and (verdict := compare_signatures(signature(_text_of(other)), own)).likeness is Likeness.CLASH
    ]
    return tuple(found[:_MOST_CLASHES])


def doubt(one: Decision | Fact, other: Decision | Fact) -> Question:
    """What contradicts something known is kept beside it, and somebody is asked which of the two holds."""
    text = f"{WHICH_HOLDS}“{one.text}” ({one.id}) or “{other.text}” ({other.id})?"
    return Question(text=text, session=other.session, at=other.at)


def doubted(question: Question, statement: str) -> bool:
    """Whether a question is such a doubt about the statement with this id."""
    return question.text.startswith(WHICH_HOLDS) and f"” ({statement})" in question.text


class _Groups(Generic[T]):
    """Groups of statements, found again by their words, so that thousands need no pairwise comparison."""

    def __init__(self) -> None:
        self.members: list[list[T]] = []
        self._by_id: dict[tuple[str, str], int] = {}
        self._by_word: dict[str, list[int]] = {}
        self._firsts: list[Signature] = []
        self._clashes: dict[tuple[str, str], Contradiction[T]] = {}

    def add(self, item: T) -> None:
        key = _key(item)
        known = self._by_id.get(key)
        if known is None:
            known = self._find(item)
            self._by_id[key] = known
        else:
            self.members[known].append(item)

    def _find(self, item: T) -> int:
        """The group that the item has joined, or that it begins."""
        own = signature(_text_of(item))
        chosen: int | None = None
        clashes = 0
        for group in self._near(own):
            verdicts = [
                (member, compare_signatures(signature(_text_of(member)), own))
                for member in self._different(group)
            ]
            clash = next((pair for pair in verdicts if pair[1].likeness is Likeness.CLASH), None)
            if clash is not None:
                clashes += 1
                if clashes <= _MOST_CLASHES and not isinstance(item, Question):
                    self._note(clash[0], item, clash[1].why)
            elif chosen is None and verdicts[0][1].likeness is Likeness.SAME:
                chosen = group
        if chosen is None:
            return self._begin(item, own)
        self.members[chosen].append(item)
        return chosen

    def _different(self, group: int) -> list[T]:
        """The members of a group, each wording once, the first one first."""
        wordings: dict[tuple[str, str], T] = {}
        for member in self.members[group]:
            wordings.setdefault(_key(member), member)
        return list(wordings.values())

    def _near(self, own: Signature) -> list[int]:
        shared = Counter(group for word in own.words for group in self._by_word.get(word, ()))
        near = [
            group
            for group, count in shared.items()
            if 2 * count >= NEAR_ENOUGH_TO_CLASH * (len(own.words) + len(self._firsts[group].words))
        ]
        # Results that differ in their numbers only would all be near each other: thousands of thousands.
        return nlargest(
            _MOST_NEAR, near, key=lambda group: (self._firsts[group].hard == own.hard, shared[group], group)
        )

    def _begin(self, item: T, own: Signature) -> int:
        group = len(self.members)
        self.members.append([item])
        self._firsts.append(own)
        for word in own.words:
            self._by_word.setdefault(word, []).append(group)
        return group

    def _note(self, one: T, other: T, why: str) -> None:
        self._clashes.setdefault((one.id, other.id), Contradiction(one, other, why))

    def clashes(self) -> tuple[Contradiction[T], ...]:
        for group in self.members:
            self._compare_answers(group)
        return tuple(self._clashes.values())

    def _compare_answers(self, group: Sequence[T]) -> None:
        """The same question with two answers; of equal questions only what was answered can clash."""
        answered = [item for item in group if isinstance(item, Question) and item.answer]
        for one, other in pairwise(answered):
            if not _same_answer(one.answer, other.answer):
                self._note(one, other, f"answered {one.answer[:60]!r}, then {other.answer[:60]!r}")


def _same_answer(one: str, other: str) -> bool:
    if _folded(one) == _folded(other):
        return True
    return compare_signatures(signature(one), signature(other)).likeness is Likeness.SAME


def _represent(group: Sequence[T]) -> T:
    """The first wording, so that the id stays, with what later statements add to it."""
    first = group[0]
    if isinstance(first, Question):
        return _with_answer(first, group)
    if isinstance(first, Fact):
        seen = [
            at for fact in group if isinstance(fact, Fact) and (at := fact.verified_at or fact.at) is not None
        ]
        return replace(first, verified_at=max(seen)) if len(group) > 1 and seen else first
    return first


def _with_answer(first: T, group: Sequence[T]) -> T:
    answered = [item for item in group if isinstance(item, Question) and item.answer]
    if not answered:
        closed = any(isinstance(item, Question) and item.closed for item in group)
        return replace(first, closed=closed)
    newest = max(answered, key=lambda item: item.answered_at if item.answered_at is not None else _UNDATED)
    return replace(
        first,
        answer=newest.answer,
        by=newest.by,
        answered_at=newest.answered_at,
        session=newest.session,  # whose answer it is, not who asked first
        closed=False,
    )


def _text_of(item: Statement) -> str:
    if isinstance(item, DeadEnd):
        return f"{item.tried}. {item.failed}"
    return _unasked(item.text) if isinstance(item, Question) else item.text


def _unasked(text: str) -> str:
    """All questions ask, with a question mark or without."""
    return text.rstrip(" ?")


def _key(item: Statement) -> tuple[str, str]:
    # A fact may be true of one category and said of another by accident: the id alone decides.
    return item.id, _folded(_text_of(item))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!?;: ")
