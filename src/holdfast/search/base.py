"""What every index does the same, wherever its texts are: what a question is, and its period."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime
from types import TracebackType
from typing import TypeVar

from msgspec.structs import replace

from holdfast.core.errors import UsageError
from holdfast.model.search import Changes, Chunk, Hit
from holdfast.search import lexical, terms
from holdfast.search.candidates import Source
from holdfast.search.contract import Query, Scope, When, seconds, storable
from holdfast.search.dated import period_first
from holdfast.search.intent import means_the_newest
from holdfast.search.periods import Period, period_in
from holdfast.search.ranking import Lookup
from holdfast.search.terms import Terms
from holdfast.search.writer import Embedding

_MOST_HITS = 1000
_LONG = 40  # words

Self = TypeVar("Self", bound="BaseIndex")
Answer = Callable[[Source], list[Hit]]


class BaseIndex(ABC):
    """Where the texts of an index are is the `Source` that it hands to `_answered`."""

    def __init__(self, words: Terms, embedding: Embedding) -> None:
        self._terms = words
        self._embedding = embedding

    @abstractmethod
    def _answered(self, answer: Answer) -> list[Hit]:
        """The answer from a source all of whose answers are of one moment."""

    @abstractmethod
    def put_many(self, chunks: Iterable[Chunk]) -> Changes: ...

    @abstractmethod
    def delete_many(self, ids: Iterable[str]) -> int: ...

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def put(
        self,
        id: str,
        text: str,
        kind: str = "history",
        when: When = None,
        *,
        title: str = "",
        path: str = "",
        line: int = 0,
        session: str = "",
        project: str = "",
    ) -> bool:
        chunk = Chunk(
            id=id,
            text=text,
            kind=kind,
            when=seconds(when),
            title=title,
            path=path,
            line=line,
            session=session,
            project=project,
        )
        return self.put_many([chunk]).unchanged == 0

    def delete(self, id: str) -> bool:
        return self.delete_many([id]) > 0

    def search(
        self,
        query: str,
        k: int = 10,
        now: When = None,
        kinds: Collection[str] | None = None,
        project: str | Collection[str] | None = None,
        *,
        before: When = None,
        since: When = None,
        floor: float = 0.0,
        fitting: bool = False,
    ) -> list[Hit]:
        if not isinstance(query, str) or not isinstance(k, int):
            raise UsageError("a question is a text, and k a whole number", fix="As in search('why', k=5)")
        if k < 1 or not (query.strip() or since is not None):
            return []
        text = lexical.composed(storable(query[: lexical.LONGEST_QUERY]))
        projects = [project] if isinstance(project, str) else project
        if isinstance(kinds, str):
            raise UsageError("kinds is a text", fix="Give a list of kinds, as in kinds=['fact']")
        scope = Scope(
            None if kinds is None else tuple(sorted(set(kinds))),
            None if projects is None else tuple(sorted(set(projects))),
            seconds(before),
            seconds(since),
        )
        k, moment = min(k, _MOST_HITS), seconds(now)
        if not text.strip():
            return self._answered(lambda source: Lookup(source, self._terms).listed(scope, k))
        question = self._question(text, scope, moment, fitting=fitting)

        def answer(source: Source) -> list[Hit]:
            lookup = Lookup(source, self._terms)
            period = self._period(source, text, moment, scope)
            hits = lookup.answer(question, k, floor)
            if period is None:
                return hits
            within = replace(scope, since=period.start, before=min(period.stop, scope.before or period.stop))
            if period.is_all:
                return period_first(lookup.listed(within, k), hits, period, k)
            rest = self._question(period.rest, within, moment, fitting=fitting)
            return period_first(lookup.answer(rest, k, floor), hits, period, k)

        return self._answered(answer)

    def _period(self, source: Source, text: str, now: float | None, scope: Scope) -> Period | None:
        """The period that a query names, if there is something of it; the caller's own `since` takes its place.

        A long text names dates in passing.
        """
        if scope.since is not None or len(text.split()) > _LONG:
            return None
        if now is None:
            now = source.newest(scope.before)
        period = period_in(text, datetime.fromtimestamp(now, UTC)) if now else None
        return period if period and source.has_any(period.start, period.stop) else None

    def _question(self, text: str, scope: Scope, now: float | None, *, fitting: bool) -> Query:
        vector = self._embedding.of_question(text)
        least = self._embedding.least(text) if fitting else None
        recency = terms.RECENCY if means_the_newest(text) else 0.0
        return Query(text, scope, now, vector, least, self._embedding.lift, recency)
