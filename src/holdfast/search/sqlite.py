"""The default `Index`: one SQLite file and one file of vectors beside it, for several processes at once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from msgspec.structs import replace

from holdfast.core.errors import UsageError
from holdfast.model.search import Changes, Chunk, Hit, Stats
from holdfast.search import lexical, terms
from holdfast.search.contract import Query, Scope, When, seconds, storable
from holdfast.search.database import Database
from holdfast.search.dated import period_first
from holdfast.search.embed.static import Embedder
from holdfast.search.intent import means_the_newest
from holdfast.search.periods import Period, period_in
from holdfast.search.ranking import Lookup, newest
from holdfast.search.terms import Terms
from holdfast.search.vectors import Vanished
from holdfast.search.writer import Embedding, Generations

if TYPE_CHECKING:
    from holdfast.search.writer import IndexWriter, Layout


_MOST_HITS = 1000
_LONG = 40  # words
_TRIES = 3


class SqliteIndex:
    """Satisfies `Index`. `embedder` None searches by words alone; `tell` receives messages about slow work."""

    def __init__(
        self, path: Path, embedder: Embedder | None, tell: Callable[[str], None] | None = None
    ) -> None:
        self.path = path
        self._tell = tell
        self._db = Database(path)
        self._terms = Terms(self._db, embedder)
        self._embedding = Embedding(embedder)
        self._generations = Generations(self._db, self._embedding)
        if self._generations.is_behind():
            self._layout.make_anew()

    # The writer is imported only when needed: most commands only search.

    @cached_property
    def _filling(self) -> IndexWriter:
        from holdfast.search.writer import IndexWriter

        return IndexWriter(self._db, self._generations, self._embedding)

    @cached_property
    def _layout(self) -> Layout:
        from holdfast.search.writer import Layout

        return Layout(self._db, self._generations, self._embedding, self._tell)

    def __enter__(self) -> SqliteIndex:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._generations.close()
        self._db.close()

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

    def put_many(self, chunks: Iterable[Chunk]) -> Changes:
        changes, gone = self._filling.put(chunks)
        if gone:
            self._layout.tidy(gone)
        return changes

    def delete(self, id: str) -> bool:
        return self.delete_many([id]) > 0

    def delete_many(self, ids: Iterable[str]) -> int:
        count, gone = self._filling.delete(ids)
        if gone:
            self._layout.tidy(gone)
        return count

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
            return self._listed(scope, k)
        period = self._period(text, moment, scope)
        hits = self._answers(text, scope, moment, k, floor, fitting)
        if period is None:
            return hits
        within = replace(scope, since=period.start, before=min(period.stop, scope.before or period.stop))
        if period.is_all:
            of_period = self._listed(within, k)
        else:
            of_period = self._answers(period.rest, within, moment, k, floor, fitting)
        return period_first(of_period, hits, period, k)

    def _period(self, text: str, now: float | None, scope: Scope) -> Period | None:
        """The period that a query names, if there is something of it; the caller's own `since` takes its place.

        A long text names dates in passing.
        """
        if scope.since is not None or len(text.split()) > _LONG:
            return None
        if now is None:
            now = newest(self._db, scope.before)
        period = period_in(text, datetime.fromtimestamp(now, UTC)) if now else None
        is_there = "SELECT EXISTS (SELECT 1 FROM chunk WHERE at >= ? AND at < ?)"
        return period if period and self._db.number(is_there, (period.start, period.stop)) else None

    def _listed(self, scope: Scope, k: int) -> list[Hit]:
        with self._db.reading():
            return Lookup(self._db, self._terms, None).listed(scope, k)

    def _answers(
        self, text: str, scope: Scope, now: float | None, k: int, floor: float, fitting: bool
    ) -> list[Hit]:
        vector = self._embedding.of_question(text)
        least = self._embedding.least(text) if fitting else None
        recency = terms.RECENCY if means_the_newest(text) else 0.0
        question = Query(text, scope, now, vector, least, self._embedding.lift, recency)
        for _ in range(_TRIES):
            if self._generations.is_behind():
                self._layout.make_anew()
            with contextlib.suppress(Vanished), self._db.reading():
                lookup = Lookup(self._db, self._terms, self._generations.current())
                return lookup.answer(question, k, floor)
        with self._db.reading():
            return Lookup(self._db, self._terms, None).answer(question, k, floor)

    def ids(self) -> Iterator[str]:
        return iter([id for (id,) in self._db.ask("SELECT id FROM chunk ORDER BY id")])

    def text(self, id: str) -> str:
        return next((text for (text,) in self._db.ask("SELECT text FROM chunk WHERE id = ?", [id])), "")

    def mark(self) -> str:
        return self._db.meta("mark")

    def set_mark(self, mark: str) -> None:
        with self._db.writing():
            self._db.set_meta("mark", mark)

    def stats(self) -> Stats:
        with self._db.reading():
            files = [self.path, self.path.with_name(self.path.name + "-wal")]
            vectors = self._generations.current()
            files += [vectors.path] if vectors is not None else []
            return Stats(
                chunks=self._db.number("SELECT count(*) FROM chunk"),
                passages=self._db.number("SELECT count(*) FROM passage"),
                bytes=sum(file.stat().st_size for file in files if file.exists()),
                vectors=self._embedding.name,
                kinds=dict(self._db.ask("SELECT kind, count(*) FROM chunk GROUP BY kind ORDER BY kind")),
            )
