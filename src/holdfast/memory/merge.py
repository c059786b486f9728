"""The same decision, fact, question or finding in other words, merged with its sources; contradictions shown.

First by content id, then by words (`likeness`), then by meaning (`paraphrase`) where one is given. Merging is
careful: a statement joins a group only when it is like the group's first and clashes with none of its members. What
clashes is reported, never resolved here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from heapq import nlargest
from itertools import pairwise
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from holdfast.core.likeness import (
    NEAR_ENOUGH_TO_CLASH,
    Likeness,
    Signature,
    asks_for,
    compare,
    compare_signatures,
    signature,
)
from holdfast.core.patterns import lazy_regex
from holdfast.memory.paraphrase import Gap, Meaning, asks_alike, gap, judge, least_shared, settle
from holdfast.model.events import DistilledSession
from holdfast.model.memory import DeadEnd, Decision, Fact, Finding, OpenItem, Question
from holdfast.model.statement import Item, Statement
from holdfast.sessions.harvest_sentences import PLAN_APPROVED, asks_about_workflow

T = TypeVar("T", Decision, Fact, Question, Finding, DeadEnd, OpenItem, Decision | Fact)
WHICH_HOLDS = "Which holds: "
_UNDATED = float("-inf")
_MOST_NEAR = 40
_MOST_CLASHES = 3  # of one statement: more tell nothing new
_MOST_UNDECIDED = 6  # groups with which a new one is compared by meaning
_MOST_NEW = 2_000  # groups of one import, the latest: beyond that a single import would cost seconds
_TOO_COMMON = 400  # groups that hold a word: it tells nothing, and looking through them costs


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


def merge(items: Iterable[T], meaning: Meaning | None = None, known: int = 0) -> Merging[T]:
    """Each statement once, in the order in which it was first made.

    The first `known` of them were merged before: only what is new is compared by meaning.
    """
    groups = _Groups[T]()
    settled = 0
    for number, item in enumerate(items):
        groups.add(item)
        if number < known:
            settled = len(groups.members)
    if meaning is not None:
        groups.join_by_meaning(meaning, settled)
    return Merging(
        tuple(Merged(_represent(group), tuple(group)) for group in groups.members if group), groups.clashes()
    )


def find(items: Sequence[T], text: str, meaning: Meaning | None = None) -> T | None:
    """The statement among `items` that says what `text` says; the last such one. For "was this asked before?"."""
    folded = _folded(text)
    for item in reversed(items):
        own = _text_of(item)
        wanted = signature(_unasked(text) if isinstance(item, Question) else text)
        if _folded(own) == folded or compare_signatures(signature(own), wanted).likeness is Likeness.SAME:
            return item
    if meaning is None:
        return None
    for item in reversed(items):
        if isinstance(item, Question):
            if asks_alike(item.text, text) and _means(item, _unasked(text), meaning):
                return item
        elif _means(item, text, meaning):
            return item
    return None


def _means(item: Item, text: str, meaning: Meaning) -> bool:
    return judge(_text_of(item), text, meaning).likeness is Likeness.SAME


def contradicting(
    items: Sequence[T], item: T, meaning: Meaning | None = None
) -> tuple[Contradiction[T], ...]:
    """What among `items` cannot hold together with `item`; the latest of them, and few: more tell nothing new."""
    text = _text_of(item)
    found: list[Contradiction[T]] = []
    for other in reversed(items):
        if other.id == item.id:
            continue
        against = _text_of(other)
        verdict = compare(against, text) if meaning is None else judge(against, text, meaning)
        if verdict.likeness is Likeness.CLASH:
            found.append(Contradiction(other, item, verdict.why))
    return tuple(found[:_MOST_CLASHES])


def doubt_question(one: Decision | Fact, other: Decision | Fact) -> Question:
    """The question which of two contradicting statements holds; both are kept until it is answered."""
    text = f"{WHICH_HOLDS}“{one.text}” ({one.id}) or “{other.text}” ({other.id})?"
    return Question(text=text, session=other.session, at=other.at)


def is_doubt_about(question: Question, statement: str) -> bool:
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
            elif (
                chosen is None
                and verdicts[0][1].likeness is Likeness.SAME
                and _asks_alike(verdicts[0][0], item)
            ):
                chosen = group
        if chosen is None:
            return self._begin(item, own)
        self.members[chosen].append(item)
        return chosen

    # --- by meaning ------------------------------------------------------------------------------------

    def join_by_meaning(self, meaning: Meaning, settled: int) -> None:
        """Join groups that words left apart; those before `settled` were compared with each other before."""
        pairs = [
            (earlier, group, between)
            for group in range(max(settled, len(self.members) - _MOST_NEW), len(self.members))
            for earlier, between in self._undecided(group)
        ]
        meaning.prepare(word for _, _, between in pairs for word in between.words)
        joined: dict[int, int] = {}
        clashes: Counter[int] = Counter()
        for earlier, group, between in pairs:
            place = joined.get(earlier, earlier)
            if group in joined:
                continue
            verdict = settle(between, meaning)
            first, own = self.members[place][0], self.members[group][0]
            if place != earlier:  # what stands for the group now is what it must be like
                verdict = judge(_text_of(first), _text_of(own), meaning)
            if verdict.likeness is Likeness.SAME and not self._at_odds(place, group):
                self.members[place] += self.members[group]
                self.members[group] = []
                joined[group] = place
            elif verdict.likeness is Likeness.CLASH and not isinstance(own, Question):
                clashes[group] += 1
                if clashes[group] <= _MOST_CLASHES:
                    self._note(first, own, verdict.why)

    def _undecided(self, group: int) -> list[tuple[int, Gap]]:
        """Earlier groups that share something with this one, and what vectors are to decide about them."""
        own, item = self._firsts[group], self.members[group][0]
        shared: Counter[int] = Counter()
        for word in own.words:
            holding = self._by_word[word]
            if len(holding) <= _TOO_COMMON:
                shared.update(holding)
        near = (
            (count, other)
            for other, count in shared.items()
            if other < group
            and least_shared(count, len(own.words), len(self._firsts[other].words))
            and self._firsts[other].hard == own.hard
        )
        found = []
        for _, other in nlargest(_MOST_UNDECIDED, near):
            first = self.members[other][0]
            if (
                isinstance(first, Question)
                and isinstance(item, Question)
                and not asks_alike(first.text, item.text)
            ):
                continue
            if (first.id, item.id) not in self._clashes and (between := gap(_text_of(first), _text_of(item))):
                found.append((other, between))
        return found

    def _at_odds(self, one: int, other: int) -> bool:
        """Whether a member of one group contradicts one of the other."""
        return any(
            compare_signatures(signature(_text_of(here)), signature(_text_of(there))).likeness
            is Likeness.CLASH
            for here in self._different(one)
            for there in self._different(other)
        )

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
        """What cannot hold together, and the same question with two answers, one after the other."""
        for group in self.members:
            answered = [item for item in group if isinstance(item, Question) and item.answer]
            for one, other in pairwise(answered):
                if not _same_answer(one.answer, other.answer):
                    self._note(one, other, f"answered {one.answer[:60]!r}, then {other.answer[:60]!r}")
        return tuple(self._clashes.values())


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


def _asks_alike(one: Item, other: Item) -> bool:
    if isinstance(one, Question) and isinstance(other, Question):
        return asks_for(one.text) == asks_for(other.text)
    return True


def _text_of(item: Item) -> str:
    if isinstance(item, DeadEnd):
        return f"{item.tried}. {item.failed}"
    return _unasked(item.text) if isinstance(item, Question) else item.text


def _unasked(text: str) -> str:
    """All questions ask, with a question mark or without."""
    return text.rstrip(" ?")


def _key(item: Item) -> tuple[str, str]:
    # A fact may be true of one category and said of another by accident: the id alone decides.
    return item.id, _folded(_text_of(item))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!?;: ")


# --- rules that are meant to last ----------------------------------------------------------------------

_LASTING = lazy_regex(
    r"\b(?:always|never|from now on|in (?:the )?future|going forward|every time|as a rule|by default)\b",
    re.IGNORECASE,
)
MOST = 5


def standing_rules(records: Sequence[DistilledSession]) -> tuple[str, ...]:
    """Rules to propose to the operating manual, each with the session it comes from."""
    said = [item for record in records for item in record.harvest.decisions if item.by == "user"]
    said += [
        Decision(text=item.text, by="user", session=record.session, at=item.at)
        for record in records
        for item in record.experience.corrections
    ]
    found = [
        group for group in merge(said).merged if len(group.sessions) > 1 or _LASTING.search(group.item.text)
    ]
    return tuple(f"{group.item.text} (session {group.sessions[0][:8]})" for group in found[-MOST:])


# --- what holds for a moment only ----------------------------------------------------------------------

_WHOLE = r"(?! (?:repo|repository|project|product|code ?base|package|library|app|application|service|team)\b)"
# Points at something that only that conversation shows.
_POINTS = rf"\b(?:this{_WHOLE}|these|those|above|below)\b|\(\d+\)(?!\w)|(?<![\w/])#\d+\b"
_POINTS_AT = lazy_regex(_POINTS, re.IGNORECASE)
_OF_THE_MOMENT = lazy_regex(
    rf"{_POINTS}|\b(?:now|today|again|(?:the|your) plan|error message|log lines?|paste|screenshot)\b"
    r"|\b(?:want me|would you like|do you (?:have|see)|can you|could you|are you|shall (?:i|we)|should i)\b",
    re.IGNORECASE,
)
_DEED = lazy_regex(
    r"(?:feat|fix|test|docs?|chore|style|refactor|perf|ci|build|revert|wip)(?:\([^)]*\))?!?: ", re.IGNORECASE
)
# Commits say what was done to the code, which shows it; a choice reads "Use …", "Keep …", "Prefer …".
_DONE_TO_CODE = lazy_regex(
    r"(?:add(?:s|ed)?|fix(?:es|ed)?|implement(?:s|ed)?|updated?|created?|improved?|bump|release|merge|revert|reach)\s",
    re.IGNORECASE,
)
_FRAGMENT = lazy_regex(r"[a-z]+ ")  # of a list below a heading that named what it is about
_QUESTION = lazy_regex(r"(?P<question>.{8,}?\?) \S")


def is_passing_question(text: str) -> bool:
    """Whether an answer was right for that moment alone: asked again, it may well be another."""
    return asks_about_workflow(text) or bool(_OF_THE_MOMENT.search(text))


def is_passing(said: Statement) -> bool:
    """Whether a decision or an answer was right for that moment alone, and does not hold from then on.

    What a person wrote by hand, and no session said, is meant to hold.
    """
    text = said.text
    if not said.session:
        return False
    if said.kind == "answer":
        return is_passing_question(said.subject)
    if text.startswith(PLAN_APPROVED) or _DEED.match(text):
        return True
    if asked := _QUESTION.match(text):
        return is_passing_question(asked["question"])
    if said.who == "agent" and (_DONE_TO_CODE.match(text) or _FRAGMENT.match(text)):
        return True
    return bool(_POINTS_AT.search(text))
