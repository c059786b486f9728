"""Merges decisions, facts, questions or findings that say the same in other words, and reports contradictions.

Statements are compared by content id, then by words (`likeness`), then by meaning (`paraphrase`) if a `Meaning` is
given. A statement joins a group only if it matches the group's first member and clashes with none. A clash is a
contradiction if both are about the same thing (`Verdict.sure`). Contradictions are reported, never resolved here.
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
from holdfast.language.harvest_sentences import PLAN_APPROVED, asks_about_workflow
from holdfast.memory.paraphrase import Gap, Meaning, asks_alike, gap, judge, least_shared, settle
from holdfast.model.events import DistilledSession
from holdfast.model.memory import DeadEnd, Decision, Fact, Finding, OpenItem, Question
from holdfast.model.statement import Item, Statement

T = TypeVar("T", Decision, Fact, Question, Finding, DeadEnd, OpenItem, Decision | Fact)
WHICH_HOLDS = "Which holds: "
_UNDATED = float("-inf")
_MOST_NEAR = 40
_MOST_CLASHES = 3  # of one statement: more add nothing
_MOST_UNDECIDED = 6  # groups with which a new one is compared by meaning
_MOST_NEW = 2_000  # groups of one import, the latest: with more a single import would take seconds
_TOO_COMMON = 400  # groups with a word: a more common one does not help, and costs time


class Merged(Struct, Generic[T], frozen=True):
    """One statement and all its sources; `item` has the wording of the first of `sources`."""

    item: T
    sources: tuple[T, ...]

    @property
    def sessions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(source.session for source in self.sources if source.session))


class Contradiction(Struct, Generic[T], frozen=True):
    """Two statements that cannot both hold, or that give different numbers, paths or names for the same thing."""

    one: T
    other: T
    why: str


class Merging(Struct, Generic[T], frozen=True):
    merged: tuple[Merged[T], ...]
    contradictions: tuple[Contradiction[T], ...]


def merge(items: Iterable[T], meaning: Meaning | None = None, known: int = 0) -> Merging[T]:
    """Each statement once, in the order of first occurrence.

    The first `known` items are already merged: only new ones are compared by meaning.
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
    """The last of `items` that says the same as `text`. For "was this asked before?"."""
    folded = _folded(text)
    for item in reversed(items):
        item_text = _text_of(item)
        target = signature(_unasked(text) if isinstance(item, Question) else text)
        if (
            _folded(item_text) == folded
            or compare_signatures(signature(item_text), target).likeness is Likeness.SAME
        ):
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
    """The statements in `items` that contradict `item`: the latest few, because more add nothing."""
    text = _text_of(item)
    contradictions: list[Contradiction[T]] = []
    for candidate in reversed(items):
        if candidate.id == item.id:
            continue
        candidate_text = _text_of(candidate)
        verdict = compare(candidate_text, text) if meaning is None else judge(candidate_text, text, meaning)
        if verdict.sure:
            contradictions.append(Contradiction(candidate, item, verdict.why))
    return tuple(contradictions[:_MOST_CLASHES])


def doubt_question(one: Decision | Fact, other: Decision | Fact) -> Question:
    """The question of which of two contradicting statements holds; both are kept until it is answered."""
    text = f"{WHICH_HOLDS}“{one.text}” ({one.id}) or “{other.text}” ({other.id})?"
    return Question(text=text, session=other.session, at=other.at)


def is_doubt_about(question: Question, statement: str) -> bool:
    """Whether a question is such a doubt about the statement with this id."""
    return question.text.startswith(WHICH_HOLDS) and f"” ({statement})" in question.text


