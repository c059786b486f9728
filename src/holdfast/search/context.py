"""What the turns of a chat lend each other: a reply is about what the turn before asked, and what the chat is about.

A turn is lent only what it does not have itself: words of the query, and nearness to its meaning. So nothing is counted
twice, and the turn after a good answer does not rise above it.
"""

from __future__ import annotations

from collections.abc import Mapping
from heapq import nsmallest

from msgspec import Struct

from holdfast.search import terms
from holdfast.search.candidates import Candidate, Source, Worth
from holdfast.search.terms import Chosen

PREVIOUS = 0.6
"""What words count that only the turn before holds."""

SESSION = 0.4
"""What words count that only other turns of the chat hold."""

_LENDERS = 40  # the best turns: only their chats are looked at
_CHATS = 3  # the best chats: also their turns that share nothing with the query may answer
_WINDOW = 12  # turns before and after the best one
_REASON = 0.2
_AT_ONCE = 3  # turns; of more in one place none is the one before
_DAY = 86_400.0  # what is said later than that, or on another day, is another conversation


class Lent(Struct, frozen=True):
    """What the turn before has and a chunk has not, and what its chat has and neither has; `before` are its numbers."""

    previous: float
    session: float
    before: tuple[int, ...] = ()

    @property
    def value(self) -> float:
        return PREVIOUS * self.previous + SESSION * self.session

    @property
    def reason(self) -> str:
        """For people; '' if it is too little to be one."""
        if self.previous >= _REASON:
            return "the turn before"
        return "its session" if self.session >= _REASON else ""


class Context:
    """The chats of the best candidates, inside a read transaction. The two mappings grow while it is used."""

    def __init__(
        self, source: Source, candidates: Mapping[int, Candidate], worths: Mapping[int, Worth]
    ) -> None:
        self._source = source
        self._candidates = candidates
        self._worths = worths
        turns = (
            (-worths[number].relevance, candidate.id, number)
            for number, candidate in candidates.items()
            if candidate.series
        )
        self._lenders = [number for _, _, number in nsmallest(_LENDERS, turns)]
        self._before: dict[int, list[int]] = {}

    @property
    def has_turns(self) -> bool:
        return bool(self._lenders)

    def missing(self) -> list[int]:
        """Turns that share nothing with the query, and may answer it by what others lend them."""
        self._find_followers()
        near = set(self._before)
        chats: dict[int, float] = {}
        for number in self._lenders:
            candidate = self._candidates[number]
            chats.setdefault(candidate.series, candidate.place)
        for series, place in list(chats.items())[:_CHATS]:
            near.update(self._source.around(series, place, _WINDOW))
        return sorted(near - self._candidates.keys())

    def _find_followers(self) -> None:
        following: dict[int, list[int]] = {}
        for lender, follower in self._source.followers(self._lenders):
            following.setdefault(lender, []).append(follower)
        for lender, followers in following.items():
            if len(followers) <= _AT_ONCE:
                for follower in followers:
                    self._before.setdefault(follower, []).append(lender)

    def lent(self, chosen: Chosen) -> dict[int, Lent]:
        """Chunk → what it is lent, for the turns of the best chats."""
        candidates, worths = self._candidates, self._worths
        chats = {candidates[number].series for number in self._lenders}
        turns = {
            number: (candidate.series, (candidate.at or 0.0) // _DAY)
            for number, candidate in candidates.items()
            if candidate.series in chats
        }
        words = self._words(turns, chosen)
        chat_words: dict[tuple[int, float], int] = {}
        chat_cosine: dict[tuple[int, float], float] = {}
        for number, chat in turns.items():
            chat_words[chat] = chat_words.get(chat, 0) | words.get(number, 0)
            chat_cosine[chat] = max(chat_cosine.get(chat, 0.0), worths[number].cosine)
        value = _WordValues(chosen)
        lent = {}
        for number, chat in turns.items():
            own, near = words.get(number, 0), max(worths[number].cosine, 0.0)
            both, near_both = own, near
            before = tuple(n for n in self._before.get(number, ()) if self._are_one_talk(n, number))
            for previous in before:
                both |= words.get(previous, 0)
                near_both = max(near_both, worths[previous].cosine)
            lent[number] = Lent(
                value.of(both & ~own) + terms.MEANING * (near_both - near),
                value.of(chat_words[chat] & ~both) + terms.MEANING * max(chat_cosine[chat] - near_both, 0.0),
                before,
            )
        return lent

    def _are_one_talk(self, previous: int, number: int) -> bool:
        before, after = self._candidates[previous].at, self._candidates[number].at
        return before is None or after is None or abs(after - before) <= _DAY

    def _words(self, turns: Mapping[int, object], chosen: Chosen) -> dict[int, int]:
        """Chunk → the words of the query that it holds, one bit each."""
        chunk_of = {
            passage: number for number in turns for passage, _, _ in self._candidates[number].passages
        }
        words: dict[int, int] = {}
        for passage, bits in self._source.words_of(list(chunk_of), chosen).items():
            words[chunk_of[passage]] = words.get(chunk_of[passage], 0) | bits
        return words


class _WordValues:
    """What words of the query are worth, by their bits."""

    def __init__(self, chosen: Chosen) -> None:
        self._shares = chosen.shares if chosen.asked > 1 else [1.0] * len(chosen.words)
        self._known = {0: 0.0}

    def of(self, words: int) -> float:
        value = self._known.get(words)
        if value is None:
            value = sum(share for bit, share in enumerate(self._shares) if words >> bit & 1)
            self._known[words] = value
        return value
