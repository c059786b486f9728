"""The default `Index`: one SQLite file and one file of vectors beside it, for several processes at once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from holdfast.errors import UsageError
from holdfast.model.search import Changes, Chunk, Hit, Stats
from holdfast.search import lexical
from holdfast.search.contract import When, seconds, storable
from holdfast.search.database import Database
from holdfast.search.embed.contract import Embedder
from holdfast.search.embedding import Embedding
from holdfast.search.generations import Generations
from holdfast.search.lookup import Lookup
from holdfast.search.question import Question, Scope
from holdfast.search.terms import Terms
from holdfast.search.vectors import Vanished

if TYPE_CHECKING:
    from holdfast.search.filling import Filling
    from holdfast.search.layout import Layout

_MOST_HITS = 1000
_TRIES = 3


class SqliteIndex:
    """Satisfies `Index`. `embedder` None searches by words alone; `tell` hears of work that takes its time."""

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

    # What writes is loaded by who writes: most commands only ask.

    @cached_property
    def _filling(self) -> Filling:
        from holdfast.search.filling import Filling

        return Filling(self._db, self._generations, self._embedding)

    @cached_property
    def _layout(self) -> Layout:
        from holdfast.search.layout import Layout

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
        if not text.strip():
            with self._db.reading():
                return Lookup(self._db, self._terms, None).listed(scope, min(k, _MOST_HITS))
        vector = self._embedding.of_question(text)
        least = self._embedding.least(text) if fitting else None
        question = Question(text, scope, seconds(now), vector, least, self._embedding.lift)
        for _ in range(_TRIES):
            if self._generations.is_behind():
                self._layout.make_anew()
            with contextlib.suppress(Vanished), self._db.reading():
                lookup = Lookup(self._db, self._terms, self._generations.current())
                return lookup.answer(question, min(k, _MOST_HITS), floor)
        with self._db.reading():
            return Lookup(self._db, self._terms, None).answer(question, min(k, _MOST_HITS), floor)

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