class _Groups(Generic[T]):
    """Groups of statements, indexed by their words, so that thousands need no pairwise comparison."""

    def __init__(self) -> None:
        self.members: list[list[T]] = []
        self._by_id: dict[tuple[str, str], int] = {}
        self._by_word: dict[str, list[int]] = {}
        self._firsts: list[Signature] = []
        self._clashes: dict[tuple[str, str], Contradiction[T]] = {}

    def add(self, item: T) -> None:
        key = _key(item)
        group = self._by_id.get(key)
        if group is None:
            group = self._find(item)
            self._by_id[key] = group
        else:
            self.members[group].append(item)

    def _find(self, item: T) -> int:
        """The group that the item joins, or a new one."""
        own_signature = signature(_text_of(item))
        chosen: int | None = None
        clashes = 0
        for group in self._near(own_signature):
            verdicts = [
                (member, compare_signatures(signature(_text_of(member)), own_signature))
                for member in self._different(group)
            ]
            clash = next((pair for pair in verdicts if pair[1].likeness is Likeness.CLASH), None)
            if clash is not None:
                clashes += clash[1].sure
                if clash[1].sure and clashes <= _MOST_CLASHES and not isinstance(item, Question):
                    self._note(clash[0], item, clash[1].why)
            elif (
                chosen is None
                and verdicts[0][1].likeness is Likeness.SAME
                and _asks_alike(verdicts[0][0], item)
            ):
                chosen = group
        if chosen is None:
            return self._begin(item, own_signature)
        self.members[chosen].append(item)
        return chosen

    # --- by meaning ------------------------------------------------------------------------------------

    def join_by_meaning(self, meaning: Meaning, settled: int) -> None:
        """Join groups that words left separate; those before `settled` were already compared with each other."""
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
            first, new_item = self.members[place][0], self.members[group][0]
            if place != earlier:  # the group was joined to another, whose first member now counts
                verdict = judge(_text_of(first), _text_of(new_item), meaning)
            if verdict.likeness is Likeness.SAME and not self._at_odds(place, group):
                self.members[place] += self.members[group]
                self.members[group] = []
                joined[group] = place
            elif verdict.sure and not isinstance(new_item, Question):
                clashes[group] += 1
                if clashes[group] <= _MOST_CLASHES:
                    self._note(first, new_item, verdict.why)

    def _undecided(self, group: int) -> list[tuple[int, Gap]]:
        """Earlier groups that share words with this one, and what vectors have to decide about them."""
        own_signature, item = self._firsts[group], self.members[group][0]
        shared: Counter[int] = Counter()
        for word in own_signature.words:
            holding = self._by_word[word]
            if len(holding) <= _TOO_COMMON:
                shared.update(holding)
        candidates = (
            (count, earlier)
            for earlier, count in shared.items()
            if earlier < group
            and least_shared(count, len(own_signature.words), len(self._firsts[earlier].words))
            and self._firsts[earlier].hard == own_signature.hard
        )
        undecided = []
        for _, earlier in nlargest(_MOST_UNDECIDED, candidates):
            first = self.members[earlier][0]
            if (
                isinstance(first, Question)
                and isinstance(item, Question)
                and not asks_alike(first.text, item.text)
            ):
                continue
            if (first.id, item.id) not in self._clashes and (between := gap(_text_of(first), _text_of(item))):
                undecided.append((earlier, between))
        return undecided

    def _at_odds(self, one: int, other: int) -> bool:
        """Whether a member of one group contradicts a member of the other."""
        return any(
            compare_signatures(signature(_text_of(first)), signature(_text_of(second))).likeness
            is Likeness.CLASH
            for first in self._different(one)
            for second in self._different(other)
        )

    def _different(self, group: int) -> list[T]:
        """The members of a group, each wording once, in order."""
        wordings: dict[tuple[str, str], T] = {}
        for member in self.members[group]:
            wordings.setdefault(_key(member), member)
        return list(wordings.values())

    def _near(self, own: Signature) -> list[int]:
        shared = Counter(group for word in own.words for group in self._by_word.get(word, ()))
        candidates = [
            group
            for group, count in shared.items()
            if 2 * count >= NEAR_ENOUGH_TO_CLASH * (len(own.words) + len(self._firsts[group].words))
        ]
        # Limited: thousands of results that differ only in their numbers would all be near each other.
        return nlargest(
            _MOST_NEAR,
            candidates,
            key=lambda group: (self._firsts[group].hard == own.hard, shared[group], group),
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
        """All contradictions, including questions that were answered differently one after the other."""
        for group in self.members:
            answered = [item for item in group if isinstance(item, Question) and item.answer]
            for earlier, later in pairwise(answered):
                if not _same_answer(earlier.answer, later.answer):
                    self._note(
                        earlier, later, f"answered {earlier.answer[:60]!r}, then {later.answer[:60]!r}"
                    )
        return tuple(self._clashes.values())


def _same_answer(one: str, other: str) -> bool:
    if _folded(one) == _folded(other):
        return True
    return compare_signatures(signature(one), signature(other)).likeness is Likeness.SAME


def _represent(group: Sequence[T]) -> T:
    """The first wording, so that the id stays, with the additions of later statements."""
    first = group[0]
    if isinstance(first, Question):
        return _with_answer(first, group)
    if isinstance(first, Fact):
        times = [
            at for fact in group if isinstance(fact, Fact) and (at := fact.verified_at or fact.at) is not None
        ]
        return replace(first, verified_at=max(times)) if len(group) > 1 and times else first
    return first


def _with_answer(first: T, group: Sequence[T]) -> T:
    answered = [item for item in group if isinstance(item, Question) and item.answer]
    if not answered:
        closed = any(isinstance(item, Question) and item.closed for item in group)
        return replace(first, closed=closed)
    newest = max(
        answered,
        key=lambda item: (
            item.answered_at if item.answered_at is not None else _UNDATED,
            item.session,
            item.answer,
        ),
    )
    return replace(
        first,
        answer=newest.answer,
        by=newest.by,
        answered_at=newest.answered_at,
        session=newest.session,  # the session of the answer, not of the question
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
    """The text without a question mark, which must not make a difference."""
    return text.rstrip(" ?")


def _key(item: Item) -> tuple[str, str]:
    # The category of a fact may differ by accident: the id alone decides.
    return item.id, _folded(_text_of(item))


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!?;: ")


# --- lasting rules -------------------------------------------------------------------------------------

_LASTING = lazy_regex(
    r"\b(?:always|never|from now on|in (?:the )?future|going forward|every time|as a rule|by default)\b",
    re.IGNORECASE,
)
MOST = 5


def standing_rules(records: Sequence[DistilledSession]) -> tuple[str, ...]:
    """Rules to propose to the operating manual, each with the session it comes from."""
    decisions = [item for record in records for item in record.harvest.decisions if item.by == "user"]
    decisions += [
        Decision(text=item.text, by="user", session=record.session, at=item.at)
        for record in records
        for item in record.experience.corrections
    ]
    lasting = [
        group
        for group in merge(decisions).merged
        if len(group.sessions) > 1 or _LASTING.search(group.item.text)
    ]
    return tuple(f"{group.item.text} (session {group.sessions[0][:8]})" for group in lasting[-MOST:])


# --- temporary statements ------------------------------------------------------------------------------

_WHOLE = r"(?! (?:repo|repository|project|product|code ?base|package|library|app|application|service|team)\b)"
# Refers to something that is only visible in that conversation.
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
# Commit messages say what was done to the code, which the code shows; a choice reads "Use …", "Keep …", "Prefer …".
_DONE_TO_CODE = lazy_regex(
    r"(?:add(?:s|ed)?|fix(?:es|ed)?|implement(?:s|ed)?|updated?|created?|improved?|bump|release|merge|revert|reach)\s",
    re.IGNORECASE,
)
_FRAGMENT = lazy_regex(r"[a-z]+ ")  # an item of a list whose heading is missing
_QUESTION = lazy_regex(r"(?P<question>.{8,}?\?) \S")


def is_passing_question(text: str) -> bool:
    """Whether an answer was right only at that moment: asked again, it may differ."""
    return asks_about_workflow(text) or bool(_OF_THE_MOMENT.search(text))


def is_passing(said: Statement) -> bool:
    """Whether a decision or an answer was right only at that moment, and does not hold later.

    A statement without a session was written by a person, and is meant to last.
    """
    text = said.text
    if not said.session:
        return False
    if said.kind == "answer":
        return is_passing_question(said.subject)
    if text.startswith(PLAN_APPROVED) or _DEED.match(text):
        return True
    if question := _QUESTION.match(text):
        return is_passing_question(question["question"])
    if said.who == "agent" and (_DONE_TO_CODE.match(text) or _FRAGMENT.match(text)):
        return True
    return bool(_POINTS_AT.search(text))
